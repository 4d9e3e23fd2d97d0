package gitops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/threadtree/threadtree/workspace"
)

// deadDir is where the entries of removed worktrees are put before they are
// deleted, so that git never sees one that is half gone.
func deadDir(commonDir string) string { return filepath.Join(commonDir, privateDir, "dead") }

// removeTrees removes directories with all that is in them. Symbolic links
// are removed and never followed.
func removeTrees(paths []string) error {
	var all error
	for _, path := range paths {
		all = errors.Join(all, removeTree(path))
	}
	return all
}

func removeTree(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// Directories that were made read-only, as the caches of some tools are,
	// can't be emptied.
	_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory needs the x bit
		}
		return nil
	})
	return os.RemoveAll(path)
}

// buryEntry takes an entry out of git's sight and returns where it is now.
func buryEntry(commonDir, admin string) (string, error) {
	dead := deadDir(commonDir)
	if err := os.MkdirAll(dead, 0o755); err != nil {
		return "", err
	}
	to, err := os.MkdirTemp(dead, filepath.Base(admin)+"-")
	if err != nil {
		return "", err
	}
	return to, os.Rename(admin, filepath.Join(to, "entry"))
}

// buried returns what earlier removals left to be deleted.
func buried(commonDir string) []string {
	names, err := os.ReadDir(deadDir(commonDir))
	if err != nil {
		return nil
	}
	var paths []string
	for _, name := range names {
		paths = append(paths, filepath.Join(deadDir(commonDir), name.Name()))
	}
	return paths
}

// cantRemove says that something could not be deleted.
func cantRemove(op, what string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*workspace.Error](err); ok {
		return e
	}
	e := &workspace.Error{
		Code: workspace.ErrGitFailed, Op: op, Err: err,
		Message: fmt.Sprintf("%s could not be removed: %v", what, err),
		Hint:    "see what keeps it, then try again",
	}
	if errors.Is(err, fs.ErrPermission) {
		e.Code, e.Hint = workspace.ErrPermissionDenied, "see that the files can be written to by this user, then try again"
	}
	return e
}
