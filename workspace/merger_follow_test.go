package workspace_test

import (
	"testing"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/workspace"
)

// TestReconcileFollowsAMerge has the process that merged be gone before it
// could write the record: reconcile, recover and a merge with nothing to do
// write what it would have written, and no more than once.
func TestReconcileFollowsAMerge(t *testing.T) {
	t.Parallel()
	for name, settle := range map[string]func(t *testing.T, p *parts) int{
		"reconcile": func(t *testing.T, p *parts) int {
			actions, err := p.Reconcile(t.Context(), p.project)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, a := range actions {
				if a.Kind == workspace.ActionMerged && a.ThreadID == "1" {
					n++
				}
			}
			return n
		},
		"recover": func(t *testing.T, p *parts) int {
			lines, err := p.merger().Recover(t.Context(), p.project)
			if err != nil {
				t.Fatal(err)
			}
			return len(lines)
		},
		"merge": func(t *testing.T, p *parts) int {
			before, err := p.Get(t.Context(), "1")
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.merger().Merge(t.Context(), workspace.MergeOptions{ThreadID: "1"})
			wantCode(t, err, workspace.ErrNothingToMerge)
			after, err := p.Get(t.Context(), "1")
			if err != nil {
				t.Fatal(err)
			}
			if before.BaseCommit == after.BaseCommit {
				return 0
			}
			return 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := build(t, settings{tune: func(c *workspace.Config) {
				c.Recoverers = []workspace.Recoverer{gitops.NewMerger(c.Repository.(*gitops.Repository), gitops.MergeOptions{})}
			}})
			w := p.create(t, "1")
			work(t, w.Directory, "first", "1\n")
			work(t, p.project, "meanwhile", "1\n")
			project, err := p.repo.Open(t.Context(), p.project)
			if err != nil {
				t.Fatal(err)
			}
			merged, err := gitops.NewMerger(p.repo, gitops.MergeOptions{}).Merge(t.Context(), workspace.MergeRequest{Project: project, Workspace: w})
			if err != nil {
				t.Fatal(err)
			}
			if stale, err := p.Get(t.Context(), "1"); err != nil || stale.Branch != w.Branch {
				t.Fatalf("%+v, %v", stale, err)
			}
			if n := settle(t, p); n != 1 {
				t.Errorf("%d records followed", n)
			}
			p.wantMerged(t, "1", merged)
			if n := settle(t, p); n != 0 {
				t.Errorf("%d records followed once more", n)
			}
			p.wantMerged(t, "1", merged)
		})
	}
}
