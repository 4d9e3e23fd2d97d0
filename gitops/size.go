package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/threadtree/threadtree/workspace"
)

// DiskUse measures what a directory takes on its disk, in bytes: a file with
// several names counts once, and another file system that is mounted within
// doesn't. Files that come and go meanwhile may count or not. The codes are
// not_found, permission_denied, timeout and internal. It writes nothing.
func (p *Provider) DiskUse(ctx context.Context, directory string) (int64, error) {
	size, err := diskUse(ctx, directory)
	return size, withOp("measure", err)
}

// blockSize is the unit in which the system counts a file's blocks.
const blockSize = 512

func diskUse(ctx context.Context, directory string) (int64, error) {
	type file struct{ device, inode uint64 }
	var (
		total  int64
		device uint64
		seen   = make(map[file]bool)
	)
	err := filepath.WalkDir(directory, func(path string, d fs.DirEntry, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var info os.FileInfo
		if err == nil {
			info, err = d.Info()
		}
		if err != nil {
			if path != directory && isAbsent(err) {
				return nil // gone since
			}
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return errors.ErrUnsupported
		}
		f := file{uint64(stat.Dev), stat.Ino} //nolint:unconvert // its type differs between systems
		if path == directory {
			device = f.device
		}
		switch {
		case f.device != device:
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case stat.Nlink > 1 && !d.IsDir():
			if seen[f] {
				return nil
			}
			seen[f] = true
		}
		total += stat.Blocks * blockSize
		return nil
	})
	return total, sizeFailure(directory, err)
}

// sizeFailure says why a directory could not be measured, nil for nil.
func sizeFailure(directory string, err error) error {
	if err == nil {
		return nil
	}
	e := &workspace.Error{
		Code: workspace.CodeOf(err), Err: err,
		Message: fmt.Sprintf("the size of %s is not known: %v", directory, err),
		Hint:    "see that this user may read all of it",
	}
	if isAbsent(err) {
		e.Code, e.Hint = workspace.ErrNotFound, "see where the directory is"
	}
	return e
}
