package gitops

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a composition says of how its tip differs from the target is what git
// says, whatever was changed.
func TestComposedChanges(t *testing.T) {
	t.Parallel()
	n := uint64(24)
	if testing.Short() {
		n = 8
	}
	known := 0
	for seed := range n {
		f := newEmptyRepo(t)
		newHistory(seed + 5000).load(f)
		done, err := f.r.compose(t.Context(), f.composeInput("main", "topic"))
		if err != nil {
			t.Fatalf("history %d: %s", seed, detail(err))
		}
		if done.changes == nil {
			continue
		}
		known++
		main := f.git("rev-parse", "main")
		x := f.r.openRefs(f.path("repo", ".git"))
		want, err := f.r.treeChanges(t.Context(), x, main, done.tip)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, done.changes, cmp.AllowUnexported(treeChange{})); diff != "" {
			t.Errorf("history %d (-git +composed):\n%s", seed, diff)
		}
		if got, want := done.ontoTree, f.git("rev-parse", "main^{tree}"); got != want {
			t.Errorf("history %d: the target's tree is %s, not %s", seed, got, want)
		}
		if got, want := done.sourceTree, f.git("rev-parse", "topic^{tree}"); got != want {
			t.Errorf("history %d: the commits' tree is %s, not %s", seed, got, want)
		}
	}
	if known < int(n)/4 {
		t.Errorf("of %d histories %d were compared", n, known)
	}
}
