package opencode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// decode reads an answer.
func decode(r call, resp *http.Response, body []byte) error {
	e := &Error{Op: r.op, Status: resp.StatusCode}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	ok := resp.StatusCode >= 200 && resp.StatusCode < 300
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		e.Err = ErrUnauthorized
		return e
	case kind == "text/html", elsewhere(resp.StatusCode):
		// The web page, which is what there is on paths that aren't known.
		e.Err = ErrNoEndpoint
		return e
	case ok && r.out == nil:
		return nil
	case ok && kind == "application/json":
		if err := understand(body, r.out); err != nil {
			e.Err = fmt.Errorf("%w: %w", ErrMalformed, err)
			return e
		}
		return nil
	case ok:
		e.Err = ErrMalformed
		return e
	case resp.StatusCode == http.StatusInternalServerError && len(body) == 0:
		// Without its web page the server answers so on unknown paths.
		e.Err = ErrNoEndpoint
		return e
	}
	e.Name, e.Message = refusal(body, kind)
	if resp.StatusCode == http.StatusNotFound || e.Name == "NotFoundError" || strings.HasPrefix(e.Message, "Workspace not found") {
		e.Err = ErrNotFound
	}
	if e.Name == "UnknownError" && strings.Contains(e.Message, "Unable to connect") {
		// An old server hands unknown paths on to a web site.
		e.Err = ErrNoEndpoint
	}
	return e
}

// elsewhere reports whether an answer sends to another address.
func elsewhere(status int) bool { return status >= 300 && status < 400 }

// understand decodes the answer to a call that went well. One without the id
// that all else goes by is none.
func understand(body []byte, out any) error {
	if string(bytes.TrimSpace(body)) == "null" {
		return errors.New("it is null")
	}
	if err := json.Unmarshal(body, out); err != nil {
		return err
	}
	var id string
	switch made := out.(type) {
	case *Session:
		id = made.ID
	case *Workspace:
		id = made.ID
	case *Message:
		id = made.Info.ID
	default:
		return nil
	}
	if id == "" {
		return errors.New("it has no id")
	}
	return nil
}

// refusal takes name and message out of each of the forms in which the server
// gives an error.
func refusal(body []byte, kind string) (name, message string) {
	text := strings.TrimSpace(string(body))
	if len(text) > 2000 {
		text = strings.ToValidUTF8(text[:2000], "") + " …"
	}
	if kind != "application/json" {
		return "", text
	}
	var form struct {
		Name    string `json:"name"`
		Tag     string `json:"_tag"`
		Message string `json:"message"`
		Data    struct {
			Message string `json:"message"`
		} `json:"data"`
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &form) != nil {
		return "", text
	}
	for _, name = range []string{form.Name, form.Tag} {
		if name != "" {
			break
		}
	}
	for _, message = range []string{form.Data.Message, form.Message, form.Error, text} {
		if message != "" {
			break
		}
	}
	return name, message
}
