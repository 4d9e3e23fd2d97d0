package opencode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func frame(kind, properties string) string {
	return fmt.Sprintf("data: {\"directory\":\"/r\",\"payload\":{\"type\":%q,\"properties\":%s}}\n\n", kind, properties)
}

// stream answers with events.
func stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(200)
	for _, e := range events {
		io.WriteString(w, e)
	}
	w.(http.Flusher).Flush()
}

// heard listens until an event of type last, and returns all that was told.
func heard(t *testing.T, c *Client, last string) []Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all []Event
	err := c.Events(ctx, func(e Event) {
		all = append(all, e)
		if e.Type == last {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v after %v", err, all)
	}
	return all
}

func kinds(events []Event) string {
	var all []string
	for _, e := range events {
		all = append(all, e.Type)
	}
	return strings.Join(all, " ")
}

func TestEvents(t *testing.T) {
	t.Parallel()
	long := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	c := answering(t, ClientOptions{Password: "p"}, func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "p" || r.URL.Path != "/global/event" || r.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("%v %v", r.URL, r.Header)
		}
		stream(
			w, frame("server.connected", "{}"), frame("sync", "{}"), ": a comment\n\n", "data: no JSON\n\n", "data: [1]\n\n", "data: {}\n\n",
			"data: {\"payload\":{\"type\":\"whole\"}}\r\n\r\n", frame("long", long), frame("last", `{"a":1}`),
		)
		<-r.Context().Done()
	})
	got := heard(t, c, "last")
	if kinds(got) != "server.connected whole long last" {
		t.Fatal(kinds(got))
	}
	if got[1].Directory != "" || string(got[2].Properties) != long || got[3].Directory != "/r" || string(got[3].Properties) != `{"a":1}` {
		t.Errorf("%+v %+v", got[1], got[3])
	}
}

func TestEventsGoOn(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	c := answering(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		switch calls.Add(1) {
		case 1: // It ends, in the middle of an event.
			stream(w, frame("one", "{}"), `data: {"payload":{"type":"half`)
		case 2: // It breaks off.
			stream(w, frame("two", "{}"))
			panic(http.ErrAbortHandler)
		case 3:
			answer(w, 500, "application/json", `{"name":"UnknownError","data":{"message":"x"}}`)
		case 4:
			answer(w, 500, "", "")
		case 5:
			answer(w, 503, "text/plain", "starting")
		case 6: // An event that is too long.
			stream(w, frame("three", "{}"), frame("huge", `"`+strings.Repeat("x", maxEvent)+`"`))
		case 7: // It falls silent.
			stream(w, frame("four", "{}"))
			<-r.Context().Done()
		case 8: // It never answers.
			<-r.Context().Done()
		default:
			stream(w, frame("last", "{}"))
			<-r.Context().Done()
		}
	})
	c.quiet = time.Second
	if got := kinds(heard(t, c, "last")); got != "one two three four last" {
		t.Error(got)
	}
}

// A listener that takes its time is not taken for a server that is silent.
func TestEventsWaitForASlowListener(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	c := answering(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		stream(w, frame("one", "{}"))
		stream(w, frame("last", "{}"))
		<-r.Context().Done()
	})
	c.quiet = 200 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_ = c.Events(ctx, func(e Event) {
		if e.Type == "one" {
			time.Sleep(3 * c.quiet)
		} else {
			cancel()
		}
	})
	if calls.Load() != 1 {
		t.Errorf("connected %d times", calls.Load())
	}
}

func TestEventsEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		kind   string
		want   error
	}{
		"wrong password": {401, "", ErrUnauthorized},
		"forbidden":      {403, "text/html", ErrUnauthorized},
		"web page":       {200, "text/html; charset=utf-8", ErrNoEndpoint},
		"not there":      {404, "application/json", ErrNoEndpoint},
		"elsewhere":      {302, "", ErrNoEndpoint},
	} {
		var calls atomic.Int32
		c := answering(t, ClientOptions{}, func(w http.ResponseWriter, _ *http.Request) {
			// First it is well, so that it ends later too.
			if calls.Add(1) == 1 {
				stream(w, frame("one", "{}"))
				return
			}
			w.Header().Set("Location", "/")
			answer(w, test.status, test.kind, "")
		})
		err := c.Events(t.Context(), func(Event) {})
		if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, test.want) || e.Status != test.status || calls.Load() != 2 {
			t.Errorf("%s: %v after %d calls", name, err, calls.Load())
		}
	}
}

func TestEventsAreResumedWhenTheServerIsBack(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stream(w, frame("server.connected", "{}"))
		<-r.Context().Done()
	})
	first := httptest.NewUnstartedServer(handler)
	// An address whose ports nobody else takes meanwhile, where there is one.
	if l, err := listenAt(t.Context(), "127.0.0.2:0"); err == nil {
		first.Listener.Close()
		first.Listener = l
	}
	first.Start()
	c := clientOf(t, first.URL, ClientOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	connected := make(chan struct{}, 10)
	done := make(chan error, 1)
	go func() { done <- c.Events(ctx, func(Event) { connected <- struct{}{} }) }()
	<-connected
	first.CloseClientConnections()
	first.Close()
	second := httptest.NewUnstartedServer(handler)
	l, err := listenAt(ctx, strings.TrimPrefix(first.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	second.Listener.Close()
	second.Listener = l
	second.Start()
	defer second.Close()
	<-connected
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// listenAt listens at an address that was in use a moment ago.
func listenAt(ctx context.Context, address string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

func TestEventsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 100)
	c := answering(t, ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		stream(w, frame("one", "{}"))
		<-r.Context().Done()
		closed <- struct{}{}
	})
	for range 20 {
		heard(t, c, "one")
	}
	// The server sees each connection closed.
	for range 20 {
		<-closed
	}
}
