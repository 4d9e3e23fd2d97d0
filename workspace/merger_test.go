package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/workspace"
)

func (p *parts) merger() *workspace.Merger {
	return workspace.NewMerger(p.Manager, gitops.NewMerger(p.repo, gitops.MergeOptions{}))
}

// work commits a file in a directory.
func work(t testing.TB, dir, file, text string) {
	t.Helper()
	write(t, filepath.Join(dir, file), text)
	git(t, dir, "add", "--", file)
	git(t, dir, "commit", "-q", "-m", "change "+file)
}

// TestMergeFollowsInTheRecord merges a workspace twice and then deletes it:
// the record says at each step what is checked out.
func TestMergeFollowsInTheRecord(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	g := p.merger()
	w := p.create(t, "1")
	work(t, w.Directory, "first", "1\n")
	work(t, p.project, "meanwhile", "1\n")
	merged, err := g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if merged.Branch != w.Branch || merged.BranchKept || merged.Target != "main" || merged.Commits != 1 {
		t.Errorf("merged: %+v", merged)
	}
	p.wantMerged(t, "1", merged)

	// The agent goes on, on a detached HEAD.
	work(t, w.Directory, "second", "2\n")
	merged, err = g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "1", Strategy: workspace.StrategySquash})
	if err != nil {
		t.Fatal(err)
	}
	if merged.Branch != "" || merged.Commits != 1 {
		t.Errorf("merged again: %+v", merged)
	}
	p.wantMerged(t, "1", merged)
	for _, file := range []string{"first", "second", "meanwhile"} {
		if _, err := os.Stat(filepath.Join(p.project, file)); err != nil {
			t.Error(err)
		}
	}
	if _, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"}); err != nil {
		t.Errorf("delete: %v", err)
	}
}

// TestMergeWithAMessageForNoCommit says that a rebase has no use for a message.
func TestMergeWithAMessageForNoCommit(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	w := p.create(t, "1")
	work(t, w.Directory, "first", "1\n")
	merged, err := p.merger().Merge(t.Context(), workspace.MergeOptions{ThreadID: "1", Message: "unused"})
	if err != nil || len(merged.Warnings) != 1 {
		t.Errorf("merged: %+v, %v", merged, err)
	}
}

// wantMerged checks the record after a merge.
func (p *parts) wantMerged(t *testing.T, thread string, merged workspace.Merged) {
	t.Helper()
	w, err := p.Get(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	if w.Branch != "" || w.BranchCreated || w.BaseCommit != merged.SHA || w.Status != workspace.StatusReady {
		t.Errorf("record: %+v", w)
	}
	if head := git(t, w.Directory, "rev-parse", "HEAD"); head != merged.SHA || head != git(t, p.project, "rev-parse", merged.Target) {
		t.Errorf("the workspace is at %s, the target at %s", head, merged.SHA)
	}
	if branch := git(t, w.Directory, "branch", "--show-current"); branch != "" {
		t.Errorf("the workspace is on %s", branch)
	}
	if len(merged.Warnings) > 0 {
		t.Errorf("warnings: %q", merged.Warnings)
	}
}

// TestMergeKeepsTheBranchInTheRecord keeps the branch, and its name.
func TestMergeKeepsTheBranchInTheRecord(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	w := p.create(t, "1")
	work(t, w.Directory, "first", "1\n")
	merged, err := p.merger().Merge(t.Context(), workspace.MergeOptions{ThreadID: "1", KeepBranch: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Get(t.Context(), "1")
	if err != nil || got.Branch != w.Branch || !merged.BranchKept || git(t, p.project, "rev-parse", w.Branch) != merged.SHA {
		t.Errorf("record %+v, merged %+v, %v", got, merged, err)
	}
}

// TestMergeConflictAndBack pauses at a conflict, aborts, and resolves it the
// second time.
func TestMergeConflictAndBack(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	g := p.merger()
	w := p.create(t, "1")
	work(t, w.Directory, "file", "mine\n")
	work(t, p.project, "file", "theirs\n")
	tip := git(t, w.Directory, "rev-parse", "HEAD")
	_, err := g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "1"})
	wantCode(t, err, workspace.ErrRebaseConflict)
	if errors.Is(err, workspace.ErrPaused) {
		t.Error("nobody asked for a pause")
	}
	_, err = g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "1", Resolve: true})
	c, ok := errors.AsType[*workspace.Conflict](err)
	if !ok || !c.Paused || !errors.Is(err, workspace.ErrPaused) || c.Instructions == "" {
		t.Fatalf("error %v, conflict %+v", err, c)
	}
	back, err := g.Abort(t.Context(), workspace.MergeOptions{ThreadID: "1"})
	if err != nil || back.Branch != w.Branch || git(t, w.Directory, "rev-parse", "HEAD") != tip {
		t.Fatalf("abort: %+v, %v", back, err)
	}
	if _, err = g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "1", Resolve: true}); !errors.Is(err, workspace.ErrPaused) {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.Directory, "file"), "both\n")
	git(t, w.Directory, "add", "file")
	merged, err := g.Continue(t.Context(), workspace.MergeOptions{ThreadID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	p.wantMerged(t, "1", merged)
	if lines, err := g.Recover(t.Context(), p.project); err != nil || len(lines) > 0 {
		t.Errorf("recover: %q, %v", lines, err)
	}
}

// TestMergeRefuses tells apart what can't be merged.
func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	g := p.merger()
	w := p.create(t, "1")
	for _, c := range []struct {
		o    workspace.MergeOptions
		code workspace.Code
	}{
		{workspace.MergeOptions{ThreadID: "none"}, workspace.ErrNotFound},
		{workspace.MergeOptions{ThreadID: "1", Strategy: "octopus"}, workspace.ErrInvalidRef},
		{workspace.MergeOptions{ThreadID: "1", Target: "a..b"}, workspace.ErrInvalidRef},
		{workspace.MergeOptions{ThreadID: "1", Target: "nosuch"}, workspace.ErrTargetNotFound},
		{workspace.MergeOptions{ThreadID: "1"}, workspace.ErrNothingToMerge},
	} {
		before := p.world(t)
		_, err := g.Merge(t.Context(), c.o)
		wantCode(t, err, c.code)
		if after := p.world(t); after != before {
			t.Errorf("%+v changed something", c.o)
		}
	}
	write(t, filepath.Join(w.Directory, "file"), "edited\n")
	_, err := g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "1"})
	wantCode(t, err, workspace.ErrDirtyWorktree)
	_, err = g.Continue(t.Context(), workspace.MergeOptions{ThreadID: "1"})
	wantCode(t, err, workspace.ErrNotFound)
	_, err = g.Abort(t.Context(), workspace.MergeOptions{ThreadID: "1"})
	wantCode(t, err, workspace.ErrNotFound)
}

// TestMergeRecordsABranchThatIsThere has the workspace stay behind its target
// at first: the branch in the record is there then, and after it has followed.
func TestMergeRecordsABranchThatIsThere(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	for _, setting := range []string{"filter.need.clean=cat", "filter.need.smudge=cat", "filter.need.required=true", "extensions.worktreeConfig=true"} {
		name, value, _ := strings.Cut(setting, "=")
		git(t, p.project, "config", name, value)
	}
	w := p.create(t, "1")
	work(t, w.Directory, "mine", "1\n")
	work(t, p.project, ".gitattributes", "needs filter=need\n")
	work(t, p.project, "needs", "1\n")
	git(t, w.Directory, "config", "--worktree", "filter.need.smudge", "false")
	g := p.merger()
	merged, err := g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "1"})
	if err != nil || !merged.BranchKept {
		t.Fatalf("%+v, %v", merged, err)
	}
	git(t, w.Directory, "config", "--worktree", "--unset", "filter.need.smudge")
	if lines, err := g.Recover(t.Context(), p.project); err != nil || len(lines) != 1 {
		t.Fatalf("%q, %v", lines, err)
	}
	got, err := p.Get(t.Context(), "1")
	if err != nil || got.Branch != w.Branch || !got.BranchCreated || git(t, p.project, "rev-parse", w.Branch) != merged.SHA {
		t.Errorf("record %+v, %v", got, err)
	}
	if _, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"}); err != nil {
		t.Errorf("delete: %v", err)
	}
	if left := git(t, p.project, "branch", "--list", w.Branch); left != "" {
		t.Errorf("the branch outlived its workspace: %s", left)
	}
}

// TestContinuePausesAgain resolves a conflict while the target changes the same
// line once more: the new conflict is paused without being asked for anew.
func TestContinuePausesAgain(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	g := p.merger()
	w := p.create(t, "1")
	work(t, w.Directory, "file", "mine\n")
	work(t, p.project, "file", "theirs\n")
	if _, err := g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "1", Resolve: true}); !errors.Is(err, workspace.ErrPaused) {
		t.Fatal(err)
	}
	work(t, p.project, "file", "again\n")
	for _, text := range []string{"both\n", "all\n"} {
		write(t, filepath.Join(w.Directory, "file"), text)
		git(t, w.Directory, "add", "file")
		merged, err := g.Continue(t.Context(), workspace.MergeOptions{ThreadID: "1"})
		if text == "both\n" {
			if !errors.Is(err, workspace.ErrPaused) {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		p.wantMerged(t, "1", merged)
	}
}

// TestMergeKeepsTheBaseOfAnother merges a workspace on whose branch another one
// is built: the branch stays, which is said, and the other can be merged.
func TestMergeKeepsTheBaseOfAnother(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	g := p.merger()
	first := p.create(t, "1")
	work(t, first.Directory, "first", "1\n")
	second := p.create(t, "2", base(first.Branch))
	work(t, second.Directory, "second", "2\n")
	work(t, p.project, "meanwhile", "1\n")
	merged, err := g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if !merged.BranchKept || len(merged.Warnings) != 1 || !strings.Contains(merged.Warnings[0], "base of thread 2") {
		t.Errorf("merged: %+v", merged)
	}
	if got := git(t, p.project, "rev-parse", first.Branch); got != merged.SHA {
		t.Errorf("the base is at %s, not %s", got, merged.SHA)
	}
	collector := workspace.NewCollector(p.Manager)
	planned := func() string {
		t.Helper()
		plan, err := collector.Plan(t.Context(), workspace.CollectOptions{Project: p.project, Merged: true})
		if err != nil {
			t.Fatal(err)
		}
		return lines(plan)
	}
	if got := planned(); got != "" {
		t.Errorf("planned: %s", got)
	}
	merged, err = g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "2"})
	if err != nil || merged.Target != first.Branch || merged.Commits != 1 {
		t.Errorf("merged: %+v, %v", merged, err)
	}
	// Nothing is built on that one.
	if merged.BranchKept || len(merged.Warnings) > 0 {
		t.Errorf("merged: %+v", merged)
	}
}
