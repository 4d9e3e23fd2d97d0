package sqlite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

func git(t *testing.T, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", arguments...)
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", arguments, err, out)
	}
}

// A row without a status is ready where git has the directory as a worktree.
func TestRowsWithoutStatusAreJudgedByTheDisk(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	project := filepath.Join(base, "project")
	git(t, "init", "-q", "-b", "main", project)
	git(t, "-C", project, "commit", "-q", "--allow-empty", "-m", "init")
	for _, name := range []string{"whole", "moved", "pruned", "unlinked"} {
		git(t, "-C", project, "worktree", "add", "-q", "-b", name, filepath.Join(base, name))
	}
	for from, to := range map[string]string{"moved": "elsewhere"} {
		if err := os.Rename(filepath.Join(base, from), filepath.Join(base, to)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(project, ".git", "worktrees", "pruned")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(base, "unlinked", ".git")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(base, "whole"), filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	want := map[string]workspace.Status{
		"whole": workspace.StatusReady, "link": workspace.StatusReady,
		"moved": workspace.StatusError, "elsewhere": workspace.StatusError, "pruned": workspace.StatusError,
		"unlinked": workspace.StatusError, "project": workspace.StatusError, "none": workspace.StatusError,
	}
	path := fixture(t, "kimaki-null-status.sql")
	for name := range want {
		run(t, path, `INSERT INTO thread_sessions (thread_id, session_id) VALUES (?1, '')`, name)
		run(t, path, `INSERT INTO thread_worktrees VALUES (?, 'b', ?, ?, NULL, NULL, NULL)`, name, filepath.Join(base, name), project)
	}
	s := open(t, path)
	for name, status := range want {
		w, err := s.Workspace(t.Context(), name)
		if err != nil || w.Status != status {
			t.Errorf("%s is %s, %v, want %s", name, w.Status, err, status)
		}
	}
}
