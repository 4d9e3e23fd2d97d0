package gitops

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func TestRepoLockExcludesEachOther(t *testing.T) {
	t.Parallel()
	const processes, rounds = 8, 25
	dir := t.TempDir()
	counter := filepath.Join(dir, "counter")
	if err := os.WriteFile(counter, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	var running []*exec.Cmd
	for range processes {
		cmd := childCommand("count", dir, strconv.Itoa(rounds))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	got, err := os.ReadFile(counter)
	if want := strconv.Itoa(processes * rounds * 2); err != nil || string(got) != want {
		t.Errorf("counted %s (%v), want %s", got, err, want)
	}
}

func TestRepoLockWaitsNoLongerThanAsked(t *testing.T) {
	t.Parallel()
	// The wait is bounded both for another holder in the process and for
	// another process.
	t.Run("in the process", func(t *testing.T) {
		t.Parallel()
		var locks repoLocks
		dir := t.TempDir()
		lock, err := locks.acquire(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		wantBusy(t, &locks, dir)
		lock.release()
		lock, err = locks.acquire(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		lock.release()
	})
	t.Run("another process", func(t *testing.T) {
		t.Parallel()
		var locks repoLocks
		dir := t.TempDir()
		holder := startChild(t, childCommand("hold-repo", dir, "alone"))
		wantBusy(t, &locks, dir)
		wantBusy(t, &locks, dir)
		holder.kill()
		lock, err := locks.acquire(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		lock.release()
	})
}

func wantBusy(t *testing.T, locks *repoLocks, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	lock, err := locks.acquire(ctx, dir)
	if lock != nil || !errors.Is(err, workspace.ErrTimeout) || workspace.HintOf(err) == "" {
		t.Errorf("acquire: %v, %v; want timeout and a hint", lock, err)
	}
	if lock != nil {
		lock.release()
	}
}

func TestRepoLockIsHeldByAChildThatOutlivesItsHolder(t *testing.T) {
	t.Parallel()
	var locks repoLocks
	dir := t.TempDir()
	holder := startChild(t, childCommand("hold-repo", dir, "inherit"))
	pid, err := strconv.Atoi(holder.said)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	holder.kill()
	wantBusy(t, &locks, dir)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	lock, err := locks.acquire(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	lock.release()
}

func TestRepoLocksOfTwoRepositoriesDoNotMeet(t *testing.T) {
	t.Parallel()
	var locks repoLocks
	one, err := locks.acquire(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer one.release()
	two, err := locks.acquire(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	two.release()
}

func TestRepoLockWithoutARepository(t *testing.T) {
	t.Parallel()
	var locks repoLocks
	gone := filepath.Join(t.TempDir(), "gone")
	for range 2 {
		if _, err := locks.acquire(t.Context(), gone); !errors.Is(err, workspace.ErrGitFailed) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("acquire: %v", err)
		}
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("a directory was made")
	}
}
