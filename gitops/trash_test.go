package gitops

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

func TestTrashClean(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, anew bool) {
		b := newBin(t)
		b.write(b.at(".env"), "SECRET=1\n")
		trashed, restored := b.roundTrip(anew)
		if restored.Directory != b.w.Directory || restored.Branch != b.w.Branch || len(trashed.Kept.Missing) > 0 {
			t.Errorf("%+v, %+v", trashed.Kept, restored)
		}
		if !anew && len(restored.Warnings) > 0 {
			t.Errorf("warnings: %q", restored.Warnings)
		}
	})
}

func TestTrashMess(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, anew bool) {
		b := newBin(t)
		b.mess()
		trashed, restored := b.roundTrip(anew)
		if len(trashed.Kept.Missing) > 0 || restored.Branch != b.w.Branch {
			t.Errorf("%+v, %+v", trashed.Kept, restored)
		}
	})
}

func TestTrashEmbeddedRepositories(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, anew bool) {
		b := newBin(t)
		b.mess()
		b.embed()
		before := b.shapeOf(b.w.Directory, !anew)
		trashed := b.delete(true)
		for _, name := range []string{"embedded/", "bare-of-commits/"} {
			if !hasLine(trashed.Kept.Missing, "repository", name) {
				t.Errorf("%s is not named: %q", name, trashed.Kept.Missing)
			}
		}
		if !anew {
			sameShape(t, before, b.shapeOf(b.restore(trashed).Directory, true))
			return
		}
		b.discard(trashed, false)
		restored := b.restore(trashed)
		after := b.shapeOf(restored.Directory, false)
		for _, line := range []string{"? embedded/", "? bare-of-commits/"} {
			before.status = strings.Replace(before.status, line+"\n", "", 1)
		}
		sameShape(t, before, after)
		if !hasLine(restored.Warnings, "embedded/") {
			t.Errorf("warnings: %q", restored.Warnings)
		}
	})
}

func TestTrashConflicts(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(b *bin){
		"merge":  func(b *bin) { _, _ = b.lab.try(b.w.Directory, "merge", "main") },
		"rebase": func(b *bin) { _, _ = b.lab.try(b.w.Directory, "rebase", "main") },
		"resolved in part": func(b *bin) {
			_, _ = b.lab.try(b.w.Directory, "merge", "main")
			b.write(b.at("f"), "resolved\n")
			b.run(b.w.Directory, "add", "f")
		},
		"deleted on one side": func(b *bin) {
			b.run(b.w.Directory, "rm", "-q", "staged")
			b.run(b.w.Directory, "commit", "-q", "-m", "delete")
			_, _ = b.lab.try(b.w.Directory, "merge", "main")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ways(t, func(t *testing.T, anew bool) {
				b := newBin(t)
				for _, file := range []string{"f", "both", "staged"} {
					b.commit(b.dir, file, "theirs\n")
				}
				b.commit(b.w.Directory, "f", "ours\n")
				b.commit(b.w.Directory, "both", "ours\n")
				begin(b)
				if !strings.Contains(b.run(b.w.Directory, "status", "--porcelain"), "UU ") {
					t.Fatal("there should be a conflict")
				}
				op := operation(gitDirOf(b.w.Directory))
				before := b.shapeOf(b.w.Directory, true)
				trashed := b.delete(true)
				if !hasLine(trashed.Kept.Missing, op) {
					t.Errorf("the %s is not named: %q", op, trashed.Kept.Missing)
				}
				// The name is free.
				b.run(b.dir, "worktree", "add", "-q", "-b", b.w.Branch, filepath.Join(b.root, "other"))
				b.run(b.dir, "worktree", "remove", filepath.Join(b.root, "other"))
				b.run(b.dir, "branch", "-q", "-D", b.w.Branch)
				if anew {
					b.discard(trashed, false)
				}
				after := b.shapeOf(b.restore(trashed).Directory, true)
				sameShape(t, before, after)
				if anew {
					return
				}
				if now := operation(gitDirOf(b.w.Directory)); now != op {
					t.Errorf("a %s is under way, want a %s", now, op)
				}
				b.run(b.w.Directory, op, "--abort")
				if got := b.run(b.w.Directory, "status", "--porcelain", "-b"); !strings.HasPrefix(got, "## "+b.w.Branch) || strings.Contains(got, "\n") {
					t.Errorf("after the abort: %s", got)
				}
			})
		})
	}
}

func TestTrashRefusals(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.mess()
	b.run(b.dir, "worktree", "lock", "--reason", "session live", b.w.Directory)
	before := b.snapshot()
	_, err := b.try(false)
	e := wantCode(t, err, "dirty_worktree")
	for _, words := range []string{"isn't committed", "1 commit", "session live", "nothing was removed"} {
		if !strings.Contains(e.Message, words) {
			t.Errorf("%q lacks %q", e.Message, words)
		}
	}
	if !strings.Contains(e.Hint, "force the delete") || e.Option != workspace.OptionForce {
		t.Errorf("hint %q, option %q", e.Hint, e.Option)
	}
	if !slices.Contains(e.Files, "both") {
		t.Errorf("files: %q", e.Files)
	}
	if after := b.snapshot(); !slices.Equal(before, after) {
		t.Errorf("the refused removal changed the disk:\n%s", difference(before, after))
	}
	shape := b.shapeOf(b.w.Directory, true)
	trashed := b.delete(true)
	b.restore(trashed)
	sameShape(t, shape, b.shapeOf(b.w.Directory, true))
	if reason, locked, _ := lockReason(gitDirOf(b.w.Directory)); !locked || reason != "session live" {
		t.Errorf("the lock is %q (%v)", reason, locked)
	}
}
