package gitops

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// TestAdvanceNowhere moves a branch that is checked out nowhere.
func TestAdvanceNowhere(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"git checkout -q -b elsewhere; echo 1 >>f; git add f; echo 2 >new.txt",
		"git checkout -q --detach; git rev-parse HEAD >.git/MERGE_HEAD",
		`git checkout -q --orphan empty; git rm -rqf .; git pack-refs --all`,
	} {
		x := newTarget(t, false, "", "")
		x.in(script)
		tree, index := x.tree(), x.read(filepath.Join(x.gitDir, "index"))
		status := x.git("status", "--porcelain=v2", "-uall")
		out, err := x.advance()
		if err != nil || out.at != nil {
			t.Fatalf("%s: %+v, %s", script, out, detail(err))
		}
		if got := x.git("rev-parse", "main"); got != x.next {
			t.Errorf("%s: main is at %s", script, got)
		}
		if got := x.git("reflog", "-1", "--format=%gs", "main"); got != "merge topic: Fast-forward" {
			t.Errorf("%s: the reflog says %q", script, got)
		}
		if exists(filepath.Join(x.gitDir, "ORIG_HEAD")) {
			t.Errorf("%s: ORIG_HEAD was set", script)
		}
		if diff := cmp.Diff(tree, x.tree()); diff != "" || x.read(filepath.Join(x.gitDir, "index")) != index || x.git("status", "--porcelain=v2", "-uall") != status {
			t.Errorf("%s: files or index were changed: %s", script, diff)
		}
		if warnings := x.r.afterAdvance(t.Context(), x.open(x.dir), x.input(), out.at); len(warnings) > 0 {
			t.Errorf("%q", warnings)
		}
	}
}

func TestAdvanceBare(t *testing.T) {
	t.Parallel()
	x := newTarget(t, false, "", "")
	bare := x.path("bare.git")
	x.git("clone", "-q", "--bare", x.dir, bare)
	for _, linked := range []bool{false, true} {
		x.gitIn(bare, "update-ref", "refs/heads/main", x.was)
		if linked {
			x.gitIn(bare, "worktree", "add", "-q", x.path("of bare"), "main")
		}
		p := x.open(bare)
		at, err := x.r.checkouts(t.Context(), p, "main")
		if err != nil || len(at) > 0 != linked {
			t.Fatalf("%+v, %v", at, err)
		}
		if _, err := x.r.advance(t.Context(), p, x.input()); err != nil {
			t.Fatal(detail(err))
		}
		if got := x.gitIn(bare, "rev-parse", "main"); got != x.next {
			t.Errorf("main is at %s", got)
		}
		if linked {
			if got := x.gitIn(x.path("of bare"), "status", "--porcelain"); got != "" || x.read(x.path("of bare", "new.txt")) != "new.txt 2\n" {
				t.Errorf("status %s", got)
			}
		}
	}
}

// TestAdvanceHeld refuses a branch that some checkout has in a way that
// doesn't allow to move it.
func TestAdvanceHeld(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		code   workspace.Code
		words  []string
	}{
		"twice": {
			`git worktree add -q --force "$ROOT/two" main`, workspace.ErrBranchCheckedOut,
			[]string{"$ROOT/repo", "$ROOT/two"},
		},
		"in a worktree that is missing": {
			`git checkout -q -b elsewhere; git worktree add -q "$ROOT/two" main; rm -r "$ROOT/two"`, workspace.ErrBranchCheckedOut,
			[]string{"$ROOT/two", "missing"},
		},
		"in a worktree that was moved": {
			`git checkout -q -b elsewhere; git worktree add -q "$ROOT/two" main; mv "$ROOT/two" "$ROOT/three"`, workspace.ErrBranchCheckedOut,
			[]string{"$ROOT/two"},
		},
		"in a worktree that rebases it": {
			`git checkout -q -b elsewhere; git worktree add -q "$ROOT/two" main; git -C "$ROOT/two" commit -q --allow-empty -m x; git -C "$ROOT/two" rebase -q -f -x false HEAD~ 2>/dev/null || git update-ref refs/heads/main HEAD`,
			busy,
			[]string{"rebase", "$ROOT/two"},
		},
		"in a worktree whose rebase updates it": {
			`git checkout -q -b over; git commit -q --allow-empty -m over; git worktree add -q "$ROOT/two" --detach; cd "$ROOT/two"; git checkout -q --ignore-other-worktrees over
git rebase -q -f --update-refs -x false main~0^{/base} 2>/dev/null || :
cd ../repo; git checkout -q -b elsewhere`, "", nil,
		},
		"in a worktree that bisects it": {
			`git checkout -q -b elsewhere; git worktree add -q "$ROOT/two" main; git -C "$ROOT/two" bisect start >/dev/null; git -C "$ROOT/two" checkout -q --detach`,
			busy,
			[]string{"bisect", "$ROOT/two"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t, false, "", "")
			x.in(test.script)
			if test.code == "" {
				// Whether this git knows such a rebase shows by its file.
				if !exists(filepath.Join(x.dir, ".git", "worktrees", "two", "rebase-merge")) {
					t.Skip("the rebase didn't stop")
				}
				x.write(filepath.Join(x.dir, ".git", "worktrees", "two", "rebase-merge", "update-refs"), "refs/heads/main\n"+x.was+"\n"+x.was+"\n")
				test.code, test.words = busy, []string{"rebase", "$ROOT/two"}
			}
			e := x.wantRefused(test.code)
			for _, word := range test.words {
				if word = strings.ReplaceAll(word, "$ROOT", x.root); !strings.Contains(e.Message, word) {
					t.Errorf("no %q in %s", word, e.Message)
				}
			}
		})
	}
}

// TestAdvancePlaces moves a branch in checkouts that git finds in odd ways.
func TestAdvancePlaces(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// script prepares; the checkout is then $ROOT/wt, or else $REPO.
		script string
		// from is where the project is opened.
		from string
	}{
		"by another name":                 {"git symbolic-ref refs/heads/alias refs/heads/main; git checkout -q alias", "repo"},
		"separate git directory":          {`git init -q --separate-git-dir "$ROOT/elsewhere.git"`, "repo"},
		"core.worktree":                   {`mkdir "$ROOT/wt"; git config core.worktree "$ROOT/wt"; mv * .gitignore "$ROOT/wt"`, "repo"},
		"opened from another worktree":    {`git worktree add -q -b other "$ROOT/other"`, "other"},
		"configuration per worktree":      {`git config extensions.worktreeConfig true; git checkout -q -b other; git worktree add -q "$ROOT/wt" main; git -C "$ROOT/wt" config --worktree core.autocrlf input`, "repo"},
		"worktree of a bare one":          {`git checkout -q -b other; git worktree add -q "$ROOT/wt" main; git config core.bare true`, "wt"},
		"relative entry":                  {`git checkout -q -b other; git worktree add -q "$ROOT/wt" main; echo "../../../../wt/.git" >.git/worktrees/wt/gitdir`, "repo"},
		"worktree in a worktree":          {`git checkout -q -b other; git worktree add -q "$ROOT/repo/wt" main; ln -s repo/wt "$ROOT/wt"`, "repo"},
		"packed refs":                     {"git pack-refs --all; git gc -q", "repo"},
		"checkout with spaces and quotes": {`git checkout -q -b other; git worktree add -q "$ROOT/w 't" main; ln -s "w 't" "$ROOT/wt"`, "repo"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t, false, "", "")
			x.sh(test.script)
			top := x.path("wt")
			if !exists(top) {
				top = x.dir
			}
			for _, step := range []string{stepWritten, ""} {
				// Once as a killed one that is undone, once to the end.
				p := x.open(x.path(test.from))
				if step != "" {
					dir := x.dir
					x.dir = x.path(test.from)
					x.killed(advanceErrand{Step: step})
					x.wantSettled("undone")
					x.dir = dir
				} else if _, err := x.r.advance(t.Context(), p, x.input()); err != nil {
					t.Fatal(detail(err))
				}
				git := []string{"-C", top}
				if name == "core.worktree" {
					git = []string{"--git-dir", filepath.Join(x.dir, ".git")}
				}
				if got := x.gitIn(x.root, append(slices.Clone(git), "status", "--porcelain", "-uno")...); got != "" {
					t.Errorf("after %q: status %s", step, got)
				}
				if at := filepath.Join(top, "new.txt"); exists(at) != (step == "") {
					t.Errorf("after %q: new.txt is there: %v", step, exists(at))
				}
			}
			if got := x.gitIn(x.path(test.from), "rev-parse", "refs/heads/main"); got != x.next {
				t.Errorf("main is at %s", got)
			}
		})
	}
}

// TestAdvanceUnknownPlace refuses where nobody knows the files' place.
func TestAdvanceUnknownPlace(t *testing.T) {
	t.Parallel()
	x := newTarget(t, false, "", "")
	x.sh(`git worktree add -q -b other "$ROOT/other"; git init -q --separate-git-dir "$ROOT/elsewhere.git"; git worktree repair 2>/dev/null`)
	_, err := x.r.advance(t.Context(), x.open(x.path("other")), x.input())
	e := wantCode(t, err, workspace.ErrBranchCheckedOut)
	if !strings.Contains(e.Message, x.path("elsewhere.git")) {
		t.Error(e.Message)
	}
}

// TestAdvanceFailsHalfWay has git fail after it has written some files.
func TestAdvanceFailsHalfWay(t *testing.T) {
	t.Parallel()
	const filter = "git config filter.need.clean cat; git config filter.need.smudge cat; git config filter.need.required true; echo 'new.txt filter=need' >.gitattributes"
	t.Run("a filter", func(t *testing.T) {
		t.Parallel()
		x := newTarget(t, false, filter, "")
		x.in(around + "; git config filter.need.smudge false")
		before := x.facts()
		_, err := x.advance()
		e := wantCode(t, err, workspace.ErrGitFailed)
		if !strings.Contains(e.Message, "put back") {
			t.Errorf("git had written nothing: %s", e.Message)
		}
		if diff := cmp.Diff(before, x.facts()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a filter, and so does the undo", func(t *testing.T) {
		t.Parallel()
		x := newTarget(t, false, filter+"; echo 'gone.txt filter=need' >>.gitattributes", "")
		before := x.facts()
		x.in("git config filter.need.smudge false")
		_, err := x.advance()
		e := wantCode(t, err, workspace.ErrGitFailed)
		if !strings.Contains(e.Message, "could not be put back") {
			t.Error(e.Message)
		}
		// It says so again, until it can be done.
		_, err = x.advance()
		wantCode(t, err, workspace.ErrInProgress)
		x.in("git config filter.need.smudge cat")
		x.wantSettled("undone")
		if diff := cmp.Diff(before, x.facts()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a directory", func(t *testing.T) {
		t.Parallel()
		setpriv, err := exec.LookPath("setpriv")
		if err != nil || os.Geteuid() != 0 {
			t.Skip("only root can have git be another user")
		}
		x := newTarget(t, false, "", "")
		x.write(x.path("gitconfig"), "[safe]\n\tdirectory = *\n")
		x.sh(`chown -R 65534 "$REPO"; chmod 755 "$ROOT" "$ROOT/.."; chown 0 sub/deep; chmod 755 sub/deep`)
		before := x.facts()
		as := x.wrapGit("exec " + setpriv + ` --reuid=65534 --clear-groups $git "$@"`)
		if x.r, err = New(Options{Home: x.path("home"), Env: x.env, Git: as}); err != nil {
			t.Fatal(err)
		}
		_, err = x.advance()
		e := wantCode(t, err, workspace.ErrGitFailed)
		if !strings.Contains(e.Message, "put back") {
			t.Errorf("git had written nothing: %s", e.Message)
		}
		if diff := cmp.Diff(before, x.facts()); diff != "" {
			t.Error(diff)
		}
	})
}
