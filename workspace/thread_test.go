package workspace_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// TestClosedThreads has threads archived and deleted: their workspaces stay,
// say so, and are offered where that is asked for.
func TestClosedThreads(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Second)
	p := build(t, settings{tune: func(c *workspace.Config) { c.Now = func() time.Time { return now } }})
	for _, thread := range []string{"open", "archived", "deleted", "dirty", "reopened"} {
		p.create(t, thread)
	}
	note := func(thread string, state workspace.ThreadState) {
		t.Helper()
		if err := p.NoteThread(t.Context(), thread, state); err != nil {
			t.Fatal(err)
		}
	}
	note("archived", workspace.ThreadArchived)
	note("deleted", workspace.ThreadDeleted)
	note("deleted", workspace.ThreadArchived) // comes too late
	note("dirty", workspace.ThreadDeleted)
	note("reopened", workspace.ThreadArchived)
	note("reopened", workspace.ThreadOpen)
	note("open", workspace.ThreadOpen)
	note("unknown", workspace.ThreadDeleted)
	if err := p.NoteThread(t.Context(), "open", "gone"); !errors.Is(err, workspace.ErrInternal) {
		t.Error(err)
	}
	if notes, err := p.store.ListNotes(t.Context(), "threadtree/thread"); err != nil || len(notes) != 3 {
		t.Errorf("%v, %v", notes, err)
	}
	dirty, err := p.Get(t.Context(), "dirty")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dirty.Directory, "draft"), "unsaved\n")

	rows, err := p.List(t.Context(), workspace.ListOptions{Project: p.project})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		want := map[string]workspace.ThreadState{"archived": "archived", "deleted": "deleted", "dirty": "deleted"}[row.Workspace.ThreadID]
		if row.Thread != want || want != "" && !row.ThreadSince.Equal(now) {
			t.Errorf("%s is %q since %s", row.Workspace.ThreadID, row.Thread, row.ThreadSince)
		}
	}

	collector := workspace.NewCollector(p.Manager)
	plan := func(o workspace.CollectOptions) []workspace.Collected {
		t.Helper()
		o.Project = p.project
		plan, err := collector.Plan(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	if got := plan(workspace.CollectOptions{Merged: true}); len(got) > 0 {
		t.Errorf("not asked for: %s", lines(got))
	}
	offered := plan(workspace.CollectOptions{Closed: true})
	if lines(offered) != "workspace archived; workspace deleted" || offered[1].Reason != "its thread was deleted on "+now.Format(time.DateOnly) {
		t.Errorf("%s; %+v", lines(offered), offered)
	}
	// Other reasons say it too.
	now = now.Add(72 * time.Hour)
	idle := plan(workspace.CollectOptions{Idle: time.Hour})
	if len(idle) != 4 {
		t.Errorf("%s", lines(idle))
	}
	for _, item := range idle {
		if closed := item.ThreadID == "archived" || item.ThreadID == "deleted"; strings.Contains(item.Reason, "; its thread was") != closed {
			t.Errorf("%s: %s", item.ThreadID, item.Reason)
		}
	}

	// One is opened again between plan and deed.
	note("archived", workspace.ThreadOpen)
	done, err := collector.Apply(t.Context(), offered)
	if err != nil || done[0].Done || !errors.Is(done[0].Err, workspace.ErrInProgress) || !done[1].Done {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := p.Get(t.Context(), "archived"); err != nil {
		t.Error(err)
	}

	// It is remembered for as long as the workspace can be restored.
	known := func() int {
		t.Helper()
		notes, err := p.store.ListNotes(t.Context(), "threadtree/thread")
		if err != nil {
			t.Fatal(err)
		}
		return len(notes)
	}
	if known() != 2 {
		t.Errorf("%d are known", known())
	}
	now = now.Add(365 * 24 * time.Hour)
	if _, err := collector.Apply(t.Context(), plan(workspace.CollectOptions{})); err != nil {
		t.Fatal(err)
	}
	if known() != 1 {
		t.Errorf("what is gone for good is still known: %d", known())
	}
}
