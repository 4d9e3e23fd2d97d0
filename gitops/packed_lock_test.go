package gitops

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// TestPackedLockOfAKilledGit kills a merge over a git that has the lock on packed
// refs. Only such a lock goes.
func TestPackedLockOfAKilledGit(t *testing.T) {
	t.Parallel()
	if len(processes()) == 0 {
		t.Skip("other processes can't be seen here")
	}
	for name, tt := range map[string]struct {
		// killed is what the killed git does, before what is done before it, and
		// after what else goes on.
		killed        string
		before, after func(l *mergeLab, lock string)
		stays         bool
	}{
		"left":                  {killed: "touch %[1]s %[2]s"},
		"older than the merge":  {before: func(l *mergeLab, lock string) { l.write(lock, ""); old(t, lock) }, stays: true},
		"somebody else's":       {killed: "touch %[1]s", after: (*mergeLab).gitGoesOn, stays: true},
		"taken again meanwhile": {killed: "touch %[1]s", after: (*mergeLab).takeAgain, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newMergeLab(t)
			hooked(ahead)(l)
			lock := filepath.Join(l.dir, ".git", "packed-refs.lock")
			if tt.before != nil {
				tt.before(l, lock)
			}
			real, err := exec.LookPath("git")
			if err != nil {
				t.Fatal(err)
			}
			git := l.path("wrapped-git")
			killed := ":"
			if tt.killed != "" {
				killed = fmt.Sprintf(tt.killed+" #%[2]s", lock, filepath.Join(l.dir, ".git", "packed-refs.new"))
			}
			l.write(git, fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n*'rebase -q'*) %s\nkill -9 $PPID; exit 1 ;;\nesac\nexec %s \"$@\"\n", killed, real))
			if err := os.Chmod(git, 0o755); err != nil {
				t.Fatal(err)
			}
			l.kill(mergeErrand{Op: "merge", Strategy: workspace.StrategyRebase, Git: git})
			if tt.after != nil {
				tt.after(l, lock)
			}
			if _, err := l.g.Recover(t.Context(), l.open(l.dir)); err != nil {
				t.Fatal(detail(err))
			}
			if got := exists(lock); got != tt.stays {
				t.Errorf("the lock is there: %v, want %v", got, tt.stays)
			}
			if tt.stays {
				return
			}
			if left, _ := filepath.Glob(filepath.Join(l.dir, ".git", "packed-refs.*")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			l.finish(mergeStory{op: "merge", strategy: workspace.StrategyRebase})
		})
	}
}

// TestPackedLockAfterOtherWork has a lock left by a delete, a restore and a create
// that were killed: what follows is as without it.
func TestPackedLockAfterOtherWork(t *testing.T) {
	t.Parallel()
	if len(processes()) == 0 {
		t.Skip("other processes can't be seen here")
	}
	left := func(l *lab) string {
		l.t.Helper()
		lock := filepath.Join(l.dir, ".git", "packed-refs.lock")
		l.write(lock, "")
		return lock
	}
	t.Run("delete", func(t *testing.T) {
		t.Parallel()
		b := newBin(t)
		b.killedAfter(trashErrand{Step: "detached", Remove: &b.w})
		lock := left(b.lab)
		if removed, found := b.resume(); !found || len(removed.Left) > 0 || exists(lock) {
			t.Errorf("%+v, the lock is there: %v", removed, exists(lock))
		}
		b.isTip(b.w.Branch, "")
	})
	t.Run("restore", func(t *testing.T) {
		t.Parallel()
		b := newBin(t)
		trashed := b.delete(true)
		b.killedAfter(trashErrand{Step: "back", Restore: &trashed})
		lock := left(b.lab)
		if restored := b.restore(trashed); len(restored.Warnings) > 0 || exists(lock) {
			t.Errorf("%+v, the lock is there: %v", restored, exists(lock))
		}
	})
	t.Run("create", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		w := l.killed(errand{At: "entry"})
		w.Attempt.StartedAt = time.Now().Add(-time.Minute)
		lock := left(l)
		l.seize(w.Attempt.ID)
		if told, err := l.provider().Clear(t.Context(), l.project(), w); err != nil || len(told) > 0 || exists(lock) {
			t.Errorf("%q, %v, the lock is there: %v", told, detail(err), exists(lock))
		}
		l.isTip(w.Branch, "")
	})
}

// TestPackedLockIsLookedAtNoLongerThanIsWanted gives a look up: the lock stays, and
// the error is one for a person.
func TestPackedLockIsLookedAtNoLongerThanIsWanted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	lock := filepath.Join(l.dir, ".git", "packed-refs.lock")
	l.write(lock, "")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := l.provider().r.dropDeadPackedLock(ctx, l.project(), time.Now().Add(-time.Minute))
	if wantCode(t, err, workspace.ErrTimeout); !exists(lock) {
		t.Error("the lock is gone")
	}
}

// old gives a file a time long ago.
func old(t *testing.T, path string) {
	t.Helper()
	at := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// gitGoesOn has a git work in the repository until the test ends.
func (l *mergeLab) gitGoesOn(string) {
	l.t.Helper()
	cmd := exec.Command("git", "cat-file", "--batch")
	cmd.Dir, cmd.Env = l.dir, slices.Clone(l.env)
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _, _ = in.Close(), cmd.Wait() })
}

// takeAgain gives the lock up and takes it, as one git after another does.
func (l *mergeLab) takeAgain(lock string) {
	var group sync.WaitGroup
	l.t.Cleanup(group.Wait)
	group.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-l.t.Context().Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
			next := fmt.Sprintf("%s-%d", lock, n)
			if os.WriteFile(next, nil, 0o600) != nil || os.Rename(next, lock) != nil {
				return
			}
		}
	})
}
