package gitops

import (
	"slices"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestLastMergeAfterAKill finishes a merge that was killed after the target had
// moved: how it ended is told as it would have been.
func TestLastMergeAfterAKill(t *testing.T) {
	t.Parallel()
	for _, step := range []string{stepTargetDone, stepBranchDone, stepForgotten} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			story := mergeStory{op: "merge", strategy: workspace.StrategyRebase, before: ahead}
			at := slices.Index(story.steps(t), step)
			l := newMergeLab(t)
			ahead(l)
			if none, when, err := l.g.LastMerge(t.Context(), l.open(l.dir), l.w); err != nil || !when.IsZero() {
				t.Fatalf("%+v, %v, %v", none, when, err)
			}
			l.kill(mergeErrand{Op: "merge", Strategy: workspace.StrategyRebase, Step: at + 1})
			if _, err := l.g.Recover(t.Context(), l.open(l.dir)); err != nil {
				t.Fatal(detail(err))
			}
			last, when, err := l.g.LastMerge(t.Context(), l.open(l.dir), l.w)
			if err != nil || when.IsZero() || last.SHA != l.git("rev-parse", "main") || last.Target != "main" || last.Branch != "x" {
				t.Errorf("%+v, %v, %v", last, when, err)
			}
			_, missing := l.tryGit(l.dir, "rev-parse", "-q", "--verify", "refs/heads/x")
			if last.BranchKept != (missing == nil) {
				t.Errorf("the branch is said to be kept: %v; %v", last.BranchKept, missing)
			}
			other := l.w
			other.ThreadID = "other"
			if _, when, err := l.g.LastMerge(t.Context(), l.open(l.dir), other); err != nil || !when.IsZero() {
				t.Errorf("another thread is told: %v, %v", when, err)
			}
		})
	}
}
