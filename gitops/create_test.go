package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
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

func TestCreateTellsItsSteps(t *testing.T) {
	t.Parallel()
	l, _, _ := withOrigin(t)
	l.addSubmodule()
	l.script(filepath.Join(l.dir, ".git", "hooks", "post-checkout"), "#!/bin/sh\n")
	l.commit(l.dir, ".worktreeinclude", ".env\n")
	l.commit(l.dir, ".gitignore", ".env\n")
	l.write(filepath.Join(l.dir, ".env"), "secret\n")
	l.opts.Setup = SetupOptions{Copy: true, Commands: [][]string{{"sh", "-c", "touch installed"}}}
	w := l.made(titled("one"), from("main"), withSetup)
	var phases []workspace.Phase
	for _, e := range l.events {
		if !e.Warning && (len(phases) == 0 || phases[len(phases)-1] != e.Phase) {
			phases = append(phases, e.Phase)
		}
	}
	want := []workspace.Phase{
		workspace.PhaseFetch, workspace.PhaseAdd, workspace.PhaseCheckout, workspace.PhaseSubmodules,
		workspace.PhaseHooks, workspace.PhaseCopy, workspace.PhaseInstall,
	}
	if !slices.Equal(phases, want) {
		t.Errorf("phases %q, want %q", phases, want)
	}
	if !exists(filepath.Join(w.Directory, ".env")) || !exists(filepath.Join(w.Directory, "installed")) {
		t.Error("the set-up was not done")
	}
	// Without the permission nothing of it is.
	w = l.made(titled("two"))
	if exists(filepath.Join(w.Directory, ".env")) || exists(filepath.Join(w.Directory, "installed")) {
		t.Error("the set-up was done without being allowed")
	}
}

func TestLargeWorktreeCachesUntrackedFiles(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	// Long names make a large index of few files.
	blob := l.run(l.dir, "rev-parse", "HEAD:f")
	var entries strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&entries, "100644 %s\t%s/%d\n", blob, strings.Repeat("x", 120), i)
	}
	cmd := exec.Command("git", "update-index", "--index-info")
	cmd.Dir, cmd.Env, cmd.Stdin = l.dir, l.env, strings.NewReader(entries.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l.run(l.dir, "commit", "-q", "-m", "many")
	w := l.made(titled("one"))
	if index, err := os.ReadFile(filepath.Join(gitDirOf(w.Directory), "index")); err != nil || !bytes.Contains(index, []byte("UNTR")) {
		t.Errorf("no cache of untracked files in an index of %d bytes: %v", len(index), err)
	}
	if got := l.run(w.Directory, "status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
	// Who decided otherwise is left alone.
	l.run(l.dir, "config", "core.untrackedCache", "keep")
	w = l.made(titled("two"))
	if index, err := os.ReadFile(filepath.Join(gitDirOf(w.Directory), "index")); err != nil || bytes.Contains(index, []byte("UNTR")) {
		t.Errorf("the index of %d bytes was changed: %v", len(index), err)
	}
}

func TestCreateInABareRepository(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	bare := filepath.Join(l.root, "bare.git")
	l.run(l.root, "clone", "-q", "--bare", l.dir, bare)
	l.dir = bare
	w := l.made(titled("one"), withSetup)
	if w.Base != "main" || !exists(filepath.Join(w.Directory, "f")) {
		t.Errorf("%+v", w)
	}
	l.removes(w)
}

func TestCreateWithARepositoryThatIsGone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	req := l.request(titled("one"))
	if err := os.RemoveAll(l.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := l.provider().Create(context.Background(), req); !errors.Is(err, workspace.ErrGitFailed) {
		t.Errorf("got %v", detail(err))
	}
	if exists(l.dir) || exists(l.home) {
		t.Error("something was made")
	}
}

func TestCreateWhereWorktreesWouldNotWork(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "config", "extensions.worktreeConfig", "true")
	l.run(l.dir, "config", "core.bare", "true")
	e := l.refuse(workspace.ErrGitFailed, titled("one"))
	if !warned([]string{e.Message}, "core.bare", "nothing was made") || !strings.Contains(e.Hint, "--unset core.bare") {
		t.Errorf("%q (hint %q)", e.Message, e.Hint)
	}
	// Each of the two ways out that git knows.
	l.run(l.dir, "config", "--file", filepath.Join(l.dir, ".git", "config.worktree"), "core.bare", "false")
	l.run(l.create(titled("two")).Plan.Directory, "status")
	l.run(l.dir, "config", "--file", filepath.Join(l.dir, ".git", "config.worktree"), "core.bare", "true")
	l.run(l.dir, "config", "--file", filepath.Join(l.dir, ".git", "config"), "--unset", "core.bare")
	l.run(l.create(titled("three")).Plan.Directory, "status")
}
