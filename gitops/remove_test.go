package gitops

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

func (l *lab) remove(w workspace.Workspace) (workspace.Removed, error) {
	l.t.Helper()
	return l.provider().Remove(context.Background(), workspace.RemoveRequest{
		Project: l.project(), Workspace: w, Progress: func(workspace.Event) {},
	})
}

// removes removes w, which must succeed.
func (l *lab) removes(w workspace.Workspace) workspace.Removed {
	l.t.Helper()
	removed, err := l.remove(w)
	if err != nil {
		l.t.Fatalf("remove: %v", detail(err))
	}
	if exists(w.Directory) {
		l.t.Errorf("%s is there", w.Directory)
	}
	if got := l.run(l.dir, "worktree", "list", "--porcelain"); strings.Contains(got, w.Directory+"\n") {
		l.t.Errorf("git still has it: %s", got)
	}
	return removed
}

// keeps removes w, which must be refused with the code and leave everything
// byte for byte as it was.
func (l *lab) keeps(w workspace.Workspace, code workspace.Code, words ...string) *workspace.Error {
	l.t.Helper()
	before := l.snapshot()
	_, err := l.remove(w)
	if !errors.Is(err, code) {
		l.t.Fatalf("got %v, want the code %s", detail(err), code)
	}
	if after := l.snapshot(); !slices.Equal(before, after) {
		l.t.Errorf("the refused removal changed the disk:\n%s", difference(before, after))
	}
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok || e.Hint == "" || !warned([]string{e.Message}, words...) {
		l.t.Errorf("%q (hint %q) doesn't say %q", e.Message, e.Hint, words)
	}
	return e
}

func TestRemoveCleanAndMerged(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.commit(l.dir, ".gitignore", "ignored\n")
	w := l.made(titled("one"))
	outside := filepath.Join(l.root, "outside")
	l.write(filepath.Join(outside, "kept"), "")
	l.write(filepath.Join(w.Directory, "ignored", "x"), "")
	if err := os.Symlink(outside, filepath.Join(w.Directory, "ignored", "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(w.Directory, "ignored"), 0o500); err != nil {
		t.Fatal(err)
	}
	l.run(l.dir, "config", "branch."+w.Branch+".remote", ".")
	tip := l.commit(w.Directory, "g", "work\n")
	l.run(l.dir, "merge", "-q", w.Branch)
	removed := l.removes(w)
	if removed.Branch != w.Branch || removed.Tip != tip || len(removed.Left) > 0 {
		t.Errorf("%+v", removed)
	}
	if remains := l.remains(); len(remains) > 0 {
		t.Errorf("remains: %q", remains)
	}
	if !exists(filepath.Join(outside, "kept")) {
		t.Error("a symlink was followed")
	}
	if out, err := l.try(l.dir, "config", "--get-regexp", `^branch\.`); err == nil {
		t.Errorf("configuration of the branch: %s", out)
	}
	// Once more is no error.
	if again := l.removes(w); again.Branch != "" {
		t.Errorf("%+v", again)
	}
}

func TestRemoveRefusesUncommittedWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work  func(l *lab, dir string)
		files []string
	}{
		"modified": {func(l *lab, dir string) { l.write(filepath.Join(dir, "f"), "edit\n") }, []string{"f"}},
		"staged": {func(l *lab, dir string) {
			l.write(filepath.Join(dir, "f"), "edit\n")
			l.run(dir, "add", "f")
			l.write(filepath.Join(dir, "f"), "base\n")
		}, []string{"f"}},
		"deleted": {func(_ *lab, dir string) { _ = os.Remove(filepath.Join(dir, "f")) }, []string{"f"}},
		"untracked": {func(l *lab, dir string) {
			l.run(dir, "config", "status.showUntrackedFiles", "no")
			l.write(filepath.Join(dir, "d", "n"), "new\n")
			l.write(filepath.Join(dir, "n"), "new\n")
		}, []string{"d/n", "n"}},
		"assume unchanged": {func(l *lab, dir string) {
			l.run(dir, "update-index", "--assume-unchanged", "f")
			l.write(filepath.Join(dir, "f"), "hidden edit\n")
		}, []string{"f"}},
		"skip worktree": {func(l *lab, dir string) {
			l.run(dir, "update-index", "--skip-worktree", "f")
			l.write(filepath.Join(dir, "f"), "hidden edit\n")
		}, []string{"f"}},
		"repository within": {func(l *lab, dir string) { l.run(l.root, "init", "-q", filepath.Join(dir, "nested")) }, []string{"nested/"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			w := l.made(titled("one"))
			c.work(l, w.Directory)
			e := l.keeps(w, workspace.ErrDirtyWorktree, w.Directory)
			if !slices.Equal(e.Files, c.files) {
				t.Errorf("files %q, want %q", e.Files, c.files)
			}
		})
	}
}

func TestRemoveRefusesUnmergedCommits(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	l.commit(w.Directory, "g", "1\n")
	tip := l.commit(w.Directory, "g", "2\n")
	l.keeps(w, workspace.ErrUnmerged, "2 commits", tip, w.Branch)
	l.isTip(w.Branch, tip)
	// Wherever else they are, they aren't lost.
	l.run(l.dir, "branch", "saved", tip)
	if removed := l.removes(w); removed.Branch != w.Branch {
		t.Errorf("%+v", removed)
	}
}

func TestRemoveCountsWhatWasPushed(t *testing.T) {
	t.Parallel()
	l, _, _ := withOrigin(t)
	w := l.made(titled("one"))
	l.commit(w.Directory, "g", "1\n")
	l.keeps(w, workspace.ErrUnmerged, "1 commit")
	l.run(w.Directory, "push", "-q", "-u", "origin", w.Branch)
	l.removes(w)
}

func TestRemoveAfterASquashMerge(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	l.commit(w.Directory, "g", "1\n")
	l.commit(w.Directory, "h", "2\n")
	l.run(l.dir, "merge", "-q", "--squash", w.Branch)
	l.run(l.dir, "commit", "-q", "-m", "squash")
	l.commit(l.dir, "g", "changed since\n")
	if removed := l.removes(w); removed.Branch != w.Branch {
		t.Errorf("%+v", removed)
	}
}

func TestRemoveOnAnotherBranch(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	l.run(w.Directory, "switch", "-q", "-c", "other")
	tip := l.commit(w.Directory, "g", "work\n")
	removed := l.removes(w)
	if removed.Branch != w.Branch || removed.Tip != tip || !warned(removed.Left, "other") {
		t.Errorf("%+v", removed)
	}
	l.isTip("other", tip)

	// Commits on the branch that isn't checked out keep that branch.
	w = l.made(titled("two"))
	own := l.commit(w.Directory, "h", "other work\n")
	l.run(w.Directory, "checkout", "-q", "--detach", "main")
	removed = l.removes(w)
	if removed.Branch != "" || !warned(removed.Left, w.Branch, "1 commit") {
		t.Errorf("%+v", removed)
	}
	l.isTip(w.Branch, own)
}

func TestRemoveDetached(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "branch", "(detached)")
	w := l.made(titled("one"))
	l.run(w.Directory, "checkout", "-q", "--detach")
	tip := l.commit(w.Directory, "g", "work\n")
	l.keeps(w, workspace.ErrUnmerged, "detached HEAD", tip)
	l.run(w.Directory, "checkout", "-q", "--detach", w.Branch)
	if removed := l.removes(w); removed.Branch != w.Branch {
		t.Errorf("%+v", removed)
	}
	l.isTip("(detached)", w.BaseCommit)

	// The commits of the detached HEAD may be on no branch but the one to go.
	w = l.made(titled("two"))
	l.commit(w.Directory, "g", "work\n")
	l.run(w.Directory, "checkout", "-q", "--detach")
	if removed := l.removes(w); removed.Branch != "" || !warned(removed.Left, w.Branch) {
		t.Errorf("%+v", removed)
	}
}

func TestRemoveOfAnAttachedBranch(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "branch", "threadtree/one")
	w := l.made(typed(t, "one"))
	tip := l.commit(w.Directory, "g", "work\n")
	removed := l.removes(w)
	if removed.Branch != "" || !warned(removed.Left, "threadtree/one", "before the workspace") {
		t.Errorf("%+v", removed)
	}
	l.isTip("threadtree/one", tip)
}

func TestRemoveRefusesWhatIsHeld(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	l.run(l.dir, "worktree", "lock", "--reason", "session live", w.Directory)
	if e := l.keeps(w, workspace.ErrLocked, "session live"); errors.Is(e, workspace.ErrInUse) {
		t.Error("a lock is taken for a process")
	}
	l.run(l.dir, "worktree", "unlock", w.Directory)

	indexLock := filepath.Join(gitDirOf(w.Directory), "index.lock")
	l.write(indexLock, "")
	l.keeps(w, workspace.ErrLocked, "at work")
	_ = os.Remove(indexLock)

	sleeper := exec.Command("sleep", "600")
	sleeper.Dir = w.Directory
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	if e := l.keeps(w, workspace.ErrLocked, "sleep", w.Directory); !errors.Is(e, workspace.ErrInUse) {
		t.Error("it can't be told that it is a process")
	}
	_ = sleeper.Process.Kill()
	_ = sleeper.Wait()

	nested := filepath.Join(w.Directory, "nested")
	l.write(filepath.Join(l.dir, ".git", "info", "exclude"), "nested\n")
	l.run(l.dir, "worktree", "add", "-q", "-b", "nested", nested)
	l.keeps(w, workspace.ErrLocked, nested)
	l.run(l.dir, "worktree", "remove", nested)

	l.commit(l.dir, "f", "theirs\n")
	l.commit(w.Directory, "f", "ours\n")
	if _, err := l.try(w.Directory, "merge", "main"); err == nil {
		t.Fatal("the merge should conflict")
	}
	l.keeps(w, workspace.ErrOperationInProgress, "merge")
}

func TestRemoveNeverTakesTheRepository(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	for _, directory := range []string{l.dir, l.root, "/", filepath.Join(l.dir, ".git"), l.dir + "/../repo"} {
		stored := w
		stored.Directory = directory
		l.keeps(stored, workspace.ErrLocked, "repository itself")
	}
	for name, make := range map[string]func() string{
		"no worktree": func() string {
			dir := filepath.Join(l.root, "plain")
			l.write(filepath.Join(dir, "x"), "")
			return dir
		},
		"folder of the repository": func() string { l.write(filepath.Join(l.dir, "in", "x"), ""); return filepath.Join(l.dir, "in") },
		"another repository's": func() string {
			other := newLab(t)
			return other.made(titled("one")).Directory
		},
	} {
		stored := w
		stored.Directory = make()
		e := l.keeps(stored, workspace.ErrLocked, "no worktree of the project")
		if e == nil {
			t.Error(name)
		}
	}
	// Asked of a checkout that is the worktree itself.
	p := l.projectAt(w.Directory)
	_, err := l.provider().Remove(context.Background(), workspace.RemoveRequest{Project: p, Workspace: w})
	if !errors.Is(err, workspace.ErrLocked) {
		t.Errorf("got %v", detail(err))
	}
}

func TestRemoveNeverTakesTheDefaultOrBaseBranch(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	bare := filepath.Join(l.root, "bare.git")
	l.run(l.root, "clone", "-q", "--bare", l.dir, bare)
	l.dir = bare
	main := filepath.Join(l.root, "main")
	l.run(bare, "worktree", "add", "-q", main, "main")
	l.made(titled("any"))
	l.keeps(workspace.Workspace{ThreadID: "t", Directory: main, Branch: "main", BranchCreated: true}, workspace.ErrLocked, "main", "default")

	l.run(bare, "branch", "dev")
	w := l.made(titled("one"), from("dev"))
	l.run(w.Directory, "switch", "-q", "dev")
	l.keeps(w, workspace.ErrLocked, "dev")
	// A record that calls the base its own.
	l.run(w.Directory, "switch", "-q", w.Branch)
	w.Branch = "dev"
	if removed := l.removes(w); removed.Branch != "" || !warned(removed.Left, "dev") {
		t.Errorf("%+v", removed)
	}
}

func TestRemoveOfAReplacedDirectory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	away := filepath.Join(l.root, "away")
	if err := errors.Join(os.Rename(w.Directory, away), os.Symlink(away, w.Directory)); err != nil {
		t.Fatal(err)
	}
	l.keeps(w, workspace.ErrLocked, "no directory itself")
	if err := errors.Join(os.Remove(w.Directory), os.Mkdir(w.Directory, 0o755)); err != nil {
		t.Fatal(err)
	}
	if e := l.keeps(w, workspace.ErrLocked, "lost its .git"); !strings.Contains(e.Hint, "git worktree repair") {
		t.Errorf("hint %q", e.Hint)
	}
	l.run(l.root, "init", "-q", w.Directory)
	l.keeps(w, workspace.ErrLocked, "belongs to another")
}

func TestRemoveOfAMissingDirectory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w, absent := l.made(titled("one")), l.made(titled("two"))
	away := filepath.Join(l.root, "away")
	if err := errors.Join(os.RemoveAll(w.Directory), os.Rename(absent.Directory, away)); err != nil {
		t.Fatal(err)
	}
	if removed := l.removes(w); removed.Branch != w.Branch {
		t.Errorf("%+v", removed)
	}
	// Another that is only absent for now keeps its entry.
	if err := os.Rename(away, absent.Directory); err != nil {
		t.Fatal(err)
	}
	if got := l.run(absent.Directory, "status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
	// Commits outlive the directory.
	tip := l.commit(absent.Directory, "g", "work\n")
	if err := os.RemoveAll(absent.Directory); err != nil {
		t.Fatal(err)
	}
	if removed := l.removes(absent); removed.Branch != "" || !warned(removed.Left, absent.Branch, "1 commit") {
		t.Errorf("%+v", removed)
	}
	l.isTip(absent.Branch, tip)
}

// TestRemoveIsFinishedByTheNextCall begins where a killed call stopped.
func TestRemoveIsFinishedByTheNextCall(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(l *lab, w workspace.Workspace) error{
		"directory hidden": func(_ *lab, w workspace.Workspace) error {
			return os.Rename(w.Directory, asideName(w.Directory, "removed", w.Attempt.ID))
		},
		"entry gone": func(l *lab, w workspace.Workspace) error {
			_, err := buryEntry(l.project().ID, gitDirOf(w.Directory))
			return errors.Join(err, os.Rename(w.Directory, asideName(w.Directory, "removed", w.Attempt.ID)))
		},
		"branch gone": func(l *lab, w workspace.Workspace) error {
			_, err := buryEntry(l.project().ID, gitDirOf(w.Directory))
			l.run(l.dir, "branch", "-q", "-D", w.Branch)
			return errors.Join(err, os.Rename(w.Directory, asideName(w.Directory, "removed", w.Attempt.ID)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			w := l.made(titled("one"))
			if err := stop(l, w); err != nil {
				t.Fatal(err)
			}
			l.removes(w)
			if remains := l.remains(); len(remains) > 0 {
				t.Errorf("remains: %q", remains)
			}
		})
	}
}

func TestRemoveWithSubmodules(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.addSubmodule()
	w := l.made(titled("one"))
	sm := filepath.Join(w.Directory, "sm")
	l.write(filepath.Join(sm, "s"), "edit\n")
	l.run(l.dir, "config", "submodule.sm.ignore", "all")
	if e := l.keeps(w, workspace.ErrDirtyWorktree); !slices.Equal(e.Files, []string{"sm"}) {
		t.Errorf("%q", e.Files)
	}
	// Committed in both and merged, the submodule's commit is still here only.
	l.commit(sm, "s", "edit\n")
	l.run(w.Directory, "commit", "-q", "-am", "bump")
	l.run(l.dir, "merge", "-q", w.Branch)
	l.keeps(w, workspace.ErrUnmerged, "submodule sm", "1 commit")
	l.run(filepath.Join(l.dir, "sm"), "fetch", "-q", sm, "HEAD")
	if removed := l.removes(w); removed.Branch != w.Branch {
		t.Errorf("%+v", removed)
	}
}

func TestRemoveOfWhatSomebodyElseMade(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	directory := filepath.Join(l.root, "by hand")
	l.run(l.dir, "worktree", "add", "-q", "-b", "hand", directory)
	removed := l.removes(workspace.Workspace{ThreadID: "t", Directory: directory, Branch: "hand"})
	if removed.Branch != "" || !warned(removed.Left, "hand") {
		t.Errorf("%+v", removed)
	}
	if matches, _ := filepath.Glob(filepath.Join(l.root, ".*removed*")); len(matches) > 0 {
		t.Errorf("remains: %q", matches)
	}
}

func TestRemoveWhenTheBaseIsGone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "branch", "dev")
	w := l.made(titled("one"), from("dev"))
	l.commit(w.Directory, "g", "work\n")
	l.run(l.dir, "branch", "-q", "-D", "dev")
	l.keeps(w, workspace.ErrUnmerged, "1 commit")
	l.run(l.dir, "merge", "-q", w.Branch)
	l.removes(w)
}

func TestRemoveWithoutADirectoryOnRecord(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if removed, err := l.remove(workspace.Workspace{ThreadID: "t", Branch: "main", BranchCreated: true}); err != nil || removed.Branch != "" {
		t.Errorf("%+v, %v", removed, err)
	}
	l.isTip("main", l.run(l.dir, "rev-parse", "HEAD"))
}
