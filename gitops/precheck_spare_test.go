package gitops

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// held waits until the only spare's lock is held, or isn't.
func (l *lab) held(want bool) bool {
	l.t.Helper()
	locks, err := filepath.Glob(filepath.Join(l.home, "spares", "*", "*.lock"))
	if err != nil || len(locks) != 1 {
		l.t.Fatalf("locks: %q, %v", locks, err)
	}
	for range 50 {
		if held, err := lockHeld(locks[0]); err == nil && held == want {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// TestPrecheckKeepsASpareForItsCreate looks ahead, and creates or doesn't.
func TestPrecheckKeepsASpareForItsCreate(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fill()
	p, _ := l.pooled()
	ahead := func(ctx context.Context, attempt string) workspace.CreateRequest {
		t.Helper()
		req := l.request(titled("one"), func(r *workspace.CreateRequest) { r.Attempt = attempt })
		if err := p.Precheck(ctx, req); err != nil {
			t.Fatal(detail(err))
		}
		req.Prechecked = true
		return req
	}

	ahead(t.Context(), "")
	if !l.held(false) {
		t.Error("a look ahead of nothing keeps a spare")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ahead(ctx, "attempt-1")
	if !l.held(true) {
		t.Error("no spare is kept for the create")
	}
	cancel()
	if !l.held(false) {
		t.Error("the spare is kept though the create was given up")
	}
	refused := l.request(exactly(t, "main"))
	if err := p.Precheck(t.Context(), refused); workspace.CodeOf(err) != workspace.ErrBranchCheckedOut {
		t.Error(detail(err))
	}
	if !l.held(false) {
		t.Error("the spare is kept though the create was refused")
	}

	req := ahead(t.Context(), "attempt-2")
	if _, err := p.Create(t.Context(), req); err != nil {
		t.Fatal(detail(err))
	}
	if left := l.spares(); len(left) > 0 {
		t.Errorf("the spare that was kept wasn't used: %q", left)
	}
	l.fill()
	// One look ahead is for one create.
	if _, err := p.Create(t.Context(), l.request(titled("two"), func(r *workspace.CreateRequest) { r.Attempt = "attempt-2" })); err != nil {
		t.Fatal(detail(err))
	}
	if left := l.leftovers(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestSpareThatIsTouchedWhileItIsKeptIsNotHandedOut has somebody work in a spare
// between the look ahead and the create, which takes as long as to ask a remote.
func TestSpareThatIsTouchedWhileItIsKeptIsNotHandedOut(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fill()
	p, _ := l.pooled()
	req := l.request(titled("one"))
	if err := p.Precheck(t.Context(), req); err != nil {
		t.Fatal(detail(err))
	}
	if !l.held(true) {
		t.Fatal("no spare is kept")
	}
	time.Sleep(50 * time.Millisecond) // by now it was looked at
	spare := l.spares()[0]
	l.write(filepath.Join(spare, "f"), "WORK\n")
	time.Sleep(wholeFor)
	req.Prechecked = true
	created, err := p.Create(t.Context(), req)
	if err != nil {
		t.Fatal(detail(err))
	}
	if content, _ := os.ReadFile(filepath.Join(created.Plan.Directory, "f")); string(content) != "base\n" {
		t.Errorf("the workspace begins with %q", content)
	}
	if content, _ := os.ReadFile(filepath.Join(spare, "f")); string(content) != "WORK\n" {
		t.Errorf("the work is %q", content)
	}
}

// TestSpareThatIsTouchedWhileTheLockIsWaitedForIsNotHandedOut has somebody work in
// a spare while its create waits for the repository, and somebody else put a
// commit on the branch that it was to attach.
func TestSpareThatIsTouchedWhileTheLockIsWaitedForIsNotHandedOut(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(l *lab, spare string){
		"touched": func(l *lab, spare string) {
			l.write(filepath.Join(spare, "f"), "WORK\n")
			time.Sleep(wholeFor)
		},
		"touched after it was moved": func(l *lab, spare string) {
			l.write(filepath.Join(spare, "f"), "WORK\n")
			time.Sleep(wholeFor)
		},
		"moved": func(*lab, string) { time.Sleep(wholeFor) },
		"commit": func(l *lab, _ string) {
			l.run(l.dir, "update-ref", "refs/heads/mine", l.run(l.dir, "commit-tree", "-p", "mine", "-m", "x", "mine^{tree}"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.run(l.dir, "branch", "mine")
			l.fill()
			p, _ := l.pooled()
			spare := l.spares()[0]
			if strings.Contains(name, "moved") {
				l.commit(l.dir, "g", "more\n")
				l.run(l.dir, "branch", "-f", "mine")
			}
			req := l.request(exactly(t, "mine"), func(r *workspace.CreateRequest) {
				r.Claim = func(context.Context, workspace.Plan) error { // under the lock
					between(l, spare)
					return nil
				}
			})
			created, err := p.Create(t.Context(), req)
			if err != nil {
				t.Fatal(detail(err))
			}
			if got := l.run(created.Plan.Directory, "status", "--porcelain"); got != "" || l.run(created.Plan.Directory, "rev-parse", "HEAD") != l.run(l.dir, "rev-parse", "mine") {
				t.Errorf("status: %s", got)
			}
			if left := l.spares(); (len(left) == 1) == (name == "moved") {
				t.Errorf("spares: %q", left)
			}
			filled := l.fill()
			if strings.HasPrefix(name, "touched") && len(filled.Kept) != 1 || name == "commit" && filled.Made > 0 {
				t.Errorf("%+v", filled)
			}
		})
	}
}

// TestBranchIsMadeAheadOnlyOnce has what waits to make a branch meet what can
// come between: the result is that of git alone.
func TestBranchIsMadeAheadOnlyOnce(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(l *lab){
		"nothing":           func(*lab) {},
		"the branch":        func(l *lab) { l.run(l.dir, "branch", "mine", "HEAD^") },
		"one in its place":  func(l *lab) { l.run(l.dir, "branch", "mine/below") },
		"its lock is there": func(l *lab) { l.write(filepath.Join(l.dir, ".git", "refs", "heads", "mine.lock"), "") },
	} {
		for kind, spares := range map[string]bool{"cold": false, "warm": true} {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				l := newLab(t)
				first := l.run(l.dir, "rev-parse", "HEAD")
				head := l.commit(l.dir, "g", "more\n")
				p := l.provider()
				if spares {
					l.fill()
					p, _ = l.pooled()
				}
				claims := 0
				created, err := p.Create(t.Context(), l.request(exactly(t, "mine"), func(r *workspace.CreateRequest) {
					r.Claim = func(context.Context, workspace.Plan) error { // under the lock, and before the branch
						if claims++; claims == 1 {
							between(l)
						}
						return nil
					}
				}))
				if name == "nothing" {
					if err != nil {
						t.Fatal(detail(err))
					}
					if log := l.run(l.dir, "reflog", "show", "--format=%H %gs", "mine"); log != head+" branch: Created from "+head {
						t.Errorf("the branch's log is %q", log)
					}
					return
				}
				if err == nil {
					t.Fatalf("%+v was made", created.Plan)
				}
				if got := l.run(l.dir, "worktree", "list", "--porcelain"); strings.Count(got, "worktree ") != 1 {
					t.Errorf("left: %s", got)
				}
				if tip := strings.TrimSpace(l.run(l.dir, "for-each-ref", "--format=%(objectname)", "refs/heads/mine")); name == "the branch" && tip != first {
					t.Errorf("the branch is at %q, and not where somebody else made it, %s", tip, first)
				}
			})
		}
	}
}

// TestBranchThatIsNotMadeRunsNoHook refuses a create once all that waits for its
// branch was started: hooks hear of nothing.
func TestBranchThatIsNotMadeRunsNoHook(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	seen := filepath.Join(l.root, "transactions")
	l.script(filepath.Join(l.dir, ".git", "hooks", "reference-transaction"), "#!/bin/sh\necho $1 >>"+seen+"\n")
	refusal := &workspace.Error{Code: workspace.ErrStoreFailed}
	_, err := l.provider().Create(t.Context(), l.request(titled("one"), func(r *workspace.CreateRequest) {
		r.Claim = func(context.Context, workspace.Plan) error { return refusal }
	}))
	if workspace.CodeOf(err) != workspace.ErrStoreFailed {
		t.Fatal(detail(err))
	}
	if content, err := os.ReadFile(seen); err == nil {
		t.Errorf("the hook heard %q", content)
	}
}
