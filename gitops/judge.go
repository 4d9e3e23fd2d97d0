package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/threadtree/threadtree/workspace"
)

// verdict is what may be removed of a workspace at the moment of judging.
type verdict struct {
	// directory is the worktree, resolved except for its last part.
	directory string
	// admin is its entry, "" where that is gone.
	admin string
	// missing is true where the directory is gone.
	missing bool
	// head is the commit that is checked out, "" where there is none.
	head string
	// branch is the branch to delete if it still stands at tip, "" for none.
	branch, tip string
	// left has a line for each thing that stays.
	left []string
	// checkedOut is the branch that HEAD is on, "" for none.
	checkedOut string
	// look is what isn't committed, or lookErr why that isn't known.
	look    lookedAt
	lookErr error
	// submodules has a line for the commits of each submodule that are
	// nowhere else.
	submodules []string
	// embedded has a line for what only an ignored repository within has.
	embedded []string
	// mount is true where the directory is a mount point itself.
	mount bool
}

// judge is one look at what removing a workspace would lose.
type judge struct {
	r        *Repository
	project  workspace.Project
	w        workspace.Workspace
	force    bool
	needed   string // why the branch must stay, "" if it need not
	mainTop  string
	main     string // the default branch
	worktree workspace.Worktree
	comparer *comparer
	v        verdict
	against  []objection
	// ignored are the files and directories that git ignores, or ignoredErr
	// why they aren't known.
	ignored    []string
	ignoredErr error
}

// judge decides what of a workspace may be removed, or why nothing may; with
// force only what can never be removed is refused. It writes nothing. What it says holds
// under the repository's lock, as far as others respect that.
func (r *Repository) judge(ctx context.Context, req workspace.RemoveRequest) (verdict, error) {
	w := req.Workspace
	w.Base = strings.TrimPrefix(w.Base, "refs/heads/")
	j := &judge{
		r: r, project: req.Project, w: w, force: req.Force, needed: req.KeepBranch,
		v: verdict{directory: resolvedParent(w.Directory)},
	}
	steps := []func(context.Context) error{j.whose, j.guarded, j.held, j.clean, j.submoduleCommits, j.embedded, j.branches, j.used, j.conclude}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return verdict{}, failure("remove", "whether the worktree can be removed could not be found out; nothing was removed", "see what git says, then try again", err)
		}
	}
	return j.v, nil
}

// whose sees to it that the directory is a linked worktree of the project.
func (j *judge) whose(ctx context.Context) error {
	var err error
	if j.mainTop, err = j.r.mainTop(ctx, j.project); err != nil {
		return err
	}
	if j.comparer, err = j.r.newComparer(ctx, j.project); err != nil {
		return err
	}
	j.main = j.comparer.main
	directory := resolveExisting(j.v.directory)
	for _, kept := range []string{j.project.ID, j.mainTop, j.project.TopLevel} {
		if kept != "" && within(resolveExisting(kept), directory) {
			return j.refuse(workspace.ErrLocked, "correct the record of the thread", "%s holds the repository itself, %s", j.w.Directory, kept)
		}
	}
	info, err := os.Lstat(j.v.directory)
	j.v.missing = isAbsent(err)
	if err != nil && !j.v.missing {
		return cantRemove("remove", j.w.Directory, err)
	}
	j.worktree, j.v.admin, err = j.r.worktreeAdmin(ctx, j.project, j.v.directory)
	switch {
	case errors.Is(err, workspace.ErrNotFound) && j.v.missing:
		j.v.admin = ""
		return j.moved()
	case errors.Is(err, workspace.ErrNotFound):
		return j.refuse(workspace.ErrLocked, "see what it is; remove it by hand if it can go", "%s is no worktree of the project", j.w.Directory)
	case err != nil:
		return err
	}
	j.v.head, j.v.checkedOut = j.worktree.Head, j.worktree.Branch
	if j.v.missing {
		return nil
	}
	if !info.IsDir() {
		return j.refuse(workspace.ErrLocked, "put the worktree back in its place", "%s is no directory itself", j.w.Directory)
	}
	if _, err := os.Lstat(filepath.Join(j.v.directory, ".git")); isAbsent(err) {
		return j.refuse(workspace.ErrLocked, "run in "+quoted(workDir(j.project))+": git worktree repair", "%s lost its .git file", j.w.Directory)
	} else if err != nil {
		return cantRemove("remove", j.w.Directory, err)
	}
	if resolveExisting(gitDirOf(j.v.directory)) != resolveExisting(j.v.admin) {
		return j.refuse(workspace.ErrLocked, "see what it is; remove it by hand if it can go", "%s belongs to another repository or worktree", j.w.Directory)
	}
	return nil
}

// guarded sees to it that neither the default branch nor another worktree goes
// with it.
func (j *judge) guarded(context.Context) error {
	if j.v.admin == "" || j.v.missing {
		return nil
	}
	if b := j.worktree.Branch; b != "" && (b == j.main || b == j.w.Base && b != j.w.Branch) {
		return j.refuse(workspace.ErrLocked, "check out another branch there first", "%s, the default or base branch, is checked out in %s", b, j.w.Directory)
	}
	return j.alone()
}

// held looks whether somebody keeps the worktree on purpose.
func (j *judge) held(ctx context.Context) error {
	if j.v.admin == "" {
		return nil
	}
	if j.worktree.Locked {
		reason := j.worktree.LockReason
		if reason == "" {
			reason = "no reason was given"
		}
		j.object(rankLocked, workspace.ErrLocked, "unlock it when it can go: git worktree unlock "+quoted(j.w.Directory),
			"the worktree %s is locked: %s", j.w.Directory, reason)
	}
	if op := operation(j.v.admin); op != "" {
		j.object(rankOperation, workspace.ErrOperationInProgress, "finish or abort it first", "a %s is under way in %s", op, j.w.Directory)
	}
	if j.v.missing {
		return nil
	}
	what, err := j.r.unfinishedMerge(ctx, j.comparer, j.v.admin, j.v.checkedOut, j.v.head)
	if err != nil {
		return err
	}
	if what != "" {
		j.object(rankOperation, workspace.ErrOperationInProgress, "continue or abort it first", "%s isn't finished in %s", what, j.w.Directory)
	}
	if _, err := os.Lstat(filepath.Join(j.v.admin, "index.lock")); err == nil {
		j.object(rankLocked, workspace.ErrLocked, "wait for it; if no git command is running there, remove "+filepath.Join(j.v.admin, "index.lock"),
			"a git command is at work in %s, or was ended within", j.w.Directory).Err = workspace.ErrInUse
	}
	return nil
}

// alone sees to it that no other worktree lies within.
func (j *judge) alone() error {
	entries, err := readEntries(j.project.ID)
	if err != nil {
		return err
	}
	directory := resolveExisting(j.v.directory)
	for _, e := range entries {
		if e.path == j.v.admin || e.directory == "" {
			continue
		}
		if other := resolveExisting(e.directory); other != directory && within(other, directory) {
			return j.refuse(workspace.ErrLocked, "remove or move that one first", "another worktree, %s, lies within %s", e.directory, j.w.Directory)
		}
	}
	return nil
}

// clean looks for work that isn't committed.
func (j *judge) clean(ctx context.Context) error {
	if j.v.admin == "" || j.v.missing {
		return nil
	}
	// What is ignored is needed later, and takes as long to be listed.
	var group errgroup.Group
	group.Go(func() error {
		j.ignored, j.ignoredErr = j.r.ignored(ctx, j.v.admin, j.v.directory)
		return nil
	})
	if j.force {
		// A snapshot can do without what can't be found out.
		j.v.look, j.v.lookErr = j.r.lookHard(ctx, j.v.admin, j.v.directory, statusOptions{})
		_ = group.Wait()
		return ctx.Err()
	}
	var err error
	j.v.look, err = j.r.lookAt(ctx, j.v.admin, j.v.directory, statusOptions{})
	_ = group.Wait()
	if err != nil {
		return err
	}
	files := slices.Clone(j.v.look.hidden)
	for _, c := range j.v.look.report.changes {
		files = append(files, c.path)
	}
	slices.Sort(files)
	if files = slices.Compact(files); len(files) > 0 {
		e := j.object(rankDirty, workspace.ErrDirtyWorktree, "commit the changes",
			"there is work in %s that isn't committed (%s)", j.w.Directory, plural(len(files), "file"))
		e.Files = files
	}
	return nil
}

// used looks whether a process works in the directory, and sees to it that no
// other file system is mounted within.
func (j *judge) used(context.Context) error {
	if j.v.missing {
		return nil
	}
	directory := resolveExisting(j.v.directory)
	for _, mount := range mountsWithin(directory) {
		if mount != directory {
			return j.refuse(workspace.ErrLocked, "unmount it first", "a file system is mounted at %s", mount)
		}
		j.v.mount = true
	}
	if p, ok := processWithin(directory); ok {
		j.object(rankProcess, workspace.ErrLocked, "end it first, or let it change its directory",
			"the process %d (%s) works in %s", p.pid, p.command, p.directory).Err = workspace.ErrInUse
	}
	return nil
}
