package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestRestoreWhatIsTaken finds place and name taken by somebody else.
func TestRestoreWhatIsTaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		take              func(b *bin)
		directory, branch string
		words             []string
	}{
		"place, by files":        {func(b *bin) { b.write(b.at("theirs"), "x\n") }, "-2", "", []string{"taken"}},
		"place, by a file":       {func(b *bin) { b.write(b.w.Directory, "x\n") }, "-2", "", []string{"taken"}},
		"place, empty":           {func(b *bin) { _ = os.Mkdir(b.w.Directory, 0o755) }, "", "", nil},
		"place, by a worktree":   {func(b *bin) { b.run(b.dir, "worktree", "add", "-q", "--detach", b.w.Directory) }, "-2", "", []string{"taken"}},
		"place, twice":           {func(b *bin) { b.write(b.at("x"), ""); b.write(b.w.Directory+"-2/x", "") }, "-3", "", []string{"taken"}},
		"name":                   {func(b *bin) { b.run(b.dir, "branch", b.w.Branch) }, "", "-2", []string{"taken"}},
		"name, in another case":  {func(b *bin) { b.run(b.dir, "branch", "Threadtree/ONE") }, "", "-2", []string{"taken"}},
		"name, by a directory":   {func(b *bin) { b.run(b.dir, "branch", b.w.Branch+"/below") }, "", "-2", []string{"taken"}},
		"name, by an unborn one": {func(b *bin) { b.run(b.dir, "symbolic-ref", "HEAD", "refs/heads/"+b.w.Branch) }, "", "-2", []string{"taken"}},
		"both": {func(b *bin) {
			b.run(b.dir, "worktree", "add", "-q", "-b", b.w.Branch, b.w.Directory)
		}, "-2", "-2", []string{"taken"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ways(t, func(t *testing.T, anew bool) {
				b := newBin(t)
				b.mess()
				b.run(b.dir, "config", "branch."+b.w.Branch+".remote", "origin")
				b.run(b.w.Directory, "update-index", "--untracked-cache")
				tip := b.run(b.w.Directory, "rev-parse", "HEAD")
				before := b.shapeOf(b.w.Directory, !anew)
				trashed := b.delete(true)
				if anew {
					b.discard(trashed, false)
				}
				c.take(b)
				refs := b.run(b.dir, "for-each-ref", "refs/heads")
				restored := b.restore(trashed)
				if restored.Directory != b.w.Directory+c.directory || restored.Branch != b.w.Branch+c.branch || c.words != nil && !hasLine(restored.Warnings, c.words...) {
					t.Errorf("%+v", restored)
				}
				b.isTip(restored.Branch, tip)
				for line := range strings.Lines(refs) {
					if now := b.run(b.dir, "for-each-ref", "refs/heads"); !strings.Contains(now, strings.TrimSpace(line)) {
						t.Errorf("%s became\n%s", line, now)
					}
				}
				if got := b.run(b.dir, "config", "branch."+restored.Branch+".remote"); got != "origin" {
					t.Errorf("the branch's remote is %q", got)
				}
				before.head = "refs/heads/" + restored.Branch
				before.status = strings.Replace(before.status, b.w.Branch, restored.Branch, 1)
				sameShape(t, before, b.shapeOf(restored.Directory, !anew))
				if out := b.run(restored.Directory, "status"); strings.Contains(out, "warning") {
					t.Errorf("status: %s", out)
				}
			})
		})
	}
}

// TestRestoreAsksTheRecords leaves what other records have.
func TestRestoreAsksTheRecords(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	trashed := b.delete(false)
	restored, err := b.p.Restore(t.Context(), workspace.RestoreRequest{
		Project: b.project(), Trashed: trashed, Attempt: "a", Progress: func(workspace.Event) {},
		Free: func(directory, branch string) bool { return directory != b.w.Directory && branch != b.w.Branch },
	})
	if err != nil || restored.Directory != b.w.Directory+"-2" || restored.Branch != b.w.Branch+"-2" {
		t.Errorf("%+v, %v", restored, err)
	}
}

// TestRestoreOfAnOperationUnderAnotherName has a rebase go on although its
// branch is called otherwise by now.
func TestRestoreOfAnOperationUnderAnotherName(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.commit(b.dir, "f", "theirs\n")
	b.commit(b.w.Directory, "f", "ours\n")
	tip := b.run(b.w.Directory, "rev-parse", "HEAD")
	if _, err := b.lab.try(b.w.Directory, "rebase", "main"); err == nil {
		t.Fatal("the rebase should conflict")
	}
	trashed := b.delete(true)
	if b.isTip(b.w.Branch, ""); trashed.Kept.Branch != "" {
		t.Errorf("%+v", trashed.Kept)
	}
	b.run(b.dir, "branch", b.w.Branch, "main")
	restored := b.restore(trashed)
	b.isTip(b.w.Branch+"-2", tip)
	b.write(filepath.Join(restored.Directory, "f"), "both\n")
	b.run(restored.Directory, "add", "f")
	b.run(restored.Directory, "-c", "core.editor=true", "rebase", "--continue")
	if got := b.run(restored.Directory, "branch", "--show-current"); got != restored.Branch || got != b.w.Branch+"-2" {
		t.Errorf("the rebase ended on %s", got)
	}
	b.isTip(b.w.Branch, b.run(b.dir, "rev-parse", "main"))
}

func TestTrashOfAnAttachedBranch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(b *bin)
		attached  bool
		branch    string
		words     []string
	}{
		"as it was":   {func(*bin) {}, true, "threadtree/two", nil},
		"moved":       {func(b *bin) { b.run(b.dir, "branch", "-f", "threadtree/two", "main") }, false, "threadtree/two", []string{"moved", "detached"}},
		"checked out": {func(b *bin) { b.run(b.dir, "switch", "-q", "threadtree/two") }, false, "threadtree/two", []string{"checked out", "detached"}},
		"gone":        {func(b *bin) { b.run(b.dir, "branch", "-q", "-D", "threadtree/two") }, true, "threadtree/two", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ways(t, func(t *testing.T, anew bool) {
				b := newBin(t)
				b.run(b.dir, "branch", "threadtree/two")
				b.w = b.made(typed(t, "two"))
				b.mess()
				tip := b.run(b.w.Directory, "rev-parse", "HEAD")
				before := b.shapeOf(b.w.Directory, !anew)
				removed, err := b.try(true)
				if err != nil || removed.Branch != "" || !hasLine(removed.Left, "threadtree/two", "before the workspace") {
					t.Errorf("%+v, %v", removed, err)
				}
				b.isTip("threadtree/two", tip)
				trashed := b.trashed(removed)
				if anew {
					b.discard(trashed, false)
				}
				c.meanwhile(b)
				restored := b.restore(trashed)
				if restored.Branch != c.branch || c.words != nil && !hasLine(restored.Warnings, c.words...) {
					t.Errorf("%+v", restored)
				}
				if !c.attached {
					before.head = ""
					before.status = strings.Replace(before.status, "# branch.head threadtree/two", "# branch.head (detached)", 1)
				}
				sameShape(t, before, b.shapeOf(restored.Directory, !anew))
			})
		})
	}
}

// TestRestoreTwice gets the same, and what was done since stays.
func TestRestoreTwice(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, anew bool) {
		b := newBin(t)
		b.mess()
		trashed := b.delete(true)
		if anew {
			b.discard(trashed, false)
		}
		first, err := b.tryRestore(trashed)
		if err != nil {
			t.Fatal(detail(err))
		}
		b.write(b.at("since"), "since\n")
		before := b.shapeOf(b.w.Directory, true)
		second := b.restore(trashed)
		if first.Directory != second.Directory || first.Branch != second.Branch || !slices.Equal(first.Warnings, second.Warnings) {
			t.Errorf("%+v, then %+v", first, second)
		}
		b.discard(trashed, false)
		b.discard(trashed, true)
		sameShape(t, before, b.shapeOf(b.w.Directory, true))
		_, err = b.tryRestore(trashed)
		wantCode(t, err, workspace.ErrNotFound)
		sameShape(t, before, b.shapeOf(b.w.Directory, true))
	})
}

// TestRestoreOfWhatWentAgain finds that what was restored was deleted by hand
// before anybody recorded it.
func TestRestoreOfWhatWentAgain(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.mess()
	before := b.shapeOf(b.w.Directory, false)
	trashed := b.delete(true)
	if _, err := b.tryRestore(trashed); err != nil {
		t.Fatal(detail(err))
	}
	b.run(b.dir, "worktree", "remove", "--force", b.w.Directory)
	sameShape(t, before, b.shapeOf(b.restore(trashed).Directory, false))
}

// TestTrashAtOnce has several delete and restore the same.
func TestTrashAtOnce(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.mess()
	before := b.shapeOf(b.w.Directory, true)
	atOnce := func(do func() error) {
		t.Helper()
		var group sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			group.Go(func() { errs[i] = do() })
		}
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(detail(err))
		}
	}
	project := b.project()
	remove := func() error {
		_, err := b.p.Remove(context.Background(), workspace.RemoveRequest{
			Project: project, Workspace: b.w, TrashID: b.id(), Force: true, Progress: func(workspace.Event) {},
		})
		return err
	}
	atOnce(remove)
	trashed := b.delete(true)
	atOnce(func() error {
		_, err := b.p.Restore(context.Background(), workspace.RestoreRequest{
			Project: project, Trashed: trashed, Attempt: "attempt-back", Progress: func(workspace.Event) {},
			Free: func(string, string) bool { return true },
		})
		return err
	})
	sameShape(t, before, b.shapeOf(b.restore(trashed).Directory, true))
}

// TestTrashWithoutItsJournal restores from what the record has.
func TestTrashWithoutItsJournal(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, anew bool) {
		b := newBin(t)
		b.mess()
		before := b.shapeOf(b.w.Directory, !anew)
		trashed := b.delete(true)
		if anew {
			b.discard(trashed, false)
		}
		if err := os.RemoveAll(filepath.Join(b.dir, ".git", "threadtree", "trash")); err != nil {
			t.Fatal(err)
		}
		restored := b.restore(trashed)
		if restored.Branch != b.w.Branch || restored.Directory != b.w.Directory {
			t.Errorf("%+v", restored)
		}
		sameShape(t, before, b.shapeOf(restored.Directory, !anew))
	})
}

// TestTrashWithoutItsEntry has somebody remove git's entry of the kept
// directory, which comes back whole all the same.
func TestTrashWithoutItsEntry(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.mess()
	before := b.shapeOf(b.w.Directory, true)
	trashed := b.delete(true)
	if err := os.RemoveAll(gitDirOf(trashed.Kept.Directory)); err != nil {
		t.Fatal(err)
	}
	restored, err := b.tryRestore(trashed)
	if err != nil || !hasLine(restored.Warnings, "forgotten", "kept directory") {
		t.Fatalf("%+v, %v", restored, detail(err))
	}
	sameShape(t, before, b.shapeOf(restored.Directory, true))
	b.discard(trashed, true)
	if !exists(filepath.Join(restored.Directory, ".env")) || exists(trashed.Kept.Directory) {
		t.Error("the ignored file is not back, or the directory still is where it was kept")
	}
}

// TestTrashIsNotListed keeps what is deleted out of lists of worktrees.
func TestTrashIsNotListed(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.delete(false)
	list, err := b.p.r.Worktrees(t.Context(), b.project())
	if err != nil || len(list) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
	again := b.made(titled("one"), func(r *workspace.CreateRequest) { r.Attempt = "attempt-2" })
	if again.Directory != b.w.Directory || again.Branch != b.w.Branch {
		t.Errorf("place and name are not free: %+v", again)
	}
}
