package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// commitIn makes a commit that changes a file of its own.
func commitIn(t *testing.T, dir, file string) {
	t.Helper()
	write(t, filepath.Join(dir, file), "work on "+file+"\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", file)
}

// TestListAndDeleteAgree has worktrees whose commits are elsewhere, or are not:
// what the list says of them is what the delete then does.
func TestListAndDeleteAgree(t *testing.T) {
	t.Parallel()
	// Each makes the workspace of thread 1 and says whether it may go.
	for name, tt := range map[string]struct {
		make func(t *testing.T, p *parts)
		want bool
	}{
		"nothing done": {func(t *testing.T, p *parts) { p.create(t, "1") }, true},
		"commits of its own": {func(t *testing.T, p *parts) {
			commitIn(t, p.create(t, "1").Directory, "a")
		}, false},
		"commits that another branch has": {func(t *testing.T, p *parts) {
			w := p.create(t, "1")
			commitIn(t, w.Directory, "a")
			git(t, p.project, "branch", "copy", w.Branch)
		}, true},
		"commits that a tag has": {func(t *testing.T, p *parts) {
			w := p.create(t, "1")
			commitIn(t, w.Directory, "a")
			git(t, p.project, "tag", "v1", w.Branch)
		}, true},
		"commits that a remote has": {func(t *testing.T, p *parts) {
			w := p.create(t, "1")
			commitIn(t, w.Directory, "a")
			origin := filepath.Join(t.TempDir(), "origin.git")
			git(t, p.project, "init", "-q", "--bare", origin)
			git(t, p.project, "remote", "add", "origin", origin)
			git(t, p.project, "push", "-q", "origin", w.Branch)
		}, true},
		"another branch with commits checked out": {func(t *testing.T, p *parts) {
			w := p.create(t, "1")
			git(t, w.Directory, "switch", "-q", "-c", "other")
			commitIn(t, w.Directory, "a")
		}, true},
		"another branch checked out, its own has commits": {func(t *testing.T, p *parts) {
			w := p.create(t, "1")
			commitIn(t, w.Directory, "a")
			git(t, w.Directory, "switch", "-q", "-c", "other", "main")
		}, true},
		"a branch that was attached": {func(t *testing.T, p *parts) {
			git(t, p.project, "branch", "feat")
			commitIn(t, p.create(t, "1", branch("feat")).Directory, "a")
		}, true},
		"a branch that was attached with itself as base": {func(t *testing.T, p *parts) {
			git(t, p.project, "branch", "feat")
			commitIn(t, p.create(t, "1", branch("feat"), base("feat")).Directory, "a")
		}, true},
		"detached with commits": {func(t *testing.T, p *parts) {
			w := p.create(t, "1")
			git(t, w.Directory, "switch", "-q", "--detach")
			commitIn(t, w.Directory, "a")
		}, false},
		"detached where its branch is": {func(t *testing.T, p *parts) {
			w := p.create(t, "1")
			commitIn(t, w.Directory, "a")
			git(t, w.Directory, "switch", "-q", "--detach")
		}, true},
		"a branch without a commit": {func(t *testing.T, p *parts) {
			git(t, p.create(t, "1").Directory, "switch", "-q", "--orphan", "fresh")
		}, true},
		"merged": {func(t *testing.T, p *parts) {
			w := p.create(t, "1")
			commitIn(t, w.Directory, "a")
			git(t, p.project, "merge", "-q", w.Branch)
		}, true},
		"squashed": {func(t *testing.T, p *parts) {
			w := p.create(t, "1")
			commitIn(t, w.Directory, "a")
			commitIn(t, w.Directory, "b")
			git(t, p.project, "merge", "-q", "--squash", w.Branch)
			git(t, p.project, "commit", "-q", "-m", "squashed")
		}, true},
		"squashed into the default branch, not its base": {func(t *testing.T, p *parts) {
			git(t, p.project, "branch", "dev")
			w := p.create(t, "1", base("dev"))
			commitIn(t, w.Directory, "a")
			commitIn(t, w.Directory, "b")
			git(t, p.project, "merge", "-q", "--squash", w.Branch)
			git(t, p.project, "commit", "-q", "-m", "squashed")
		}, true},
		"its base gone": {func(t *testing.T, p *parts) {
			git(t, p.project, "branch", "dev")
			w := p.create(t, "1", base("dev"))
			git(t, p.project, "branch", "-q", "-D", "dev")
			commitIn(t, w.Directory, "a")
		}, false},
		"its base gone, nothing done": {func(t *testing.T, p *parts) {
			git(t, p.project, "branch", "dev")
			p.create(t, "1", base("dev"))
			git(t, p.project, "branch", "-q", "-D", "dev")
		}, true},
		"the default branch checked out": {func(t *testing.T, p *parts) {
			w := p.create(t, "1")
			git(t, p.project, "switch", "-q", "-c", "aside")
			git(t, p.project, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
			git(t, w.Directory, "switch", "-q", "main")
		}, false},
		"dirty": {func(t *testing.T, p *parts) {
			write(t, filepath.Join(p.create(t, "1").Directory, "new"), "work\n")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := build(t, settings{})
			tt.make(t, p)
			row := rowOf(t, list(t, p), "1")
			_, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"})
			if row.Deletable != tt.want || (err == nil) != tt.want {
				t.Errorf("deletable %v (%s), and the delete: %v; want %v", row.Deletable, row.Reason(), err, tt.want)
			}
			if _, statErr := os.Stat(row.Directory()); (statErr == nil) == (err == nil) {
				t.Errorf("the directory: %v, after %v", statErr, err)
			}
		})
	}
}
