package gitops

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPresent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(filepath.Join(f.dir, "top"), "")
	f.write(filepath.Join(f.dir, "a", "b", "there"), "")
	f.write(filepath.Join(f.dir, "file"), "")
	got := present(f.dir, []string{
		"a/b/gone", "a/b/there", "a/gone/one", "a/gone/two/three", "file/below", "gone", "gone/one", "gone/two/three", "top",
	})
	if diff := cmp.Diff([]string{"a/b/there", "top"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
