package discordtest

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"strings"
)

const (
	maxFiles    = 10
	maxFileSize = 10 << 20
)

// readFiles splits a multipart body into its JSON and its files.
func (c *call) readFiles() error {
	kind, params, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return nil
	}
	parts := multipart.NewReader(bytes.NewReader(c.body), params["boundary"])
	var payload []byte
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return invalid("%v", err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return invalid("%v", err)
		}
		switch name := part.FormName(); {
		case name == "payload_json":
			payload = data
		case strings.HasPrefix(name, "files["):
			c.files = append(c.files, File{ID: c.d.newID(), Name: part.FileName(), Data: data})
		}
	}
	c.body = payload
	for _, f := range c.files {
		if len(f.Data) > maxFileSize {
			return refuse(413, 40005, "Request entity too large")
		}
	}
	if len(c.files) > maxFiles {
		return refuse(400, 30015, "Maximum number of attachments in a message reached (10)")
	}
	return nil
}
