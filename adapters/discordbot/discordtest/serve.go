package discordtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"
)

// Request is a REST request that the bot made.
type Request struct {
	Method string
	Path   string // below the API's base, without the query
	Body   []byte
	At     time.Time
	Status int // 0 when no answer was given
	Code   rest.JSONErrorCode
}

func (r Request) String() string {
	return fmt.Sprintf("%s %s: %d", r.Method, r.Path, r.Status)
}

// Violation is something that Discord refuses to do.
type Violation struct {
	Method  string
	Path    string
	Status  int
	Code    rest.JSONErrorCode
	Message string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s %s: %d: %s (%d)", v.Method, v.Path, v.Status, v.Message, v.Code)
}

// Requests returns all REST requests that have been answered, in the order of
// their answers.
func (d *Discord) Requests() []Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Request(nil), d.requests...)
}

// Violations returns all that was refused by a rule of Discord's, in order;
// failures that [Discord.Fail] injected are not among them. A bot that does
// nothing wrong leaves it empty.
func (d *Discord) Violations() []Violation {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Violation(nil), d.violations...)
}

// call is a request on its way through a route; its handler runs with d.mu held.
type call struct {
	*http.Request
	d        *Discord
	pattern  string
	body     []byte
	files    []File
	received time.Time
	session  *session
}

// handler answers with what is written as JSON, or with 204 when it is nil.
type handler func(c *call) (any, error)

// serve answers a request. It returns an error, and writes nothing, when the
// connection is to break.
func (d *Discord) serve(w http.ResponseWriter, r *http.Request, s *session) error {
	r.URL.Path = routePath(r.URL.Path)
	r.URL.RawPath = routePath(r.URL.RawPath)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	d.mu.Lock()
	f := d.nextFailure(r.Method, r.URL.Path)
	gone := d.gone(s)
	d.mu.Unlock()
	if gone != nil {
		return gone
	}
	if f != nil {
		if err := d.stall(r.Context(), f); err != nil {
			return err
		}
	}
	c := &call{Request: r, d: d, body: body, session: s}
	status, answer, err := c.answer(f)
	if err != nil {
		return err
	}
	if status.retryAfter > 0 {
		seconds := int(math.Ceil(status.retryAfter.Seconds()))
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		w.Header().Set("Via", "1.1 discordtest")
		// Clients take no limit to heart that has no bucket.
		w.Header().Set("X-RateLimit-Bucket", "discordtest")
		w.Header().Set("X-RateLimit-Remaining", "0")
	}
	if answer != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status.status)
	if answer == nil {
		return nil
	}
	_, err = w.Write(answer)
	return err
}

// gone is why the session's process can't be heard any more; d.mu is held.
func (d *Discord) gone(s *session) error {
	switch {
	case d.closed:
		return ErrClosed
	case s != nil && s.killed:
		return errDropped
	default:
		return nil
	}
}

// answer carries the request out, unless the failure is in the way, and keeps a
// record of it.
func (c *call) answer(f *Failure) (*apiError, []byte, error) {
	d := c.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.gone(c.session); err != nil {
		return nil, nil, err
	}
	c.received = d.opts.Now()
	status, answer := &apiError{status: http.StatusNoContent}, []byte(nil)
	if f == nil || f.Done || (f.Status == 0 && !f.Drop) {
		status, answer = c.run()
	}
	record := Request{Method: c.Method, Path: c.URL.Path, Body: c.body, At: c.received}
	defer func() {
		d.requests = append(d.requests, record)
		d.touch()
	}()
	if f != nil && f.Drop {
		return nil, nil, errDropped
	}
	if f != nil && f.refusal() != nil {
		status = f.refusal()
		answer = status.wire()
	}
	record.Status, record.Code = status.status, status.code
	return status, answer, nil
}

// run finds the route and carries it out.
func (c *call) run() (*apiError, []byte) {
	result, err := c.dispatch()
	var refused *apiError
	switch {
	case errors.As(err, &refused):
	case err != nil:
		refused = invalid("%v", err)
	case result == nil:
		return &apiError{status: http.StatusNoContent}, nil
	default:
		data, err := json.Marshal(result)
		if err != nil {
			panic("discordtest: " + err.Error())
		}
		return &apiError{status: http.StatusOK}, data
	}
	c.d.violations = append(c.d.violations, Violation{c.Method, c.URL.Path, refused.status, refused.code, refused.message})
	return refused, refused.wire()
}

func (c *call) dispatch() (any, error) {
	h, pattern := c.d.routes.Handler(c.Request)
	r, ok := h.(route)
	if !ok || pattern == "" {
		return nil, errNoRoute
	}
	if r.auth && c.Header.Get("Authorization") != "Bot "+c.d.token {
		return nil, errUnauthorized
	}
	c.pattern = pattern
	c.d.routes.ServeHTTP(discard{}, c.Request) // sets the path's values
	if err := c.readFiles(); err != nil {
		return nil, err
	}
	return r.handle(c)
}

// route is a handler in the table of routes. Serving it does nothing: the table
// is asked for it, and for the values in the path.
type route struct {
	handle handler
	auth   bool
}

func (route) ServeHTTP(http.ResponseWriter, *http.Request) {}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

func (e *apiError) wire() []byte {
	o := object{"code": e.code, "message": e.message}
	if e.status == http.StatusTooManyRequests {
		o["retry_after"], o["global"] = e.retryAfter.Seconds(), false
	}
	data, err := json.Marshal(o)
	if err != nil {
		panic("discordtest: " + err.Error())
	}
	return data
}

// id is an id in the path; what isn't one is 0, which nothing has.
func (c *call) id(name string) snowflake.ID {
	id, err := snowflake.Parse(c.PathValue(name))
	if err != nil {
		return 0
	}
	return id
}

// decode reads the body, which is refused where it isn't the JSON that v wants.
func (c *call) decode(v any) error {
	if len(bytes.TrimSpace(c.body)) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		return invalid("%v", err)
	}
	return nil
}
