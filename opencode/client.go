package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ClientOptions are the settings of a [Client]. The zero value is usable with
// a server that asks for no password.
type ClientOptions struct {
	// Username and Password are sent with each call where Password isn't
	// empty. Username is "opencode" if empty.
	Username, Password string
	// Timeout bounds a call that does little, 30 s if 0. The first call for a
	// directory may have to load it.
	Timeout time.Duration
	// ConnectTimeout bounds the connecting alone, 2 s if 0.
	ConnectTimeout time.Duration
	// CreateTimeout bounds the making of a workspace, 1 min if 0.
	CreateTimeout time.Duration
	// MaxBody is the longest answer that is taken, in bytes, 32 MiB if 0.
	MaxBody int64
	// Transport carries the calls; one of the client's own if nil.
	Transport http.RoundTripper
	// Logger gets each call at debug level, without its body; nothing is
	// logged if nil.
	Logger *slog.Logger
}

// Client calls the HTTP API of an OpenCode server. It is safe for concurrent
// use. No call is repeated on its own. Cancelling a call's context ends the
// waiting and nothing else: the server goes on with what it was asked for.
type Client struct {
	base *url.URL
	o    ClientOptions
	http *http.Client
	// quiet is how long the event stream may say nothing.
	quiet time.Duration
}

// NewClient returns a client of the server at address, for example
// "http://127.0.0.1:4096". User name and password may be part of it. It calls
// nothing yet.
func NewClient(address string, o ClientOptions) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, fmt.Errorf("%q is not the address of an OpenCode server: it must be like http://127.0.0.1:4096", redacted(address))
	}
	if base.User != nil {
		if password, ok := base.User.Password(); ok && o.Password == "" {
			o.Username, o.Password = base.User.Username(), password
		} else if o.Username == "" {
			o.Username = base.User.Username()
		}
		base.User = nil
	}
	base.Path, base.RawQuery, base.Fragment = strings.TrimRight(base.Path, "/"), "", ""
	for d, standard := range map[*time.Duration]time.Duration{
		&o.Timeout: 30 * time.Second, &o.ConnectTimeout: 2 * time.Second, &o.CreateTimeout: time.Minute,
	} {
		if *d <= 0 {
			*d = standard
		}
	}
	if o.Username == "" {
		o.Username = "opencode"
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 32 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: o.ConnectTimeout}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     time.Minute,
		}
	}
	return &Client{base: base, o: o, quiet: quietFor, http: &http.Client{
		Transport: o.Transport,
		// A server that sends elsewhere is not OpenCode's API.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// URL is the server's address, without user name and password.
func (c *Client) URL() string { return c.base.String() }

// redacted is an address without what may be secret in it.
func redacted(address string) string {
	address, _, _ = strings.Cut(address, "?")
	if at := strings.LastIndex(address, "@"); at >= 0 {
		return "…" + address[at:]
	}
	return address
}

// call is one request. The answer is decoded into out where that isn't nil.
type call struct {
	op     string
	method string
	// path is escaped already.
	path string
	// directory and workspace say where the server is to look.
	directory, workspace string
	query                url.Values
	body, out            any
	timeout              time.Duration
	// forever is a call without a time limit but the context's.
	forever bool
}

// do makes a call. The error is an [*Error], or the context's own.
func (c *Client) do(ctx context.Context, r call) error {
	limit := r.timeout
	if limit <= 0 {
		limit = c.o.Timeout
	}
	if !r.forever {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, ErrTimeout)
		defer cancel()
	}
	req, err := c.request(ctx, r)
	if err != nil {
		return &Error{Op: r.op, Err: err}
	}
	started := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		c.o.Logger.DebugContext(ctx, "opencode call failed", "op", r.op, "took", time.Since(started))
		return c.unanswered(ctx, r.op, err)
	}
	defer resp.Body.Close()
	c.o.Logger.DebugContext(ctx, "opencode call", "op", r.op, "status", resp.StatusCode, "took", time.Since(started))
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.o.MaxBody+1))
	if err != nil {
		return c.unanswered(ctx, r.op, err)
	}
	if int64(len(body)) > c.o.MaxBody {
		return &Error{Op: r.op, Status: resp.StatusCode, Err: ErrTooLarge}
	}
	return decode(r, resp, body)
}

func (c *Client) request(ctx context.Context, r call) (*http.Request, error) {
	query := r.query
	if query == nil {
		query = url.Values{}
	}
	if r.directory != "" {
		// The server decodes it twice.
		query.Set("directory", url.PathEscape(r.directory))
	}
	if r.workspace != "" {
		query.Set("workspace", r.workspace)
	}
	var body io.Reader
	if r.body != nil {
		encoded, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(encoded)
	}
	address := c.base.String() + r.path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	c.authorize(req)
	return req, nil
}

func (c *Client) authorize(req *http.Request) {
	if c.o.Password != "" {
		req.SetBasicAuth(c.o.Username, c.o.Password)
	}
}

// unanswered says why there was no answer.
func (c *Client) unanswered(ctx context.Context, op string, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), ErrTimeout):
		err = ErrTimeout
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		err = fmt.Errorf("%w: %w", ErrUnreachable, bare(err))
	}
	return &Error{Op: op, Err: err}
}

// bare is what failed, without the address, whose query is long.
func bare(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
