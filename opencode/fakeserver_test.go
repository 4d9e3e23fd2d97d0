package opencode

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fakeServer answers as OpenCode does, as far as workspaces are made and
// removed, and can be told to hang. Worktrees of its own it makes with git.
type fakeServer struct {
	t        testing.TB
	web      *httptest.Server
	adapters []string
	// hangs says which calls are never answered, before gets what is to happen
	// before one is carried out.
	hangs  func(r *http.Request) bool
	before func(r *http.Request)
	// git makes a worktree of the project.
	git func(dir string, args ...string) string

	mu     sync.Mutex
	rows   []Workspace
	made   []string // the directories of worktrees whose git has ended
	held   []string
	events []chan string
	// busy are the sessions at work, stubborn whether they go on when stopped.
	busy     map[string]Session
	stubborn bool
	aborted  []string
	free     chan struct{}
}

func newFakeServer(t testing.TB, adapters ...string) *fakeServer {
	t.Helper()
	f := &fakeServer{t: t, adapters: adapters, busy: make(map[string]Session), free: make(chan struct{})}
	f.web = httptest.NewServer(f)
	t.Cleanup(func() {
		close(f.free)
		f.web.CloseClientConnections()
		f.web.Close()
	})
	return f
}

func (f *fakeServer) connection() Connection {
	return Attached{clientOf(f.t, f.web.URL, ClientOptions{})}
}

// name is a call in a few words.
func callName(r *http.Request) string { return r.Method + " " + r.URL.Path }

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.hangs != nil && f.hangs(r) {
		f.mu.Lock()
		f.held = append(f.held, callName(r))
		f.mu.Unlock()
		select {
		case <-r.Context().Done():
		case <-f.free:
		}
		return
	}
	if f.before != nil {
		f.before(r)
	}
	switch path := r.URL.Path; {
	case path == "/global/health":
		f.answer(w, Health{Healthy: true, Version: minVersion})
	case path == "/global/event":
		f.stream(w, r)
	case path == workspaces+"/adapter":
		var list []Adapter
		for _, a := range f.adapters {
			list = append(list, Adapter{Type: a})
		}
		f.answer(w, list)
	case path == workspaces && r.Method == http.MethodGet:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.answer(w, append([]Workspace{}, f.rows...))
	case path == workspaces:
		f.create(w, r)
	case r.Method == http.MethodDelete:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.rows = slices.DeleteFunc(f.rows, func(row Workspace) bool { return row.ID == filepath.Base(path) })
		f.answer(w, struct{}{})
	case path == "/session":
		f.mu.Lock()
		defer f.mu.Unlock()
		list := []Session{}
		for _, s := range f.busy {
			list = append(list, s)
		}
		f.answer(w, list)
	case path == "/session/status":
		f.mu.Lock()
		defer f.mu.Unlock()
		list := make(map[string]map[string]string)
		for id := range f.busy {
			list[id] = map[string]string{"type": "busy"}
		}
		f.answer(w, list)
	case strings.HasSuffix(path, "/abort"):
		f.mu.Lock()
		defer f.mu.Unlock()
		id := filepath.Base(filepath.Dir(path))
		f.aborted = append(f.aborted, id)
		if !f.stubborn {
			delete(f.busy, id)
		}
		f.answer(w, true)
	default:
		f.t.Errorf("%s was asked for", r.URL)
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func (f *fakeServer) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (f *fakeServer) refuse(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"name":"WorkspaceCreateError","data":{"message":%q}}`, message)
}

func (f *fakeServer) create(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		ID, Type, Branch string
		Extra            map[string]string
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		f.t.Error(err)
	}
	place, _ := url.PathUnescape(r.URL.Query().Get("directory"))
	row := Workspace{ID: asked.ID, Type: asked.Type, Branch: asked.Branch, Directory: asked.Extra["path"]}
	if asked.Type == AdapterWorktree {
		row.Directory = filepath.Join(filepath.Dir(place), "made", asked.ID)
	}
	row.Extra, _ = json.Marshal(asked.Extra)
	f.mu.Lock()
	f.rows = append(f.rows, row)
	f.mu.Unlock()
	if asked.Type == AdapterWorktree {
		if strings.Contains(asked.Branch, "..") {
			f.refuse(w, "is not a valid branch name")
			return
		}
		f.git(place, "worktree", "add", "-q", "--detach", row.Directory)
		f.mu.Lock()
		f.made = append(f.made, row.Directory)
		f.mu.Unlock()
		f.tell("worktree.ready", row.Directory)
	}
	f.answer(w, row)
}

// hasMade returns the worktrees that were made to the end.
func (f *fakeServer) hasMade() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.made)
}

// tell tells all who listen.
func (f *fakeServer) tell(kind, directory string) {
	event, _ := json.Marshal(map[string]any{"directory": directory, "payload": map[string]any{"type": kind, "properties": struct{}{}}})
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, to := range f.events {
		to <- string(event)
	}
}

func (f *fakeServer) stream(w http.ResponseWriter, r *http.Request) {
	events := make(chan string, 16)
	f.mu.Lock()
	f.events = append(f.events, events)
	f.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, `data: {"payload":{"type":"server.connected","properties":{}}}`+"\n\n")
	w.(http.Flusher).Flush()
	for {
		select {
		case e := <-events:
			if f.hangs != nil && f.hangs(&http.Request{Method: "EVENT", URL: &url.URL{Path: "worktree.ready"}}) {
				f.mu.Lock()
				f.held = append(f.held, "EVENT worktree.ready")
				f.mu.Unlock()
				continue
			}
			fmt.Fprintf(w, "data: %s\n\n", e)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		case <-f.free:
			return
		}
	}
}

// heldBack are the calls that were never answered.
func (f *fakeServer) heldBack() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.held)
}

func (f *fakeServer) listed() []Workspace {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.rows)
}
