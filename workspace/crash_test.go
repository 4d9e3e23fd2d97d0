package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestKilledCreateCanBeRepeated kills a create at each of its points; the same
// create succeeds then, and nothing of the first is left.
func TestKilledCreateCanBeRepeated(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"begun", "claimed", "phase add", "phase checkout", "made"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := build(t, settings{})
			p.killedAt(t, "1", point)
			p.wantOnly(t, p.create(t, "1"))
		})
	}
}

// TestOrphanedGitIsWaitedFor kills a create while a git child of it goes on
// writing: the next create waits for that child, clears and succeeds.
func TestOrphanedGitIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"update-ref", "worktree", "reset"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			p := build(t, settings{})
			if verb == "worktree" {
				// It is git that writes the entry here.
				git(t, p.project, "config", "core.sharedRepository", "group")
			}
			script := filepath.Join(t.TempDir(), "git")
			// The child outlives its parent by a second and then does the
			// work that it was started for.
			write(t, script, fmt.Sprintf(`#!/bin/sh
for a in "$@"; do
  if [ "$a" = %s ]; then kill -9 "$PPID"; sleep 1; break; fi
done
exec git "$@"
`, verb))
			if err := os.Chmod(script, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := p.child(t, "1", "", script); err == nil {
				t.Fatal("the process was not killed")
			}
			rows, err := p.List(t.Context(), workspace.ListOptions{Project: p.project})
			if err != nil || len(rows) != 1 || rows[0].Liveness != workspace.Orphaned {
				t.Errorf("the list shows %+v, %v", rows, err)
			}
			waited := false
			w := p.create(t, "1", func(o *workspace.CreateOptions) {
				o.Progress = func(e workspace.Event) { waited = waited || e.Phase == workspace.PhaseWait }
			})
			if !waited {
				t.Error("the orphan was not waited for")
			}
			p.wantOnly(t, w)
		})
	}
}

// TestReconcileWaitsForAnOrphanThatEnds kills a create whose git child ends a
// moment later.
func TestReconcileWaitsForAnOrphanThatEnds(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	script := filepath.Join(t.TempDir(), "git")
	write(t, script, "#!/bin/sh\ncase \"$*\" in *reset*) kill -9 \"$PPID\"; sleep 0.1; exit 1;; esac\nexec git \"$@\"\n")
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := p.child(t, "1", "", script); err == nil {
		t.Fatal("the process was not killed")
	}
	actions, err := p.Reconcile(t.Context(), p.project)
	if err != nil || len(actions) != 1 || actions[0].Kind != workspace.ActionError {
		t.Errorf("reconcile: %+v, %v", actions, err)
	}
}

// wantOnly checks that w is ready and all that there is.
func (p *parts) wantOnly(t *testing.T, w workspace.Workspace) {
	t.Helper()
	p.wantReady(t, w, "threadtree/thread-1")
	left := p.traces(t)
	if len(left) != 3 {
		t.Errorf("branch, entry and directory should be all; there are %v", left)
	}
}

// TestManyAtOnce creates 32 workspaces at once in one process: all succeed,
// each with a branch and a directory of its own.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	const n = 32
	var wg sync.WaitGroup
	made := make([]workspace.Workspace, n)
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			made[i], errs[i] = p.Create(t.Context(), workspace.CreateOptions{
				Project: p.project, ThreadID: fmt.Sprintf("t%d", i), Title: "the same title",
			})
		})
	}
	wg.Wait()
	branches, dirs := make(map[string]bool), make(map[string]bool)
	for i := range n {
		if errs[i] != nil {
			t.Errorf("thread t%d: %v", i, errs[i])
			continue
		}
		branches[made[i].Branch], dirs[made[i].Directory] = true, true
		p.wantReady(t, made[i], made[i].Branch)
	}
	if len(branches) != n || len(dirs) != n {
		t.Errorf("%d branches and %d directories for %d threads", len(branches), len(dirs), n)
	}
	if left := p.traces(t); len(left) != 3*n {
		t.Errorf("%d branches, entries and directories, not %d: %v", len(left), 3*n, left)
	}
}

// TestProcessesAtOnce creates a workspace in each of 8 processes at once.
func TestProcessesAtOnce(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	const n = 8
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := p.child(t, fmt.Sprintf("t%d", i), "", ""); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for i := range n {
		w, err := p.Get(t.Context(), fmt.Sprintf("t%d", i))
		if err != nil {
			t.Error(err)
			continue
		}
		p.wantReady(t, w, w.Branch)
	}
	if left := p.traces(t); len(left) != 3*n {
		t.Errorf("%d branches, entries and directories, not %d: %v", len(left), 3*n, left)
	}
}

// TestOneWinnerPerThread lets many ask for one thread's workspace at once: one
// makes it, the others are told so and touch nothing.
func TestOneWinnerPerThread(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := p.Create(t.Context(), workspace.CreateOptions{Project: p.project, ThreadID: "1", Title: "thread 1"})
			if err != nil {
				wantCode(t, err, workspace.ErrInProgress)
			}
		})
	}
	wg.Wait()
	w, err := p.Await(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	p.wantOnly(t, w)
}
