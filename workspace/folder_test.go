package workspace_test

import (
	"path/filepath"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestResolveAFolder has a thread without a workspace work in a folder that is
// no repository; what isn't there, or is a file, is none.
func TestResolveAFolder(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	dir := realTemp(t)
	at, err := p.Resolve(t.Context(), "1", dir)
	if err != nil || at.Directory != dir || at.Workspace != nil {
		t.Errorf("%+v, %v", at, err)
	}
	write(t, filepath.Join(dir, "file"), "x")
	for _, none := range []string{"file", "missing"} {
		if at, err := p.Resolve(t.Context(), "1", filepath.Join(dir, none)); err == nil {
			t.Errorf("%s: %+v", none, at)
		}
	}
	// A thread that had one never works anywhere else.
	p.create(t, "2")
	if _, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "2"}); err != nil {
		t.Fatal(err)
	}
	_, err = p.Resolve(t.Context(), "2", dir)
	wantCode(t, err, workspace.ErrNotFound)
}
