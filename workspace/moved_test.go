package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestRecordsFollowAMovedRepository moves a repository: its threads are lost to
// it until git has been told and the records are reconciled there.
func TestRecordsFollowAMovedRepository(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	ctx := t.Context()
	w := p.create(t, "1")
	to := filepath.Join(realTemp(t), "moved")
	if err := os.Rename(p.project, to); err != nil {
		t.Fatal(err)
	}
	_, err := p.Delete(ctx, workspace.DeleteOptions{ThreadID: "1"})
	wantCode(t, err, workspace.ErrNotFound)
	_, err = p.Create(ctx, workspace.CreateOptions{Project: to, ThreadID: "1"})
	wantCode(t, err, workspace.ErrAlreadyExists)
	if !strings.Contains(workspace.HintOf(err), "reconcile") {
		t.Errorf("the hint is %q", workspace.HintOf(err))
	}
	if actions, err := p.Reconcile(ctx, to); err != nil || has(actions, workspace.ActionMoved) {
		t.Errorf("before git was told: %+v, %v", actions, err)
	}
	git(t, to, "worktree", "repair")
	actions, err := p.Reconcile(ctx, to)
	if err != nil || len(actions) != 1 || actions[0].Kind != workspace.ActionMoved || actions[0].ThreadID != "1" {
		t.Fatalf("reconcile: %+v, %v", actions, err)
	}
	if again, err := p.Reconcile(ctx, to); err != nil || len(again) != 0 {
		t.Errorf("reconciled again: %+v, %v", again, err)
	}
	if at, err := p.Resolve(ctx, "1", to); err != nil || at.Directory != w.Directory {
		t.Errorf("resolves to %+v, %v", at, err)
	}
	if _, err := p.Delete(ctx, workspace.DeleteOptions{ThreadID: "1"}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(w.Directory); !os.IsNotExist(err) {
		t.Errorf("the worktree is still there: %v", err)
	}
}

// TestRecordsStayWithARepositoryThatIsThere copies a repository with its
// entries: the records stay with the one that they were made from.
func TestRecordsStayWithARepositoryThatIsThere(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	p.create(t, "1")
	to := filepath.Join(realTemp(t), "copy")
	if err := os.CopyFS(to, os.DirFS(p.project)); err != nil {
		t.Fatal(err)
	}
	git(t, to, "worktree", "repair")
	if actions, err := p.Reconcile(t.Context(), to); err != nil || has(actions, workspace.ActionMoved) {
		t.Errorf("reconcile: %+v, %v", actions, err)
	}
	w, err := p.Get(t.Context(), "1")
	if err != nil || w.ProjectID != filepath.Join(p.project, ".git") {
		t.Errorf("the record: %+v, %v", w, err)
	}
}

func has(actions []workspace.Action, kind workspace.ActionKind) bool {
	for _, a := range actions {
		if a.Kind == kind {
			return true
		}
	}
	return false
}
