package gitops

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// TestAdvanceReadOnly refuses what it may not write, before it writes anything.
func TestAdvanceReadOnly(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"dir", ".", ".git"} {
		x := newTarget(t, false, "", "")
		x.write(x.path("gitconfig"), "[safe]\n\tdirectory = *\n")
		path := filepath.Join(x.wt, dir)
		if os.Geteuid() == 0 {
			x.sh(`chown -R 65534 "$REPO"; chmod 755 "$ROOT" "$ROOT/.."`)
		}
		x.git("status")
		if err := os.Chmod(path, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
		before := x.facts()
		p := x.open(x.dir)
		var err error
		asNobody(t, func() { _, err = x.r.advance(t.Context(), p, x.input()) })
		e := wantCode(t, err, workspace.ErrPermissionDenied)
		if dir == "dir" && !slices.Equal(e.Files, []string{"dir/b.txt", "dir/c.txt"}) {
			t.Errorf("%q", e.Files)
		}
		if diff := cmp.Diff(before, x.facts()); diff != "" {
			t.Error(diff)
		}
	}
}
