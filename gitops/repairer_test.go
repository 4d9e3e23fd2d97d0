package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRepairer mends what keeps git from working, once nobody is at work on it.
func TestRepairer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	admin := gitDirOf(w.Directory)
	for file, content := range map[string]string{"commondir": "", markerFile: "", "locked": makingReason + "the-attempt\n"} {
		if err := os.WriteFile(filepath.Join(admin, file), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	locks, err := NewAttemptLocks(filepath.Join(l.root, "locks"), "here")
	if err != nil {
		t.Fatal(err)
	}
	r := l.provider().r
	repairer := NewRepairer(r, locks)
	recovered := func() string {
		t.Helper()
		lines, err := repairer.Recover(t.Context(), l.projectAt(l.dir))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n")
	}
	held, err := locks.Lock(t.Context(), "the-attempt")
	if err != nil {
		t.Fatal(err)
	}
	if got := recovered(); !strings.Contains(got, "is being made and was left") {
		t.Errorf("alive: %q", got)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	if got := recovered(); !strings.Contains(got, "is being made and was left") {
		t.Errorf("without a lock, on another machine perhaps: %q", got)
	}
	old := time.Now().Add(-2 * lockForgotten)
	if err := os.Chtimes(filepath.Join(admin, "locked"), old, old); err != nil {
		t.Fatal(err)
	}
	if got := recovered(); !strings.Contains(got, "was mended") {
		t.Errorf("abandoned: %q", got)
	}
	l.run(l.dir, "worktree", "list")
	if got := recovered(); got != "" {
		t.Errorf("again: %q", got)
	}
}

// TestRepairerMendsAWholeWorktree empties the file in the entry of a worktree
// that was made long since, as a power cut may.
func TestRepairerMendsAWholeWorktree(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	if err := os.WriteFile(filepath.Join(gitDirOf(w.Directory), "commondir"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	locks, err := NewAttemptLocks(filepath.Join(l.root, "locks"), "here")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := NewRepairer(l.provider().r, locks).Recover(t.Context(), l.projectAt(l.dir))
	if got := strings.Join(lines, "\n"); err != nil || !strings.Contains(got, "was mended") {
		t.Errorf("%q, %v", got, err)
	}
	l.run(w.Directory, "status")
}
