package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// errMountPoint keeps a directory from being renamed.
var errMountPoint = errors.New("it is a mount point")

// Remove removes a worktree with the branch that was made for it, as
// [workspace.Provider] says: it is put aside whole, with a snapshot, under
// req.TrashID. Without one it is removed for good, clean and merged as it has
// to be. It judges and removes under the repository's lock. A call that was
// interrupted is finished by the next.
func (p *Provider) Remove(ctx context.Context, req workspace.RemoveRequest) (workspace.Removed, error) {
	var (
		removed workspace.Removed
		err     error
	)
	switch {
	case req.TrashID != "":
		removed, _, err = p.r.trash(ctx, req, false)
	case req.Force:
		err = checkTrashID(req.TrashID)
	default:
		removed, err = p.r.remove(ctx, req)
	}
	return removed, withOp("remove", err)
}

func (r *Repository) remove(ctx context.Context, req workspace.RemoveRequest) (workspace.Removed, error) {
	if req.Workspace.Directory == "" {
		return workspace.Removed{}, nil
	}
	lock, err := r.lock(ctx, req.Project)
	if err != nil {
		return workspace.Removed{}, err
	}
	removed, aside, err := r.removeLocked(ctx, req)
	lock.release()
	if removeErr := removeTrees(aside); err == nil && removeErr != nil {
		// It is out of the way and out of git's sight.
		removed.Left = append(removed.Left, fmt.Sprintf("not all files could be deleted: %v", removeErr))
	}
	return removed, err
}

// removeLocked judges, and takes away what may go. What it returns as aside
// still has to be deleted.
func (r *Repository) removeLocked(ctx context.Context, req workspace.RemoveRequest) (workspace.Removed, []string, error) {
	p, w := req.Project, req.Workspace
	v, err := r.judge(ctx, req)
	if err == nil && v.mount {
		err = cantRemove("remove", w.Directory, errMountPoint)
	}
	if err != nil {
		return workspace.Removed{}, nil, err
	}
	// From here on it is carried through, whatever becomes of the caller.
	ctx = context.WithoutCancel(ctx)
	removed := workspace.Removed{Tip: v.head, Left: v.left}
	aside, err := r.takeAway(p, w, v)
	if err != nil {
		return removed, aside, err
	}
	if v.branch != "" {
		kept := false
		err = r.deleteBranch(ctx, p, v.branch, v.tip, func(format string, args ...any) {
			kept = true
			removed.Left = append(removed.Left, fmt.Sprintf(format, args...))
		})
		if err == nil && !kept {
			removed.Branch, removed.BranchTip = v.branch, v.tip
			err = r.forgetBranch(ctx, p, v.branch)
		}
	}
	return removed, append(aside, buried(p.ID)...), err
}

// takeAway hides the directory and then the entry. Killed in between, it
// leaves an entry whose directory is missing, or a hidden directory alone:
// the next call takes both for its own.
func (r *Repository) takeAway(p workspace.Project, w workspace.Workspace, v verdict) ([]string, error) {
	key := w.Attempt.ID
	if key == "" {
		key = w.ThreadID
	}
	hidden := asideName(v.directory, "removed", key)
	if _, err := os.Lstat(hidden); err == nil && !v.missing {
		if err := removeTree(hidden); err != nil {
			return nil, cantRemove("remove", hidden, err)
		}
	}
	if !v.missing {
		if err := os.Rename(v.directory, hidden); err != nil {
			return nil, cantRemove("remove", w.Directory, err)
		}
	}
	aside := []string{hidden}
	if v.admin == "" {
		return aside, nil
	}
	_, err := buryEntry(p.ID, v.admin)
	if err == nil {
		return aside, nil
	}
	if !v.missing {
		// As it was.
		if back := os.Rename(hidden, v.directory); back == nil {
			aside = nil
		}
	}
	return nil, cantRemove("remove", "the worktree's entry", err)
}

// forgetBranch drops what the configuration says of a branch that is gone, so
// that the next one of its name doesn't inherit it.
func (r *Repository) forgetBranch(ctx context.Context, p workspace.Project, branch string) error {
	config, err := r.config(ctx, p.ID)
	if err != nil {
		return err
	}
	prefix := "branch." + branch + "."
	var keys []string
	for key := range config.values {
		if rest, ok := strings.CutPrefix(key, prefix); ok && !strings.Contains(rest, ".") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	slices.Sort(keys)
	_, err = r.git.run(ctx, command{dir: workDir(p), args: []string{"config", "--local", "--remove-section", "branch." + branch}, write: true})
	return failure("remove", "the worktree and its branch were removed, but not the branch's configuration",
		"remove it by hand: git config --remove-section "+quoted("branch."+branch), err)
}
