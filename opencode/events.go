package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/tmaxmax/go-sse"
)

// Event is something that happened on the server.
type Event struct {
	// Type says what, such as "session.idle". "server.connected" begins each
	// connection: what happened before it, since the last one, is not told.
	Type string
	// Directory is where, as the server says it, "" for the server as a whole.
	Directory string
	// Properties are as the server sent them.
	Properties json.RawMessage
}

// quietFor is how long a stream may say nothing before it counts as dead; the
// server sends a sign of life each 10 s.
const quietFor = 35 * time.Second

// maxEvent is the longest event that is taken, in bytes.
const maxEvent = 8 << 20

// Events tells of all that happens on the server, one event at a time, in
// order, and connects again, with growing pauses, whenever the connection
// ends or stays silent. It returns when ctx ends, with ctx's error, or where
// connecting again is of no use: [ErrUnauthorized], [ErrNoEndpoint].
func (c *Client) Events(ctx context.Context, each func(Event)) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 200*time.Millisecond, 10*time.Second
	for {
		err := c.listen(ctx, func(e Event) {
			pause.Reset()
			each(e)
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrUnauthorized), errors.Is(err, ErrNoEndpoint):
			return err
		}
		after := pause.NextBackOff()
		c.o.Logger.DebugContext(ctx, "opencode events interrupted", "error", err, "again in", after)
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// listen tells of what happens until the connection ends.
func (c *Client) listen(ctx context.Context, each func(Event)) error {
	const op = "listen to events"
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(c.quiet, cancel)
	defer silence.Stop()
	req, err := c.request(ctx, call{method: http.MethodGet, path: "/global/event"})
	if err != nil {
		return &Error{Op: op, Err: err}
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.http.Do(req)
	if err != nil {
		return c.unanswered(ctx, op, err)
	}
	defer resp.Body.Close()
	if err := streams(resp); err != nil {
		return &Error{Op: op, Status: resp.StatusCode, Err: err}
	}
	for e, err := range sse.Read(&watched{resp.Body, silence, c.quiet}, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if err != nil {
			return c.unanswered(ctx, op, err)
		}
		if told, ok := event(e.Data); ok {
			each(told)
		}
	}
	return &Error{Op: op, Err: fmt.Errorf("%w: the connection ended", ErrUnreachable)}
}

// streams returns why an answer is no stream of events, nil if it is one.
func streams(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return ErrUnauthorized
	case kind == "text/html", resp.StatusCode == http.StatusNotFound, elsewhere(resp.StatusCode):
		return ErrNoEndpoint
	case resp.StatusCode != http.StatusOK || kind != "text/event-stream":
		return ErrMalformed
	}
	return nil
}

// event reads what the server says in a frame of the stream.
func event(data string) (Event, bool) {
	var frame struct {
		Directory string `json:"directory"`
		Payload   struct {
			Type       string          `json:"type"`
			Properties json.RawMessage `json:"properties"`
		} `json:"payload"`
	}
	// "sync" says once more what another event says.
	if json.Unmarshal([]byte(data), &frame) != nil || frame.Payload.Type == "" || frame.Payload.Type == "sync" {
		return Event{}, false
	}
	return Event{Type: frame.Payload.Type, Directory: frame.Directory, Properties: frame.Payload.Properties}, true
}

// watched is a stream that is cut when it is waited on for too long. While
// nobody reads, what has come meanwhile can wait.
type watched struct {
	io.Reader
	silence *time.Timer
	quiet   time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	w.silence.Reset(w.quiet)
	defer w.silence.Stop()
	return w.Reader.Read(p)
}
