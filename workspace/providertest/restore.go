package providertest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// restorer returns the provider as a Restorer; a test of one that is none is
// skipped.
func (f *fixture) restorer() workspace.Restorer {
	f.Helper()
	r, ok := f.Provider.(workspace.Restorer)
	if !ok {
		f.Skip("the provider keeps nothing of what it removes")
	}
	return r
}

// remains is what a person sees of a working copy.
func (f *fixture) remains(dir string, ignored bool) map[string]string {
	f.Helper()
	seen := map[string]string{
		"status": f.git(dir, "status", "--porcelain=v2", "--branch", "-uall"), "index": f.git(dir, "ls-files", "-s"),
		"HEAD": f.git(dir, "rev-parse", "HEAD"),
	}
	files := []string{"ls-files", "-z", "-c", "-o"}
	if !ignored {
		files = append(files, "--exclude-standard")
	}
	for path := range strings.SplitSeq(f.git(dir, files...), "\x00") {
		info, err := os.Lstat(filepath.Join(dir, path))
		if path == "" || errors.Is(err, os.ErrNotExist) {
			continue
		}
		content, readErr := os.ReadFile(filepath.Join(dir, path))
		if err := errors.Join(err, readErr); err != nil {
			f.Fatal(err)
		}
		seen[path] = info.Mode().String() + " " + string(content)
	}
	return seen
}

func (f *fixture) same(before, after map[string]string) {
	f.Helper()
	for what, was := range before {
		if after[what] != was {
			f.Errorf("%s was\n%s\nand is\n%s", what, was, after[what])
		}
	}
	for what, is := range after {
		if _, ok := before[what]; !ok {
			f.Errorf("%s appeared: %s", what, is)
		}
	}
}

// worked makes a workspace with a commit and work of each kind in it.
func (f *fixture) worked() workspace.Workspace {
	f.Helper()
	w := f.create(title("one"))
	f.commit(w.Directory, "committed", "x\n")
	f.write(filepath.Join(w.Directory, ".gitignore"), "*.ignored\n")
	f.git(w.Directory, "add", ".gitignore")
	f.write(filepath.Join(w.Directory, "committed"), "staged\n")
	f.git(w.Directory, "add", "committed")
	f.write(filepath.Join(w.Directory, "committed"), "unstaged\n")
	f.write(filepath.Join(w.Directory, "new", "file"), "untracked\n")
	f.write(filepath.Join(w.Directory, "file.ignored"), "ignored\n")
	return w
}

func (f *fixture) trashRequest(w workspace.Workspace, force bool) workspace.RemoveRequest {
	return workspace.RemoveRequest{Project: f.Project, Workspace: w, TrashID: "trash-1", Force: force, Progress: func(workspace.Event) {}}
}

// trash removes w with force, which must succeed and keep it.
func (f *fixture) trash(w workspace.Workspace) workspace.Trashed {
	f.Helper()
	removed, err := f.Provider.Remove(f.Context(), f.trashRequest(w, true))
	if err != nil {
		f.Fatalf("remove: %s", detail(err))
	}
	f.gone(w)
	if removed.Kept == nil {
		f.Fatalf("nothing was kept: %+v", removed)
	}
	return workspace.Trashed{ID: "trash-1", Workspace: w, Kept: *removed.Kept, Size: -1}
}

func (f *fixture) restoreRequest(t workspace.Trashed) workspace.RestoreRequest {
	return workspace.RestoreRequest{
		Project: f.Project, Trashed: t, Attempt: "attempt-back", Progress: func(workspace.Event) {},
		Free: func(string, string) bool { return true },
	}
}

// restore brings it back, which must succeed, and returns its row.
func (f *fixture) restore(t workspace.Trashed) (workspace.Workspace, workspace.Restored) {
	f.Helper()
	restored, err := f.restorer().Restore(f.Context(), f.restoreRequest(t))
	if err != nil {
		f.Fatalf("restore: %s", detail(err))
	}
	w := t.Workspace
	w.Directory, w.Branch, w.Attempt.ID = restored.Directory, restored.Branch, "attempt-back"
	if err := f.Provider.Complete(f.Context(), f.Project, w); err != nil {
		f.Errorf("it is back and not complete: %s", detail(err))
	}
	return w, restored
}

func (f *fixture) discard(t workspace.Trashed, all bool) {
	f.Helper()
	if err := f.restorer().Discard(f.Context(), f.Project, t, all); err != nil {
		f.Fatalf("discard: %s", detail(err))
	}
}

// testTrash removes what would be refused, and finds place and name free.
func testTrash(f *fixture) {
	f.restorer()
	w := f.worked()
	before, status := f.state(), f.remains(w.Directory, true)
	_, err := f.Provider.Remove(f.Context(), f.trashRequest(w, false))
	f.hasCode(err, workspace.ErrDirtyWorktree)
	f.unchanged(before)
	f.same(status, f.remains(w.Directory, true))
	trashed := f.trash(w)
	if trashed.Kept.Tip == "" || trashed.Kept.Branch != w.Branch {
		f.Errorf("kept %+v of the branch %s", trashed.Kept, w.Branch)
	}
	if tip := f.tip(w.Branch); tip != "" {
		f.Errorf("the branch stands at %s", tip)
	}
	if again := f.trash(w); again.Kept.Ref != trashed.Kept.Ref || again.Kept.Directory != trashed.Kept.Directory {
		f.Errorf("removed again it is %+v, and was %+v", again.Kept, trashed.Kept)
	}
	f.whole(f.create(title("one"), func(r *workspace.CreateRequest) { r.Attempt = "attempt-2" }))
}

func testResume(f *fixture) {
	r := f.restorer()
	w := f.create(title("one"))
	before := f.state()
	if _, found, err := r.Resume(f.Context(), f.trashRequest(w, false)); found || err != nil {
		f.Errorf("a removal was found that nobody began: %s", detail(err))
	}
	f.unchanged(before)
	f.whole(w)
	trashed := f.trash(w)
	removed, found, err := r.Resume(f.Context(), f.trashRequest(w, false))
	if err != nil || !found || removed.Kept == nil || removed.Kept.Ref != trashed.Kept.Ref {
		f.Errorf("a removal that is done: %+v, %v, %s", removed, found, detail(err))
	}
}

func testRestore(f *fixture) {
	f.restorer()
	w := f.worked()
	before := f.remains(w.Directory, true)
	trashed := f.trash(w)
	f.git(f.dir, "worktree", "prune", "--expire", "now")
	f.git(f.dir, "gc", "-q", "--prune=now")
	back, restored := f.restore(trashed)
	if back.Directory != w.Directory || back.Branch != w.Branch {
		f.Errorf("restored %+v", restored)
	}
	f.same(before, f.remains(back.Directory, true))
	// Once more it is the same, and what was done since stays.
	f.write(filepath.Join(back.Directory, "since"), "since\n")
	now := f.remains(back.Directory, true)
	if again, _ := f.restore(trashed); again.Directory != back.Directory || again.Branch != back.Branch {
		f.Errorf("restored again: %+v", again)
	}
	f.discard(trashed, false)
	f.discard(trashed, true)
	f.discard(trashed, true)
	f.same(now, f.remains(back.Directory, true))
}

// testRestoreAnew restores once the directory is gone.
func testRestoreAnew(f *fixture) {
	f.restorer()
	w := f.worked()
	before := f.remains(w.Directory, false)
	trashed := f.trash(w)
	for range 2 {
		f.discard(trashed, false)
	}
	if dir := trashed.Kept.Directory; dir != "" {
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			f.Errorf("the directory %s is there: %v", dir, err)
		}
	}
	f.git(f.dir, "gc", "-q", "--prune=now")
	back, restored := f.restore(trashed)
	if back.Branch != w.Branch || len(restored.Warnings) == 0 {
		f.Errorf("restored %+v", restored)
	}
	f.same(before, f.remains(back.Directory, false))
}

func testRestoreTaken(f *fixture) {
	f.restorer()
	w := f.worked()
	tip := f.git(w.Directory, "rev-parse", "HEAD")
	trashed := f.trash(w)
	f.git(f.dir, "branch", w.Branch)
	f.write(filepath.Join(w.Directory, "theirs"), "theirs\n")
	back, restored := f.restore(trashed)
	if back.Directory == w.Directory || back.Branch == w.Branch || len(restored.Warnings) == 0 {
		f.Errorf("restored %+v", restored)
	}
	if f.tip(w.Branch) != f.head || f.tip(back.Branch) != tip {
		f.Errorf("the branches stand at %s and %s", f.tip(w.Branch), f.tip(back.Branch))
	}
}

func testDiscard(f *fixture) {
	r := f.restorer()
	before := f.state()
	trashed := f.trash(f.worked())
	for range 2 {
		f.discard(trashed, true)
	}
	f.unchanged(before)
	_, err := r.Restore(f.Context(), f.restoreRequest(trashed))
	f.hasCode(err, workspace.ErrNotFound)
	f.unchanged(before)
}

func testDiskUse(f *fixture) {
	r := f.restorer()
	dir := f.TempDir()
	f.write(filepath.Join(dir, "file"), strings.Repeat("x", 1<<20))
	one, err := r.DiskUse(f.Context(), dir)
	if err == nil {
		err = os.Link(filepath.Join(dir, "file"), filepath.Join(dir, "again"))
	}
	if err != nil || one < 1<<20 {
		f.Errorf("a file of a megabyte takes %d: %s", one, detail(err))
	}
	if two, err := r.DiskUse(f.Context(), dir); err != nil || two >= one+1<<19 {
		f.Errorf("with a second name it takes %d, not %d: %s", two, one, detail(err))
	}
}
