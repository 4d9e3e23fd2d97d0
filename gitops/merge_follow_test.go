package gitops

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// hindered has the workspace be unable to write a file that main has, as long
// as its filter fails.
func hindered(l *mergeLab) {
	l.t.Helper()
	l.git("config", "filter.need.clean", "cat")
	l.git("config", "filter.need.smudge", "cat")
	l.git("config", "filter.need.required", "true")
	l.git("config", "extensions.worktreeConfig", "true")
	l.commit(l.x, "mine", "mine\n", "mine")
	l.commit(l.dir, ".gitattributes", "needs filter=need\n", "attributes")
	l.commit(l.dir, "needs", "1\n", "needs")
	l.gitIn(l.x, "config", "--worktree", "filter.need.smudge", "false")
}

// TestMergeCannotFollow has the target move and the workspace stay behind. The
// branch that the caller was told is there stays, also when the workspace
// follows at last.
func TestMergeCannotFollow(t *testing.T) {
	t.Parallel()
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		l := newMergeLab(t)
		hindered(l)
		merged, err := l.try(by(s))
		if err != nil {
			t.Fatal(detail(err))
		}
		if !merged.BranchKept || merged.Branch != "x" || len(merged.Warnings) != 1 || !strings.Contains(merged.Warnings[0], "could not follow") {
			t.Errorf("merged: %+v", merged)
		}
		if got := l.gitIn(l.x, "status", "--porcelain", "--branch"); got != "## x" {
			t.Errorf("the workspace's status: %s", got)
		}
		if _, err := l.g.Recover(t.Context(), l.open(l.dir)); err == nil {
			t.Error("nothing is said about what can't be settled yet")
		}
		l.gitIn(l.x, "config", "--worktree", "--unset", "filter.need.smudge")
		if lines, err := l.g.Recover(t.Context(), l.open(l.dir)); err != nil || len(lines) != 1 {
			t.Fatalf("%q, %v", lines, detail(err))
		}
		l.landed(merged)
		if got := l.git("rev-parse", "x"); got != merged.SHA {
			t.Errorf("the branch is at %s", got)
		}
		if got := l.read(filepath.Join(l.x, "needs")); got != "1\n" {
			t.Errorf("needs: %q", got)
		}
		wantCode(t, second(l.try(by(s))), workspace.ErrNothingToMerge)
	})
}

// TestMergeKilledKeepsTheBranch kills a merge before it can tell anybody that
// the branch may be forgotten.
func TestMergeKilledKeepsTheBranch(t *testing.T) {
	t.Parallel()
	story := mergeStories["rebase"]
	for i, step := range story.steps(t) {
		if step != stepTargetDone && step != stepNotesDone && step != stepSettled {
			continue
		}
		l := newMergeLab(t)
		ahead(l)
		l.kill(mergeErrand{Op: "merge", Strategy: workspace.StrategyRebase, Step: i + 1})
		wantCode(t, second(l.try()), workspace.ErrNothingToMerge)
		if got := l.git("for-each-ref", "--format=%(objectname)", "refs/heads/x"); got != l.git("rev-parse", "main") {
			t.Errorf("after %q the branch is at %q", step, got)
		}
	}
}

func second[T any](_ T, err error) error { return err }
