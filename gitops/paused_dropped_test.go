package gitops

import (
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestPausedDropsTheCommit resolves the only commit to the target's side, or
// skips it: it is named with the ref that keeps it, nothing deletes it unasked,
// and it comes back.
func TestPausedDropsTheCommit(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]func(l *mergeLab) error{
		"resolved to the target's side": func(l *mergeLab) error {
			l.gitIn(l.x, "checkout", "--ours", "--", "f")
			l.gitIn(l.x, "add", "f")
			_, err := l.goOn()
			return err
		},
		"skipped": func(l *mergeLab) error {
			l.gitIn(l.x, "rebase", "--skip")
			_, err := l.goOn()
			return err
		},
		"skipped, and merged again": func(l *mergeLab) error {
			l.gitIn(l.x, "rebase", "--skip")
			_, err := l.try()
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newMergeLab(t)
			tip := l.commit(l.x, "f", "x\n", "x changes f")
			l.commit(l.dir, "f", "m\n", "main changes f")
			before := l.world(false)
			l.pause(workspace.StrategyRebase)
			e := wantCode(t, drop(l), workspace.ErrNothingToMerge)
			_, after, _ := strings.Cut(e.Message, "it is kept as ")
			ref, _, _ := strings.Cut(after, ",")
			if !strings.Contains(e.Message, "1 commit became empty and was dropped ("+short(tip)+" x changes f)") || !strings.Contains(e.Hint, "abort") {
				t.Errorf("told: %s; %s", e.Message, e.Hint)
			}
			if got := l.git("rev-parse", ref); got != tip {
				t.Errorf("%s is %s, not %s", ref, got, tip)
			}

			_, err := l.r.judge(t.Context(), workspace.RemoveRequest{Project: l.open(l.dir), Workspace: l.w})
			e = wantCode(t, err, workspace.ErrOperationInProgress)
			if !strings.Contains(e.Message, "merge of x into main") {
				t.Errorf("refused: %s", e.Message)
			}
			if state := l.state(l.list()["x"], "main"); state.Unfinished == "" {
				t.Error("the state knows of no merge")
			}
			if err := l.abort(); err != nil {
				t.Fatal(detail(err))
			}
			l.same(before)
			if state := l.state(l.list()["x"], "main"); state.Unfinished != "" {
				t.Errorf("still: %s", state.Unfinished)
			}
		})
	}
}

// TestPausedDropsOneOfSeveral tells of the commit that was dropped where the
// others are merged.
func TestPausedDropsOneOfSeveral(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	l.clash()
	tip := l.gitIn(l.x, "rev-parse", "HEAD")
	l.commit(l.x, "more", "1\n", "add more")
	l.pause(workspace.StrategyRebase)
	l.gitIn(l.x, "checkout", "--ours", "--", "f")
	l.gitIn(l.x, "add", "f")
	merged, err := l.goOn()
	if err != nil {
		t.Fatal(detail(err))
	}
	l.landed(merged)
	if merged.Commits != 2 || merged.Dropped != 1 || !warned(merged.Warnings, "1 commit", short(tip), "x changes f", backupRefs) {
		t.Errorf("merged: %+v", merged)
	}
}
