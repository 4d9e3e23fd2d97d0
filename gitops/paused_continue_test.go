package gitops

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestContinueSaysWhatIsFinished has git finish what was paused and the merge
// refused after that: then something has changed, and it is said.
func TestContinueSaysWhatIsFinished(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dirt func(*mergeLab)
		code workspace.Code
	}{
		"untracked in the workspace": {
			func(l *mergeLab) { l.write(filepath.Join(l.x, "untracked"), "mine\n") }, workspace.ErrDirtyWorktree,
		},
		"edited in the target": {
			func(l *mergeLab) { l.write(filepath.Join(l.dir, "f"), "edited\n") }, workspace.ErrTargetDirty,
		},
		"a new conflict": {
			func(l *mergeLab) { l.commit(l.dir, "f", "again\n", "main changes f again") }, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			perStrategy(t, func(t *testing.T, s workspace.Strategy) {
				l := newMergeLab(t)
				l.clash()
				l.pause(s)
				l.resolve("f", "both\n")
				c.dirt(l)
				main := l.git("rev-parse", "main")
				code, op := c.code, operationWord(s)
				if code == "" {
					code = conflictCode(s)
				}
				_, err := l.goOn()
				e := wantCode(t, err, code)
				if strings.Contains(e.Message, "nothing was changed") || !strings.Contains(e.Message, "the "+op+" in "+l.x+" is finished, and nothing has reached main yet") {
					t.Errorf("the message is %q", e.Message)
				}
				if l.git("rev-parse", "main") != main || operation(gitDirOf(l.x)) != "" {
					t.Error("that isn't true")
				}
				// Asked again, nothing is changed.
				before := l.world(true)
				_, err = l.goOn()
				if e := wantCode(t, err, code); !strings.Contains(e.Message, "nothing was changed") {
					t.Errorf("the message is %q", e.Message)
				}
				l.same(before)
			})
		})
	}
}

// TestContinueRefusesWhatIsInTheWay has files in the way of a commit that is
// still to be replayed.
func TestContinueRefusesWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"later", "later.ign"} {
		l := newMergeLab(t)
		l.clash()
		l.write(filepath.Join(l.x, file), "x\n")
		l.gitIn(l.x, "add", "-f", file)
		l.gitIn(l.x, "commit", "-q", "-m", "x adds it")
		l.pause(workspace.StrategyRebase)
		l.resolve("f", "both\n")
		l.write(filepath.Join(l.x, file), "mine\n")
		before := l.world(true)
		_, err := l.goOn()
		if e := wantCode(t, err, workspace.ErrDirtyWorktree); !slices.Equal(e.Files, []string{file}) || !strings.Contains(e.Hint, "continue") {
			t.Errorf("files %q, hint %q", e.Files, e.Hint)
		}
		l.same(before)
		if err := os.Remove(filepath.Join(l.x, file)); err != nil {
			t.Fatal(err)
		}
		merged, err := l.goOn()
		if err != nil {
			t.Fatal(detail(err))
		}
		l.landed(merged)
	}
}
