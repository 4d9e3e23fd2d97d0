//go:build unix

package opencode

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// portStranger listens on a port: it answers as a server would, to anybody.
func portStranger(t *testing.T) (port int, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"healthy":true,"version":"1.18.33"}`))
	}))
	t.Cleanup(web.Close)
	return web.Listener.Addr().(*net.TCPAddr).Port, asked
}

// TestPortTaken has somebody else listen on the port that was chosen, before
// the server does.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	for name, free := range map[string]int{"once": 1, "always": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port, asked := portStranger(t)
			var tries atomic.Int32
			o := fakeOptions(t.TempDir(), "serve")
			o.port = func(ctx context.Context) (int, error) {
				if int(tries.Add(1)) <= free {
					return port, nil
				}
				return freePort(ctx)
			}
			s := startFake(t, o)
			c, err := s.Client(t.Context())
			switch {
			case name == "once" && (err != nil || strings.HasSuffix(c.URL(), ":"+strconv.Itoa(port))):
				t.Errorf("%v", err)
			case name == "once":
				if _, err := c.Health(t.Context()); err != nil {
					t.Error(err)
				}
			case !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "somebody else listens"):
				t.Errorf("%v, %v", c, err)
			}
			if name == "always" {
				p := newPlace(t, s, func(cfg *ProviderConfig) { cfg.Auto = true })
				if w := p.create("1", workspace.CreateOptions{Name: "one"}); w.Provider != workspace.ProviderGit || !hasLine(w.Warnings, "somebody else listens") {
					t.Errorf("%+v", w)
				}
			}
			if n := asked.Load(); n > 0 {
				t.Errorf("the stranger was asked %d times, with the password", n)
			}
		})
	}
}

// TestServerThatListensElsewhere has the program say another port than it was
// told.
func TestServerThatListensElsewhere(t *testing.T) {
	t.Parallel()
	port, asked := portStranger(t)
	o := fakeOptions(t.TempDir(), "elsewhere "+strconv.Itoa(port))
	s := startFake(t, o)
	if c, err := s.Client(t.Context()); !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "listens on port "+strconv.Itoa(port)) {
		t.Errorf("%v, %v", c, err)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the stranger was asked %d times, with the password", n)
	}
}

// TestReadyLine has the line come in pieces, among others, and in each form
// that it has.
func TestReadyLine(t *testing.T) {
	t.Parallel()
	for text, port := range map[string]int{
		"opencode server listening on http://127.0.0.1:15050\n":                                15050,
		"Warning: no password.\nopencode server listening on http://localhost:7\n":             7,
		"opencode server listening on http://::1:15051\r\n":                                    15051,
		"opencode server listening on http://127.0.0.1:15050":                                  0,
		"the opencode server was listening on http://127.0.0.1:1\n":                            0,
		strings.Repeat("x", 3*tailSize) + "\nopencode server listening on http://0.0.0.0:12\n": 12,
	} {
		for _, size := range []int{1, 7, len(text)} {
			out := newTail(io.Discard)
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				_, _ = out.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			if got := out.listens(); got != port {
				t.Errorf("%d bytes at a time, %q: port %d, want %d", size, text, got, port)
			}
		}
	}
}
