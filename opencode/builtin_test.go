package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// TestServerWithoutThePlugin has the provider find the server's own adapter.
func TestServerWithoutThePlugin(t *testing.T) {
	t.Parallel()
	s := withoutPlugin(t)
	c := s.client
	t.Run("typed name and base", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, Attached{c}, nil)
		base := p.run(p.dir, "rev-parse", "HEAD")
		p.write("later", "x\n")
		p.run(p.dir, "add", ".")
		p.run(p.dir, "commit", "-q", "-m", "later")
		w := p.create("1", workspace.CreateOptions{Name: "typed", Base: base})
		if w.Provider != workspace.ProviderOpenCode || w.BaseCommit != base || !strings.Contains(w.Directory, filepath.Join(s.dir, "data")) || len(w.Warnings) > 0 {
			t.Errorf("%+v", w)
		}
		if head := p.run(w.Directory, "rev-parse", w.Branch); head != base || !absent(filepath.Join(w.Directory, "later")) {
			t.Errorf("the branch is at %s, not at %s", head, base)
		}
		p.hasRows(c, w)
		session, messages := p.said(c, w, "a word")
		if lines := p.recovered(); len(lines) > 0 {
			t.Errorf("said %q", lines)
		}
		p.write(filepath.Join(w.Directory, "note"), "kept\n")
		if d := p.delete("1", true); len(d.Removed.Left) > 0 || !absent(w.Directory) {
			t.Errorf("left: %q", d.Removed.Left)
		}
		p.hasRows(c)
		p.bound(c, session, "", messages)
		back := p.restore("1")
		if content, err := os.ReadFile(filepath.Join(back.Directory, "note")); string(content) != "kept\n" || !hasLine(back.Warnings, "plugin") {
			t.Errorf("the note is %q: %v; %q", content, err, back.Warnings)
		}
		p.bound(c, session, "", messages)
	})
	t.Run("the conversation goes on after a restore", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, Attached{c}, nil)
		a := p.agent(Attached{c})
		p.create("1", workspace.CreateOptions{Name: "one"})
		was := p.create("2", workspace.CreateOptions{Name: "two"})
		p.create("3", workspace.CreateOptions{Name: "three"})
		p.ask(a, "1", "the word is pear")
		p.ask(a, "2", "the word is plum")
		before, err := p.store.Session(t.Context(), "1")
		if err != nil {
			t.Fatal(err)
		}
		p.delete("1", false)
		p.delete("2", false)
		p.delete("3", false)
		// One comes back to its place and one to another; one has no session yet.
		if err := os.MkdirAll(was.Directory, 0o755); err != nil {
			t.Fatal(err)
		}
		p.write(filepath.Join(was.Directory, "note"), "somebody's\n")
		one, two, three := p.restore("1"), p.restore("2"), p.restore("3")
		if two.Directory == was.Directory {
			t.Errorf("the place %s is not taken", was.Directory)
		}
		for thread, w := range map[string]workspace.Workspace{"1": one, "2": two, "3": three} {
			for range 2 {
				p.ask(a, thread, `call write {"filePath":"made.txt","content":"made\n"}`)
				if err := os.Remove(filepath.Join(w.Directory, "made.txt")); err != nil {
					t.Error(err)
				}
			}
		}
		after, err := p.store.Session(t.Context(), "1")
		if err != nil || after.ID != before.ID {
			t.Errorf("%+v became %+v, %v", before, after, err)
		}
		if messages := p.messages(c, after.ID); !strings.Contains(messages, "pear") || !strings.Contains(messages, "made.txt") {
			t.Errorf("the session has %s", messages)
		}
		// It says so, and is no failure.
		if lines := p.recovered(); len(lines) != 3 || !hasLine(lines, one.Directory, "no threadtree plugin", "all the same") {
			t.Errorf("said %q", lines)
		}
	})
	t.Run("existing branch", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, Attached{c}, nil)
		p.run(p.dir, "switch", "-q", "-c", "feature")
		p.write("work", "x\n")
		p.run(p.dir, "add", ".")
		p.run(p.dir, "commit", "-q", "-m", "work")
		tip := p.run(p.dir, "rev-parse", "HEAD")
		p.run(p.dir, "switch", "-q", "main")
		w := p.create("1", workspace.CreateOptions{Branch: "feature"})
		if w.BranchCreated || w.Provider != workspace.ProviderOpenCode || absent(filepath.Join(w.Directory, "work")) {
			t.Errorf("%+v", w)
		}
		p.hasRows(c, w)
		p.delete("1", false)
		p.hasRows(c)
		if now := p.run(p.dir, "rev-parse", "feature"); now != tip {
			t.Errorf("the branch is at %s, was at %s", now, tip)
		}
	})
	t.Run("hooks in the tree", func(t *testing.T) {
		t.Parallel()
		for _, auto := range []bool{false, true} {
			p := newPlace(t, Attached{c}, func(cfg *ProviderConfig) { cfg.Auto = auto })
			ran := filepath.Join(p.root, "ran")
			if err := os.MkdirAll(filepath.Join(p.dir, ".githooks"), 0o755); err != nil {
				t.Fatal(err)
			}
			hook := filepath.Join(p.dir, ".githooks", "post-checkout")
			p.write(hook, "#!/bin/sh\ntouch "+ran+"\n")
			if err := os.Chmod(hook, 0o755); err != nil {
				t.Fatal(err)
			}
			p.run(p.dir, "add", ".")
			p.run(p.dir, "commit", "-q", "-m", "hooks")
			p.run(p.dir, "config", "core.hooksPath", ".githooks")
			before := p.state()
			w, err := p.manager.Create(t.Context(), workspace.CreateOptions{Project: p.dir, ThreadID: "1", Name: "one"})
			switch {
			case auto && (err != nil || w.Provider != workspace.ProviderGit || !hasLine(w.Warnings, "hooks")):
				t.Errorf("%+v, %s", w, detail(err))
			case !auto && !errors.Is(err, workspace.ErrPermissionDenied):
				t.Errorf("got %s", detail(err))
			case !auto:
				p.nothingLeft(before, Attached{c})
			}
			if !absent(ran) {
				t.Error("the repository's hook was run")
			}
			p.hasRows(c)
		}
	})
}

// between has a real server's answers changed on their way.
type between struct {
	to   http.RoundTripper
	edit func(req *http.Request, next http.RoundTripper) (*http.Response, error)
}

func (b between) RoundTrip(req *http.Request) (*http.Response, error) { return b.edit(req, b.to) }

// TestCreateByTheServerThatFails has the answer of a create that the server
// carries out never come, or come as an error.
func TestCreateByTheServerThatFails(t *testing.T) {
	t.Parallel()
	s := withoutPlugin(t)
	creates := func(req *http.Request) bool { return req.Method == http.MethodPost && req.URL.Path == workspaces }
	for name, edit := range map[string]func(req *http.Request, next http.RoundTripper) (*http.Response, error){
		"no answer": func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
			if !creates(req) {
				return next.RoundTrip(req)
			}
			resp, err := next.RoundTrip(req.Clone(context.WithoutCancel(req.Context())))
			if err == nil && resp.StatusCode == http.StatusOK {
				resp.Body.Close()
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			return resp, err
		},
		"the connection breaks": func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if err == nil && creates(req) && resp.StatusCode == http.StatusOK {
				resp.Body.Close()
				return nil, errors.New("broken")
			}
			return resp, err
		},
	} {
		for _, auto := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", auto", false: ""}[auto], func(t *testing.T) {
				t.Parallel()
				c, err := NewClient(s.client.URL(), ClientOptions{Password: "secret", Transport: between{http.DefaultTransport, edit}})
				if err != nil {
					t.Fatal(err)
				}
				p := newPlace(t, Attached{c}, func(cfg *ProviderConfig) { cfg.Auto, cfg.Timeout = auto, 5*time.Second })
				before := p.state()
				w, err := p.manager.Create(t.Context(), workspace.CreateOptions{Project: p.dir, ThreadID: "1", Name: "one"})
				// Where the server was too busy, it is cleared by that.
				if lines := p.recovered(); len(lines) > 0 && !hasLine(w.Warnings, "reconciled") && !hasLine([]string{w.Error}, "reconciled") {
					t.Errorf("said %q", lines)
				}
				if auto {
					if err != nil || w.Provider != workspace.ProviderGit || w.ProviderID != "" {
						t.Errorf("%+v, %s", w, detail(err))
					}
					if list := p.run(p.dir, "worktree", "list"); strings.Count(list, "\n") != 1 {
						t.Errorf("more than one worktree is left:\n%s", list)
					}
				} else {
					if err == nil {
						t.Error("no error")
					}
					p.nothingLeft(before, Attached{c})
				}
				p.hasRows(s.client)
				content, _ := filepath.Glob(filepath.Join(s.dir, "data", "opencode", "worktree", p.run(p.dir, "rev-list", "--max-parents=0", "HEAD"), "*"))
				if len(content) > 0 {
					t.Errorf("the server's folder has %q", content)
				}
			})
		}
	}
}

// TestListenerEnds has the stream of events end before the worktree is whole.
func TestListenerEnds(t *testing.T) {
	t.Parallel()
	var once sync.Once
	c := connectedTo(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		once.Do(func() {
			event, _ := json.Marshal(map[string]any{"payload": map[string]any{"type": "server.connected", "properties": struct{}{}}})
			_, _ = w.Write([]byte("data: " + string(event) + "\n\n"))
			event, _ = json.Marshal(map[string]any{"directory": "/w", "payload": map[string]any{
				"type": "worktree.failed", "properties": map[string]string{"message": "no room"},
			}})
			_, _ = w.Write([]byte("data: " + string(event) + "\n\n"))
		})
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	l, err := listen(t.Context(), c.(Attached).C)
	if err != nil {
		t.Fatal(err)
	}
	defer l.stop()
	if err := l.wait(t.Context(), "/w"); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.wait(ctx, "/other"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
