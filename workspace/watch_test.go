package workspace_test

import (
	"context"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// next returns what a watch tells next that want accepts.
func next(t *testing.T, seen <-chan workspace.Seen, want func(workspace.Seen) bool) workspace.Seen {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case s, ok := <-seen:
			if !ok {
				t.Fatal("the watch ended")
			}
			if want(s) {
				return s
			}
		case <-deadline:
			t.Fatal("the watch did not tell of it")
		}
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	p.create(t, "1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen, err := p.Watch(ctx, p.project)
	if err != nil {
		t.Fatal(err)
	}
	first := next(t, seen, func(workspace.Seen) bool { return true })
	if first.Kind != workspace.ChangeCurrent || first.Workspace.ThreadID != "1" {
		t.Errorf("first came %+v", first)
	}
	next(t, seen, func(s workspace.Seen) bool { return s.Kind == workspace.ChangeSynced })

	// Nobody reads while this is made: the create is not held up.
	p.create(t, "2")
	is := func(kind workspace.ChangeKind, status workspace.Status) func(workspace.Seen) bool {
		return func(s workspace.Seen) bool {
			return s.Kind == kind && s.Workspace.ThreadID == "2" && s.Workspace.Status == status
		}
	}
	next(t, seen, is(workspace.ChangeUpdated, workspace.StatusReady))
	// Another process, with a handle of its own on the same file.
	other := build(t, settings{home: p.home, project: p.project})
	if _, err := other.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "2"}); err != nil {
		t.Fatal(err)
	}
	next(t, seen, is(workspace.ChangeDeleted, workspace.StatusReady))
	cancel()
	for range seen {
	}
}

func TestWatchShowsEachStatus(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	seen, err := p.Watch(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	next(t, seen, func(s workspace.Seen) bool { return s.Kind == workspace.ChangeSynced })
	_ = whilePending(t, p, func(context.Context) error {
		next(t, seen, func(s workspace.Seen) bool {
			return s.Kind == workspace.ChangeUpdated && s.Workspace.Status == workspace.StatusPending
		})
		return nil
	})
	next(t, seen, func(s workspace.Seen) bool { return s.Workspace.Status == workspace.StatusReady })
}

func TestAwait(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	waited := make(chan workspace.Workspace, 1)
	_ = whilePending(t, p, func(ctx context.Context) error {
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, err := p.Await(short, "slow")
		wantCode(t, err, workspace.ErrTimeout)
		go func() {
			w, err := p.Await(t.Context(), "slow")
			if err != nil {
				t.Error(err)
			}
			waited <- w
		}()
		return nil
	})
	w := <-waited
	p.wantReady(t, w, w.Branch)
	_, err := p.Await(t.Context(), "nobody")
	wantCode(t, err, workspace.ErrNotFound)
}
