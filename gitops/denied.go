package gitops

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/threadtree/threadtree/workspace"
)

// failed is failure for a step that makes something of the plan. git has one
// exit code for everything: whether it was kept from writing is looked at here.
func (m *making) failed(plan workspace.Plan, message, hint string, err error) error {
	err = failure("create", message, hint, err)
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok || e.Code != workspace.ErrGitFailed {
		return err
	}
	dir, why := m.r.denied(m.req.Project, plan)
	if dir == "" {
		return err
	}
	told := *e
	told.Code = workspace.ErrPermissionDenied
	told.Message += fmt.Sprintf("; %s can't be written to: %v", dir, why)
	told.Hint = "see that this user may write to " + dir
	return &told
}

// denied returns a directory that a worktree of the plan needs to be written
// to and that this user can't write to, "" if there is none.
func (r *Repository) denied(p workspace.Project, plan workspace.Plan) (dir string, err error) {
	below := func(names ...string) string { return filepath.Join(append([]string{p.ID}, names...)...) }
	for _, dir := range []string{
		p.ID, below("objects"), below("worktrees"), below("refs"), below("refs", "heads"),
		filepath.Dir(below("refs", "heads", filepath.FromSlash(plan.Branch))), existing(filepath.Dir(plan.Directory)),
	} {
		err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
		if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) {
			return dir, err
		}
	}
	return "", nil
}

// existing returns the part of a path that is there.
func existing(path string) string {
	for {
		if _, err := os.Lstat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}
