package opencode

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/workspace"
)

// lacking are the ways in which there is no OpenCode to make a workspace with.
var lacking = map[string]struct {
	connection func(t *testing.T) Connection
	adapter    string
	timeout    time.Duration
	code       workspace.Code
	// words are those by which a person can tell why.
	words []string
}{
	"flag off": {
		connection: func(t *testing.T) Connection { return Attached{withoutFlag(t).client} },
		code:       workspace.ErrProviderUnavailable, words: []string{"OPENCODE_EXPERIMENTAL_WORKSPACES=1"},
	},
	"flag off, the server's own adapter": {
		connection: func(t *testing.T) Connection { return Attached{withoutFlag(t).client} }, adapter: AdapterWorktree,
		code: workspace.ErrProviderUnavailable, words: []string{"OPENCODE_EXPERIMENTAL_WORKSPACES=1"},
	},
	"unknown adapter": {
		connection: func(t *testing.T) Connection { return common(t) }, adapter: "nobodys-adapter",
		code: workspace.ErrProviderUnavailable, words: []string{"nobodys-adapter"},
	},
	"wrong password": {
		connection: func(t *testing.T) Connection {
			c, err := NewClient(withoutPlugin(t).client.URL(), ClientOptions{Password: "wrong"})
			if err != nil {
				t.Fatal(err)
			}
			return Attached{c}
		},
		code: workspace.ErrProviderUnavailable, words: []string{"password"},
	},
	"too old": {
		connection: func(t *testing.T) Connection {
			return connectedTo(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Path != "/global/health" {
					t.Errorf("%s was asked for", r.URL)
				}
				_, _ = w.Write([]byte(`{"healthy":true,"version":"1.3.2"}`))
			})
		},
		code: workspace.ErrProviderUnavailable, words: []string{"1.3.2", minVersion},
	},
	"a web page": {
		connection: func(t *testing.T) Connection {
			return connectedTo(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = w.Write([]byte("<!doctype html><title>x</title>"))
			})
		},
		code: workspace.ErrProviderUnavailable, words: []string{"does not have this call"},
	},
	"never an answer": {
		connection: func(t *testing.T) Connection {
			return connectedTo(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		},
		timeout: 300 * time.Millisecond, code: workspace.ErrTimeout, words: []string{"did not answer in time"},
	},
	"the port is closed": {
		connection: func(t *testing.T) Connection {
			// Nobody listens there, and no test is given it meanwhile.
			c, err := NewClient("http://127.0.0.1:1", ClientOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return Attached{c}
		},
		code: workspace.ErrProviderUnavailable, words: []string{"can't be reached"},
	},
	"not installed": {
		connection: func(t *testing.T) Connection {
			return NewOnDemand(ServerOptions{Binary: "no-such-opencode", StateDir: t.TempDir()})
		},
		code: workspace.ErrProviderUnavailable, words: []string{"no-such-opencode", "npm install"},
	},
}

func TestWithoutOpenCode(t *testing.T) {
	t.Parallel()
	for name, test := range lacking {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connection := test.connection(t)
			settings := func(auto bool) func(*ProviderConfig) {
				return func(cfg *ProviderConfig) {
					cfg.Adapter, cfg.Auto = test.adapter, auto
					if test.timeout > 0 {
						cfg.Timeout = test.timeout
					}
				}
			}
			p := newPlace(t, connection, settings(false))
			before := p.state()
			_, err := p.manager.Create(t.Context(), workspace.CreateOptions{Project: p.dir, ThreadID: "1", Name: "one"})
			if !errors.Is(err, test.code) || workspace.HintOf(err) == "" {
				t.Errorf("got %s, want the code %s and a hint", detail(err), test.code)
			}
			if err != nil && slices.ContainsFunc(test.words, func(word string) bool { return !strings.Contains(detail(err), word) }) {
				t.Errorf("%s says nothing of %q", detail(err), test.words)
			}
			p.nothingLeft(before, connection)

			auto := newPlace(t, connection, settings(true))
			w := auto.create("1", workspace.CreateOptions{Name: "one"})
			if w.Provider != workspace.ProviderGit || w.ProviderID != "" || w.Status != workspace.StatusReady || !hasLine(w.Warnings, test.words...) {
				t.Errorf("made by %q as %q, with the warnings %q", w.Provider, w.ProviderID, w.Warnings)
			}
			if head := auto.run(w.Directory, "symbolic-ref", "--short", "HEAD"); head != w.Branch {
				t.Errorf("HEAD is %s", head)
			}
			if list := auto.run(auto.dir, "worktree", "list"); strings.Count(list, "\n") != 1 {
				t.Errorf("more than one worktree was made:\n%s", list)
			}
			auto.hidden(connection)
		})
	}
}

// nothingLeft fails the test if anything of the failed create of thread 1 is
// still there: in git, in OpenCode, or in the record.
func (p *place) nothingLeft(before string, connection Connection) {
	p.t.Helper()
	if after := p.state(); after != before {
		p.t.Errorf("branches and worktrees were changed from\n%s\nto\n%s", before, after)
	}
	w, err := p.store.Workspace(p.t.Context(), "1")
	if err != nil || w.Status != workspace.StatusError || w.Directory != "" || w.ProviderID != "" {
		p.t.Errorf("the record is %+v, %v", w, err)
	}
	p.hidden(connection)
}

// hidden fails the test where the server without the flag has rows of the
// project, which it doesn't list.
func (p *place) hidden(connection Connection) {
	p.t.Helper()
	a, ok := connection.(Attached)
	if !ok || a.C.URL() != withoutFlag(p.t).client.URL() {
		return
	}
	if ids := withoutFlag(p.t).ids(p.t, p.run(p.dir, "rev-list", "--max-parents=0", "HEAD")); len(ids) > 0 {
		p.t.Errorf("the server has the rows %q", ids)
	}
}

func TestRefusalsOfGit(t *testing.T) {
	t.Parallel()
	s := common(t)
	exact := func(branch string) workspace.Name {
		return workspace.Name{Kind: workspace.NameBranch, Branch: branch, Slug: "x"}
	}
	cases := map[string]struct {
		code    workspace.Code
		name    workspace.Name
		base    string
		prepare func(p *place)
	}{
		"checked out":  {code: workspace.ErrBranchCheckedOut, name: exact("main")},
		"invalid":      {code: workspace.ErrInvalidName, name: exact("bad..name")},
		"an option":    {code: workspace.ErrInvalidName, name: exact("-d")},
		"clashes":      {code: workspace.ErrAlreadyExists, name: exact("main/sub")},
		"unknown base": {code: workspace.ErrTargetNotFound, name: exact("new"), base: "nowhere"},
		"no commits": {code: workspace.ErrNoCommits, name: exact("new"), prepare: func(p *place) {
			p.run(p.dir, "switch", "-q", "--orphan", "other")
			p.run(p.dir, "branch", "-q", "-D", "main")
		}},
	}
	for name, test := range cases {
		for _, adapter := range []string{AdapterThreadtree, AdapterWorktree} {
			t.Run(name+", "+adapter, func(t *testing.T) {
				t.Parallel()
				var git *counting
				p := newPlace(t, s, func(cfg *ProviderConfig) {
					git = &counting{Provider: cfg.Git.(*gitops.Provider)}
					cfg.Git, cfg.Adapter, cfg.Auto = git, adapter, true
				})
				req := p.request(test.name)
				req.Base = test.base
				if test.prepare != nil {
					test.prepare(p)
				}
				before := p.state()
				_, err := p.provider.Create(t.Context(), req)
				if !errors.Is(err, test.code) {
					t.Errorf("got %s, want the code %s", detail(err), test.code)
				}
				if n := git.creates.Load(); n != 1 {
					t.Errorf("git was asked %d times", n)
				}
				if after := p.state(); after != before {
					t.Errorf("branches and worktrees were changed from\n%s\nto\n%s", before, after)
				}
				p.hasRows(client(t, s))
			})
		}
	}
}
