package workspace_test

import (
	"errors"
	"os"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestAnotherWorkspaceIsNotMeant asks for what was there before: the one that
// took its place stays as it is.
func TestAnotherWorkspaceIsNotMeant(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	g := p.merger()
	before := p.create(t, "1").Attempt.ID
	if _, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1", Attempt: before}); err != nil {
		t.Fatal(err)
	}
	w := p.create(t, "1")
	work(t, w.Directory, "first", "1\n")
	head := git(t, p.project, "rev-parse", "main")
	o := workspace.MergeOptions{ThreadID: "1", Attempt: before}
	for name, do := range map[string]func() error{
		"delete": func() error {
			_, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1", Attempt: before, Force: true})
			return err
		},
		"merge":    func() error { _, err := g.Merge(t.Context(), o); return err },
		"continue": func() error { _, err := g.Continue(t.Context(), o); return err },
		"abort":    func() error { _, err := g.Abort(t.Context(), o); return err },
		"preview":  func() error { _, err := g.Preview(t.Context(), o); return err },
	} {
		err := do()
		wantCode(t, err, workspace.ErrInProgress)
		if !errors.Is(err, workspace.ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(w.Directory); err != nil || git(t, p.project, "rev-parse", "main") != head {
		t.Errorf("something was done: %v", err)
	}
	if _, err := g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "1", Attempt: w.Attempt.ID}); err != nil {
		t.Error(err)
	}
}
