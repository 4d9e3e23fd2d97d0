package workspace_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// A branch that others are built on outlives the workspace it was made for.
func TestDeleteKeepsTheBaseOfAnother(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	first := p.create(t, "1")
	work(t, first.Directory, "first", "1\n")
	tip := git(t, first.Directory, "rev-parse", "HEAD")
	second := p.create(t, "2", base(first.Branch))

	deleted, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	left := slices.ContainsFunc(deleted.Removed.Left, func(line string) bool {
		return strings.Contains(line, first.Branch) && strings.Contains(line, "base of thread 2")
	})
	if !left || deleted.Removed.Branch != "" {
		t.Errorf("removed: %+v", deleted.Removed)
	}
	if got := git(t, p.project, "rev-parse", first.Branch); got != tip {
		t.Errorf("the branch is at %s, not %s", got, tip)
	}
	restored, err := p.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if got := git(t, restored.Directory, "symbolic-ref", "--short", "HEAD"); got != first.Branch {
		t.Errorf("HEAD is on %s, not %s", got, first.Branch)
	}

	// With the one that was built on it gone, it is a branch like any other.
	for _, thread := range []string{"2", "1"} {
		deleted, err = p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: thread, Force: true})
		if err != nil {
			t.Fatal(err)
		}
	}
	if deleted.Removed.Branch != first.Branch {
		t.Errorf("removed: %+v", deleted.Removed)
	}
	if got := git(t, p.project, "for-each-ref", "refs/heads/"+first.Branch, "refs/heads/"+second.Branch); got != "" {
		t.Errorf("left: %s", got)
	}
}
