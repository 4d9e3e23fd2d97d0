package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

func TestInspect(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	first := f.git("rev-parse", "HEAD")
	f.worktree("wt")
	second := f.commit(f.path("wt"), "g", "more", "more")
	f.git("clone", "-q", f.dir, f.path("other"))
	f.git("submodule", "--quiet", "add", f.path("other"), "lib")
	f.sh(`ln -s "$ROOT/wt" "$ROOT/link"`)

	for _, test := range []struct {
		dir, id string
		want    workspace.Worktree
	}{
		{f.dir, f.path("repo/.git"), workspace.Worktree{Directory: f.dir, Main: true, Head: first, Branch: "main"}},
		{f.path("wt"), f.path("repo/.git"), workspace.Worktree{Directory: f.path("wt"), Admin: "wt", Head: second, Branch: "wt"}},
		{f.path("link"), f.path("repo/.git"), workspace.Worktree{Directory: f.path("wt"), Admin: "wt", Head: second, Branch: "wt"}},
		{f.path("repo/lib"), f.path("repo/.git/modules/lib"), workspace.Worktree{Directory: f.path("repo/lib"), Main: true, Head: first, Branch: "main"}},
	} {
		p, w, err := f.r.Inspect(t.Context(), test.dir)
		if err != nil {
			t.Errorf("Inspect(%s): %v", test.dir, err)
			continue
		}
		if diff := cmp.Diff(test.want, w); diff != "" {
			t.Errorf("Inspect(%s) (-want +got):\n%s", test.dir, diff)
		}
		if p.ID != test.id || p.Directory != test.dir || p.Subdirectory != "" {
			t.Errorf("Inspect(%s): project %+v", test.dir, p)
		}
	}
}

func TestInspectAgreesWithTheList(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("wt")
	f.git("worktree", "lock", "--reason", "kept", f.path("wt"))
	f.git("worktree", "add", "-q", "--detach", f.path("two"))
	for name, want := range f.list() {
		_, got, err := f.r.Inspect(t.Context(), f.path(name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-list +inspect):\n%s", name, diff)
		}
	}
}

func TestInspectRefuses(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.mkdir(f.path("repo/.wt/x/.claude"))
	f.git("clone", "-q", "--bare", f.dir, f.path("b.git"))
	f.mkdir(f.path("plain"))
	for _, test := range []struct {
		dir  string
		code workspace.Code
		says string
	}{
		{f.path("gone"), workspace.ErrNotFound, "gone"},
		{f.path("repo/f"), workspace.ErrNotARepository, "is a file"},
		{f.path("plain"), workspace.ErrNotARepository, "no git repository"},
		{f.path("repo/.wt/x"), workspace.ErrNotARepository, "it lies in that of " + f.dir},
		{f.path("repo/.git"), workspace.ErrNotARepository, "lies in the git directory"},
		{f.path("repo/.git/objects"), workspace.ErrNotARepository, "lies in the git directory"},
		{f.path("b.git"), workspace.ErrNotARepository, "lies in the git directory"},
	} {
		_, _, err := f.r.Inspect(t.Context(), test.dir)
		if e := wantCode(t, err, test.code); !strings.Contains(e.Message, test.says) {
			t.Errorf("Inspect(%s): %q doesn't say %q", test.dir, e.Message, test.says)
		}
	}
	f.git("config", "core.bare", "true")
	_, _, err := f.r.Inspect(t.Context(), f.dir)
	if e := wantCode(t, err, workspace.ErrNotARepository); !strings.Contains(e.Message, "core.bare is true") {
		t.Errorf("message %q doesn't name core.bare", e.Message)
	}
}

func TestInspectWithoutDotGit(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	outside, inside := f.worktree("lost"), f.worktree("repo/sub/lost")
	for _, dir := range []string{outside, inside} {
		if err := os.Remove(filepath.Join(dir, ".git")); err != nil {
			t.Fatal(err)
		}
		_, _, err := f.r.Inspect(t.Context(), dir)
		e := wantCode(t, err, workspace.ErrNotARepository)
		if !strings.Contains(e.Hint, "git worktree repair") || strings.Contains(e.Hint, "git init") {
			t.Errorf("%s: hint %q", dir, e.Hint)
		}
	}
	// What the hint says helps.
	f.git("worktree", "repair")
	for _, dir := range []string{outside, inside} {
		if _, w, err := f.r.Inspect(t.Context(), dir); err != nil || w.Broken != "" {
			t.Errorf("%s: %+v, %v", dir, w, err)
		}
	}
}

func TestInspectMovedAndCopied(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("moved")
	f.worktree("copied")
	head := f.git("rev-parse", "HEAD")
	f.sh(`mv "$ROOT/moved" "$ROOT/new"; cp -r "$ROOT/copied" "$ROOT/copy"`)
	for dir, says := range map[string]string{"new": "git worktree repair " + f.path("new"), "copy": "is a copy"} {
		_, w, err := f.r.Inspect(t.Context(), f.path(dir))
		if err != nil {
			t.Fatal(err)
		}
		if w.Directory != f.path(dir) || w.Head != head || w.Missing || !strings.Contains(w.Broken, says) {
			t.Errorf("Inspect(%s): %+v, want broken to say %q", dir, w, says)
		}
	}
	f.git("worktree", "repair", f.path("new"))
	if _, w, err := f.r.Inspect(t.Context(), f.path("new")); err != nil || w.Broken != "" {
		t.Errorf("after the repair: %+v, %v", w, err)
	}
}
