package providertest

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

func testComplete(f *fixture) {
	w := f.create(title("one"))
	before := f.state()
	if err := f.Provider.Complete(f.Context(), f.Project, w); err != nil {
		f.Errorf("it was made to the end: %s", detail(err))
	}
	another := w
	another.Attempt.ID = "attempt-2"
	if f.Provider.Complete(f.Context(), f.Project, another) == nil {
		f.Error("it was complete for an attempt that didn't make it")
	}
	nothing := another
	nothing.Directory += "-x"
	if f.Provider.Complete(f.Context(), f.Project, nothing) == nil {
		f.Error("it was complete although nothing is there")
	}
	f.unchanged(before)
	f.whole(w)
}

func testClear(f *fixture) {
	before := f.state()
	w := f.create(title("one"))
	for range 2 {
		if left := f.clear(w); len(left) > 0 {
			f.Errorf("left in place: %q", left)
		}
		f.gone(w)
		f.unchanged(before)
	}
	// The same create finds nothing in its way.
	again := f.create(title("one"), func(r *workspace.CreateRequest) { r.Attempt = "attempt-2" })
	if again.Branch != w.Branch {
		f.Errorf("the second create made %s, want %s", again.Branch, w.Branch)
	}
	f.whole(again)
}

func testClearAttached(f *fixture) {
	name := f.typed("one")
	tip := f.existing(name.Branch)
	w := f.create(name)
	f.clear(w)
	f.gone(w)
	if now := f.tip(name.Branch); now != tip {
		f.Errorf("the branch that was there before stands at %q, want %s", now, tip)
	}
}

func testClearMoved(f *fixture) {
	w := f.create(title("one"))
	tip := f.commit(w.Directory, "work", "x\n")
	left := f.clear(w)
	if now := f.tip(w.Branch); now != tip {
		f.Errorf("the branch that moved stands at %q, want %s", now, tip)
	}
	if len(left) == 0 || !strings.Contains(strings.Join(left, "\n"), w.Branch) {
		f.Errorf("that the branch stays was not said: %q", left)
	}
}

func testClearAnother(f *fixture) {
	w := f.create(title("one"))
	before := f.state()
	another := w
	another.Attempt.ID = "attempt-2"
	f.clear(another)
	f.unchanged(before)
	f.whole(w)
}

func testRemove(f *fixture) {
	before := f.state()
	w := f.create(title("one"))
	removed := f.removes(w)
	if removed.Branch != w.Branch || removed.Tip != f.head {
		f.Errorf("removed %+v, want the branch %s at %s", removed, w.Branch, f.head)
	}
	f.unchanged(before)
	f.removes(w) // once more is no error
}

func testRemoveMerged(f *fixture) {
	w := f.create(title("one"))
	f.commit(w.Directory, "work", "x\n")
	f.git(f.dir, "merge", "-q", "--ff-only", w.Branch)
	f.removes(w)
	if tip := f.tip(w.Branch); tip != "" {
		f.Errorf("the merged branch stands at %s", tip)
	}
}

func testRemoveDirty(f *fixture) {
	w := f.create(title("one"))
	f.commit(w.Directory, "work", "x\n")
	f.git(f.dir, "merge", "-q", "--ff-only", w.Branch)
	f.write(filepath.Join(w.Directory, "work"), "edited\n")
	f.keeps(w, workspace.ErrDirtyWorktree)
	f.git(w.Directory, "add", "work")
	f.keeps(w, workspace.ErrDirtyWorktree)
	f.git(w.Directory, "reset", "-q", "--hard")
	f.write(filepath.Join(w.Directory, "new", "file"), "untracked\n")
	f.keeps(w, workspace.ErrDirtyWorktree)
}

func testRemoveUnmerged(f *fixture) {
	w := f.create(title("one"))
	f.commit(w.Directory, "work", "x\n")
	f.keeps(w, workspace.ErrUnmerged)
	f.git(w.Directory, "checkout", "-q", "--detach")
	f.commit(w.Directory, "work", "y\n")
	f.keeps(w, workspace.ErrUnmerged)
}

func testRemoveLocked(f *fixture) {
	w := f.create(title("one"))
	f.git(f.dir, "worktree", "lock", "--reason", "in use", w.Directory)
	f.keeps(w, workspace.ErrLocked)
	f.git(f.dir, "worktree", "unlock", w.Directory)
	f.removes(w)
}

func testRemoveOperation(f *fixture) {
	w := f.create(title("one"))
	f.commit(w.Directory, "work", "ours\n")
	f.commit(f.dir, "work", "theirs\n")
	if _, err := f.tryGit(w.Directory, "rebase", f.branch); err == nil {
		f.Fatal("the rebase should conflict")
	}
	// What the rebase left in the files may count as work of its own.
	f.keeps(w, workspace.ErrOperationInProgress, workspace.ErrDirtyWorktree)
}

func testRemoveMissing(f *fixture) {
	w := f.create(title("one"))
	if err := os.RemoveAll(w.Directory); err != nil {
		f.Fatal(err)
	}
	f.removes(w)
	if tip := f.tip(w.Branch); tip != "" {
		f.Errorf("the merged branch stands at %s", tip)
	}
}
