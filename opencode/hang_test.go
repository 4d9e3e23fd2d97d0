package opencode

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// fakePlace is a repository with a manager over it, whose OpenCode is a fake.
func fakePlace(t testing.TB, f *fakeServer, change func(*ProviderConfig)) *place {
	t.Helper()
	p := newPlace(t, f.connection(), change)
	f.git = p.run
	return p
}

// TestCreateWithAServerThatHangs has one call of those that a create makes
// never be answered: the whole create waits once for it, and once more to clear
// away, and git makes the workspace.
func TestCreateWithAServerThatHangs(t *testing.T) {
	t.Parallel()
	for adapter, calls := range map[string][]string{
		AdapterThreadtree: {"GET /global/health", "GET " + workspaces + "/adapter", "POST " + workspaces, "GET " + workspaces},
		AdapterWorktree: {
			"GET /global/health", "GET " + workspaces + "/adapter", "POST " + workspaces, "GET " + workspaces,
			"GET /global/event", "EVENT worktree.ready",
		},
	} {
		for _, hanging := range append(calls, "all") {
			for _, auto := range []bool{true, false} {
				name := adapter + ", " + hanging + map[bool]string{true: ", auto", false: ""}[auto]
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					f := newFakeServer(t, adapter)
					f.hangs = func(r *http.Request) bool { return hanging == "all" || callName(r) == hanging }
					p := fakePlace(t, f, func(cfg *ProviderConfig) { cfg.Auto, cfg.Timeout = auto, 400*time.Millisecond })
					w, err := p.manager.Create(t.Context(), workspace.CreateOptions{Project: p.dir, ThreadID: "1", Name: "one"})
					switch {
					case auto && (err != nil || w.Provider != workspace.ProviderGit || w.ProviderID != "" || w.Status != workspace.StatusReady):
						t.Errorf("%+v, %s", w, detail(err))
					case auto && !hasLine(w.Warnings, "git made this workspace", "did not answer in time"):
						t.Errorf("it isn't said why: %q", w.Warnings)
					case !auto && (!errors.Is(err, workspace.ErrTimeout) || !strings.Contains(err.Error(), "did not answer in time")):
						t.Errorf("got %s", detail(err))
					}
					if held := f.heldBack(); len(held) > 2 {
						t.Errorf("it was waited for %d times: %q", len(held), held)
					}
				})
			}
		}
	}
}

// TestAllowance has waits use up what there is, whatever each of them may last.
func TestAllowance(t *testing.T) {
	t.Parallel()
	a := newAllowance(time.Hour)
	deadline := func(ctx context.Context) time.Duration {
		t.Helper()
		at, ok := ctx.Deadline()
		if !ok {
			t.Fatal("there is no limit")
		}
		return time.Until(at)
	}
	ctx, done := a.wait(t.Context())
	if left := deadline(ctx); left > time.Hour || left < 50*time.Minute {
		t.Errorf("%s are left of an hour", left)
	}
	done()
	a.left = time.Second
	ctx, done = a.wait(t.Context())
	if left := deadline(ctx); left > time.Second {
		t.Errorf("%s are left of a second", left)
	}
	done()
	done() // once more changes nothing
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	ctx, done = a.tidy(cancelled)
	if left := deadline(ctx); ctx.Err() != nil || left > maxSpare+time.Second {
		t.Errorf("%s are left to tidy up: %v", left, ctx.Err())
	}
	done()
	a.spare = 0
	ctx, done = a.tidy(t.Context())
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), ErrTimeout) {
		t.Errorf("it ended with %v", context.Cause(ctx))
	}
	done()
	ctx, done = a.wait(t.Context())
	<-ctx.Done()
	done()
	// Without a create before it there is an allowance of its own.
	p := &Provider{cfg: ProviderConfig{Timeout: time.Minute}, allowed: make(map[string]*allowance)}
	if given := p.allow("x"); p.allowedFor("x") != given || p.allowedFor("x") == given {
		t.Error("the clearing after a create has not what that left over")
	}
}
