package gitops

import (
	"context"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// reviewer reviews the fixture's workspaces.
func (f *fixture) reviewer() *Reviewer {
	return NewReviewer(f.r, ReviewOptions{Timeout: time.Minute, PushTimeout: time.Minute})
}

// row is the record of a workspace at root/name, made from the base.
func (f *fixture) row(name, base string) workspace.Workspace {
	f.t.Helper()
	dir := f.path(name)
	return workspace.Workspace{
		ThreadID: "thread-" + name, Provider: workspace.ProviderGit, Name: name, Branch: name, BranchCreated: true,
		Base: base, BaseCommit: f.gitIn(dir, "merge-base", "HEAD", "main"), ProjectID: f.open(f.dir).ID,
		ProjectDirectory: f.dir, Directory: dir, Status: workspace.StatusReady,
	}
}

// quiet is for who isn't interested in the steps.
func quiet(workspace.Event) {}

func TestReviewNeedsADirectory(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	for _, name := range []string{"gone", "replaced"} {
		f.worktree(name)
		f.commit(f.path(name), "g", "1", "own")
	}
	gone, replaced, never := f.row("gone", "main"), f.row("replaced", "main"), f.row("gone", "main")
	f.sh(`rm -r "$ROOT/gone"; mv "$ROOT/replaced" "$ROOT/elsewhere"; mkdir "$ROOT/replaced"`)
	never.Directory = ""
	v, p := f.reviewer(), f.open(f.dir)
	for _, w := range []workspace.Workspace{gone, replaced, never} {
		_, err := v.Diff(t.Context(), workspace.DiffRequest{Project: p, Workspace: w})
		wantCode(t, err, workspace.ErrNotReady)
		_, err = v.Push(t.Context(), workspace.PushRequest{Project: p, Workspace: w, Progress: quiet})
		wantCode(t, err, workspace.ErrNotReady)
	}
}

func TestReviewEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("w")
	f.commit(f.path("w"), "g", "1", "own")
	w, v, p := f.row("w", "main"), f.reviewer(), f.open(f.dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := v.Branches(ctx, p, workspace.BranchQuery{})
	wantCode(t, err, workspace.ErrTimeout)
	_, err = v.Branches(ctx, p, workspace.BranchQuery{Text: "w"})
	wantCode(t, err, workspace.ErrTimeout)
	_, err = v.Diff(ctx, workspace.DiffRequest{Project: p, Workspace: w, Patch: true})
	wantCode(t, err, workspace.ErrTimeout)
	_, err = v.Overlap(ctx, p, []workspace.Workspace{w, w})
	wantCode(t, err, workspace.ErrTimeout)
	_, err = v.Push(ctx, workspace.PushRequest{Project: p, Workspace: w, Progress: quiet})
	wantCode(t, err, workspace.ErrTimeout)
}
