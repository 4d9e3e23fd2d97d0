package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func newTestLocks(t *testing.T) *AttemptLocks {
	t.Helper()
	locks, err := NewAttemptLocks(filepath.Join(t.TempDir(), "locks"), "host")
	if err != nil {
		t.Fatal(err)
	}
	return locks
}

func attemptOf(locks *AttemptLocks, id string) workspace.Attempt {
	return workspace.Attempt{ID: id, Host: locks.Host(), Lock: filepath.Join(locks.dir, id+".lock")}
}

// wantLiveness seizes and gives a lock that was had up again.
func wantLiveness(t *testing.T, locks *AttemptLocks, a workspace.Attempt, want workspace.Liveness) {
	t.Helper()
	lock, got, err := locks.Seize(t.Context(), a)
	if err != nil || got != want || (lock != nil) != (want == workspace.Dead) {
		t.Errorf("Seize: %v, %v, %v; want %v", lock, got, err, want)
	}
	if lock != nil {
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	}
}

func TestAttemptLockOfALiveMaker(t *testing.T) {
	t.Parallel()
	locks := newTestLocks(t)
	lock, err := locks.Lock(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	a := attemptOf(locks, "one")
	if lock.Path() != a.Lock {
		t.Errorf("Path: %s, want %s", lock.Path(), a.Lock)
	}
	wantLiveness(t, locks, a, workspace.Alive)
	wantLiveness(t, locks, a, workspace.Alive)
	if _, err := locks.Lock(t.Context(), "one"); !errors.Is(err, workspace.ErrInternal) || !errors.Is(err, os.ErrExist) {
		t.Errorf("locked twice: %v", err)
	}
	wantLiveness(t, locks, a, workspace.Alive)
	other, err := locks.Lock(t.Context(), "two")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []workspace.Lock{lock, other} {
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
	wantLiveness(t, locks, a, workspace.Unknown)
	if entries, err := os.ReadDir(locks.dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestAttemptLockThatCannotBeJudged(t *testing.T) {
	t.Parallel()
	locks := newTestLocks(t)
	lock, err := locks.Lock(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	a := attemptOf(locks, "one")
	for name, change := range map[string]func(*workspace.Attempt){
		"another host":   func(a *workspace.Attempt) { a.Host = "elsewhere" },
		"no lock":        func(a *workspace.Attempt) { a.Lock = "" },
		"lock not there": func(a *workspace.Attempt) { a.Lock += "x" },
	} {
		changed := a
		change(&changed)
		lock, got, err := locks.Seize(t.Context(), changed)
		if lock != nil || got != workspace.Unknown || err != nil {
			t.Errorf("%s: %v, %v, %v; want unknown", name, lock, got, err)
		}
	}
}

func TestAttemptLockRefusesIDsThatArePaths(t *testing.T) {
	t.Parallel()
	locks := newTestLocks(t)
	for _, id := range []string{"", "a/b", "../a", "/a", "a/", "./a"} {
		if lock, err := locks.Lock(t.Context(), id); err == nil {
			_ = lock.Release()
			t.Errorf("%q was locked", id)
		}
	}
}

func TestAttemptLockWithoutADirectory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	locks, err := NewAttemptLocks(filepath.Join(file, "locks"), "")
	if err != nil {
		t.Fatal(err)
	}
	if host, err := os.Hostname(); err != nil || locks.Host() != host {
		t.Errorf("Host: %q, want %q (%v)", locks.Host(), host, err)
	}
	if _, err := locks.Lock(t.Context(), "one"); !errors.Is(err, workspace.ErrInternal) || workspace.HintOf(err) == "" {
		t.Errorf("Lock: %v, want internal and a hint", err)
	}
}

func TestAttemptLockOutlivesItsMakerInAChild(t *testing.T) {
	t.Parallel()
	locks := newTestLocks(t)
	maker := startChild(t, childCommand("lock-attempt", locks.dir, "one"))
	pid, err := strconv.Atoi(maker.said)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	a := attemptOf(locks, "one")
	wantLiveness(t, locks, a, workspace.Alive)

	maker.kill()
	wantLiveness(t, locks, a, workspace.Orphaned)
	wantLiveness(t, locks, a, workspace.Orphaned)

	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var lock workspace.Lock
	eventually(t, "the lock is free", func() bool {
		var got workspace.Liveness
		lock, got, err = locks.Seize(t.Context(), a)
		if err != nil || got != workspace.Dead && got != workspace.Orphaned {
			t.Fatalf("Seize: %v, %v", got, err)
		}
		return got == workspace.Dead
	})
	// Who seized it is now its live holder.
	wantLiveness(t, locks, a, workspace.Alive)
	if lock.Path() != a.Lock || len(lock.Inherit()) != 1 {
		t.Errorf("seized: %s, %v", lock.Path(), lock.Inherit())
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	wantLiveness(t, locks, a, workspace.Unknown)
}

func TestAttemptLockOfAMakerThatCrashedAlone(t *testing.T) {
	t.Parallel()
	locks := newTestLocks(t)
	maker := startChild(t, childCommand("lock-attempt", locks.dir, "one"))
	pid, err := strconv.Atoi(maker.said)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	maker.kill()
	a := attemptOf(locks, "one")
	// It is dead for the owner's lock gone missing, too.
	if err := os.Remove(ownerPath(a.Lock)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "dead", func() bool {
		lock, got, err := locks.Seize(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		return got == workspace.Dead && lock.Release() == nil
	})
}

// Many who look at once don't take each other for the maker.
func TestAttemptLockManyWhoLook(t *testing.T) {
	t.Parallel()
	locks := newTestLocks(t)
	maker := startChild(t, childCommand("lock-attempt", locks.dir, "one"))
	pid, err := strconv.Atoi(maker.said)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	maker.kill()
	a := attemptOf(locks, "one")
	got := make(chan workspace.Liveness)
	const looking = 16
	for range looking {
		go func() {
			for range 50 {
				if _, l, err := locks.Seize(t.Context(), a); err != nil || l != workspace.Orphaned {
					got <- l
					return
				}
			}
			got <- workspace.Orphaned
		}()
	}
	for range looking {
		if l := <-got; l != workspace.Orphaned {
			t.Errorf("Seize: %v, want orphaned", l)
		}
	}
}

func TestAttemptLockReleaseFreesItFromADaemon(t *testing.T) {
	t.Parallel()
	locks := newTestLocks(t)
	lock, err := locks.Lock(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	daemon := childCommand("wait")
	daemon.ExtraFiles = lock.Inherit()
	startChild(t, daemon)
	// The same file, by an open file of its own.
	file, err := os.OpenFile(lock.Path(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := flock(file, lockExclusive); !errors.Is(err, errLockBusy) {
		t.Fatalf("before: %v, want busy", err)
	}
	if err := lock.Release(); err != nil {
		t.Fatal(err)
	}
	if err := flock(file, lockExclusive); err != nil {
		t.Errorf("after: %v, want it free", err)
	}
	again, err := locks.Lock(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

func TestAttemptLocksOfTheLongDeadGo(t *testing.T) {
	t.Parallel()
	locks := newTestLocks(t)
	held, err := locks.Lock(t.Context(), "held")
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * strayAge)
	for name, at := range map[string]time.Time{
		"stray.lock": old, "stray.lock.owner": old, "young.lock": time.Now(), "young.lock.owner": time.Now(),
		"other": old, "held.lock": old, "held.lock.owner": old,
	} {
		path := filepath.Join(locks.dir, name)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	next, err := locks.Lock(t.Context(), "next")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, _ := os.ReadDir(locks.dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{"held.lock", "held.lock.owner", "next.lock", "next.lock.owner", "other", "young.lock", "young.lock.owner"}
	if !slices.Equal(names, want) {
		t.Errorf("left %q, want %q", names, want)
	}
	wantLiveness(t, locks, attemptOf(locks, "held"), workspace.Alive)
	for _, lock := range []workspace.Lock{held, next} {
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	}
}
