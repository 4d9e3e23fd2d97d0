package gitops

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames a directory to a name that must be free.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return renameOver(from, to) // the file system can't
	}
	return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
}
