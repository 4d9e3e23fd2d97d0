package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

func TestDiscardAll(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.mess()
	b.embed()
	outside := filepath.Join(b.root, "outside")
	b.write(filepath.Join(outside, "kept"), "")
	if err := errors.Join(os.Symlink(outside, b.at("node_modules/out")), os.Chmod(b.at("node_modules/x"), 0o500)); err != nil {
		t.Fatal(err)
	}
	trashed := b.delete(true)
	for range 2 {
		b.discard(trashed, true)
		b.nothingKept()
	}
	if remains := b.remains(); len(remains) > 0 {
		t.Errorf("remains: %q", remains)
	}
	if !exists(filepath.Join(outside, "kept")) {
		t.Error("a symlink was followed")
	}
	_, err := b.tryRestore(trashed)
	wantCode(t, err, workspace.ErrNotFound)
}

// TestDiscardOnlyOurs leaves what isn't what was put there.
func TestDiscardOnlyOurs(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	trashed := b.delete(false)
	hidden := trashed.Kept.Directory
	away := hidden + "-away"
	if err := os.Rename(hidden, away); err != nil {
		t.Fatal(err)
	}
	b.write(filepath.Join(hidden, "theirs"), "theirs\n")
	for _, all := range []bool{false, true} {
		wantCode(t, b.p.Discard(t.Context(), b.project(), trashed, all), workspace.ErrLocked)
	}
	if err := os.RemoveAll(hidden); err != nil {
		t.Fatal(err)
	}
	// A link to another worktree of the same repository.
	other := b.made(titled("two"), func(r *workspace.CreateRequest) { r.Attempt = "attempt-2" })
	if err := os.Symlink(other.Directory, hidden); err != nil {
		t.Fatal(err)
	}
	wantCode(t, b.p.Discard(t.Context(), b.project(), trashed, true), workspace.ErrLocked)
	if !exists(filepath.Join(other.Directory, "f")) {
		t.Error("another worktree is gone")
	}
	if err := errors.Join(os.Remove(hidden), os.Rename(away, hidden)); err != nil {
		t.Fatal(err)
	}
	b.discard(trashed, true)
	b.nothingKept()
	if got := b.run(b.dir, "worktree", "list", "--porcelain"); !strings.Contains(got, other.Directory) {
		t.Errorf("worktrees: %s", got)
	}
}

// TestDiscardKeepsWhatWasDoneSince brings the snapshot up to date first.
func TestDiscardKeepsWhatWasDoneSince(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	trashed := b.delete(false)
	hidden := trashed.Kept.Directory
	b.write(filepath.Join(hidden, "since"), "since\n")
	b.write(filepath.Join(hidden, "f"), "since\n")
	b.run(hidden, "add", "f")
	before := b.shapeOf(hidden, false)
	b.discard(trashed, false)
	if now := b.run(b.dir, "rev-parse", trashed.Kept.Ref); now == trashed.Kept.Snapshot {
		t.Error("the snapshot is the one from before")
	}
	if got, err := b.lab.try(b.dir, "merge-base", "--is-ancestor", trashed.Kept.Snapshot, trashed.Kept.Ref); err != nil {
		t.Errorf("the snapshot from before is not in the history of the new one: %s", got)
	}
	restored := b.restore(trashed)
	before.head = "refs/heads/" + b.w.Branch
	before.status = strings.Replace(before.status, "(detached)", b.w.Branch, 1)
	sameShape(t, before, b.shapeOf(restored.Directory, false))

	// Where nothing was done it is the same one.
	b.w.Attempt.ID = "attempt-3"
	trashed = b.delete(true)
	b.discard(trashed, false)
	if now := b.run(b.dir, "rev-parse", trashed.Kept.Ref); now != trashed.Kept.Snapshot {
		t.Error("a snapshot was taken for nothing")
	}
}

// TestDiscardAllRefusesWhatWasDoneSince has the snapshot go with the directory:
// then nothing else has what was done in that.
func TestDiscardAllRefusesWhatWasDoneSince(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work  func(b *bin, hidden string)
		files []string
	}{
		"a file":  {func(b *bin, hidden string) { b.write(filepath.Join(hidden, "since"), "since\n") }, []string{"since"}},
		"an edit": {func(b *bin, hidden string) { b.write(filepath.Join(hidden, "f"), "since\n") }, []string{"f"}},
		"a commit": {func(b *bin, hidden string) {
			b.run(hidden, "commit", "-q", "--allow-empty", "-m", "since")
		}, nil},
		"what is staged": {func(b *bin, hidden string) {
			b.run(hidden, "rm", "-q", "--cached", "modified")
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBin(t)
			b.mess()
			trashed := b.delete(true)
			hidden := trashed.Kept.Directory
			c.work(b, hidden)
			before := b.shapeOf(hidden, true)
			for range 2 {
				e := wantCode(t, b.p.Discard(t.Context(), b.project(), trashed, true), workspace.ErrDirtyWorktree)
				if !slices.Equal(e.Files, c.files) && len(c.files)+len(e.Files) > 0 {
					t.Errorf("files: %q", e.Files)
				}
			}
			sameShape(t, before, b.shapeOf(hidden, true))
			if now := b.run(b.dir, "rev-parse", trashed.Kept.Ref); now != trashed.Kept.Snapshot {
				t.Error("the snapshot is another one")
			}
			// The directory alone can go, with the work in the snapshot, and
			// then that.
			b.discard(trashed, false)
			b.discard(trashed, true)
			b.nothingKept()
		})
	}
	// A look is no work.
	b := newBin(t)
	b.mess()
	trashed := b.delete(true)
	b.run(trashed.Kept.Directory, "status")
	b.run(trashed.Kept.Directory, "update-index", "-q", "--really-refresh")
	b.discard(trashed, true)
	b.nothingKept()
}

func TestDiscardOfAnInterruptedOne(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.killedAfter(trashErrand{Step: "renamed", Remove: &b.w})
	unfinished := workspace.Trashed{ID: b.id(), Workspace: b.w}
	wantCode(t, b.p.Discard(t.Context(), b.project(), unfinished, true), workspace.ErrInProgress)
	_, err := b.tryRestore(unfinished)
	wantCode(t, err, workspace.ErrInProgress)
	removed, _ := b.resume()
	trashed := b.trashed(removed)
	b.killedAfter(trashErrand{Step: "back", Restore: &trashed})
	wantCode(t, b.p.Discard(t.Context(), b.project(), trashed, true), workspace.ErrInProgress)
	_, err = b.try(true)
	wantCode(t, err, workspace.ErrInProgress)
	b.restore(trashed)

	// From the snapshot there is nothing but a half-made worktree to lose.
	b.w.Attempt.ID = "attempt-3"
	trashed = b.delete(true)
	b.discard(trashed, false)
	b.killedAfter(trashErrand{Step: "checkout", Restore: &trashed})
	b.discard(trashed, true)
	b.nothingKept()
	if exists(b.w.Directory) {
		t.Error("the half-made worktree is there")
	}
}

func TestDiscardRegenerable(t *testing.T) {
	t.Parallel()
	b := newBin(t, func(l *lab) {
		l.write(filepath.Join(l.dir, ".gitignore"), ".env\nnode_modules/\nbuild/\ntarget\n/precious/\n")
		l.write(filepath.Join(l.dir, "dist", "tracked"), "tracked\n")
	})
	for _, file := range []string{"node_modules/a/b", "pkg/node_modules/c", "build/x", "precious/node_modules/x", ".env", "dist/new"} {
		b.write(b.at(file), strings.Repeat("x", 5000))
	}
	b.run(b.root, "init", "-q", b.at("build/checkout"))
	outside := filepath.Join(b.root, "outside")
	b.write(filepath.Join(outside, "x"), "")
	if err := os.Symlink(outside, b.at("target")); err != nil {
		t.Fatal(err)
	}
	before := b.shapeOf(b.w.Directory, true)
	trashed := b.delete(true)
	folders, size, err := b.p.Regenerable(t.Context(), b.project(), trashed)
	if err != nil || size < 2*8192 || !slices.Equal(folders, []string{"node_modules", "pkg/node_modules"}) {
		t.Errorf("%q with %d, %v", folders, size, detail(err))
	}
	freed, err := b.p.DiscardRegenerable(t.Context(), b.project(), trashed, []string{"precious/node_modules", "build", ".env", "../outside"})
	if err != nil || freed != 0 {
		t.Errorf("freed %d, %v", freed, detail(err))
	}
	freed, err = b.p.DiscardRegenerable(t.Context(), b.project(), trashed, folders)
	if err != nil || freed != size {
		t.Errorf("freed %d, not %d, %v", freed, size, detail(err))
	}
	restored := b.restore(trashed)
	delete(before.files, "node_modules/a/b")
	delete(before.files, "pkg/node_modules/c")
	sameShape(t, before, b.shapeOf(restored.Directory, true))
	if !hasLine(restored.Warnings, "node_modules", "pkg/node_modules") {
		t.Errorf("warnings: %q", restored.Warnings)
	}
	if !exists(filepath.Join(outside, "x")) {
		t.Error("a symlink was followed")
	}
	if freed, err := b.p.DiscardRegenerable(t.Context(), b.project(), trashed, folders); err != nil || freed != 0 {
		t.Errorf("freed %d of what is alive, %v", freed, err)
	}
}

func TestDiskUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := newLab(t).provider()
	use := func() int64 {
		t.Helper()
		n, err := p.DiskUse(t.Context(), dir)
		if err != nil {
			t.Fatal(detail(err))
		}
		return n
	}
	empty := use()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	one := use()
	if one-empty < 100_000 || one-empty > 200_000 {
		t.Errorf("a file of 100,000 bytes takes %d", one-empty)
	}
	if err := os.Link(file, filepath.Join(dir, "again")); err != nil {
		t.Fatal(err)
	}
	if two := use(); two != one {
		t.Errorf("a second name takes %d", two-one)
	}
	hole, err := os.Create(filepath.Join(dir, "hole"))
	if err == nil {
		err = errors.Join(hole.Truncate(1<<30), hole.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if holes := use(); holes-one > 100_000 {
		t.Errorf("a hole takes %d", holes-one)
	}
	big := filepath.Join(t.TempDir(), "big")
	if err := errors.Join(os.Mkdir(big, 0o755), os.WriteFile(filepath.Join(big, "x"), make([]byte, 1<<20), 0o600), os.Symlink(big, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	if linked := use(); linked-one > 100_000 {
		t.Errorf("a link takes %d", linked-one)
	}
	_, err = p.DiskUse(t.Context(), filepath.Join(dir, "nowhere"))
	wantCode(t, err, workspace.ErrNotFound)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.DiskUse(ctx, dir)
	wantCode(t, err, workspace.ErrTimeout)
}

func TestRepairEntries(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	entries := filepath.Join(b.dir, ".git", "worktrees")
	ours := gitDirOf(b.w.Directory)
	b.write(filepath.Join(ours, "commondir"), "")

	theirs := filepath.Join(b.root, "theirs")
	half := filepath.Join(entries, "half")
	b.write(filepath.Join(half, "locked"), makingReason+"attempt-9\n")
	b.write(filepath.Join(half, "gitdir"), filepath.Join(b.root, "nowhere", ".git")+"\n")
	making := filepath.Join(entries, "making")
	b.write(filepath.Join(making, "locked"), makingReason+"attempt-8\n")

	alive := func(attempt string) bool { return attempt == "attempt-8" }
	lines, err := b.p.r.repairEntries(t.Context(), b.project(), alive)
	if err != nil || len(lines) != 3 || !hasLine(lines, "one", "mended") || !hasLine(lines, "half", "removed") || !hasLine(lines, "making", "left") {
		t.Fatalf("%q, %v", lines, err)
	}
	if exists(half) || !exists(making) {
		t.Error("the wrong entry was removed")
	}
	if err := os.RemoveAll(making); err != nil {
		t.Fatal(err)
	}
	if got := b.run(b.w.Directory, "status", "--porcelain", "-b"); got != "## "+b.w.Branch {
		t.Errorf("status: %s", got)
	}
	// What is in the trash is ours, too, and somebody else's is not.
	b.run(b.dir, "worktree", "add", "-q", "--detach", theirs)
	trashed := b.delete(false)
	kept, foreign := gitDirOf(trashed.Kept.Directory), gitDirOf(theirs)
	b.write(filepath.Join(kept, "commondir"), "")
	b.write(filepath.Join(foreign, "commondir"), "")
	lines, err = b.p.r.repairEntries(t.Context(), b.project(), alive)
	if err != nil || len(lines) != 2 || !hasLine(lines, "one", "mended") || !hasLine(lines, "theirs", "somebody else", "left") {
		t.Fatalf("%q, %v", lines, err)
	}
	b.write(filepath.Join(foreign, "commondir"), "../..\n")
	b.restore(trashed)
	if lines, err := b.p.r.repairEntries(t.Context(), b.project(), alive); err != nil || len(lines) > 0 {
		t.Errorf("%q, %v", lines, err)
	}
}
