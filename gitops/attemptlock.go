package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// AttemptLocks is a [workspace.Locker] over files: an attempt holds two locks,
// one that its process keeps to itself, and one that its children inherit. As
// long as the second is held somebody may still write; the first tells whether
// that is the maker itself.
type AttemptLocks struct {
	dir  string
	host string
}

var _ workspace.Locker = (*AttemptLocks)(nil)

// NewAttemptLocks keeps the locks in dir, which is made when it is needed.
// host is the name of this machine, "" for the one that the system gives it.
func NewAttemptLocks(dir, host string) (*AttemptLocks, error) {
	if host == "" {
		name, err := os.Hostname()
		if err != nil {
			return nil, &workspace.Error{Code: workspace.ErrInternal, Message: "the machine's name is not known", Err: err}
		}
		host = name
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, &workspace.Error{Code: workspace.ErrInternal, Message: "the directory for locks can't be found", Err: err}
	}
	return &AttemptLocks{dir: abs, host: host}, nil
}

// Host returns the machine's name.
func (l *AttemptLocks) Host() string { return l.host }

// Lock takes the locks of a new attempt.
func (l *AttemptLocks) Lock(_ context.Context, attemptID string) (workspace.Lock, error) {
	if attemptID == "" || attemptID != filepath.Base(attemptID) {
		return nil, &workspace.Error{Code: workspace.ErrInternal, Message: fmt.Sprintf("%q can't be an attempt's id", attemptID)}
	}
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return nil, lockFailure(err)
	}
	l.sweep()
	path := l.path(attemptID)
	owner, err := openLocked(ownerPath(path), os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, lockFailure(err)
	}
	work, err := openLocked(path, os.O_CREATE|os.O_EXCL)
	if err != nil {
		_ = os.Remove(ownerPath(path))
		closeUnlocked(owner)
		return nil, lockFailure(err)
	}
	return &attemptLock{path: path, owner: owner, work: work}, nil
}

// strayAge is how old a lock that nobody holds has to be before it goes: by
// then the lease of its attempt, if that was recorded, has long run out.
const strayAge = 24 * time.Hour

// sweep removes the locks of makers that died before anybody could have heard
// of their attempts.
func (l *AttemptLocks) sweep() {
	names, _ := os.ReadDir(l.dir)
	for _, name := range names {
		path := filepath.Join(l.dir, name.Name())
		info, err := name.Info()
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < strayAge ||
			!strings.HasSuffix(strings.TrimSuffix(path, ownerPath("")), ".lock") {
			continue
		}
		if f, err := openLocked(path, 0); err == nil {
			_ = os.Remove(path)
			closeUnlocked(f)
		}
	}
}

// Probe looks at the locks of an attempt. It holds the first one for a moment
// where nobody else does, so that a Seize at that moment may find it held by an
// orphan and has to look again.
func (l *AttemptLocks) Probe(_ context.Context, attempt workspace.Attempt) (workspace.Liveness, error) {
	if attempt.Host != l.host || attempt.Lock == "" {
		return workspace.Unknown, nil
	}
	held, err := lockHeld(attempt.Lock)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return workspace.Unknown, nil
	case err != nil:
		return workspace.Unknown, lockFailure(err)
	case !held:
		return workspace.Dead, nil
	}
	return l.holder(attempt)
}

// holder tells the maker from a child that it left behind, once the lock that
// children share is known to be held.
func (l *AttemptLocks) holder(attempt workspace.Attempt) (workspace.Liveness, error) {
	held, err := lockHeld(ownerPath(attempt.Lock))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return workspace.Orphaned, nil
	case err != nil:
		return workspace.Unknown, lockFailure(err)
	case held:
		return workspace.Alive, nil
	}
	return workspace.Orphaned, nil
}

// Seize takes the locks of an attempt whose maker and children are gone.
func (l *AttemptLocks) Seize(_ context.Context, attempt workspace.Attempt) (workspace.Lock, workspace.Liveness, error) {
	if attempt.Host != l.host || attempt.Lock == "" {
		return nil, workspace.Unknown, nil
	}
	work, err := openLocked(attempt.Lock, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, workspace.Unknown, nil
	case errors.Is(err, errLockBusy):
		live, err := l.holder(attempt)
		return nil, live, err
	case err != nil:
		return nil, workspace.Unknown, lockFailure(err)
	}
	// With the children's lock ours nobody can hold the owner's for long: a
	// maker takes it first and gives it up last.
	owner, err := openLocked(ownerPath(attempt.Lock), os.O_CREATE)
	if err != nil {
		closeUnlocked(work)
		if errors.Is(err, errLockBusy) {
			return nil, workspace.Alive, nil
		}
		return nil, workspace.Unknown, lockFailure(err)
	}
	return &attemptLock{path: attempt.Lock, owner: owner, work: work}, workspace.Dead, nil
}

// lockHeld reports whether somebody holds the exclusive lock of a file. It looks
// with a shared lock, so that two who look don't take each other for a holder.
func lockHeld(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer closeUnlocked(f)
	switch err := flock(f, lockShared); {
	case errors.Is(err, errLockBusy):
		return true, nil
	default:
		return false, err
	}
}

// path is the lock that the children of an attempt inherit.
func (l *AttemptLocks) path(attemptID string) string { return filepath.Join(l.dir, attemptID+".lock") }

func ownerPath(path string) string { return path + ".owner" }

func lockFailure(err error) error {
	code := workspace.ErrInternal
	if errors.Is(err, fs.ErrPermission) {
		code = workspace.ErrPermissionDenied
	}
	return &workspace.Error{
		Code:    code,
		Message: "the lock of the attempt can't be taken, nothing was made: " + err.Error(),
		Hint:    "see that the home directory for worktrees can be written to",
		Err:     err,
	}
}

// attemptLock is the held pair of locks.
type attemptLock struct {
	path        string
	owner, work *os.File
}

// Path returns the path of the lock that children inherit.
func (l *attemptLock) Path() string { return l.path }

// Inherit returns the open file of that lock.
func (l *attemptLock) Inherit() []*os.File { return []*os.File{l.work} }

// Release gives both locks up and removes their files. The lock that children
// share is given up even where a daemon that a child started still has the
// file open.
func (l *attemptLock) Release() error {
	err := errors.Join(removeIfThere(l.path), removeIfThere(ownerPath(l.path)))
	return errors.Join(err, funlock(l.work), l.work.Close(), funlock(l.owner), l.owner.Close())
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
