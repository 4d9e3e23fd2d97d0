package gitops

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestPrecheckRefusesWhatNoRemoteCouldChange refuses by reading alone, and
// leaves to the create what a remote might answer otherwise.
func TestPrecheckRefusesWhatNoRemoteCouldChange(t *testing.T) {
	t.Parallel()
	tree := func(l *lab) string { return l.run(l.dir, "rev-parse", "HEAD^{tree}") }
	for name, tt := range map[string]struct {
		name    workspace.Name
		base    func(l *lab) string
		offline bool
		// alone and remote are the codes without a remote and with one that
		// doesn't answer, "" where it passes.
		alone, remote workspace.Code
	}{
		"free":                   {name: titled("one")},
		"checked out":            {name: exactly(t, "main"), alone: workspace.ErrBranchCheckedOut, remote: workspace.ErrBranchCheckedOut},
		"clash":                  {name: exactly(t, "main/x"), alone: workspace.ErrAlreadyExists, remote: workspace.ErrAlreadyExists},
		"base nowhere":           {name: titled("one"), base: func(*lab) string { return "nowhere" }, alone: workspace.ErrTargetNotFound},
		"base nowhere, offline":  {name: titled("one"), base: func(*lab) string { return "nowhere" }, offline: true, alone: workspace.ErrTargetNotFound, remote: workspace.ErrTargetNotFound},
		"full base nowhere":      {name: titled("one"), base: func(*lab) string { return "refs/heads/nowhere" }, alone: workspace.ErrTargetNotFound, remote: workspace.ErrTargetNotFound},
		"base a tree":            {name: titled("one"), base: tree, alone: workspace.ErrInvalidRef, remote: workspace.ErrInvalidRef},
		"new branch from a tree": {name: exactly(t, "new"), base: tree, alone: workspace.ErrInvalidRef, remote: workspace.ErrInvalidRef},
		"new branch":             {name: exactly(t, "new")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			for round, want := range []workspace.Code{tt.alone, tt.remote} {
				req := l.request(tt.name, func(r *workspace.CreateRequest) {
					r.NoFetch = tt.offline
					if tt.base != nil {
						r.Base = tt.base(l)
					}
				})
				before := l.snapshot()
				err := l.provider().Precheck(context.Background(), req)
				if got := workspace.CodeOf(err); err == nil && want != "" || err != nil && got != want {
					t.Errorf("got %v, want the code %q", detail(err), want)
				}
				if after := l.snapshot(); !slices.Equal(before, after) {
					t.Errorf("something was written:\n%s", difference(before, after))
				}
				if round == 0 {
					l.run(l.dir, "remote", "add", "origin", filepath.Join(l.root, "gone"))
				}
			}
		})
	}
}

func TestPrecheckOfARepositoryWithoutCommits(t *testing.T) {
	t.Parallel()
	l := emptyLab(t)
	l.run(l.root, "init", "-q", "-b", "main", l.dir)
	check := func(name workspace.Name, want workspace.Code) {
		t.Helper()
		if err := l.provider().Precheck(context.Background(), l.request(name)); workspace.CodeOf(err) != want {
			t.Errorf("%s: got %v, want the code %q", name.Branch, detail(err), want)
		}
	}
	check(titled("one"), workspace.ErrNoCommits)
	check(exactly(t, "feat"), workspace.ErrNoCommits)
	// A remote may have that branch.
	l.run(l.dir, "remote", "add", "origin", filepath.Join(l.root, "gone"))
	check(titled("one"), workspace.ErrNoCommits)
	check(exactly(t, "feat"), "")
}
