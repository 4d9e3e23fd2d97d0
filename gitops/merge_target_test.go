package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

func TestMergeTarget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make   func(*mergeLab)
		target string
		// into is the target, or code and hint those of the refusal.
		into string
		code workspace.Code
		hint string
	}{
		"base":           {make: func(*mergeLab) {}, into: "main"},
		"base in full":   {make: func(l *mergeLab) { l.w.Base = "refs/heads/main" }, into: "main"},
		"no base":        {make: func(l *mergeLab) { l.w.Base = "" }, into: "main"},
		"base HEAD":      {make: func(l *mergeLab) { l.w.Base = "HEAD" }, into: "main"},
		"base of remote": {make: func(l *mergeLab) { l.remote(); l.w.Base = "origin/main" }, into: "main"},
		"base of remote in full": {make: func(l *mergeLab) {
			l.remote()
			l.w.Base = "refs/remotes/origin/main"
		}, into: "main"},
		"base is a tag":    {make: func(l *mergeLab) { l.git("tag", "v1"); l.w.Base = "v1" }, into: "main"},
		"base is a commit": {make: func(l *mergeLab) { l.w.Base = l.git("rev-parse", "main") }, into: "main"},
		"another base": {make: func(l *mergeLab) {
			l.git("branch", "dev")
			l.w.Base = "dev"
		}, into: "dev"},
		"base is gone": {
			make: func(l *mergeLab) { l.w.Base = "dev" }, code: workspace.ErrTargetNotFound, hint: "--target",
		},
		"base of remote not here": {make: func(l *mergeLab) {
			origin := l.remote()
			l.git("push", "-q", origin, "main:refs/heads/dev")
			l.git("fetch", "-q", "origin")
			l.w.Base = "origin/dev"
		}, code: workspace.ErrTargetNotFound, hint: "git branch dev origin/dev"},
		"default of remote": {make: func(l *mergeLab) {
			l.git("branch", "trunk")
			origin := l.remote()
			l.git("push", "-q", origin, "trunk")
			l.git("fetch", "-q", "origin")
			l.git("remote", "set-head", "origin", "trunk")
			l.w.Base = ""
		}, into: "trunk"},
		"no default": {
			make: func(l *mergeLab) { l.git("checkout", "-q", "--detach"); l.w.Base = "" },
			code: workspace.ErrTargetNotFound, hint: "--target",
		},
		"named":         {make: func(l *mergeLab) { l.git("branch", "dev") }, target: "dev", into: "dev"},
		"named in full": {make: func(l *mergeLab) { l.git("branch", "dev") }, target: "refs/heads/dev", into: "dev"},
		"named, not there": {
			make: func(*mergeLab) {}, target: "nosuch", code: workspace.ErrTargetNotFound, hint: "--target",
		},
		"named, on a remote": {make: func(l *mergeLab) {
			origin := l.remote()
			l.git("push", "-q", origin, "main:refs/heads/dev")
			l.git("fetch", "-q", "origin")
		}, target: "dev", code: workspace.ErrTargetNotFound, hint: "git branch dev origin/dev"},
		"named as of a remote": {
			make: func(l *mergeLab) { l.remote() }, target: "origin/main", code: workspace.ErrTargetNotFound, hint: "--target main",
		},
		"a tag of the name":      {make: func(l *mergeLab) { l.git("tag", "main", "HEAD~1") }, into: "main"},
		"its own branch":         {make: func(*mergeLab) {}, target: "x", code: workspace.ErrInvalidRef, hint: "--target"},
		"its own branch as base": {make: func(l *mergeLab) { l.w.Base = "x" }, code: workspace.ErrInvalidRef, hint: "--target"},
		"not a name":             {make: func(*mergeLab) {}, target: "-x", code: workspace.ErrInvalidRef},
		"not a name either":      {make: func(*mergeLab) {}, target: "a..b", code: workspace.ErrInvalidRef},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newMergeLab(t)
			l.commit(l.x, "f", "x\n", "x changes f")
			c.make(l)
			if c.code != "" {
				e := l.refuse(c.code, into(c.target))
				told := e.Hint
				if strings.HasPrefix(c.hint, "--") {
					// The words alone have no flag in them.
					if strings.Contains(e.Hint, "--") {
						t.Errorf("hint %q", e.Hint)
					}
					told = "--" + string(e.Option)
				}
				if !strings.Contains(told, c.hint) {
					t.Errorf("hint %q lacks %q", told, c.hint)
				}
				return
			}
			if merged := l.merge(into(c.target)); merged.Target != c.into {
				t.Errorf("merged into %s, want %s", merged.Target, c.into)
			}
		})
	}
}

func TestMergeNotReady(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*mergeLab) error{
		"gone":           func(l *mergeLab) error { return os.RemoveAll(l.x) },
		"without .git":   func(l *mergeLab) error { return os.Remove(filepath.Join(l.x, ".git")) },
		"moved":          func(l *mergeLab) error { return os.Rename(l.x, l.path("y")) },
		"another's":      func(l *mergeLab) error { l.w.Directory = l.path("nowhere"); return nil },
		"main's":         func(l *mergeLab) error { l.w.Directory = l.dir; return nil },
		"a subdirectory": func(l *mergeLab) error { l.w.Directory = filepath.Join(l.x, "dir"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newMergeLab(t)
			ahead(l)
			if err := spoil(l); err != nil {
				t.Fatal(err)
			}
			main := l.git("rev-parse", "main")
			_, err := l.try()
			wantCode(t, err, workspace.ErrNotReady)
			_, err = l.g.Preview(t.Context(), l.request())
			wantCode(t, err, workspace.ErrNotReady)
			_, err = l.goOn()
			wantCode(t, err, workspace.ErrNotReady)
			wantCode(t, l.abort(), workspace.ErrNotReady)
			if l.git("rev-parse", "main") != main {
				t.Error("main has moved")
			}
		})
	}
}

// TestMergeAgainAndAgain merges what is committed on the detached HEAD that a
// merge leaves, and keeps no more backups than are wanted.
func TestMergeAgainAndAgain(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t, MergeOptions{Backups: 3})
	ahead(l)
	for n := range 5 {
		merged := l.merge(by(strategies[n%3]))
		if (merged.Branch == "x") != (n == 0) {
			t.Errorf("merge %d was of %q", n, merged.Branch)
		}
		l.moreWork()
	}
	numbers := make(map[string]bool)
	for ref := range strings.FieldsSeq(l.git("for-each-ref", "--format=%(refname)", backupRefs)) {
		numbers[filepath.Dir(ref)] = true
	}
	if len(numbers) != 3 {
		t.Errorf("backups: %v", numbers)
	}
}

// TestMergeBranchFate wants the branch to be there or not, and where it is
// kept to stand where it is said.
func TestMergeBranchFate(t *testing.T) {
	t.Parallel()
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		l := newMergeLab(t)
		ahead(l)
		l.git("config", "branch.x.description", "about x")
		l.merge(by(s))
		if out, err := l.tryGit(l.dir, "config", "branch.x.description"); err == nil {
			t.Errorf("the configuration of the branch is left: %s", out)
		}

		l = newMergeLab(t)
		ahead(l)
		merged := l.merge(by(s), keeping)
		if got := l.git("rev-parse", "x"); got != merged.SHA || !merged.BranchKept {
			t.Errorf("the kept branch is at %s; %+v", got, merged)
		}

		l = newMergeLab(t)
		ahead(l)
		l.w.BranchCreated = false // a person's
		tip := l.git("rev-parse", "x")
		merged = l.merge(by(s))
		want := merged.SHA
		if s == workspace.StrategySquash {
			want = tip // its commits one by one are nowhere else
		}
		if got := l.git("rev-parse", "x"); got != want || !merged.BranchKept {
			t.Errorf("the person's branch is at %s, want %s; %+v", got, want, merged)
		}
	})
}

// TestMergeKeepsWhoAndWhen wants authors, dates and messages to be kept.
func TestMergeKeepsWhoAndWhen(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	l.commit(l.x, "f", "x\n", "x")
	l.gitIn(l.x, "commit", "-q", "--amend", "--author=Bøb <bob@example.org>", "--date=2001-02-03T04:05:06+0130", "-m", "Grüße\n\n# no comment\n\nbody  ")
	l.commit(l.dir, "other", "1\n", "other")
	const format = "--format=%an|%ae|%ad|%B"
	want := l.gitIn(l.x, "log", "-1", "--date=raw", format)
	l.merge()
	if got := l.git("log", "-1", "--date=raw", format, "main"); got != want {
		t.Errorf("it is %q, was %q", got, want)
	}
	l.moreWork()
	l.merge(by(workspace.StrategySquash), func(r *workspace.MergeRequest) { r.Message = "My own words" })
	if got := l.git("log", "-1", "--format=%s", "main"); got != "My own words" {
		t.Errorf("the subject is %q", got)
	}
}

// TestHintForgetsOneWorktree wants the command of the hint to free the branch,
// and to leave another worktree that is missing alone.
func TestHintForgetsOneWorktree(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	ahead(l)
	l.git("checkout", "-q", "--detach")
	for _, name := range []string{"the main", "away"} {
		l.git("worktree", "add", "-q", "--detach", l.path(name))
	}
	l.gitIn(l.path("the main"), "switch", "-q", "main")
	if err := errors.Join(os.RemoveAll(l.path("the main")), os.Rename(l.path("away"), l.path("unmounted"))); err != nil {
		t.Fatal(err)
	}
	_, err := l.try()
	e := wantCode(t, err, workspace.ErrBranchCheckedOut)
	_, command, ok := strings.Cut(e.Hint, "one worktree: ")
	if !ok {
		t.Fatalf("hint: %s", e.Hint)
	}
	l.sh(command)
	l.merge()
	if err := os.Rename(l.path("unmounted"), l.path("away")); err != nil {
		t.Fatal(err)
	}
	l.gitIn(l.path("away"), "status")
}
