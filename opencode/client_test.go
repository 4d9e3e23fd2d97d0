package opencode

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// answering returns a client of a server that answers with handler.
func answering(t testing.TB, o ClientOptions, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return clientOf(t, server.URL, o)
}

func clientOf(t testing.TB, address string, o ClientOptions) *Client {
	t.Helper()
	c, err := NewClient(address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

func answer(w http.ResponseWriter, status int, kind, body string) {
	if kind != "" {
		w.Header().Set("Content-Type", kind)
	} else {
		w.Header()["Content-Type"] = nil
	}
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func TestClientSendsThePasswordAndNeverLogsIt(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, test := range []struct {
		name, userinfo string
		o              ClientOptions
		user, password string
	}{
		{name: "option", o: ClientOptions{Password: "s3cret"}, user: "opencode", password: "s3cret"},
		{name: "user option", o: ClientOptions{Username: "u", Password: "s3cret"}, user: "u", password: "s3cret"},
		{name: "address", userinfo: "me:s3cret%40@", user: "me", password: "s3cret@"},
		{name: "user in the address", userinfo: "me@", o: ClientOptions{Password: "s3cret"}, user: "me", password: "s3cret"},
		{name: "option over address", userinfo: "me:other@", o: ClientOptions{Username: "u", Password: "s3cret"}, user: "u", password: "s3cret"},
	} {
		var got [3]any
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, password, ok := r.BasicAuth()
			got = [3]any{user, password, ok}
			answer(w, 401, "", "")
		}))
		test.o.Logger = logger
		c := clientOf(t, strings.Replace(server.URL, "://", "://"+test.userinfo, 1), test.o)
		_, err := c.Health(t.Context())
		if want := [3]any{test.user, test.password, true}; got != want {
			t.Errorf("%s: sent %v, not %v", test.name, got, want)
		}
		events := c.Events(t.Context(), func(Event) {})
		if !errors.Is(err, ErrUnauthorized) || !errors.Is(events, ErrUnauthorized) {
			t.Errorf("%s: %v, %v", test.name, err, events)
		}
		server.Close()
		_, gone := c.Health(t.Context())
		for _, text := range []string{err.Error(), events.Error(), gone.Error(), c.URL()} {
			if strings.Contains(text, "s3cret") {
				t.Errorf("%s: %s tells the password", test.name, text)
			}
		}
	}
	if !strings.Contains(log.String(), "look at the server") || strings.Contains(log.String(), "s3cret") {
		t.Errorf("the log is\n%s", log.String())
	}
}

func TestNoPasswordIsSentWithoutOne(t *testing.T) {
	t.Parallel()
	c := answering(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		if _, ok := r.Header["Authorization"]; ok {
			t.Error("credentials were sent")
		}
		answer(w, 200, "application/json", `{"healthy":true,"version":"1.2.3"}`)
	})
	if h, err := c.Health(t.Context()); err != nil || h != (Health{true, "1.2.3"}) {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"", "localhost:4096", "ftp://localhost", "http://", "http:///x", "http://a b", "opencode:s3cret@localhost:4096", "http://u:s3cret@ h", "x://u:a@s3cret@h",
		"u:s3cret@h?auth_token=s3cret",
	} {
		if _, err := NewClient(address, ClientOptions{}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", address, err)
		}
	}
	c := clientOf(t, "http://u:p@localhost:4096/base/?auth_token=x#y", ClientOptions{})
	if got := c.URL(); got != "http://localhost:4096/base" {
		t.Error(got)
	}
}

func TestDirectoryArrivesAsItIs(t *testing.T) {
	t.Parallel()
	var got string
	c := answering(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		// As the server does it: what the query gives is decoded once more,
		// unless that fails.
		got = r.URL.Query().Get("directory")
		if again, err := url.PathUnescape(got); err == nil {
			got = again
		}
		answer(w, 200, "application/json", "[]")
	})
	for _, directory := range []string{"/r", "/r/%41 x", "/100% x", "/a b", "/a+b", "/é日", "/a?b#c&d=e", "/%2541", "/tab\there", `/q"'\`} {
		if _, err := c.Workspaces(t.Context(), directory); err != nil || got != directory {
			t.Errorf("%q arrived as %q, %v", directory, got, err)
		}
	}
}

func TestIDsAreEscaped(t *testing.T) {
	t.Parallel()
	var got string
	c := answering(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.Path
		if where := r.URL.Query(); len(where) > 1 || len(where) == 1 && !where.Has("directory") {
			t.Errorf("query %q", r.URL.RawQuery)
		}
		answer(w, 204, "", "")
	})
	for _, id := range []string{"ses_1", "a/b", "../x", "a?b=c", "a#b", "a%41", "é 日", "a;b", "a+b"} {
		if err := c.AbortSession(t.Context(), id); err != nil || got != "/session/"+id+"/abort" {
			t.Errorf("%q: %q, %v", id, got, err)
		}
		if err := c.RemoveWorkspace(t.Context(), "", id); err != nil || got != "/experimental/workspace/"+id {
			t.Errorf("%q: %q, %v", id, got, err)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	const js = "application/json; charset=utf-8"
	const session = `{"id":"ses_1","directory":"/r"}`
	for name, test := range map[string]struct {
		status        int
		kind, body    string
		is            error
		errName, text string
	}{
		"well":                  {200, js, session, nil, "", ""},
		"created":               {201, js, session, nil, "", ""},
		"refused":               {400, js, `{"name":"WorkspaceCreateError","data":{"message":"fatal:\n no"}}`, nil, "WorkspaceCreateError", "fatal:\n no"},
		"bad request":           {400, js, `{"name":"BadRequest","data":{"message":"Missing key","kind":"Payload"}}`, nil, "BadRequest", "Missing key"},
		"tagged":                {400, js, `{"_tag":"SomeError","message":"no"}`, nil, "SomeError", "no"},
		"error text":            {400, js, `{"error":"no"}`, nil, "", "no"},
		"another form":          {400, js, `[1]`, nil, "", "[1]"},
		"no JSON":               {400, js, `{`, nil, "", "{"},
		"empty":                 {400, "", "", nil, "", ""},
		"unknown":               {500, js, `{"name":"UnknownError","data":{"message":"Unexpected server error.","ref":"err_1"}}`, nil, "UnknownError", "Unexpected server error."},
		"no session":            {404, js, `{"name":"NotFoundError","data":{"message":"Session not found: ses_1"}}`, ErrNotFound, "NotFoundError", "Session not found: ses_1"},
		"not found by its name": {500, js, `{"name":"NotFoundError","data":{"message":"gone"}}`, ErrNotFound, "NotFoundError", "gone"},
		"bare 404":              {404, "", "", ErrNotFound, "", ""},
		"no workspace":          {500, "text/plain;charset=UTF-8", "Workspace not found: wrk_nope", ErrNotFound, "", "Workspace not found: wrk_nope"},
		"wrong password":        {401, "", "", ErrUnauthorized, "", ""},
		"wrong password, told":  {401, js, `{"_tag":"UnauthorizedError","message":"Authentication required"}`, ErrUnauthorized, "", ""},
		"forbidden":             {403, "text/html", "<html>", ErrUnauthorized, "", ""},
		"web page":              {200, "text/html", "<!doctype html>", ErrNoEndpoint, "", ""},
		"web page, not found":   {404, "text/html; charset=utf-8", "<!doctype html>", ErrNoEndpoint, "", ""},
		"empty 500":             {500, "", "", ErrNoEndpoint, "", ""},
		"handed on":             {500, js, `{"name":"UnknownError","data":{"message":"Error: Unable to connect. Is the computer able to access the url?"}}`, ErrNoEndpoint, "UnknownError", "Error: Unable to connect. Is the computer able to access the url?"},
		"redirect":              {302, "", "", ErrNoEndpoint, "", ""},
		"redirect with JSON":    {307, js, "{}", ErrNoEndpoint, "", ""},
		"text":                  {200, "text/plain", session, ErrMalformed, "", ""},
		"no content":            {204, "", "", ErrMalformed, "", ""},
		"broken JSON":           {200, js, `{"id":`, ErrMalformed, "", ""},
		"JSON and more":         {200, js, session + "x", ErrMalformed, "", ""},
		"wrong type":            {200, js, `{"id":1}`, ErrMalformed, "", ""},
		"list for an object":    {200, js, `[]`, ErrMalformed, "", ""},
		"null":                  {200, js, "null\n", ErrMalformed, "", ""},
		"no id":                 {200, js, "{}", ErrMalformed, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := answering(t, ClientOptions{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				answer(w, test.status, test.kind, test.body)
			})
			s, err := c.Session(t.Context(), "ses_1")
			if test.status < 300 && test.is == nil {
				if err != nil || s.ID != "ses_1" || s.Directory != "/r" {
					t.Errorf("%+v, %v", s, err)
				}
				return
			}
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%T %v", err, err)
			}
			if e.Status != test.status || e.Name != test.errName || e.Message != test.text || e.Op != "get session" {
				t.Errorf("%+v", e)
			}
			for _, sentinel := range []error{ErrUnreachable, ErrUnauthorized, ErrNoEndpoint, ErrNotFound, ErrTimeout, ErrTooLarge, ErrMalformed} {
				if errors.Is(err, sentinel) != (sentinel == test.is) {
					t.Errorf("%v: is %q: %v", err, sentinel, errors.Is(err, sentinel))
				}
			}
		})
	}
}

// A call whose answer isn't needed takes any, but not the web page.
func TestAnswersThatAreNotNeeded(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]error{"application/json": nil, "": nil, "text/html": ErrNoEndpoint} {
		c := answering(t, ClientOptions{}, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, kind, "null") })
		if err := c.RemoveWorkspace(t.Context(), "/r", "wrk_1"); !errors.Is(err, want) {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

func TestAnswersThatAreTooLong(t *testing.T) {
	t.Parallel()
	body := `{"id":"ses_1","title":"` + strings.Repeat("x", 1000) + `"}`
	for limit, want := range map[int64]error{int64(len(body)): nil, int64(len(body)) - 1: ErrTooLarge} {
		c := answering(t, ClientOptions{MaxBody: limit}, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, "application/json", body) })
		if _, err := c.Session(t.Context(), "ses_1"); !errors.Is(err, want) {
			t.Errorf("%d: %v", limit, err)
		}
	}
	// One without an end is not waited for.
	c := answering(t, ClientOptions{MaxBody: 1000}, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(" ", 1000)); err != nil {
				return
			}
		}
	})
	if _, err := c.Session(t.Context(), "ses_1"); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	// Of a long refusal the beginning is told.
	c = answering(t, ClientOptions{}, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 500, "text/plain", strings.Repeat("é", 5000))
	})
	_, err := c.Session(t.Context(), "ses_1")
	if e, ok := errors.AsType[*Error](err); !ok || len(e.Message) > 2100 || !strings.HasPrefix(e.Message, "ééé") {
		t.Errorf("%v", err)
	}
}

// hanging is a server that answers when it is closed, or begins to answer.
func hanging(t *testing.T, begin bool) (address string, called chan struct{}) {
	called = make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Until it is read, nothing tells that the caller has gone.
		io.Copy(io.Discard, r.Body)
		if begin {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"id":`)
			w.(http.Flusher).Flush()
		}
		called <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return server.URL, called
}

func TestTimeLimits(t *testing.T) {
	t.Parallel()
	for _, begin := range []bool{false, true} {
		address, _ := hanging(t, begin)
		c := clientOf(t, address, ClientOptions{Timeout: 50 * time.Millisecond, CreateTimeout: 60 * time.Millisecond})
		if _, err := c.Session(t.Context(), "ses_1"); !errors.Is(err, ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: %v", begin, err)
		}
		if _, err := c.CreateWorkspace(t.Context(), "/r", NewWorkspace{Type: "x"}); !errors.Is(err, ErrTimeout) {
			t.Errorf("%v: %v", begin, err)
		}
		// The caller's limit is the caller's.
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		c = clientOf(t, address, ClientOptions{})
		if _, err := c.Session(ctx, "ses_1"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrTimeout) {
			t.Errorf("%v: %v", begin, err)
		}
		if _, err := c.Prompt(ctx, "ses_1", Prompt{Text: "x"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: %v", begin, err)
		}
		cancel()
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for _, begin := range []bool{false, true} {
		address, called := hanging(t, begin)
		c := clientOf(t, address, ClientOptions{})
		for name, do := range map[string]func(context.Context) error{
			"get":    func(ctx context.Context) error { _, err := c.Session(ctx, "ses_1"); return err },
			"prompt": func(ctx context.Context) error { _, err := c.Prompt(ctx, "ses_1", Prompt{}); return err },
			"events": func(ctx context.Context) error { return c.Events(ctx, func(Event) {}) },
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-called
				cancel(errors.New("enough"))
			}()
			if err := do(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %v: %v", name, begin, err)
			}
		}
	}
}

func TestNothingThatSpeaksHTTP(t *testing.T) {
	t.Parallel()
	listen := func(serve func(net.Conn)) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go serve(conn)
			}
		}()
		return "http://" + l.Addr().String()
	}
	port, err := freePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	for name, test := range map[string]struct {
		address string
		want    error
	}{
		"refused":  {fmt.Sprintf("http://127.0.0.1:%d", port), ErrUnreachable},
		"garbage":  {listen(func(c net.Conn) { io.WriteString(c, "SSH-2.0-x\r\n"); c.Close() }), ErrUnreachable},
		"hangs up": {listen(func(c net.Conn) { c.Close() }), ErrUnreachable},
		"half": {listen(func(c net.Conn) {
			cut(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{")
		}), ErrUnreachable},
		"silent":     {listen(func(c net.Conn) { io.Copy(io.Discard, c) }), ErrTimeout},
		"TLS":        {"https" + strings.TrimPrefix(listen(func(c net.Conn) { cut(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }), "http"), ErrUnreachable},
		"untrusted":  {secure.URL, ErrUnreachable},
		"no such":    {"http://opencode.invalid", ErrUnreachable},
		"no network": {"http://[::ffff:0:0:0]:1", ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clientOf(t, test.address, ClientOptions{Timeout: 300 * time.Millisecond})
			if test.want == ErrUnreachable {
				c = clientOf(t, test.address, ClientOptions{})
			}
			_, err := c.Health(t.Context())
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Status != 0 || !errors.Is(err, test.want) {
				t.Errorf("%v", err)
			}
		})
	}
	// It is TLS itself that is fine.
	c := clientOf(t, secure.URL, ClientOptions{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}})
	if _, err := c.Health(t.Context()); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// cut reads a request, answers it and hangs up.
func cut(c net.Conn, answer string) {
	c.Read(make([]byte, 4096))
	io.WriteString(c, answer)
	c.Close()
}

func TestClientIsForManyAtOnce(t *testing.T) {
	t.Parallel()
	c := answering(t, ClientOptions{Password: "x", Logger: slog.New(slog.DiscardHandler)}, func(w http.ResponseWriter, r *http.Request) {
		id := strings.TrimPrefix(r.URL.Path, "/session/")
		answer(w, 200, "application/json", fmt.Sprintf(`{"id":%q}`, id))
	})
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			id := fmt.Sprint("ses_", i)
			if s, err := c.Session(t.Context(), id); err != nil || s.ID != id {
				t.Errorf("%s: %+v, %v", id, s, err)
			}
			if _, err := c.UpdateSession(t.Context(), id, SessionChange{Title: id}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func FuzzDecode(f *testing.F) {
	f.Add(200, "application/json", []byte(`{"id":"ses_1"}`))
	f.Add(200, "application/json", []byte(`null`))
	f.Add(200, "text/html", []byte(`<html>`))
	f.Add(400, "application/json", []byte(`{"name":"BadRequest","data":{"message":"x"}}`))
	f.Add(400, "application/json", []byte(`{"_tag":"E","message":"x"}`))
	f.Add(404, "text/plain", []byte("\xff"))
	f.Add(500, "", []byte(nil))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		resp := &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}}
		var s Session
		err := decode(call{op: "get session", out: &s}, resp, body)
		well := status >= 200 && status < 300
		if err == nil {
			if !well || s.ID == "" {
				t.Fatalf("%d %q %q is taken for %+v", status, kind, body, s)
			}
			return
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Status != status || len(e.Message) > 2100 && !bytes.Contains(body, []byte("message")) && !bytes.Contains(body, []byte("error")) {
			t.Fatalf("%T %v", err, err)
		}
		if well && e.Err == nil {
			t.Fatalf("%d is taken for a refusal: %v", status, err)
		}
		if strings.Contains(err.Error(), "\n") && !errors.Is(err, ErrMalformed) {
			t.Fatalf("more than a line: %q", err)
		}
	})
}
