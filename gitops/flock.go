package gitops

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flock locks belong to the open file, not to the process: a child that
// inherits the descriptor keeps the lock. That is why they are taken here by
// hand, on files that can be handed on.

const (
	lockShared    = unix.LOCK_SH
	lockExclusive = unix.LOCK_EX
)

// errLockBusy is returned where somebody else holds the lock.
var errLockBusy = errors.New("the lock is held")

// flock takes a lock on f or returns errLockBusy at once.
func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLockBusy
		case err != nil:
			return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
		return nil
	}
}

// funlock gives the lock up for every process that shares the open file.
func funlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// closeUnlocked ends a short hold. Closing alone would not: a child that is just
// being started for something else has the open file, too, until it runs its
// program.
func closeUnlocked(f *os.File) {
	_ = funlock(f)
	_ = f.Close()
}

// openLocked opens a file for writing and takes its exclusive lock.
func openLocked(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|flag, 0o644)
	if err != nil {
		return nil, err
	}
	if err := flock(f, lockExclusive); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
