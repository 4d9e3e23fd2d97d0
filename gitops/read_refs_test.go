package gitops

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// formats are the repositories that refs are read from: the ordinary one by
// go-git, and one that go-git can't open by git.
var formats = []struct {
	name   string
	args   []string
	goGit  bool
	config [][]string
}{
	{name: "SHA-1", goGit: true},
	{name: "SHA-256", args: []string{"--object-format=sha256"}},
	{name: "worktreeConfig", goGit: true, config: [][]string{{"core.repositoryFormatVersion", "1"}, {"extensions.worktreeConfig", "true"}}},
	{name: "worktreeConfig in format 0", goGit: true, config: [][]string{{"extensions.worktreeConfig", "true"}}},
	{name: "preciousObjects", goGit: true, config: [][]string{{"core.repositoryFormatVersion", "1"}, {"extensions.preciousObjects", "true"}}},
	{name: "partialClone", goGit: true, config: [][]string{{"core.repositoryFormatVersion", "1"}, {"extensions.partialClone", "origin"}}},
}

// forEachFormat runs a test on a repository of each format with one commit.
func forEachFormat(t *testing.T, run func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	for _, format := range formats {
		t.Run(format.name, func(t *testing.T) {
			t.Parallel()
			f := newEmptyRepo(t, format.args...)
			f.commit(f.dir, "f", "base\n", "init")
			for _, kv := range format.config {
				f.git("config", kv[0], kv[1])
			}
			if opened := f.r.openRefs(f.path("repo/.git")).store != nil; opened != format.goGit {
				t.Fatalf("opened by go-git: %v, want %v", opened, format.goGit)
			}
			run(t, f)
		})
	}
}

func TestRefs(t *testing.T) {
	forEachFormat(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for _, branch := range []string{"packed", "feat/deep/er", "ünï-ço∂é", "both"} {
			f.git("branch", branch)
		}
		f.git("tag", "-m", "annotated", "v1")
		f.git("pack-refs", "--all")
		f.git("branch", "loose")
		f.git("symbolic-ref", "refs/heads/alias", "refs/heads/packed")
		f.git("symbolic-ref", "refs/heads/nowhere", "refs/heads/none")
		f.commit(f.dir, "g", "more", "more")
		f.git("branch", "-f", "both", "main")
		p := f.open(f.dir)

		for _, ref := range []string{
			"refs/heads/main", "refs/heads/packed", "refs/heads/feat/deep/er", "refs/heads/ünï-ço∂é", "refs/heads/both",
			"refs/heads/loose", "refs/heads/alias", "refs/tags/v1",
		} {
			want := f.git("rev-parse", ref)
			if got, err := f.r.tip(ctx, p, ref); err != nil || got != want {
				t.Errorf("tip(%s) = %q, %v; git has %s", ref, got, err, want)
			}
		}
		for _, ref := range []string{"refs/heads/none", "refs/heads/feat", "refs/heads/nowhere", "refs/heads/main/x", "refs/remotes/origin/main"} {
			if got, err := f.r.tip(ctx, p, ref); err != nil || got != "" {
				t.Errorf("tip(%s) = %q, %v, want none", ref, got, err)
			}
		}
		names, err := f.r.branchNames(ctx, p)
		want := []string{"alias", "both", "feat/deep/er", "loose", "main", "packed", "ünï-ço∂é"}
		if f.r.openRefs(p.ID).store != nil {
			want = append(want, "nowhere") // its name is not free; git doesn't tell it
		}
		slices.Sort(want)
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("branches %q, %v; want %q", names, err, want)
		}
	})
}

func TestRefPackedMeanwhile(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.git("pack-refs", "--all")
	x := f.r.openRefs(f.path("repo/.git"))
	ctx := t.Context()
	if sha, err := x.lookup(ctx, "refs/heads/later"); err != nil || sha != "" {
		t.Fatalf("lookup: %q, %v", sha, err)
	}
	f.git("branch", "later")
	f.git("pack-refs", "--all")
	if sha, err := x.lookup(ctx, "refs/heads/later"); err != nil || sha != f.git("rev-parse", "later") {
		t.Errorf("a branch that was packed since the first look is %q, %v", sha, err)
	}
}

func TestHead(t *testing.T) {
	forEachFormat(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		first := f.git("rev-parse", "HEAD")
		f.worktree("wt")
		second := f.commit(f.path("wt"), "g", "more", "more")
		f.git("worktree", "add", "-q", "--detach", f.path("two"), second)
		f.git("clone", "-q", "--bare", "-b", "wt", f.dir, f.path("b.git"))
		for dir, want := range map[string][2]string{
			f.dir: {first, "main"}, f.path("wt"): {second, "wt"}, f.path("two"): {second, ""}, f.path("b.git"): {second, "wt"},
		} {
			sha, branch, err := f.r.head(ctx, f.open(dir))
			if err != nil || sha != want[0] || branch != want[1] {
				t.Errorf("head of %s: %s, %q, %v; want %q", dir, sha, branch, err, want)
			}
		}
		f.gitIn(f.path("two"), "checkout", "-q", "--orphan", "unborn")
		sha, branch, err := f.r.head(ctx, f.open(f.path("two")))
		wantCode(t, err, workspace.ErrNoCommits)
		if sha != "" || branch != "unborn" {
			t.Errorf("an unborn HEAD is %q on %q", sha, branch)
		}
	})
}

func TestDefaultBranchAndRemotes(t *testing.T) {
	forEachFormat(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		want := func(branch string, remotes ...string) {
			t.Helper()
			p := f.open(f.dir)
			if got, err := f.r.defaultBranch(ctx, p); err != nil || got != branch {
				t.Errorf("default branch %q, %v; want %q", got, err, branch)
			}
			if got, err := f.r.remotes(ctx, p); err != nil || !slices.Equal(got, remotes) {
				t.Errorf("remotes %q, %v; want %q", got, err, remotes)
			}
		}
		want("main")
		f.git("switch", "-qc", "trunk")
		want("trunk")
		f.git("checkout", "-q", "--detach")
		want("")
		f.git("remote", "add", "origin", f.path("nowhere"))
		f.git("remote", "add", "a.b/c", f.path("nowhere"))
		f.git("update-ref", "refs/remotes/origin/release/1", "HEAD")
		f.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/release/1")
		want("release/1", "origin", "a.b/c")
	})
}

func TestCommitted(t *testing.T) {
	forEachFormat(t, func(t *testing.T, f *fixture) {
		f.env = append(f.env, "GIT_COMMITTER_DATE=1700000000 +0130")
		sha := f.commit(f.dir, "g", "x", "dated")
		made, err := f.r.openRefs(f.path("repo/.git")).committed(t.Context(), sha)
		if err != nil || made.Unix() != 1700000000 {
			t.Errorf("committed at %v, %v", made, err)
		}
	})
}

func TestConfigIncludes(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.write(f.path("more"), "[remote \"extra\"]\n\turl = x\n\tfetch = +refs/heads/*:refs/remotes/extra/*\n[branch \"main\"]\n\tremote = extra\n\tmerge = refs/heads/trunk\n")
	f.git("config", "include.path", f.path("more"))
	c, err := f.r.config(t.Context(), f.path("repo/.git"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.remotes, []string{"extra"}) || !slices.Equal(c.tracking("main"), []string{"refs/remotes/extra/trunk"}) {
		t.Errorf("remotes %q, tracking %q", c.remotes, c.tracking("main"))
	}
}

func TestConfigReadByGitIsTheSame(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(`git config remote.origin.url x; git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
git config 'branch.a.b/c.merge' refs/heads/x; git config 'branch.a.b/c.remote' origin; git config core.bare false`)
	path := f.path("repo/.git/config")
	own, err := f.r.git.readConfigFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := f.r.git.listConfig(t.Context(), command{dir: f.root, args: []string{"config", "--file", path, "-z", "--list"}})
	if err != nil {
		t.Fatal(err)
	}
	for key, values := range asked.values {
		if !slices.Equal(own.values[key], values) {
			t.Errorf("%s is %q, git has %q", key, own.values[key], values)
		}
	}
	if len(own.values) != len(asked.values) {
		t.Errorf("%d keys, git has %d", len(own.values), len(asked.values))
	}
	if got := own.tracking("a.b/c"); !slices.Equal(got, []string{"refs/remotes/origin/x", "refs/remotes/origin/a.b/c"}) {
		t.Errorf("tracking %q", got)
	}
}

// FuzzBranchName: a branch's literal name that is accepted is one that git
// accepts, and whatever is derived from it too.
func FuzzBranchName(f *testing.F) {
	for _, seed := range []string{
		"main", "feature/login", "-x", "a..b", "x.lock", "a/.b", "@", "@{-1}", "HEAD", "a b", "a\x7f", "ü/ö", "x.", "/x", "x/", "a//b",
		"a\\b", "a~1", "a^", "a:b", "a?b", "a*b", "a[b", "a@{b", "refs/heads/x", "\xff", "a.lock/b", "-", ".", "..", "(detached)",
		strings.Repeat("x", 251), strings.Repeat("y/", 400) + "z", "a\nb", "\u00a0", "a\u200bb", "@a", "a@", "@@",
	} {
		f.Add(seed)
	}
	g, err := newGit("", fixtureEnv(f.TempDir()))
	if err != nil {
		f.Fatal(err)
	}
	dir := f.TempDir()
	accepts := func(t *testing.T, branch string) {
		t.Helper()
		out, err := g.line(t.Context(), command{dir: dir, args: []string{"check-ref-format", "--branch", branch}})
		if err != nil || out != branch {
			t.Errorf("%q is accepted here; git says %q, %v", branch, out, err)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if name, err := workspace.NameFromBranch(text); err == nil {
			accepts(t, name.Branch)
			accepts(t, "p/"+name.Slug)
		} else if !errors.Is(err, workspace.ErrInvalidName) {
			t.Errorf("%q: %v", text, err)
		}
		if name, err := workspace.NameFromTyped(workspace.DefaultPrefix, text); err == nil {
			accepts(t, name.Branch)
			accepts(t, name.Suffixed(12).Branch)
		}
		accepts(t, workspace.NameFromTitle(workspace.DefaultPrefix, text, "1").Branch)
	})
}
