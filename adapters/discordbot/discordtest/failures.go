package discordtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/disgoorg/disgo/rest"
)

// Failure is trouble on a route.
type Failure struct {
	// Method is the HTTP method; empty means any.
	Method string
	// Path is the route below the API's base; a segment in braces, as in
	// "/channels/{id}/messages", is any one segment.
	Path string
	// Status, with Code and Message, is the answer. When it is 0 and Drop is not
	// set, the request is only late.
	Status  int
	Code    rest.JSONErrorCode
	Message string
	// RetryAfter goes with status 429, in whole seconds.
	RetryAfter time.Duration
	// Times is how often it happens; 0 means until it is stopped.
	Times int
	// Delay passes before the request is looked at. It ends early with the
	// request's context.
	Delay time.Duration
	// Hold, when not nil, keeps the request until it is closed.
	Hold <-chan struct{}
	// Drop breaks the connection instead of answering.
	Drop bool
	// Done has the request carried out all the same: the answer is lost, not the
	// deed.
	Done bool
}

type failure struct {
	Failure
	left    int
	stopped bool
}

// Fail makes a route fail from now on. Failures that match the same request are
// used in the order in which they were set, one a request. stop ends it; calling
// it again does nothing.
func (d *Discord) Fail(f Failure) (stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	added := &failure{Failure: f, left: f.Times}
	d.failures = append(d.failures, added)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		added.stopped = true
	}
}

// nextFailure takes the failure that the request meets, or nil; d.mu is held.
func (d *Discord) nextFailure(method, path string) *Failure {
	for _, f := range d.failures {
		if f.stopped || (f.Method != "" && f.Method != method) || !matchPath(f.Path, path) {
			continue
		}
		if f.Times > 0 {
			f.left--
			f.stopped = f.left == 0
		}
		return &f.Failure
	}
	return nil
}

func matchPath(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool {
		return w == g || strings.HasPrefix(w, "{") && strings.HasSuffix(w, "}")
	})
}

// stall lets the failure's delay pass.
func (d *Discord) stall(ctx context.Context, f *Failure) error {
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-d.done:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if f.Hold != nil {
		select {
		case <-f.Hold:
		case <-d.done:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// refusal is the failure's answer, or nil when it has none.
func (f *Failure) refusal() *apiError {
	if f.Status == 0 {
		return nil
	}
	message := f.Message
	if message == "" {
		message = fmt.Sprintf("%d: %s", f.Status, http.StatusText(f.Status))
	}
	return &apiError{status: f.Status, code: f.Code, message: message, retryAfter: f.RetryAfter, silent: true}
}

var errDropped = fmt.Errorf("discordtest: the connection was broken: %w", io.ErrUnexpectedEOF)
