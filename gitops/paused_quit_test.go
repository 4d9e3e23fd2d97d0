package gitops

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestPausedAndQuit ends a paused rebase in the middle: nothing of it is
// merged, the branch and the ref that has all commits are named, and abort
// restores what was before.
func TestPausedAndQuit(t *testing.T) {
	t.Parallel()
	for name, during := range map[string]func(l *mergeLab){
		"at the conflict": func(*mergeLab) {},
		"with edits":      func(l *mergeLab) { l.write(filepath.Join(l.x, "f"), "half\n") },
		"with a commit": func(l *mergeLab) {
			l.resolve("f", "both\n")
			l.gitIn(l.x, "commit", "-q", "-m", "resolved")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newMergeLab(t)
			l.clash()
			tip := l.commit(l.x, "more", "1\n", "add more")
			before := l.world(false)
			l.pause(workspace.StrategyRebase)
			during(l)
			l.gitIn(l.x, "rebase", "--quit")
			paused := l.world(true)
			_, merge := l.try()
			_, cont := l.goOn()
			_, deletion := l.r.judge(t.Context(), workspace.RemoveRequest{Project: l.open(l.dir), Workspace: l.w})
			if deletion == nil || !strings.Contains(deletion.Error(), "merge of x into main, which was paused") {
				t.Errorf("delete: %v", deletion)
			}
			for what, err := range map[string]error{"merge": merge, "continue": cont} {
				e := wantCode(t, err, workspace.ErrOperationInProgress)
				if !strings.Contains(e.Message, "branch x") || !strings.Contains(e.Message, backupRefs) || !strings.Contains(e.Hint, "abort") {
					t.Errorf("%s: %s; %s", what, e.Message, e.Hint)
				}
			}
			l.same(paused)
			head := l.gitIn(l.x, "rev-parse", "HEAD")
			if err := l.abort(); err != nil {
				t.Fatal(detail(err))
			}
			l.same(before)
			if got := l.gitIn(l.x, "rev-parse", "x"); got != tip {
				t.Errorf("x is at %s", got)
			}
			if refs := l.git("for-each-ref", "--contains", head, backupRefs); refs == "" {
				t.Error("what HEAD had is not kept")
			}
			wantCode(t, l.abort(), workspace.ErrNotFound)
		})
	}
}
