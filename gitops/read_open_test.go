package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// prepare makes a layout and returns what to open and the project
		// that is wanted, with Directory left out.
		prepare func(f *fixture) (open string, want workspace.Project)
	}{
		{"the top", func(f *fixture) (string, workspace.Project) {
			return f.dir, workspace.Project{ID: f.path("repo/.git"), TopLevel: f.dir, Name: "repo"}
		}},
		{"a subdirectory", func(f *fixture) (string, workspace.Project) {
			f.mkdir(f.path("repo/a/b c"))
			return f.path("repo/a/b c"), workspace.Project{ID: f.path("repo/.git"), TopLevel: f.dir, Subdirectory: "a/b c", Name: "repo"}
		}},
		{"a symlink to a subdirectory", func(f *fixture) (string, workspace.Project) {
			f.mkdir(f.path("repo/a"))
			f.sh(`ln -s "$REPO/a" "$ROOT/link"`)
			return f.path("link"), workspace.Project{ID: f.path("repo/.git"), TopLevel: f.dir, Subdirectory: "a", Name: "repo"}
		}},
		{"the git directory", func(f *fixture) (string, workspace.Project) {
			return f.path("repo/.git/objects"), workspace.Project{ID: f.path("repo/.git"), TopLevel: f.dir, Name: "repo"}
		}},
		{"a linked worktree", func(f *fixture) (string, workspace.Project) {
			f.worktree("wt")
			f.mkdir(f.path("wt/sub"))
			return f.path("wt/sub"), workspace.Project{ID: f.path("repo/.git"), TopLevel: f.path("wt"), Subdirectory: "sub", Name: "repo"}
		}},
		{"a bare repository", func(f *fixture) (string, workspace.Project) {
			f.git("clone", "-q", "--bare", f.dir, f.path("My Project.git"))
			return f.path("My Project.git"), workspace.Project{ID: f.path("My Project.git"), Name: "my-project", Bare: true}
		}},
		{"within a bare repository", func(f *fixture) (string, workspace.Project) {
			f.git("clone", "-q", "--bare", f.dir, f.path("b.git"))
			return f.path("b.git/refs/heads"), workspace.Project{ID: f.path("b.git"), Name: "b", Bare: true}
		}},
		{"a worktree of a bare repository", func(f *fixture) (string, workspace.Project) {
			f.git("clone", "-q", "--bare", f.dir, f.path("b.git"))
			f.gitIn(f.path("b.git"), "worktree", "add", "-q", f.path("main"), "main")
			return f.path("main"), workspace.Project{ID: f.path("b.git"), TopLevel: f.path("main"), Name: "b", Bare: true}
		}},
		{"a bare clone as project/.git", func(f *fixture) (string, workspace.Project) {
			f.git("clone", "-q", "--bare", f.dir, f.path("project/.git"))
			f.gitIn(f.path("project"), "worktree", "add", "-q", f.path("project/main"), "main")
			return f.path("project"), workspace.Project{ID: f.path("project/.git"), Name: "project", Bare: true}
		}},
		{"a worktree beside a bare project/.git", func(f *fixture) (string, workspace.Project) {
			f.git("clone", "-q", "--bare", f.dir, f.path("project/.git"))
			f.gitIn(f.path("project"), "worktree", "add", "-q", f.path("project/main"), "main")
			return f.path("project/main"), workspace.Project{ID: f.path("project/.git"), TopLevel: f.path("project/main"), Name: "project", Bare: true}
		}},
		{"a bare clone as project/.bare", func(f *fixture) (string, workspace.Project) {
			f.git("clone", "-q", "--bare", f.dir, f.path("project/.bare"))
			f.write(f.path("project/.git"), "gitdir: ./.bare\n")
			return f.path("project"), workspace.Project{ID: f.path("project/.bare"), Name: "project", Bare: true}
		}},
		{"a submodule", func(f *fixture) (string, workspace.Project) {
			f.git("clone", "-q", f.dir, f.path("sub"))
			f.git("submodule", "--quiet", "add", f.path("sub"), "lib")
			return f.path("repo/lib"), workspace.Project{ID: f.path("repo/.git/modules/lib"), TopLevel: f.path("repo/lib"), Name: "lib"}
		}},
		{"a separate git directory", func(f *fixture) (string, workspace.Project) {
			f.mkdir(f.path("files"))
			f.gitIn(f.path("files"), "init", "-q", "--separate-git-dir", f.path("store"))
			return f.path("files"), workspace.Project{ID: f.path("store"), TopLevel: f.path("files"), Name: "store"}
		}},
		{"a linked .git directory", func(f *fixture) (string, workspace.Project) {
			f.sh(`mv .git "$ROOT/kept.git"; ln -s "$ROOT/kept.git" .git`)
			return f.dir, workspace.Project{ID: f.path("kept.git"), TopLevel: f.dir, Name: "kept"}
		}},
		{"core.worktree", func(f *fixture) (string, workspace.Project) {
			f.mkdir(f.path("elsewhere"))
			f.git("config", "core.worktree", "../../elsewhere")
			return f.dir, workspace.Project{ID: f.path("repo/.git"), TopLevel: f.path("elsewhere"), Name: "repo"}
		}},
		{"no commits", func(f *fixture) (string, workspace.Project) {
			f.git("init", "-q", f.path("fresh"))
			return f.path("fresh"), workspace.Project{ID: f.path("fresh/.git"), TopLevel: f.path("fresh"), Name: "fresh"}
		}},
		{"SHA-256", func(f *fixture) (string, workspace.Project) {
			f.git("init", "-q", "--object-format=sha256", f.path("wide"))
			return f.path("wide"), workspace.Project{ID: f.path("wide/.git"), TopLevel: f.path("wide"), Name: "wide"}
		}},
		{"a configuration that only git reads", func(f *fixture) (string, workspace.Project) {
			f.write(f.path("repo/.git/config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[odd]\n\tx = a \\\n b\n\ty = \"q\" # c\n")
			return f.dir, workspace.Project{ID: f.path("repo/.git"), TopLevel: f.dir, Name: "repo"}
		}},
		{"core.bare switched on by mistake", func(f *fixture) (string, workspace.Project) {
			f.git("config", "core.bare", "true")
			return f.dir, workspace.Project{ID: f.path("repo/.git"), Name: "repo", Bare: true}
		}},
		{"a name without letters", func(f *fixture) (string, workspace.Project) {
			f.git("init", "-q", f.path("___"))
			return f.path("___"), workspace.Project{ID: f.path("___/.git"), TopLevel: f.path("___"), Name: "project"}
		}},
		{"an empty .git directory below", func(f *fixture) (string, workspace.Project) {
			f.mkdir(f.path("repo/a/.git"))
			return f.path("repo/a"), workspace.Project{ID: f.path("repo/.git"), TopLevel: f.dir, Subdirectory: "a", Name: "repo"}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			open, want := test.prepare(f)
			want.Directory = open
			got, err := f.r.Open(t.Context(), open)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Open(%s) (-want +got):\n%s", open, diff)
			}
			agreeWithGit(t, f, got)
		})
	}
}

// agreeWithGit wants git to see the same repository from the directory.
func agreeWithGit(t *testing.T, f *fixture, p workspace.Project) {
	t.Helper()
	common := f.gitIn(p.Directory, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if resolved, err := filepath.EvalSymlinks(common); err != nil || resolved != p.ID {
		t.Errorf("git has the common directory %s, we have %s", common, p.ID)
	}
	// From within the git directory git has no top.
	if top, err := f.tryGit(p.Directory, "rev-parse", "--show-toplevel"); err == nil && strings.TrimSuffix(top, "\n") != p.TopLevel {
		t.Errorf("git has the top %s, we have %s", top, p.TopLevel)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(f *fixture) string
		code    workspace.Code
		says    string
	}{
		{"nothing", func(*fixture) string { return "" }, workspace.ErrNotFound, "no directory"},
		{"no such directory", func(f *fixture) string { return f.path("gone") }, workspace.ErrNotFound, "gone"},
		{"a path through a file", func(f *fixture) string { return f.path("repo/f/x") }, workspace.ErrNotFound, "no directory"},
		{"a NUL in the path", func(f *fixture) string { return f.path("re\x00po") }, workspace.ErrNotFound, "no directory"},
		{"a path that is too long", func(f *fixture) string { return f.path(strings.Repeat("x", 10_000)) }, workspace.ErrNotFound, "no directory"},
		{"a tilde", func(*fixture) string { return "~/repo" }, workspace.ErrNotFound, "no directory"},
		{"a file", func(f *fixture) string { return f.path("repo/f") }, workspace.ErrNotARepository, "is a file"},
		{"no repository", func(f *fixture) string { f.mkdir(f.path("plain")); return f.path("plain") }, workspace.ErrNotARepository, "no git repository"},
		{"a broken .git file", func(f *fixture) string {
			f.write(f.path("odd/.git"), "what\n")
			return f.path("odd")
		}, workspace.ErrNotARepository, "doesn't name a git directory"},
		{"the main repository is gone", func(f *fixture) string {
			f.worktree("wt")
			f.sh(`mv "$REPO" "$ROOT/away"; mkdir "$REPO"`)
			return f.path("wt")
		}, workspace.ErrNotARepository, "main repository missing at "},
		{"the entry is gone", func(f *fixture) string {
			f.worktree("wt")
			f.sh(`rm -r .git/worktrees/wt`)
			return f.path("wt")
		}, workspace.ErrNotARepository, "its files are kept"},
		{"a submodule whose git directory is gone", func(f *fixture) string {
			f.git("clone", "-q", f.dir, f.path("sub"))
			f.git("submodule", "--quiet", "add", f.path("sub"), "lib")
			f.sh(`rm -rf .git/modules`)
			return f.path("repo/lib")
		}, workspace.ErrNotARepository, "missing or broken"},
		{"core.worktree leads nowhere", func(f *fixture) string {
			f.git("config", "core.worktree", "/nowhere/at/all")
			return f.dir
		}, workspace.ErrNotARepository, "core.worktree"},
		{"an empty commondir", func(f *fixture) string {
			f.worktree("wt")
			f.write(f.path("repo/.git/worktrees/wt/commondir"), "")
			return f.path("wt")
		}, workspace.ErrNotARepository, "half written"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			open := test.prepare(f)
			before := snapshot(t, f.root)
			_, err := f.r.Open(t.Context(), open)
			e := wantCode(t, err, test.code)
			if !strings.Contains(e.Message, test.says) {
				t.Errorf("message %q doesn't say %q", e.Message, test.says)
			}
			wantSame(t, f.root, before)
		})
	}
}

func TestOpenNamesTheMissingRepository(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("wt")
	f.sh(`rm -rf "$REPO"; mkdir "$REPO"`)
	_, err := f.r.Open(t.Context(), f.path("wt"))
	e := wantCode(t, err, workspace.ErrNotARepository)
	want := "main repository missing at " + f.dir + "; files in the worktree"
	if !strings.Contains(e.Message, want) || !strings.Contains(e.Message, "are kept") {
		t.Errorf("message %q doesn't say %q", e.Message, want)
	}
	if f.read(f.path("wt/f")) != "base\n" {
		t.Error("the worktree's files were not kept")
	}
}

func TestOpenStartsNoProcess(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("wt")
	// A git that fails whatever it is asked.
	r, err := New(Options{Home: f.path("home"), Git: "false", Env: f.env})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{f.dir, f.path("wt")} {
		p, err := r.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Inspect(t.Context(), dir); err != nil {
			t.Errorf("Inspect(%s): %v", dir, err)
		}
		if ws, err := r.Worktrees(t.Context(), p); err != nil || len(ws) != 1 {
			t.Errorf("Worktrees: %v, %v", ws, err)
		}
	}
}

func TestOpenOwnedBySomebodyElse(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	f := newRepo(t)
	if err := os.Chown(f.dir, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	_, err := f.r.Open(t.Context(), f.dir)
	e := wantCode(t, err, workspace.ErrPermissionDenied)
	if !strings.Contains(e.Hint, "safe.directory "+f.dir) {
		t.Errorf("hint %q doesn't name safe.directory", e.Hint)
	}
	_, _, err = f.r.Inspect(t.Context(), f.dir)
	wantCode(t, err, workspace.ErrPermissionDenied)

	f.write(f.path("gitconfig"), "[safe]\n\tdirectory = "+f.dir+"\n")
	if p := f.open(f.dir); p.TopLevel != f.dir {
		t.Errorf("a trusted repository opens as %+v", p)
	}
}
