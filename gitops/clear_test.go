package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// clear clears w, which must succeed, and returns what was left.
func (l *lab) clear(w workspace.Workspace) []string {
	l.t.Helper()
	left, err := l.provider().Clear(context.Background(), l.project(), w)
	if err != nil {
		l.t.Fatalf("clear: %v", detail(err))
	}
	return left
}

func TestClearIsIdempotent(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	for range 2 {
		if left := l.clear(w); len(left) > 0 {
			t.Errorf("left %q", left)
		}
	}
	if remains := l.remains(); len(remains) > 0 {
		t.Errorf("remains: %q", remains)
	}
	if left := l.clear(workspace.Workspace{Attempt: w.Attempt}); left != nil {
		t.Errorf("cleared without a directory: %q", left)
	}
}

func TestClearLeavesWhatIsAnothers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	another := w
	another.Attempt.ID = "attempt-2"
	before := l.snapshot()
	left := l.clear(another)
	// The lock file is there already; nothing else may have changed but the
	// branch stays because the worktree has it.
	if after := l.snapshot(); !slices.Equal(before, after) || !warned(left, "made by somebody else") {
		t.Errorf("left %q:\n%s", left, difference(before, after))
	}
}

func TestClearKeepsABranchThatMoved(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	tip := l.commit(w.Directory, "g", "work\n")
	if left := l.clear(w); !warned(left, "threadtree/one has moved") {
		t.Errorf("left %q", left)
	}
	l.isTip(w.Branch, tip)
	if exists(w.Directory) {
		t.Error("the directory is there")
	}
}

func TestClearKeepsAnAttachedBranch(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "branch", "threadtree/one")
	w := l.made(typed(t, "one"))
	l.clear(w)
	l.isTip("threadtree/one", w.BaseCommit)
}

func TestClearKeepsABranchThatIsCheckedOut(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	l.run(w.Directory, "checkout", "-q", "--detach")
	l.run(l.dir, "switch", "-q", w.Branch)
	if left := l.clear(w); !warned(left, "checked out in "+l.dir) {
		t.Errorf("left %q", left)
	}
	l.isTip(w.Branch, w.BaseCommit)
}

func TestClearOfABranchFromARemote(t *testing.T) {
	t.Parallel()
	l, _, seed := withOrigin(t)
	l.run(seed, "switch", "-q", "-c", "feat")
	l.commit(seed, "g", "1\n")
	l.run(seed, "push", "-q", "origin", "feat")
	config := l.run(l.dir, "config", "--local", "--list")
	l.run(l.dir, "config", "branch.feature.remote", "elsewhere")
	w := l.made(exactly(t, "feat"))
	if got := l.run(l.dir, "config", "branch.feat.remote"); got != "origin" {
		t.Errorf("the upstream is on %s", got)
	}
	// Killed before the entry was made, only the branch is there.
	l.run(l.dir, "worktree", "remove", "--force", w.Directory)
	if left := l.clear(w); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	l.isTip("feat", "")
	if got := l.run(l.dir, "config", "--local", "--list"); got != config+"\nbranch.feature.remote=elsewhere" {
		t.Errorf("the configuration is %s, was %s", got, config)
	}
	// Killed while it cleared, the configuration is what is left.
	w = l.made(exactly(t, "feat"))
	l.run(l.dir, "worktree", "remove", "--force", w.Directory)
	l.run(l.dir, "update-ref", "-d", "refs/heads/feat")
	l.clear(w)
	if got, err := l.try(l.dir, "config", "branch.feat.remote"); err == nil {
		t.Errorf("the upstream on %s is left", got)
	}
	// What a person added stays.
	w = l.made(exactly(t, "feat"))
	l.run(l.dir, "config", "branch.feat.description", "mine")
	l.clear(w)
	if got := l.run(l.dir, "config", "branch.feat.description"); got != "mine" {
		t.Errorf("the description is %q", got)
	}
}

func TestClearLeavesAReplacedDirectory(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(l *lab, dir string) error{
		"another repository": func(l *lab, dir string) error {
			l.run(l.root, "init", "-q", dir)
			l.write(filepath.Join(dir, "kept"), "")
			return nil
		},
		"a symlink": func(l *lab, dir string) error {
			l.write(filepath.Join(l.root, "elsewhere", "kept"), "")
			return os.Symlink(filepath.Join(l.root, "elsewhere"), dir)
		},
		"a file":        func(_ *lab, dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"files of ours": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			w := l.made(titled("one"))
			if replace == nil {
				// An attempt without a .git left still made the directory.
				if err := os.Remove(filepath.Join(w.Directory, ".git")); err != nil {
					t.Fatal(err)
				}
				if left := l.clear(w); len(left) > 0 || exists(w.Directory) {
					t.Errorf("left %q", left)
				}
				return
			}
			if err := errors.Join(os.RemoveAll(w.Directory), replace(l, w.Directory)); err != nil {
				t.Fatal(err)
			}
			if left := l.clear(w); len(left) != 1 || !strings.Contains(left[0], w.Directory) {
				t.Errorf("left %q", left)
			}
			if !exists(w.Directory) || name == "a symlink" && !exists(filepath.Join(w.Directory, "kept")) {
				t.Error("the directory is gone")
			}
			l.isTip(w.Branch, "")
		})
	}
}

func TestClearOfAMovedWorktree(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	moved := filepath.Join(l.root, "moved")
	l.run(l.dir, "worktree", "move", w.Directory, moved)
	if left := l.clear(w); !warned(left, "moved to "+moved) || !exists(filepath.Join(moved, "f")) {
		t.Errorf("left %q", left)
	}
	l.isTip(w.Branch, w.BaseCommit)
}

func TestClearFinishesWhatAnotherBegan(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	w := l.made(titled("one"))
	// Killed after the rename of the directory, and in the middle of deleting.
	if err := os.Rename(w.Directory, asideName(w.Directory, "cleared", w.Attempt.ID)); err != nil {
		t.Fatal(err)
	}
	l.write(filepath.Join(l.dir, ".git", "threadtree", "dead", "x", "entry", "HEAD"), "")
	if left := l.clear(w); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if remains := l.remains(); len(remains) > 0 {
		t.Errorf("remains: %q", remains)
	}
}

func TestFailedCheckoutIsCleared(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "config", "filter.bad.smudge", "false")
	l.commit(l.dir, ".gitattributes", "*.bad filter=bad\n")
	l.commit(l.dir, "x.bad", "x\n")
	l.run(l.dir, "config", "filter.bad.required", "true")
	var plan workspace.Plan
	req := l.request(titled("one"), func(r *workspace.CreateRequest) {
		r.Claim = func(_ context.Context, p workspace.Plan) error { plan = p; return nil }
	})
	_, err := l.provider().Create(context.Background(), req)
	if !errors.Is(err, workspace.ErrGitFailed) || !strings.Contains(err.Error(), "checked out") {
		t.Fatalf("got %v", detail(err))
	}
	if left := l.clear(rowOf(req, plan)); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if remains := l.remains(); len(remains) > 0 {
		t.Errorf("remains: %q", remains)
	}
	l.run(l.dir, "config", "filter.bad.smudge", "cat")
	l.create(titled("one"))
}

func TestCancelledCreateIsCleared(t *testing.T) {
	t.Parallel()
	for _, phase := range []workspace.Phase{workspace.PhaseAdd, workspace.PhaseCheckout, workspace.PhaseHooks} {
		t.Run(string(phase), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.script(filepath.Join(l.dir, ".git", "hooks", "post-checkout"), "#!/bin/sh\nexec sleep 600\n")
			ctx, cancel := context.WithCancel(context.Background())
			var plan workspace.Plan
			req := l.request(titled("one"), func(r *workspace.CreateRequest) {
				r.Claim = func(_ context.Context, p workspace.Plan) error { plan = p; return nil }
				r.Progress = func(e workspace.Event) {
					if e.Phase == phase {
						cancel()
					}
				}
			})
			_, err := l.provider().Create(ctx, req)
			if !errors.Is(err, workspace.ErrTimeout) {
				t.Fatalf("got %v", detail(err))
			}
			w := rowOf(req, plan)
			if err := l.provider().Complete(context.Background(), l.project(), w); err == nil {
				t.Error("complete")
			}
			if left := l.clear(w); len(left) > 0 {
				t.Errorf("left %q", left)
			}
			if remains := l.remains(); len(remains) > 0 {
				t.Errorf("remains: %q", remains)
			}
		})
	}
}

func TestAddIsTriedAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	tries := filepath.Join(l.root, "tries")
	// Twice git is ended when it has made branch and entry.
	l.gitAdds()
	l.git = l.wrap(`*"worktree add"*`, `echo x >> `+tries+`; if [ $(wc -l < `+tries+`) -lt 3 ]; then $git "$@"; exit 128; fi`)
	w := l.made(titled("one"))
	if content, _ := os.ReadFile(tries); len(content) != 6 {
		t.Errorf("%d tries", len(content)/2)
	}
	l.isTip(w.Branch, w.BaseCommit)
	if got := l.run(l.dir, "worktree", "list", "--porcelain"); strings.Count(got, "worktree ") != 2 {
		t.Errorf("%s", got)
	}
}

func TestEntryThatBreaksTheRepositoryIsNamed(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.gitAdds()
	l.run(l.dir, "worktree", "add", "-q", "-b", "x", filepath.Join(l.root, "x"))
	broken := filepath.Join(l.dir, ".git", "worktrees", "x", "commondir")
	l.write(broken, "")
	var plan workspace.Plan
	req := l.request(titled("one"), func(r *workspace.CreateRequest) {
		r.Claim = func(_ context.Context, p workspace.Plan) error { plan = p; return nil }
	})
	_, err := l.provider().Create(context.Background(), req)
	if !errors.Is(err, workspace.ErrGitFailed) || !strings.Contains(workspace.HintOf(err), filepath.Dir(broken)) {
		t.Errorf("got %v, hint %s", detail(err), workspace.HintOf(err))
	}
	if left := l.clear(rowOf(req, plan)); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	l.write(broken, "../..\n")
	if remains := l.remains(); slices.ContainsFunc(remains, func(s string) bool { return strings.Contains(s, "one") }) {
		t.Errorf("remains: %q", remains)
	}
}

func TestHeldConfigLockIsNoObstacle(t *testing.T) {
	t.Parallel()
	l, _, seed := withOrigin(t)
	l.run(seed, "push", "-q", "origin", "main:feat")
	lock := filepath.Join(l.dir, ".git", "config.lock")
	l.write(lock, "")
	l.create(titled("one"), from("origin/main"))
	// Only the upstream of a remote's branch can't be set.
	another := func(r *workspace.CreateRequest) { r.Attempt = "attempt-2" }
	req := l.request(exactly(t, "feat"), another)
	created, err := l.provider().Create(context.Background(), req)
	if err != nil || !warned(created.Warnings, "could not be set as the upstream", "config", "git push -u origin feat") {
		t.Fatalf("%+v, %v", created, detail(err))
	}
	if left := l.clear(rowOf(req, created.Plan)); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	// A clearing that finds the lock says what it leaves.
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	w := l.made(exactly(t, "feat"), another)
	l.write(lock, "")
	if left := l.clear(w); len(left) != 1 || !warned(left, "upstream", "feat", "was left") {
		t.Errorf("left %q", left)
	}
}

func TestMainIndexLockIsNoObstacle(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(filepath.Join(l.dir, ".git", "index.lock"), "")
	l.create(titled("one"))
}

func TestCompleteSeesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(l *lab, w *workspace.Workspace){
		"directory gone":   func(_ *lab, w *workspace.Workspace) { _ = os.RemoveAll(w.Directory) },
		"another branch":   func(l *lab, w *workspace.Workspace) { l.run(w.Directory, "switch", "-q", "-c", "other") },
		"entry of another": func(l *lab, w *workspace.Workspace) { l.run(l.dir, "worktree", "move", w.Directory, w.Directory+"-x") },
		"nothing begun":    func(_ *lab, w *workspace.Workspace) { w.Directory = "" },
		"main checkout":    func(l *lab, w *workspace.Workspace) { w.Directory = l.dir },
		"copy of the directory": func(l *lab, w *workspace.Workspace) {
			w.Directory += "-copy"
			l.write(filepath.Join(w.Directory, ".git"), "gitdir: "+filepath.Join(l.dir, ".git", "worktrees", "one")+"\n")
		},
		"marker not complete": func(l *lab, w *workspace.Workspace) {
			if err := writeMarker(filepath.Join(l.dir, ".git", "worktrees", "one"), marker{Attempt: w.Attempt.ID}); err != nil {
				l.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			w := l.made(titled("one"))
			spoil(l, &w)
			if err := l.provider().Complete(context.Background(), l.project(), w); !errors.Is(err, workspace.ErrNotReady) {
				t.Errorf("got %v", detail(err))
			}
		})
	}
}
