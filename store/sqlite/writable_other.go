//go:build !unix

package sqlite

import (
	"io/fs"
	"os"
)

// writable returns why the file at path can't be written to, without opening
// it.
func writable(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o200 == 0 {
		err = fs.ErrPermission
	}
	return err
}
