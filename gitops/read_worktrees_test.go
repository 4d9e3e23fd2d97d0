package gitops

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

func parentOf(path string) string { return filepath.Dir(path) }

// listed is a worktree as "git worktree list" tells it.
type listed struct {
	Directory, Head, Branch, LockReason, Prunable string
	Detached, Locked                              bool
}

// gitList reads "git worktree list --porcelain -z", without the first, which
// is the main checkout.
func gitList(t *testing.T, f *fixture, dir string) []listed {
	t.Helper()
	all := []listed{}
	for block := range strings.SplitSeq(f.gitIn(dir, "worktree", "list", "--porcelain", "-z"), "\x00\x00") {
		if block == "" {
			continue
		}
		var l listed
		for line := range strings.SplitSeq(block, "\x00") {
			key, value, _ := strings.Cut(line, " ")
			switch key {
			case "worktree":
				l.Directory = value
			case "HEAD":
				l.Head = strings.Trim(value, "0")
				if l.Head != "" {
					l.Head = value
				}
			case "branch":
				l.Branch = strings.TrimPrefix(value, "refs/heads/")
			case "detached":
				l.Detached = true
			case "locked":
				l.Locked, l.LockReason = true, value
			case "prunable":
				l.Prunable = value
			}
		}
		all = append(all, l)
	}
	all = all[1:]
	slices.SortFunc(all, func(a, b listed) int { return strings.Compare(a.Directory, b.Directory) })
	return all
}

func asListed(all []workspace.Worktree) []listed {
	out := []listed{}
	for _, w := range all {
		out = append(out, listed{
			Directory: w.Directory, Head: w.Head, Branch: w.Branch, Detached: w.Detached,
			Locked: w.Locked, LockReason: w.LockReason, Prunable: w.Prunable,
		})
	}
	return out
}

func TestWorktreesAgreeWithGit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(f *fixture)
	}{
		{"none", func(*fixture) {}},
		{"one", func(f *fixture) { f.worktree("wt") }},
		{"many", func(f *fixture) {
			for _, name := range []string{"z", "a", "m/n", "feat"} {
				f.worktree(name)
			}
		}},
		{"a path with spaces", func(f *fixture) { f.git("worktree", "add", "-q", "-b", "x", f.path(" my work tree ")) }},
		{"a path with a newline", func(f *fixture) { f.git("worktree", "add", "-q", "-b", "x", f.path("a\nb")) }},
		{"a path that ends in a newline", func(f *fixture) { f.git("worktree", "add", "-q", "-b", "x", f.path("a\n")) }},
		{"a path that isn't UTF-8", func(f *fixture) { f.git("worktree", "add", "-q", "-b", "x", f.path("a\xff\xfe")) }},
		{"detached at a tag", func(f *fixture) {
			f.git("tag", "v1")
			f.git("worktree", "add", "-q", f.path("wt"), "v1")
		}},
		{"detached beside a branch called (detached)", func(f *fixture) {
			f.git("branch", "(detached)")
			f.git("worktree", "add", "-q", "--detach", f.path("wt"))
		}},
		{"on a branch called (detached)", func(f *fixture) {
			f.git("branch", "(detached)")
			f.git("worktree", "add", "-q", f.path("wt"), "(detached)")
		}},
		{"the branch was switched", func(f *fixture) {
			f.worktree("wt")
			f.gitIn(f.path("wt"), "switch", "-qc", "other")
			f.git("branch", "-qD", "wt")
		}},
		{"packed refs", func(f *fixture) {
			for _, name := range []string{"a", "b", "c"} {
				f.commit(f.worktree(name), "x", name, name)
			}
			f.git("pack-refs", "--all")
			f.commit(f.path("b"), "y", "newer than packed", "b2")
		}},
		{"a branch that stands for another", func(f *fixture) {
			f.worktree("wt")
			f.git("symbolic-ref", "refs/heads/alias", "refs/heads/wt")
			f.git("worktree", "add", "-q", "--detach", f.path("two"))
			f.gitIn(f.path("two"), "symbolic-ref", "HEAD", "refs/heads/alias")
		}},
		{"locked", func(f *fixture) {
			f.worktree("wt")
			f.git("worktree", "lock", f.path("wt"))
		}},
		{"locked with a reason", func(f *fixture) {
			f.worktree("wt")
			f.git("worktree", "lock", "--reason", "on a stick", f.path("wt"))
		}},
		{"missing", func(f *fixture) {
			f.worktree("gone")
			f.worktree("stays")
			f.sh(`rm -r "$ROOT/gone"`)
		}},
		{"missing and locked", func(f *fixture) {
			f.worktree("wt")
			f.git("worktree", "lock", "--reason", "away", f.path("wt"))
			f.sh(`rm -r "$ROOT/wt"`)
		}},
		{"the directory without its .git", func(f *fixture) {
			f.worktree("wt")
			f.sh(`rm "$ROOT/wt/.git"`)
		}},
		{"moved", func(f *fixture) {
			f.worktree("wt")
			f.sh(`mv "$ROOT/wt" "$ROOT/wt2"`)
		}},
		{"rebasing", func(f *fixture) {
			f.worktree("wt")
			f.commit(f.path("wt"), "f", "theirs\n", "theirs")
			f.commit(f.dir, "f", "ours\n", "ours")
			f.sh(`cd "$ROOT/wt"; ! git rebase -q main 2>/dev/null`)
		}},
		{"an empty gitdir", func(f *fixture) {
			f.worktree("wt")
			f.worktree("whole")
			f.write(f.path("repo/.git/worktrees/wt/gitdir"), "")
			f.sh(`rm -r "$ROOT/wt"`)
		}},
		{"no HEAD", func(f *fixture) {
			f.worktree("wt")
			f.sh(`rm .git/worktrees/wt/HEAD`)
		}},
		{"an unborn branch", func(f *fixture) {
			f.worktree("wt")
			f.gitIn(f.path("wt"), "checkout", "-q", "--orphan", "fresh")
		}},
		{"SHA-256", func(f *fixture) {
			f.sh(`rm -rf .git; git init -q -b main --object-format=sha256; git add f; git commit -qm init`)
			f.worktree("wt")
			f.git("worktree", "add", "-q", "--detach", f.path("two"))
		}},
		{"worktreeConfig", func(f *fixture) {
			f.git("config", "extensions.worktreeConfig", "true")
			f.worktree("wt")
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			test.prepare(f)
			before := snapshot(t, f.root)
			got, err := f.r.Worktrees(t.Context(), f.open(f.dir))
			if err != nil {
				t.Fatal(err)
			}
			wantSame(t, f.root, before)
			// git leaves out an entry of which it doesn't know the directory.
			known := slices.DeleteFunc(slices.Clone(got), func(w workspace.Worktree) bool { return w.Directory == "" })
			if diff := cmp.Diff(gitList(t, f, f.dir), asListed(known)); diff != "" {
				t.Errorf("worktrees (-git +ours):\n%s", diff)
			}
		})
	}
}

func TestWorktreesOfABareRepository(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	bare := f.path("project", ".git")
	f.git("clone", "-q", "--bare", f.dir, bare)
	f.gitIn(f.path("project"), "worktree", "add", "-q", f.path("project/main"), "main")
	f.gitIn(f.path("project"), "worktree", "add", "-q", "-b", "x", f.path("project/x"))
	got, err := f.r.Worktrees(t.Context(), f.open(f.path("project")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(gitList(t, f, bare), asListed(got)); diff != "" {
		t.Errorf("worktrees (-git +ours):\n%s", diff)
	}
	for _, w := range got {
		if w.Broken != "" || w.Missing {
			t.Errorf("%+v is said to be broken or missing", w)
		}
	}
}

func TestWorktreesRelativeGitdir(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("wt")
	f.write(f.path("repo/.git/worktrees/wt/gitdir"), "../../../../wt/.git\n")
	f.write(f.path("wt/.git"), "gitdir: ../repo/.git/worktrees/wt\n")
	w := f.list()["wt"]
	if w.Directory != f.path("wt") || w.Broken != "" || w.Missing || w.Prunable != "" {
		t.Errorf("worktree %+v", w)
	}
	if _, got, err := f.r.Inspect(t.Context(), f.path("wt")); err != nil || got != w {
		t.Errorf("Inspect: %+v, %v; the list has %+v", got, err, w)
	}
}

func TestWorktreesSaysWhatIsBroken(t *testing.T) {
	t.Parallel()
	entry := func(f *fixture, file string) string { return f.path("repo/.git/worktrees/wt", file) }
	tests := []struct {
		name    string
		prepare func(f *fixture)
		says    string
		missing bool
		unknown bool // where the directory is
	}{
		{"no gitdir", func(f *fixture) { _ = os.Remove(entry(f, "gitdir")) }, "gitdir file is missing", false, true},
		{"an empty gitdir", func(f *fixture) { f.write(entry(f, "gitdir"), "\n") }, "gitdir file is empty", false, true},
		{"no HEAD", func(f *fixture) { _ = os.Remove(entry(f, "HEAD")) }, "HEAD file is missing", false, false},
		{"an empty HEAD", func(f *fixture) { f.write(entry(f, "HEAD"), "") }, "HEAD file is empty", false, false},
		{"nonsense in HEAD", func(f *fixture) { f.write(entry(f, "HEAD"), "ref: nowhere\n") }, "HEAD file is empty or broken", false, false},
		{"no commondir", func(f *fixture) { _ = os.Remove(entry(f, "commondir")) }, "commondir file is missing", false, false},
		{"an empty commondir", func(f *fixture) { f.write(entry(f, "commondir"), "") }, "keeps git from listing", false, false},
		{"nothing but the lock", func(f *fixture) {
			f.sh(`cd .git/worktrees/wt; rm -rf *; echo initializing >locked`)
		}, "half written", false, true},
		{"no .git in the directory", func(f *fixture) { _ = os.Remove(f.path("wt/.git")) }, "has no .git file", false, false},
		{"another repository in its place", func(f *fixture) {
			f.sh(`rm -r "$ROOT/wt"; git init -q "$ROOT/wt"`)
		}, "a repository of its own", false, false},
		{"another worktree in its place", func(f *fixture) {
			f.worktree("two")
			f.sh(`rm -r "$ROOT/wt"; cp -r "$ROOT/two" "$ROOT/wt"`)
		}, "not to this entry", false, false},
		{"core.bare in the shared configuration", func(f *fixture) {
			f.sh(`git config extensions.worktreeConfig true; git config core.bare true`)
		}, "core.bare is true in the shared configuration", false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			f.worktree("wt")
			f.worktree("whole")
			test.prepare(f)
			all, err := f.r.Worktrees(t.Context(), f.open(f.dir))
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, w := range all {
				switch w.Admin {
				case "wt":
					found = true
					if !strings.Contains(w.Broken, test.says) {
						t.Errorf("broken: %q, want %q in it", w.Broken, test.says)
					}
					if w.Missing != test.missing || (w.Directory == "") != test.unknown {
						t.Errorf("worktree %+v", w)
					}
				case "whole":
					if w.Broken != "" && !strings.Contains(test.name, "core.bare") {
						t.Errorf("the whole one is said to be broken: %s", w.Broken)
					}
				}
			}
			if !found {
				t.Errorf("the entry is missing in %+v", all)
			}
		})
	}
}

func TestSharedBareIsMendedAsSaid(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("wt")
	f.sh(`git config extensions.worktreeConfig true; git config core.bare true`)
	if out, err := f.tryGit(f.path("wt"), "status"); err == nil {
		t.Fatalf("git works in the worktree: %s", out)
	}
	p, w, err := f.r.Inspect(t.Context(), f.path("wt"))
	if err != nil {
		t.Fatal(err)
	}
	if p.TopLevel != f.path("wt") || !strings.Contains(w.Broken, "core.bare") {
		t.Errorf("Inspect: %+v, %+v", p, w)
	}
	f.git("config", "--file", f.path("repo/.git/config"), "--unset", "core.bare")
	f.gitIn(f.path("wt"), "status")
	if w := f.list()["wt"]; w.Broken != "" {
		t.Errorf("still broken: %s", w.Broken)
	}
}

func TestWorktreesWhileEntriesComeAndGo(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("stays")
	p := f.open(f.dir)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		defer cancel()
		for range 30 {
			if out, err := f.tryGit(f.dir, "worktree", "add", "-q", "--detach", f.path("flips")); err != nil {
				t.Errorf("add: %v %s", err, out)
			}
			if out, err := f.tryGit(f.dir, "worktree", "remove", "--force", f.path("flips")); err != nil {
				t.Errorf("remove: %v %s", err, out)
			}
		}
	})
	for ctx.Err() == nil {
		all, err := f.r.Worktrees(t.Context(), p)
		if err != nil {
			t.Errorf("Worktrees: %v", err)
			break
		}
		if !slices.ContainsFunc(all, func(w workspace.Worktree) bool { return w.Directory == f.path("stays") && w.Broken == "" }) {
			t.Errorf("the one that stays is not whole in %+v", all)
			break
		}
	}
	group.Wait()
}

func TestWorktreeAdmin(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("wt")
	f.worktree("gone")
	f.sh(`ln -s "$ROOT" "$ROOT/link"; rm -r "$ROOT/gone"`)
	p := f.open(f.dir)
	for _, name := range []string{"wt", "gone"} {
		for _, spelled := range []string{f.path(name), f.path("link", name), f.path("x/..", name)} {
			w, admin, err := f.r.worktreeAdmin(t.Context(), p, spelled)
			if err != nil || w.Directory != f.path(name) || admin != f.path("repo/.git/worktrees", name) {
				t.Errorf("worktreeAdmin(%s): %+v, %s, %v", spelled, w, admin, err)
			}
		}
	}
	_, _, err := f.r.worktreeAdmin(t.Context(), p, f.dir)
	wantCode(t, err, workspace.ErrNotFound)
}

func TestManaged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.mkdir(f.path("home/worktrees/p/x"))
	if err := os.Symlink(f.path("home"), f.path("alias")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(f.path("elsewhere"), f.path("home/worktrees/out")); err != nil {
		t.Fatal(err)
	}
	f.mkdir(f.path("elsewhere/x"))
	linked, err := New(Options{Home: f.path("alias"), Env: f.env})
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{
		f.path("home/worktrees/p/x"):          true,
		f.path("home/worktrees/p/not/yet"):    true,
		f.path("alias/worktrees/p/x"):         true,
		f.path("home/worktrees"):              false,
		f.path("home/worktrees2/p/x"):         false,
		f.path("home/worktrees/../x"):         false,
		f.path("home/worktrees/out/x"):        false,
		f.path("home"):                        false,
		f.path("elsewhere/x"):                 false,
		"":                                    false,
		f.path("home/worktrees/p/x/.git/..."): true,
	} {
		for _, r := range []*Repository{f.r, linked} {
			if got := r.Managed(dir); got != want {
				t.Errorf("Managed(%s) with home %s = %v, want %v", dir, r.home, got, want)
			}
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte("/x/wt/.git\n"), []byte("ref: refs/heads/x\n"), []byte("../..\n"), []byte("why\n"), true)
	f.Add([]byte("../../../wt/.git"), []byte("0123456789012345678901234567890123456789\n"), []byte("/x/.git\n"), []byte{}, false)
	f.Add([]byte("\n"), []byte("ref: x"), []byte(""), []byte{0xff}, true)
	f.Add([]byte("a\x00b"), []byte("ref:refs/heads/\x00"), []byte(" "), []byte(nil), false)
	f.Fuzz(func(t *testing.T, gitdir, head, commondir, locked []byte, whole bool) {
		files := recordFiles{gitdir: gitdir, head: head, commondir: commondir}
		if whole {
			files.locked = append([]byte{}, locked...)
		}
		e := parseRecord("/repo/.git/worktrees/x", files)
		if e.dotGit != "" && !filepath.IsAbs(e.dotGit) {
			t.Errorf("the .git file is at %q", e.dotGit)
		}
		if (e.fault == "") == e.partial {
			t.Errorf("fault %q, partial %v", e.fault, e.partial)
		}
		if e.fault == "" && (e.dotGit == "" || e.head == (headFile{}) || len(bytes.TrimSpace(commondir)) == 0) {
			t.Errorf("said to be whole: %+v", e)
		}
		if e.locked != whole {
			t.Errorf("locked %v, want %v", e.locked, whole)
		}
		if e.head.sha != "" && (e.head.ref != "" || !isObjectID(e.head.sha)) {
			t.Errorf("HEAD %+v", e.head)
		}
	})
}
