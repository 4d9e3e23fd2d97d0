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
