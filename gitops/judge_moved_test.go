package gitops

import (
	"path/filepath"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestMovedWorktreeIsNotTakenForGone, forced or not: its record would be lost.
func TestMovedWorktreeIsNotTakenForGone(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.write(b.at("work"), "work\n")
	to := filepath.Join(b.root, "elsewhere")
	b.run(b.dir, "worktree", "move", b.w.Directory, to)
	b.refuses(b.w, workspace.ErrLocked, "it is at "+to)
	b.w.Directory = to
	trashed := b.delete(true)
	if !exists(filepath.Join(trashed.Kept.Directory, "work")) {
		t.Errorf("%+v", trashed.Kept)
	}
}

// TestRemovedBranchHasItsOwnTip, which isn't that of a detached HEAD.
func TestRemovedBranchHasItsOwnTip(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	tip := b.commit(b.w.Directory, "f", "work\n")
	b.run(b.dir, "merge", "-q", b.w.Branch)
	b.run(b.w.Directory, "checkout", "-q", "--detach", "HEAD~1")
	removed, err := b.try(true)
	if err != nil {
		t.Fatal(detail(err))
	}
	if removed.Branch != b.w.Branch || removed.BranchTip != tip || removed.Tip == tip {
		t.Errorf("%+v, the branch was at %s", removed, tip)
	}
}
