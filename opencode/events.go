package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

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
	const op = "listen to events"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.String()+"/global/event", nil)
	if err != nil {
		return &Error{Op: op, Err: err}
	}
	c.authorize(req)
	client := sse.Client{
		HTTPClient: &http.Client{Transport: watchful{c.o.Transport}},
		Backoff:    sse.Backoff{InitialInterval: 200 * time.Millisecond, Multiplier: 1.6, MaxInterval: 10 * time.Second},
		ResponseValidator: func(resp *http.Response) error {
			switch kind := resp.Header.Get("Content-Type"); {
			case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
				return &Error{Op: op, Status: resp.StatusCode, Err: ErrUnauthorized}
			case strings.HasPrefix(kind, "text/html"):
				return &Error{Op: op, Status: resp.StatusCode, Err: ErrNoEndpoint}
			case resp.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream"):
				return passing{fmt.Errorf("status %d, %s", resp.StatusCode, kind)}
			}
			return nil
		},
		OnRetry: func(err error, after time.Duration) {
			c.o.Logger.DebugContext(ctx, "opencode events interrupted", "error", err, "again in", after)
		},
	}
	conn := client.NewConnection(req)
	conn.Buffer(nil, maxEvent)
	conn.SubscribeToAll(func(e sse.Event) {
		var frame struct {
			Directory string `json:"directory"`
			Payload   struct {
				Type       string          `json:"type"`
				Properties json.RawMessage `json:"properties"`
			} `json:"payload"`
		}
		if json.Unmarshal([]byte(e.Data), &frame) != nil || frame.Payload.Type == "" || frame.Payload.Type == "sync" {
			// "sync" says once more what another event says.
			return
		}
		each(Event{Type: frame.Payload.Type, Directory: frame.Directory, Properties: frame.Payload.Properties})
	})
	err = conn.Connect()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Op: op, Err: fmt.Errorf("%w: %w", ErrUnreachable, err)}
}

// passing is an error after which trying again makes sense.
type passing struct{ error }

// Temporary is how the event library is told so.
func (passing) Temporary() bool { return true }

// watchful cuts a connection that stays silent.
type watchful struct{ next http.RoundTripper }

func (w watchful) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	timer := time.AfterFunc(quietFor, cancel)
	resp, err := w.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		timer.Stop()
		cancel()
		return nil, err
	}
	resp.Body = &watchedBody{ReadCloser: resp.Body, timer: timer, cancel: cancel}
	return resp, nil
}

type watchedBody struct {
	io.ReadCloser
	timer  *time.Timer
	cancel context.CancelFunc
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(quietFor)
	}
	if errors.Is(err, context.Canceled) {
		// The connection is cut, the caller isn't: that is an end like any other.
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.timer.Stop()
	b.cancel()
	return b.ReadCloser.Close()
}
