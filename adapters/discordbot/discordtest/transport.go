package discordtest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// APIURL is the base of the REST routes for in-process clients. Nothing listens
// there: [Discord.Transport] answers.
const APIURL = "http://discord.invalid/api/v10"

// Transport returns a transport that carries requests to d in process. It is for
// HTTP clients beside those that [Discord.NewClient] makes; a request that d is
// told to drop fails with an error that wraps io.ErrUnexpectedEOF.
func (d *Discord) Transport() http.RoundTripper { return &transport{d: d} }

type transport struct {
	d       *Discord
	session *session // whose killing ends this transport, or nil
}

// RoundTrip answers the request in the caller's goroutine.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	body, err := io.ReadAll(r.Body)
	if closeErr := r.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	inner := r.Clone(r.Context())
	inner.Body = io.NopCloser(bytes.NewReader(body))
	inner.RequestURI = r.URL.RequestURI()
	w := httptest.NewRecorder()
	if err := t.d.serve(w, inner, t.session); err != nil {
		return nil, err
	}
	response := w.Result()
	response.Request = r
	return response, nil
}

// ServeHTTP answers a REST request over HTTP; a dropped one has its connection
// broken.
func (d *Discord) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := d.serve(w, r, nil); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// routePath is the path of a route: without host, base and version.
func routePath(path string) string {
	if _, after, ok := strings.Cut(path, "/api/v10/"); ok {
		return "/" + after
	}
	return path
}
