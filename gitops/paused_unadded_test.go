package gitops

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestContinueNamesWhatWasNotAdded changes a file while a rebase is paused, and
// doesn't add it: it is named, and once it is added the rebase goes on.
func TestContinueNamesWhatWasNotAdded(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	l.clash()
	_, err := l.try(func(r *workspace.MergeRequest) { r.Resolve = true })
	if !errors.Is(err, workspace.ErrPaused) {
		t.Fatal(err)
	}
	f := filepath.Join(l.x, "f")
	l.write(f, "both\n")
	l.gitIn(l.x, "add", "f")
	l.write(f, "both, at last\n")
	_, err = l.g.Continue(t.Context(), l.request())
	if e := wantCode(t, err, workspace.ErrDirtyWorktree); !slices.Equal(e.Files, []string{"f"}) {
		t.Errorf("files: %q", e.Files)
	}
	l.gitIn(l.x, "add", "f")
	merged, err := l.g.Continue(t.Context(), l.request())
	if err != nil {
		t.Fatal(err)
	}
	l.landed(merged)
}

// TestContinueKnowsWhatOnlyLacksToBeAdded tells files without markers from those
// that are still to be resolved.
func TestContinueKnowsWhatOnlyLacksToBeAdded(t *testing.T) {
	t.Parallel()
	const both = "resolve it there (git add each file, then continue), or abort"
	for name, c := range map[string]struct {
		work func(l *mergeLab)
		hint string
	}{
		"edited": {
			func(l *mergeLab) {
				l.write(filepath.Join(l.x, "f"), "both\n")
				l.write(filepath.Join(l.x, "g"), "both\n")
			},
			"no conflict markers are left in them, only git add is missing: git add each file, then continue, or abort",
		},
		"one of two": {
			func(l *mergeLab) { l.write(filepath.Join(l.x, "f"), "both\n") },
			both + "; no markers are left, only git add is missing in: f",
		},
		"one added":    {func(l *mergeLab) { l.write(filepath.Join(l.x, "f"), "both\n"); l.gitIn(l.x, "add", "f") }, both},
		"with markers": {func(*mergeLab) {}, both},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newMergeLab(t)
			for _, file := range []string{"f", "g"} {
				l.write(filepath.Join(l.dir, file), "main's "+file+"\n")
				l.write(filepath.Join(l.x, file), "x's "+file+"\n")
			}
			for _, dir := range []string{l.dir, l.x} {
				l.gitIn(dir, "add", "-A")
				l.gitIn(dir, "commit", "-qm", "both change it in "+filepath.Base(dir))
			}
			_, err := l.try(func(r *workspace.MergeRequest) { r.Resolve = true })
			if !errors.Is(err, workspace.ErrPaused) {
				t.Fatal(err)
			}
			c.work(l)
			_, err = l.g.Continue(t.Context(), l.request())
			if e := wantCode(t, err, workspace.ErrRebaseConflict); e.Hint != c.hint {
				t.Errorf("hint %q, want %q", e.Hint, c.hint)
			}
		})
	}
}

// TestNothingIsSaidOfWhatHasNoMarkers of git's: a file that one side deleted,
// and a binary one.
func TestNothingIsSaidOfWhatHasNoMarkers(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	l.write(filepath.Join(l.dir, "bin"), "main\x00")
	l.write(filepath.Join(l.x, "bin"), "x\x00")
	l.gitIn(l.dir, "rm", "-q", "f")
	l.write(filepath.Join(l.x, "f"), "x's\n")
	for _, dir := range []string{l.dir, l.x} {
		l.gitIn(dir, "add", "-A")
		l.gitIn(dir, "commit", "-qm", "both change it")
	}
	_, err := l.try(func(r *workspace.MergeRequest) { r.Resolve = true })
	if !errors.Is(err, workspace.ErrPaused) {
		t.Fatal(err)
	}
	_, err = l.g.Continue(t.Context(), l.request())
	if e := wantCode(t, err, workspace.ErrRebaseConflict); e.Hint != "resolve it there (git add each file, then continue), or abort" {
		t.Errorf("hint %q", e.Hint)
	}
}
