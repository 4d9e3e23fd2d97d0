package opencode

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// TestDeleteStopsTheAgent has a session be at work in a workspace that is to
// go.
func TestDeleteStopsTheAgent(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, AdapterThreadtree)
	p := fakePlace(t, f, func(cfg *ProviderConfig) { cfg.Timeout = 20 * time.Second })
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	other := Session{ID: "ses_other", Directory: p.dir}
	mine := Session{ID: "ses_mine", Directory: w.Directory, WorkspaceID: w.ProviderID}
	works := func(stubborn bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.busy, f.aborted, f.stubborn = map[string]Session{mine.ID: mine, other.ID: other}, nil, stubborn
	}
	stopped := func() []string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Compact(slices.Clone(f.aborted))
	}
	// A refusal leaves the turn alone.
	works(false)
	note := filepath.Join(w.Directory, "note")
	p.write(note, "x\n")
	if _, err := p.manager.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"}); !errors.Is(err, workspace.ErrDirtyWorktree) {
		t.Errorf("got %s", detail(err))
	}
	if ids := stopped(); len(ids) > 0 {
		t.Errorf("stopped %q", ids)
	}
	if err := os.Remove(note); err != nil {
		t.Fatal(err)
	}
	// One that can't be stopped keeps its workspace, without force.
	works(true)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := p.manager.Delete(ctx, workspace.DeleteOptions{ThreadID: "1"}); !errors.Is(err, workspace.ErrLocked) ||
		!strings.Contains(err.Error(), "could not be stopped") || workspace.OptionOf(err) != workspace.OptionForce {
		t.Errorf("got %s", detail(err))
	}
	if ids := stopped(); absent(w.Directory) || !slices.Equal(ids, []string{mine.ID}) {
		t.Errorf("stopped %q", ids)
	}
	works(false)
	d := p.delete("1", false)
	if ids := stopped(); !slices.Equal(ids, []string{mine.ID}) {
		t.Errorf("stopped %q", ids)
	}
	if !hasLine(d.Removed.Warnings, "at work", "stopped") || len(d.Removed.Left) > 0 || !absent(w.Directory) {
		t.Errorf("%+v", d.Removed)
	}
	if rows := f.listed(); len(rows) > 0 {
		t.Errorf("%+v", rows)
	}
}

// TestDeleteOfWhatIsNotListed says that a server has dropped it, or hides it.
func TestDeleteOfWhatIsNotListed(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, AdapterThreadtree)
	p := fakePlace(t, f, nil)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	f.mu.Lock()
	f.rows = nil
	f.mu.Unlock()
	if d := p.delete("1", false); !absent(w.Directory) || !hasLine(d.Removed.Left, w.ProviderID, "did not list", "OPENCODE_EXPERIMENTAL_WORKSPACES=1") {
		t.Errorf("left: %q", d.Removed.Left)
	}
}

// TestDeleteInAnAgentsTurn does it with the real server.
func TestDeleteInAnAgentsTurn(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, nil)
	a := p.agent(s)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	p.ask(a, "1", "hello")
	session, err := p.store.Session(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	begun := make(chan struct{})
	var once sync.Once
	go func() {
		_, err := a.Prompt(t.Context(), p.dir, "1", `call bash {"command":"touch begun && sleep 600","description":"wait"}`, func(workspace.AgentEvent) { once.Do(func() { close(begun) }) })
		ended <- err
	}()
	<-begun
	for absent(filepath.Join(w.Directory, "begun")) {
		select {
		case err := <-ended:
			t.Fatalf("the turn has ended: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	d := p.delete("1", true)
	if !hasLine(d.Removed.Warnings, "at work", "stopped") || len(d.Removed.Left) > 0 || !absent(w.Directory) {
		t.Errorf("%+v", d.Removed)
	}
	if err := <-ended; err == nil {
		t.Error("the turn ended without an error")
	}
	c := client(t, s)
	if got, err := c.Session(t.Context(), session.ID); err != nil || got.WorkspaceID != "" {
		t.Errorf("%+v, %v", got, err)
	}
	back := p.restore("1")
	if len(back.Warnings) > 0 {
		t.Errorf("restored with %q", back.Warnings)
	}
	if said, _ := p.ask(a, "1", "still there"); !strings.Contains(said, "still there") {
		t.Errorf("%q", said)
	}
}
