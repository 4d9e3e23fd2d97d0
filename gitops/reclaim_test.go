package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func TestReclaim(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p, project := l.provider(), l.project()
	row := func(dir string) workspace.Workspace {
		return workspace.Workspace{Directory: dir, Attempt: workspace.Attempt{ID: "late-" + filepath.Base(dir), StartedAt: time.Now()}}
	}
	none := filepath.Join(l.root, "nothing")
	if left, err := p.Reclaim(t.Context(), project, row(none), true); err != nil || len(left) > 0 {
		t.Errorf("nothing: %q, %s", left, detail(err))
	}
	for name, prepare := range map[string]func(dir string){
		"whole":     func(string) {},
		"abandoned": func(dir string) { l.unindex(dir) },
	} {
		dir := l.elsewhere(name)
		prepare(dir)
		if left, err := p.Reclaim(t.Context(), project, row(dir), true); err != nil || len(left) > 0 || exists(dir) || exists(gitDirOf(dir)) {
			t.Errorf("%s: %q, %s", name, left, detail(err))
		}
	}
	for name, test := range map[string]struct {
		prepare func(dir string)
		code    workspace.Code
	}{
		"at-it":     {l.unindex, workspace.ErrLocked},
		"dirty":     {func(dir string) { l.write(filepath.Join(dir, "note"), "somebody's\n") }, workspace.ErrDirtyWorktree},
		"committed": {func(dir string) { l.run(dir, "commit", "-q", "--allow-empty", "-m", "somebody's") }, workspace.ErrUnmerged},
		"in-use":    {func(dir string) { l.run(l.dir, "worktree", "lock", dir) }, workspace.ErrLocked},
	} {
		dir := l.elsewhere(name)
		test.prepare(dir)
		left, err := p.Reclaim(t.Context(), project, row(dir), false)
		if wantCode(t, err, test.code); !exists(dir) || len(left) > 0 {
			t.Errorf("%s: %q, %s", name, left, detail(err))
		}
	}
	// What is older than the attempt isn't its own.
	dir := l.elsewhere("old")
	old := row(dir)
	old.Attempt.StartedAt = time.Now().Add(time.Hour)
	if left, err := p.Reclaim(t.Context(), project, old, true); err != nil || len(left) != 1 || !strings.Contains(left[0], "was there before") || !exists(dir) {
		t.Errorf("old: %q, %s", left, detail(err))
	}
	// The branch that it was made on goes with it.
	tip := l.run(l.dir, "rev-parse", "HEAD")
	dir = l.elsewhere("branched", "-b", "late")
	w := row(dir)
	w.Branch, w.BranchCreated, w.BaseCommit = "late", true, tip
	if left, err := p.Reclaim(t.Context(), project, w, true); err != nil || len(left) > 0 || exists(dir) {
		t.Errorf("branched: %q, %s", left, detail(err))
	}
	if l.run(l.dir, "for-each-ref", "refs/heads/late") != "" {
		t.Error("its branch is still there")
	}
}

// unindex makes a worktree one whose checkout was never finished.
func (l *lab) unindex(dir string) {
	l.t.Helper()
	if err := os.Remove(filepath.Join(gitDirOf(dir), "index")); err != nil {
		l.t.Fatal(err)
	}
}

func TestRemovable(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w, _ := l.takes(l.request(titled("one")))
	req := workspace.RemoveRequest{Project: l.project(), Workspace: w, TrashID: "x", Progress: func(workspace.Event) {}}
	if err := l.provider().Removable(t.Context(), req); err != nil {
		t.Errorf("clean: %s", detail(err))
	}
	before := l.run(l.dir, "worktree", "list", "--porcelain")
	l.write(filepath.Join(w.Directory, "note"), "x\n")
	wantCode(t, l.provider().Removable(t.Context(), req), workspace.ErrDirtyWorktree)
	req.Force = true
	if err := l.provider().Removable(t.Context(), req); err != nil {
		t.Errorf("forced: %s", detail(err))
	}
	if after := l.run(l.dir, "worktree", "list", "--porcelain"); after != before {
		t.Errorf("it changed\n%s\nto\n%s", before, after)
	}
	req.Workspace.Directory = ""
	if err := l.provider().Removable(t.Context(), req); err != nil {
		t.Errorf("nothing: %s", detail(err))
	}
}
