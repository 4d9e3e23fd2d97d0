package gitops

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

func TestCreateMakesAWholeWorktree(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("Fix the login"))
	if w.Branch != "threadtree/fix-the-login" || !w.BranchCreated || w.Base != "main" {
		t.Errorf("unexpected plan: %+v", w)
	}
	if want := filepath.Join(l.home, "worktrees"); !strings.HasPrefix(w.Directory, want+"/repo-") || filepath.Base(w.Directory) != "fix-the-login" {
		t.Errorf("directory %s", w.Directory)
	}
	if got := l.run(w.Directory, "status", "--porcelain=v2", "--branch", "-uall"); !strings.Contains(got, "# branch.head "+w.Branch) || strings.Contains(got, "\n1 ") {
		t.Errorf("status: %s", got)
	}
	l.isTip(w.Branch, w.BaseCommit)
	if got := l.run(l.dir, "worktree", "list", "--porcelain"); strings.Contains(got, "locked") {
		t.Errorf("still locked: %s", got)
	}
	p := l.provider()
	if err := p.Complete(context.Background(), l.project(), w); err != nil {
		t.Errorf("not complete: %v", err)
	}
	w.Attempt.ID = "another"
	if err := p.Complete(context.Background(), l.project(), w); err == nil {
		t.Error("complete for another attempt")
	}
}
