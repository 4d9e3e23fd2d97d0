//go:build unix

package sqlite

import "golang.org/x/sys/unix"

// writable returns why the file at path can't be written to, without opening
// it.
func writable(path string) error {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS)
}
