package gitops

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/threadtree/threadtree/workspace"
)

// wantState compares a state, but for when something was last done.
func wantState(t *testing.T, got, want workspace.State) {
	t.Helper()
	if got.LastActivity == nil {
		t.Error("the last activity is not known")
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(workspace.State{}, "LastActivity", "Elsewhere", "Committed")); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

// changesOf is a state with these counts of paths, no path being both staged
// and modified.
func changesOf(staged, modified, conflicted, untracked int) workspace.State {
	return workspace.State{
		Dirty:   new(staged+modified+conflicted+untracked > 0),
		Changed: new(staged + modified + conflicted),
		Staged:  &staged, Modified: &modified, Conflicted: &conflicted, Untracked: &untracked,
	}
}

// changedBoth is the state with one path that is both staged and modified.
func changedBoth() workspace.State {
	s := changesOf(1, 1, 0, 0)
	s.Changed = new(1)
	return s
}

// comparedTo adds how the commits stand to the base.
func comparedTo(s workspace.State, ahead, behind int, merged bool) workspace.State {
	s.Ahead, s.Behind, s.Merged = &ahead, &behind, &merged
	return s
}

func TestStateOfChanges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		script string // runs in the worktree
		want   workspace.State
	}{
		{"clean", ``, changesOf(0, 0, 0, 0)},
		{"ignored files only", `echo '*.o' >"$(git rev-parse --git-common-dir)/info/exclude"; touch x.o`, changesOf(0, 0, 0, 0)},
		{"staged", `echo 1 >g; git add g`, changesOf(1, 0, 0, 0)},
		{"modified", `echo 1 >>f`, changesOf(0, 1, 0, 0)},
		{"staged and modified again", `echo 1 >>f; git add f; echo 2 >>f`, changedBoth()},
		{"deleted", `rm f`, changesOf(0, 1, 0, 0)},
		{"renamed", `git mv f g`, changesOf(2, 0, 0, 0)},
		{"untracked", `touch a b; mkdir d; touch d/x d/y`, changesOf(0, 0, 0, 3)},
		{"untracked although the configuration hides it", `git config status.showUntrackedFiles no; touch a`, changesOf(0, 0, 0, 1)},
		{"an empty directory", `mkdir d`, changesOf(0, 0, 0, 0)},
		{"intent to add", `echo 1 >g; git add -N g`, changesOf(0, 1, 0, 0)},
		{"a nested repository", `git init -q n; touch n/x`, changesOf(0, 0, 0, 1)},
		{"assume-unchanged, edited", `git update-index --assume-unchanged f; echo 1 >>f`, changesOf(0, 1, 0, 0)},
		{"assume-unchanged, as it was", `git update-index --assume-unchanged f`, changesOf(0, 0, 0, 0)},
		{"assume-unchanged, touched", `git update-index --assume-unchanged f; sleep 0.01; touch f`, changesOf(0, 0, 0, 0)},
		{"skip-worktree, edited", `git update-index --skip-worktree f; echo 1 >>f`, changesOf(0, 1, 0, 0)},
		{"skip-worktree, absent", `git update-index --skip-worktree f; rm f`, changesOf(0, 0, 0, 0)},
		{"core.ignoreStat", `git config core.ignoreStat true; git checkout -q HEAD^0; git reset -q --hard; git checkout -q wt; echo 1 >>f`, changesOf(0, 1, 0, 0)},
		{"fsmonitor that sees nothing", `printf '#!/bin/sh\nprintf "t\\0"\n' >"$ROOT/mon"; chmod +x "$ROOT/mon"; git config core.fsmonitor "$ROOT/mon"; git update-index --fsmonitor; git status >/dev/null; echo 1 >>f`, changesOf(0, 1, 0, 0)},
		{"a split index with hidden edits", `git update-index --split-index; git update-index --skip-worktree f; echo 1 >>f`, changesOf(0, 1, 0, 0)},
		{"index version 4 with hidden edits", `git update-index --index-version 4; git update-index --assume-unchanged f; echo 1 >>f`, changesOf(0, 1, 0, 0)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			f.worktree("wt")
			f.sh(`cd "$ROOT/wt"; ` + test.script)
			wantState(t, f.state(f.list()["wt"], "main"), comparedTo(test.want, 0, 0, true))
		})
	}
}

func TestStateOfSparseCheckout(t *testing.T) {
	t.Parallel()
	for _, index := range []string{"--no-sparse-index", "--sparse-index"} {
		t.Run(index, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			for _, dir := range []string{"in", "out"} {
				f.commit(f.dir, dir+"/f", dir, dir)
			}
			wt := f.worktree("wt")
			f.gitIn(wt, "sparse-checkout", "set", "--cone", index, "in")
			if _, err := os.Stat(filepath.Join(wt, "out")); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("out is checked out: %v", err)
			}
			wantState(t, f.state(f.list()["wt"], "main"), comparedTo(changesOf(0, 0, 0, 0), 0, 0, true))
			f.write(filepath.Join(wt, "out/f"), "edited outside the cone")
			wantState(t, f.state(f.list()["wt"], "main"), comparedTo(changesOf(0, 1, 0, 0), 0, 0, true))
		})
	}
}

func TestHiddenEdits(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	for _, name := range []string{"a", "b", "sub/c", "odd\nname"} {
		f.commit(f.dir, name, name, name)
	}
	wt := f.worktree("wt")
	f.gitIn(wt, "update-index", "--assume-unchanged", "a", "sub/c", "odd\nname")
	f.gitIn(wt, "update-index", "--skip-worktree", "b", "f")
	for _, name := range []string{"a", "b", "odd\nname"} {
		f.write(filepath.Join(wt, name), "edited")
	}
	before := snapshot(t, f.root)
	got, err := f.r.hiddenEdits(t.Context(), f.path("repo/.git/worktrees/wt"), wt)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if want := []string{"a", "b", "odd\nname"}; !slices.Equal(got, want) {
		t.Errorf("hidden edits %q, want %q", got, want)
	}
	wantSame(t, f.root, before)
}

func TestStateOfSubmodules(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.git("clone", "-q", f.dir, f.path("lib"))
	f.git("submodule", "--quiet", "add", f.path("lib"), "lib")
	f.git("config", "-f", ".gitmodules", "submodule.lib.ignore", "all")
	f.git("commit", "-qam", "lib")
	wt := f.worktree("wt")
	f.gitIn(wt, "submodule", "--quiet", "update", "--init")
	wantState(t, f.state(f.list()["wt"], "main"), comparedTo(changesOf(0, 0, 0, 0), 0, 0, true))
	f.write(filepath.Join(wt, "lib/new"), "untracked in the submodule")
	wantState(t, f.state(f.list()["wt"], "main"), comparedTo(changesOf(0, 1, 0, 0), 0, 0, true))
}

func TestStateOfOperations(t *testing.T) {
	t.Parallel()
	// Each begins with a commit on wt and one on main that conflict.
	tests := []struct {
		name, script, want string
	}{
		{"none", `true`, ""},
		{"merge", `! git merge -q main`, opMerge},
		{"rebase", `! git rebase -q main`, opRebase},
		{"rebase with the apply backend", `! git rebase -q --apply main`, opRebase},
		{"rebase that only stopped", `GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i main~1`, opRebase},
		{"cherry-pick", `! git cherry-pick main`, opCherryPick},
		{"cherry-pick between two", `! git cherry-pick main main~1; git reset -q --hard; git commit -q --allow-empty -m x`, opCherryPick},
		{"revert", `git commit -q --allow-empty -m x; echo again >f; git commit -qam again; ! git revert --no-edit HEAD~2`, opRevert},
		{"am", `git format-patch -q -1 main --stdout >"$ROOT/p"; ! git am -q "$ROOT/p"`, opAm},
		{"bisect", `git bisect start -q HEAD HEAD~1 >/dev/null`, opBisect},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			wt := f.worktree("wt")
			f.commit(f.dir, "f", "main\n", "main")
			f.commit(wt, "f", "wt\n", "wt")
			f.sh(`cd "$ROOT/wt"; exec >/dev/null 2>&1; ` + test.script)
			s := f.state(f.list()["wt"], "main")
			if s.Operation != test.want || len(s.Unknown) > 0 {
				t.Errorf("operation %q, want %q; unknown %q", s.Operation, test.want, s.Unknown)
			}
			if strings.Contains(test.script, "! git") && !strings.Contains(test.name, "between") && test.name != "am" &&
				(s.Conflicted == nil || *s.Conflicted != 1) {
				t.Errorf("%s: conflicts are not counted", test.name)
			}
		})
	}
}

func TestStateComparesWithTheFresherSide(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(f *fixture, wt string)
		base    string
		want    [2]int // ahead, behind
	}{
		{"no remote", func(*fixture, string) {}, "main", [2]int{1, 0}},
		{"the default branch", func(*fixture, string) {}, "", [2]int{1, 0}},
		{"the remote is ahead", func(f *fixture, _ string) {
			f.commit(f.dir, "r", "1", "remote")
			f.remote()
			f.git("reset", "-q", "--hard", "HEAD~1")
		}, "main", [2]int{1, 1}},
		{"the local one is ahead", func(f *fixture, _ string) {
			f.remote()
			f.commit(f.dir, "l", "1", "l1")
			f.commit(f.dir, "l", "2", "l2")
		}, "main", [2]int{1, 2}},
		{"diverged: the local one", func(f *fixture, _ string) {
			for i := range 3 {
				f.commit(f.dir, "r", fmt.Sprint(i), "remote")
			}
			f.remote()
			f.git("reset", "-q", "--hard", "HEAD~3")
			f.commit(f.dir, "l", "1", "local")
		}, "main", [2]int{1, 1}},
		{"a configured upstream of another name", func(f *fixture, _ string) {
			f.remote()
			f.commit(f.dir, "t", "1", "trunk")
			f.git("push", "-q", "origin", "main:trunk")
			f.git("branch", "-q", "--set-upstream-to=origin/trunk", "main")
			f.git("reset", "-q", "--hard", "HEAD~1")
		}, "main", [2]int{1, 1}},
		{"the remote called upstream", func(f *fixture, _ string) {
			f.remote()
			f.git("remote", "rename", "origin", "upstream")
			f.git("branch", "--unset-upstream", "main")
			f.commit(f.dir, "t", "1", "ahead")
			f.git("push", "-q", "upstream", "main")
			f.git("reset", "-q", "--hard", "HEAD~1")
		}, "main", [2]int{1, 1}},
		{"a remote branch", func(f *fixture, _ string) {
			f.remote()
			f.commit(f.dir, "l", "1", "l1")
		}, "origin/main", [2]int{1, 0}},
		{"a branch that only the remote has", func(f *fixture, _ string) {
			f.remote()
			f.git("push", "-q", "origin", "main:dev")
		}, "dev", [2]int{1, 0}},
		{"a tag", func(f *fixture, _ string) {
			f.git("tag", "-m", "v1", "v1")
			f.commit(f.dir, "l", "1", "l1")
		}, "v1", [2]int{1, 0}},
		{"a commit", func(f *fixture, _ string) {
			f.commit(f.dir, "l", "1", "l1")
			f.git("update-ref", "refs/heads/fix", "HEAD")
		}, "HEAD", [2]int{1, 1}},
		{"a branch and a tag of one name", func(f *fixture, _ string) {
			f.git("tag", "same")
			f.commit(f.dir, "l", "1", "l1")
			f.git("branch", "same")
		}, "same", [2]int{1, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			wt := f.worktree("wt")
			f.commit(wt, "own", "1", "own")
			test.prepare(f, wt)
			s := f.state(f.list()["wt"], test.base)
			if len(s.Unknown) > 0 || s.Ahead == nil || s.Behind == nil {
				t.Fatalf("unknown: %q", s.Unknown)
			}
			if got := [2]int{*s.Ahead, *s.Behind}; got != test.want {
				t.Errorf("ahead and behind %v, want %v", got, test.want)
			}
			if s.Default {
				t.Error("taken for the default branch")
			}
		})
	}
}

func TestStateInAWorktreeThatTakesItselfForBare(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.write(filepath.Join(f.worktree("wt"), "new"), "x")
	f.sh(`git config extensions.worktreeConfig true; git config core.bare true`)
	w := f.list()["wt"]
	if w.Broken == "" {
		t.Error("not said to be broken")
	}
	wantState(t, f.state(w, "main"), comparedTo(changesOf(0, 0, 0, 1), 0, 0, true))
}

func TestStateOfADetachedHead(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.git("branch", "(detached)")
	wt := f.worktree("wt")
	f.gitIn(wt, "switch", "-q", "--detach")
	f.commit(wt, "g", "1", "loose commit")
	w := f.list()["wt"]
	if w.Branch != "" || !w.Detached {
		t.Errorf("worktree %+v", w)
	}
	wantState(t, f.state(w, "main"), comparedTo(changesOf(0, 0, 0, 0), 1, 0, false))
}

func TestStateOfTheDefaultBranch(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	bare := f.path("project/.git")
	f.git("clone", "-q", "--bare", f.dir, bare)
	f.dir = f.path("project")
	f.git("worktree", "add", "-q", f.path("project/main"), "main")
	f.git("worktree", "add", "-q", "-b", "x", f.path("project/x"))
	f.git("worktree", "add", "-q", "-b", "dev", f.path("project/dev"))
	for name, want := range map[string]bool{"main": true, "x": false, "dev": false} {
		s := f.state(f.list()[name], "")
		if s.Default != want || s.Merged == nil || !*s.Merged {
			t.Errorf("%s: state %+v, want default %v", name, s, want)
		}
	}
	if s := f.state(f.list()["dev"], "dev"); !s.Default {
		t.Error("the base itself is not said to be one")
	}
	if s := f.state(f.list()["main"], "dev"); !s.Default {
		t.Error("the default branch is not said to be one when it is compared with another")
	}
}

func TestStateOfTheMainCheckout(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.write(f.path("repo/new"), "x")
	_, w, err := f.r.Inspect(t.Context(), f.dir)
	if err != nil {
		t.Fatal(err)
	}
	want := comparedTo(changesOf(0, 0, 0, 1), 0, 0, true)
	want.Default = true
	wantState(t, f.state(w, ""), want)
}
