package gitops

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/threadtree/threadtree/workspace"
)

// worktreesDir is the directory that the project's worktrees lie in, with
// symbolic links resolved as far as it exists. It is not made.
func (r *Repository) worktreesDir(p workspace.Project) string {
	return resolveExisting(filepath.Join(r.home, "worktrees", projectKey(p)))
}

// projectKey is the name of what belongs to the project in the home directory.
func projectKey(p workspace.Project) string {
	sum := sha256.Sum256([]byte(p.ID))
	return p.Name + "-" + hex.EncodeToString(sum[:4])
}

// workDir is where git is run for the project: the checkout that the caller
// pointed at, and the common git directory where that is gone or there is
// none.
func workDir(p workspace.Project) string {
	if p.TopLevel != "" {
		if info, err := os.Stat(p.TopLevel); err == nil && info.IsDir() {
			return p.TopLevel
		}
	}
	return p.ID
}

// gitDirOf returns the git directory that the .git in a checkout's top names,
// "" if there is none.
func gitDirOf(top string) string {
	path := filepath.Join(top, ".git")
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return ""
	case !info.Mode().IsRegular():
		return path
	}
	dir, err := readGitFile(path)
	if err != nil {
		return ""
	}
	return dir
}

// emptyOrAbsent reports whether nothing, or an empty directory, is at path.
func emptyOrAbsent(path string) (bool, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return false, nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(1)
	return len(names) == 0, nil
}
