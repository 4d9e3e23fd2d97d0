package gitops

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// takeIndexLock takes the lock by which git's commands take turns at the
// index, with our nonce in it from the first moment on. Somebody else's is
// waited for and never removed.
func (m *move) takeIndexLock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.in.lockWait)
	defer cancel()
	for {
		err := createWith(m.files.lock(), m.files.nonce(), m.journal.Nonce)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, fs.ErrExist):
			return m.cant("the index of "+m.at.name()+" can't be locked", err)
		}
		select {
		case <-time.After(indexLockPause):
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return m.cant("the index of "+m.at.name()+" was not locked", ctx.Err())
			}
			return &workspace.Error{
				Code:    workspace.ErrLocked,
				Message: fmt.Sprintf("a git command is at work in %s, or was ended within: %s is there; nothing was changed", m.at.name(), m.files.lock()),
				Hint:    "wait for it; if no git command is running there, remove " + m.files.lock(),
				Err:     ctx.Err(),
			}
		}
	}
}

// createWith makes a file that isn't there, with its content at once: an
// empty one could be anybody's. temp is a path beside it.
func createWith(path, temp, content string) error {
	if err := os.WriteFile(temp, []byte(content), 0o644); err != nil { //nolint:gosec // others have to see whose it is
		return err
	}
	err := os.Link(temp, path)
	if unsupported(err) {
		err = createThenWrite(path, content)
	}
	return errors.Join(err, removeIfThere(temp))
}

// unsupported reports whether the disk can't link files.
func unsupported(err error) bool {
	for _, code := range []syscall.Errno{syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EMLINK} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

func createThenWrite(path, content string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // as git makes it
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}

// hasIndexLock reports whether the lock is there and ours.
func (m *move) hasIndexLock() bool {
	content, err := os.ReadFile(m.files.lock())
	return err == nil && m.journal.Nonce != "" && string(content) == m.journal.Nonce
}

// dropIndexLock removes the lock if it is ours.
func (m *move) dropIndexLock() error {
	if !m.hasIndexLock() {
		return nil
	}
	return removeIfThere(m.files.lock())
}

// newNonce is what our lock is known by.
func newNonce() string { return "threadtree " + rand.Text() + "\n" }

// copyIndex copies the checkout's index to the index to be, with its time: by it
// git tells which entries are too young to be trusted.
func (f moveFiles) copyIndex() (fileMark, error) {
	mark, err := markOf(f.index())
	if err != nil {
		return fileMark{}, err
	}
	if mark.Kind == kindAbsent {
		return fileMark{}, &os.PathError{Op: "open", Path: f.index(), Err: fs.ErrNotExist}
	}
	content, err := os.ReadFile(f.index())
	if err != nil {
		return fileMark{}, err
	}
	if err := os.WriteFile(f.next(), content, 0o600); err != nil {
		return fileMark{}, err
	}
	when := time.Unix(0, mark.Time)
	return mark, errors.Join(os.Chmod(f.next(), mark.Perm), os.Chtimes(f.next(), when, when))
}
