package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// checkout is a working copy that has a branch.
type checkout struct {
	// gitDir is its git directory: the common one for the main checkout, the
	// entry for a linked worktree.
	gitDir string
	// top is where its files are, "" where that isn't known.
	top string
	// operation is what is under way there, "" if nothing is.
	operation string
	// gone is true where there are no files, or those of something else.
	gone bool
}

// name says which checkout it is.
func (c checkout) name() string {
	if c.top == "" {
		return c.gitDir
	}
	return c.top
}

// lookup is the environment for a command that is to find its repository as
// git finds it, and so gives hooks the environment that they know.
func (c checkout) lookup() []string {
	if resolveExisting(gitDirOf(c.top)) == resolveExisting(c.gitDir) {
		return nil
	}
	return c.env()
}

// env names repository and files outright.
func (c checkout) env() []string {
	return []string{"GIT_DIR=" + c.gitDir, "GIT_WORK_TREE=" + c.top}
}

// checkouts returns the working copies that have the branch: those whose HEAD
// is on it, and those in which a rebase or a bisection goes on that will come
// back to it. The main one is first.
func (r *Repository) checkouts(ctx context.Context, p workspace.Project, branch string) ([]checkout, error) {
	x := r.openRefs(p.ID)
	var all []checkout
	if !p.Bare {
		has, err := r.hasBranch(ctx, x, p.ID, branch)
		if err != nil {
			return nil, err
		}
		if has {
			top, err := r.mainTop(ctx, p)
			if err != nil {
				return nil, err
			}
			info, err := os.Stat(top)
			gone := top == "" || err != nil || !info.IsDir()
			all = append(all, checkout{gitDir: p.ID, top: top, operation: operation(p.ID), gone: gone})
		}
	}
	entries, err := readEntries(p.ID)
	if err != nil {
		return nil, unreadable(p.ID, err)
	}
	for _, e := range entries {
		has, err := r.hasBranch(ctx, x, e.path, branch)
		if err != nil && !isAbsent(err) {
			return nil, err
		}
		if !has {
			continue
		}
		gone := e.directory == "" || resolveExisting(gitDirOf(e.directory)) != resolveExisting(e.path)
		all = append(all, checkout{gitDir: e.path, top: e.directory, operation: operation(e.path), gone: gone})
	}
	return all, nil
}

// hasBranch reports whether the checkout of a git directory has the branch.
func (r *Repository) hasBranch(ctx context.Context, x *refs, gitDir, branch string) (bool, error) {
	if r.holds(ctx, x, gitDir, []string{branch}) || willUpdate(gitDir, "refs/heads/"+branch) {
		return true, nil
	}
	h, err := r.headOf(ctx, gitDir)
	if err != nil || h.ref == "" {
		return false, err
	}
	_, on, err := x.checkedOut(ctx, h)
	return on == branch, err
}

// willUpdate reports whether a rebase in the checkout is to move the ref when
// it ends, besides the branch that it is of.
func willUpdate(gitDir, ref string) bool {
	content, err := os.ReadFile(filepath.Join(gitDir, "rebase-merge", "update-refs"))
	return err == nil && slices.Contains(strings.Split(string(content), "\n"), ref)
}

// movable refuses to move a branch where its checkouts don't allow it.
func movable(branch string, at []checkout) error {
	if len(at) > 1 {
		var names []string
		for _, c := range at {
			names = append(names, c.name())
		}
		return &workspace.Error{
			Code:    workspace.ErrBranchCheckedOut,
			Message: fmt.Sprintf("the branch %s is checked out in several places: %s; nothing was changed", branch, strings.Join(names, ", ")),
			Hint:    "check out something else in all of them but one",
		}
	}
	c := at[0]
	switch {
	case c.operation != "":
		return busyCheckout(branch, c)
	case c.gone && c.top == "":
		return &workspace.Error{
			Code:    workspace.ErrBranchCheckedOut,
			Message: fmt.Sprintf("the branch %s is checked out by %s, and where its files are isn't known; nothing was changed", branch, c.gitDir),
			Hint:    "name the project by the checkout itself",
		}
	case c.gone:
		return &workspace.Error{
			Code:    workspace.ErrBranchCheckedOut,
			Message: fmt.Sprintf("the branch %s is checked out in %s, which is missing or was moved; nothing was changed", branch, c.top),
			Hint:    bringBack(c.top),
		}
	}
	return nil
}

// busyCheckout names what is under way.
func busyCheckout(branch string, c checkout) error {
	return &workspace.Error{
		Code:    workspace.ErrOperationInProgress,
		Message: fmt.Sprintf("a %s is under way in %s, which has the branch %s; nothing was changed", c.operation, c.name(), branch),
		Hint:    fmt.Sprintf("finish the %s or abort it first", c.operation),
	}
}

// bringBack is the hint for a worktree whose directory is missing. To prune
// would drop the index and the operation of every other that is missing, such
// as one on a disk that isn't mounted.
func bringBack(directory string) string {
	if directory == "" {
		return "bring the directory back"
	}
	return "bring the directory back, or, if it is lost, have git forget this one worktree: git worktree remove --force " + quoted(directory)
}
