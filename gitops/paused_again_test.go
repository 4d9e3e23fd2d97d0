package gitops

import (
	"path/filepath"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestPausedAgain has the target change the same line once more while the first
// conflict is being resolved: the new conflict is paused like the first, abort
// goes back before both, and resolved it is merged.
func TestPausedAgain(t *testing.T) {
	t.Parallel()
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		l := newMergeLab(t)
		l.clash()
		before := l.world(false)
		twice := func() {
			l.pause(s)
			l.resolve("f", "both\n")
			l.commit(l.dir, "f", "again\n", "main changes f again")
			_, err := l.g.Continue(t.Context(), l.request(resolving))
			wantPaused(t, err, "f")
		}
		twice()
		if err := l.abort(); err != nil {
			t.Fatal(detail(err))
		}
		l.git("reset", "-q", "--hard", "HEAD~1")
		l.same(before)

		twice()
		l.resolve("f", "all three\n")
		merged, err := l.g.Continue(t.Context(), l.request(resolving))
		if err != nil {
			t.Fatal(detail(err))
		}
		l.landed(merged)
		want := map[workspace.Strategy]int{workspace.StrategyRebase: 2, workspace.StrategySquash: 1, workspace.StrategyMerge: 3}[s]
		if l.read(filepath.Join(l.dir, "f")) != "all three\n" || merged.Strategy != s || s != workspace.StrategyMerge && merged.Commits != want {
			t.Errorf("merged: %+v", merged)
		}
	})
}
