package gitops

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// copyAside has a directory copied as "cp -a" does it and the copy put in its
// place, as where a home is brought to another disk.
func (b *bin) copyAside(dir string) {
	b.t.Helper()
	b.run(b.root, "-c", "alias.copy=!cp -a '"+dir+"' '"+dir+".copy'", "copy")
	if err := os.Rename(dir, filepath.Join(b.root, "the old one")); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Rename(dir+".copy", dir); err != nil {
		b.t.Fatal(err)
	}
}

// TestRestoreAfterACopy has the whole home copied while a directory is kept in
// it: it is known again by what is in it and in its entry.
func TestRestoreAfterACopy(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *bin, hidden string){
		"in its place": func(b *bin, _ string) { b.copyAside(b.home) },
		"not copied, but without its file .git": func(b *bin, hidden string) {
			if err := os.Remove(filepath.Join(hidden, ".git")); err != nil {
				b.t.Fatal(err)
			}
		},
		"behind a link": func(b *bin, _ string) {
			b.copyAside(b.home)
			if err := os.Rename(b.home, b.home+"-2"); err != nil {
				b.t.Fatal(err)
			}
			if err := os.Symlink(b.home+"-2", b.home); err != nil {
				b.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBin(t)
			b.mess()
			b.embed()
			before := b.shapeOf(b.w.Directory, true)
			trashed := b.delete(true)
			change(b, trashed.Kept.Directory)
			restored := b.restore(trashed)
			if restored.Directory != b.w.Directory || len(restored.Warnings) > 0 {
				t.Errorf("%+v", restored)
			}
			sameShape(t, before, b.shapeOf(restored.Directory, true))
			b.notLocked()
		})
	}
}

// notLocked wants no entry with a lock of ours, and none of a hidden directory.
func (b *bin) notLocked() {
	b.t.Helper()
	entries, err := readEntries(filepath.Join(b.dir, ".git"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		if reason, locked, _ := lockReason(e.path); locked && isTrash(reason) {
			b.t.Errorf("%s, of %s, is locked: %s", e.path, e.directory, reason)
		}
	}
}

// TestRestoreAfterAMove has the home moved, and git told of it.
func TestRestoreAfterAMove(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.mess()
	before := b.shapeOf(b.w.Directory, true)
	trashed := b.delete(true)
	moved := filepath.Join(b.root, "another home")
	if err := os.Rename(b.home, moved); err != nil {
		t.Fatal(err)
	}
	rest, err := filepath.Rel(b.home, b.w.Directory)
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Rel(b.home, trashed.Kept.Directory)
	if err != nil {
		t.Fatal(err)
	}
	b.run(b.dir, "worktree", "repair", filepath.Join(moved, hidden))
	restored := b.restore(trashed)
	if restored.Directory != filepath.Join(moved, rest) {
		t.Errorf("%+v", restored)
	}
	sameShape(t, before, b.shapeOf(restored.Directory, true))
	b.notLocked()
}

// TestRestoreOfWhatGitForgot has the entry of a kept directory gone, and killed
// at each step of the restore.
func TestRestoreOfWhatGitForgot(t *testing.T) {
	t.Parallel()
	forget := func(b *bin, admin string) {
		if err := os.RemoveAll(admin); err != nil {
			b.t.Fatal(err)
		}
	}
	steps := []string{""}
	for i := 0; i < len(steps); i++ {
		b := newBin(t)
		b.mess()
		b.write(b.at(".env"), "edited\n")
		before := b.shapeOf(b.w.Directory, true)
		admin := gitDirOf(b.w.Directory)
		trashed := b.delete(true)
		forget(b, admin)
		if i%2 == 1 {
			// Its name belongs to another one by now.
			b.run(b.dir, "worktree", "add", "-q", "--detach", filepath.Join(b.root, filepath.Base(admin)))
		}
		if i > 0 {
			b.killedAt(steps[i], func() { _, _ = b.tryRestore(trashed) })
		} else {
			b.p.r.reached = func(step string) {
				if !slices.Contains(steps, step) {
					steps = append(steps, step)
				}
			}
			if _, err := b.tryRestore(trashed); err != nil {
				t.Fatal(detail(err))
			}
			b.p.r.reached = nil
		}
		restored := b.restore(trashed)
		if restored.Directory != b.w.Directory || restored.Branch != b.w.Branch {
			t.Errorf("killed at %q: %+v", steps[i], restored)
		}
		if i == 0 && !hasLine(restored.Warnings, "forgotten") {
			t.Errorf("warnings: %q", restored.Warnings)
		}
		sameShape(t, before, b.shapeOf(restored.Directory, true))
		b.notLocked()
		if t.Failed() {
			t.Fatalf("killed at %q", steps[i])
		}
	}
	if len(steps) < 8 {
		t.Errorf("steps: %q", steps)
	}
}

// killedAt ends do at a step, with nothing after it done.
func (b *bin) killedAt(step string, do func()) {
	b.t.Helper()
	defer func() {
		b.p.r.reached = nil
		if recover() == nil {
			b.t.Errorf("the step %q was not reached", step)
		}
	}()
	b.p.r.reached = func(now string) {
		if now == step {
			panic(step)
		}
	}
	do()
}

// TestRestoreBesideSomethingElse finds a directory at the hidden place that is
// none of ours: it stays, which is said once, and no lock is left.
func TestRestoreBesideSomethingElse(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.mess()
	before := b.shapeOf(b.w.Directory, false)
	trashed := b.delete(true)
	hidden := trashed.Kept.Directory
	if err := os.RemoveAll(hidden); err != nil {
		t.Fatal(err)
	}
	b.run(b.root, "init", "-q", hidden)
	restored, err := b.tryRestore(trashed)
	if err != nil {
		t.Fatal(detail(err))
	}
	about := slices.DeleteFunc(slices.Clone(restored.Warnings), func(line string) bool { return !hasLine([]string{line}, "ignored files") })
	if len(about) != 1 || !hasLine(about, hidden, "was left") {
		t.Errorf("warnings: %q", restored.Warnings)
	}
	sameShape(t, before, b.shapeOf(restored.Directory, false))
	b.discard(trashed, true)
	if !exists(filepath.Join(hidden, ".git", "HEAD")) {
		t.Error("it is gone")
	}
	b.notLocked()
}

// TestDiscardAfterACopy lets go of a copied directory, and of one that git has
// forgotten with its snapshot alone.
func TestDiscardAfterACopy(t *testing.T) {
	t.Parallel()
	for _, forgotten := range []bool{false, true} {
		b := newBin(t)
		b.mess()
		admin := gitDirOf(b.w.Directory)
		trashed := b.delete(true)
		b.copyAside(b.home)
		if forgotten {
			if err := os.RemoveAll(admin); err != nil {
				t.Fatal(err)
			}
			wantCode(t, b.p.Discard(t.Context(), b.project(), trashed, false), "locked")
			b.write(filepath.Join(trashed.Kept.Directory, "since"), "since\n")
			e := wantCode(t, b.p.Discard(t.Context(), b.project(), trashed, true), "dirty_worktree")
			if !slices.Equal(e.Files, []string{"since"}) || !exists(filepath.Join(trashed.Kept.Directory, "f")) {
				t.Errorf("files %q", e.Files)
			}
			if err := os.Remove(filepath.Join(trashed.Kept.Directory, "since")); err != nil {
				t.Fatal(err)
			}
		} else {
			b.discard(trashed, false)
		}
		b.discard(trashed, true)
		if exists(trashed.Kept.Directory) {
			t.Error("it is there")
		}
		b.nothingKept()
		b.notLocked()
	}
}
