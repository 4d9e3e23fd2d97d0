package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// own has the server's own adapter make the worktrees.
func own(cfg *ProviderConfig) { cfg.Adapter = AdapterWorktree }

func TestServerMakesTheWorktree(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, own)
	for i := range 300 {
		p.write(fmt.Sprintf("f%d", i), "content\n")
	}
	p.run(p.dir, "add", ".")
	p.run(p.dir, "commit", "-q", "-m", "files")
	base := p.run(p.dir, "rev-parse", "HEAD~1")
	w := p.create("1", workspace.CreateOptions{Name: "one", Base: base})
	if w.Provider != workspace.ProviderOpenCode || len(w.Warnings) > 0 || w.BaseCommit != base {
		t.Errorf("%+v", w)
	}
	if got := p.run(w.Directory, "rev-parse", "HEAD"); got != base {
		t.Errorf("HEAD is %s, not %s", got, base)
	}
	if got := p.run(w.Directory, "symbolic-ref", "HEAD"); got != "refs/heads/"+w.Branch {
		t.Errorf("HEAD is %s", got)
	}
	if got := p.run(w.Directory, "status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
	c := client(t, s)
	rows := p.rows(c)
	if len(rows) != 1 || rows[0].ID != w.ProviderID || rows[0].Type != AdapterWorktree {
		t.Fatalf("%+v", rows)
	}
	p.write(filepath.Join(w.Directory, "kept"), "kept\n")
	deleted, err := p.manager.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1", Force: true})
	if err != nil || len(deleted.Removed.Left) > 0 {
		t.Fatalf("%+v, %s", deleted, detail(err))
	}
	if rows := p.rows(c); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
	if got, err := os.ReadFile(filepath.Join(deleted.Trashed.Kept.Directory, "kept")); err != nil || string(got) != "kept\n" {
		t.Errorf("%q, %v", got, err)
	}
	again, err := p.manager.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "1"})
	if err != nil {
		t.Fatal(detail(err))
	}
	if got, err := os.ReadFile(filepath.Join(again.Directory, "kept")); err != nil || string(got) != "kept\n" {
		t.Errorf("%q, %v", got, err)
	}
}
