package gitops

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// childFill makes spares and ends itself after a step.
func childFill(args []string) error {
	r, err := New(Options{Home: args[1]})
	if err != nil {
		return err
	}
	r.reached = func(step string) {
		if step == args[2] {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	project, err := r.Open(context.Background(), args[0])
	if err != nil {
		return err
	}
	_, err = NewPool(r, PoolOptions{Spares: 1}).Fill(context.Background(), project)
	return err
}

// killedFill has a process fill the pool that ends itself after a step.
func (l *lab) killedFill(step string) {
	l.t.Helper()
	cmd := exec.Command(os.Args[0], l.dir, l.home, step)
	cmd.Env = append(slices.Clone(l.env), childRole+"=fill")
	out, err := cmd.CombinedOutput()
	status, ok := errors.AsType[*exec.ExitError](err)
	if !ok || !status.Sys().(syscall.WaitStatus).Signaled() {
		l.t.Fatalf("it was not killed after %q: %v\n%s", step, err, out)
	}
}

// recovered has the pool recover, and returns what it says.
func (l *lab) recovered() []string {
	l.t.Helper()
	_, pool := l.pooled()
	lines, err := pool.Recover(l.t.Context(), l.project())
	if err != nil {
		l.t.Fatal(detail(err))
	}
	return lines
}

// TestKilledWhileFilling ends the maker of a spare after each step, of making,
// moving and removing one. A reconcile leaves nothing of it.
func TestKilledWhileFilling(t *testing.T) {
	t.Parallel()
	for group, steps := range map[string][]string{
		"":     {"entry built", "spare entry", "spare inode", "spare files", "spare status", "spare noted"},
		"move": {"spare moving", "spare moved", "spare status", "spare noted"},
		"go":   {"spare going", "spare buried"},
	} {
		t.Run("making "+group, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			for _, step := range steps {
				switch group {
				case "move":
					l.fill()
					l.commit(l.dir, "f", step+"\n")
				case "go":
					l.fill()
					l.run(l.dir, "config", "core.autocrlf", map[string]string{steps[0]: "true", steps[1]: "input"}[step])
				}
				l.killedFill(step)
				if lines := l.recovered(); len(lines) != 1 {
					t.Errorf("%s: recovered %q", step, lines)
				}
				l.clearedDead()
				if left := append(l.leftovers(), l.remains()...); len(left) > 0 {
					t.Errorf("%s: left %q", step, left)
				}
			}
			l.fill()
			if w := l.warm(titled("one")); l.run(w.Directory, "status", "--porcelain") != "" {
				t.Error("the next one isn't clean")
			}
		})
	}
}

// clearedDead clears remains of entries as any clear does.
func (l *lab) clearedDead() {
	l.t.Helper()
	w := workspace.Workspace{Directory: filepath.Join(l.home, "worktrees", "none", "none"), Attempt: workspace.Attempt{ID: "none"}}
	if left, err := l.provider().Clear(l.t.Context(), l.project(), w); err != nil || len(left) > 0 {
		l.t.Fatalf("%v, left %q", err, left)
	}
}

// TestKilledWhileClaiming ends a create after each step of its claim.
func TestKilledWhileClaiming(t *testing.T) {
	t.Parallel()
	for _, moved := range []bool{false, true} {
		steps := []string{
			"claimed", "claimed index", "claimed branch", "claimed renamed", "claimed entry", "claimed placed", "claimed dot git", "claimed locked", "claimed marked", "claimed settled",
		}
		if moved {
			steps = []string{"spare moving", "spare moved", "claimed", "claimed settled"}
		}
		for _, step := range steps {
			t.Run(map[bool]string{false: step, true: step + ", base moved"}[moved], func(t *testing.T) {
				t.Parallel()
				l := newLab(t)
				l.fill()
				if moved {
					l.commit(l.dir, "g", "x\n")
				}
				e := errand{Pool: true, At: step}
				if step == "spare moving" || step == "spare moved" {
					// There is no plan yet.
					e.Attempt, e.Plan, e.Thread, e.Title = "attempt-1", filepath.Join(l.root, "plan"), "thread", "one"
					if out, err := l.helper(e).CombinedOutput(); err == nil {
						t.Fatalf("not killed: %s", out)
					}
					l.seize("attempt-1")
					l.recovered()
				} else {
					w := l.killed(e)
					l.seize(w.Attempt.ID)
					// Whoever comes first puts it right.
					if len(step)%2 == 0 {
						l.recovered()
					}
					l.settle(w, false)
				}
				l.recovered()
				if left := l.leftovers(); len(left) > 0 {
					t.Errorf("left %q", left)
				}
			})
		}
	}
}

// TestClaimThatFailsIsMadeCold has steps of a claim fail.
func TestClaimThatFailsIsMadeCold(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(l *lab, directory string){
		// Somebody puts his own files there, once it was chosen.
		"entry that can't be placed": func(l *lab, _ string) {
			spares, _ := filepath.Glob(filepath.Join(l.dir, ".git", "worktrees", "spare-*"))
			_ = os.Remove(filepath.Join(spares[0], "ORIG_HEAD"))
		},
		"directory gone": func(l *lab, _ string) { _ = os.RemoveAll(l.spares()[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.fill()
			p, _ := l.pooled()
			req := l.request(titled("one"), func(r *workspace.CreateRequest) {
				r.Claim = func(_ context.Context, plan workspace.Plan) error {
					spoil(l, plan.Directory)
					return nil
				}
			})
			created, err := p.Create(t.Context(), req)
			if err != nil || len(created.Warnings) > 0 {
				t.Fatalf("%v, %q", detail(err), created.Warnings)
			}
			if got := l.run(created.Plan.Directory, "status", "--porcelain=v2", "--branch"); !exists(filepath.Join(created.Plan.Directory, "f")) {
				t.Errorf("%s", got)
			}
			l.whole([]workspace.Plan{created.Plan})
			if left := l.leftovers(); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}
