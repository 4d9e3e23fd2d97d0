package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
}

// judge is one look at what removing a workspace would lose.
type judge struct {
	r        *Repository
	project  workspace.Project
	w        workspace.Workspace
	mainTop  string
	main     string // the default branch
	worktree workspace.Worktree
	comparer *comparer
	v        verdict
}

// judge decides what of w may be removed, or why nothing may. It writes
// nothing. What it says holds under the repository's lock, as far as others
// respect that.
func (r *Repository) judge(ctx context.Context, p workspace.Project, w workspace.Workspace) (verdict, error) {
	w.Base = strings.TrimPrefix(w.Base, "refs/heads/")
	j := &judge{r: r, project: p, w: w, v: verdict{directory: resolvedParent(w.Directory)}}
	steps := []func(context.Context) error{j.whose, j.held, j.clean, j.branches, j.used}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return verdict{}, failure("remove", "whether the worktree can be removed could not be found out; nothing was removed", "see what git says, then try again", err)
		}
	}
	return j.v, nil
}

func (j *judge) refuse(code workspace.Code, hint, format string, args ...any) error {
	return &workspace.Error{
		Code: code, Op: "remove", ThreadID: j.w.ThreadID, Hint: hint,
		Message: fmt.Sprintf(format, args...) + "; nothing was removed",
	}
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
		return nil
	case errors.Is(err, workspace.ErrNotFound):
		return j.refuse(workspace.ErrLocked, "see what it is; remove it by hand if it can go", "%s is no worktree of the project", j.w.Directory)
	case err != nil:
		return err
	}
	j.v.head = j.worktree.Head
	if j.v.missing {
		return nil
	}
	if !info.IsDir() {
		return j.refuse(workspace.ErrLocked, "put the worktree back in its place", "%s is no directory itself", j.w.Directory)
	}
	if _, err := os.Lstat(filepath.Join(j.v.directory, ".git")); isAbsent(err) {
		return j.refuse(workspace.ErrLocked, "run in "+workDir(j.project)+": git worktree repair", "%s lost its .git file", j.w.Directory)
	} else if err != nil {
		return cantRemove("remove", j.w.Directory, err)
	}
	if resolveExisting(gitDirOf(j.v.directory)) != resolveExisting(j.v.admin) {
		return j.refuse(workspace.ErrLocked, "see what it is; remove it by hand if it can go", "%s belongs to another repository or worktree", j.w.Directory)
	}
	return nil
}

// held sees to it that nobody keeps the worktree on purpose.
func (j *judge) held(context.Context) error {
	if j.v.admin == "" {
		return nil
	}
	if j.worktree.Locked {
		reason := j.worktree.LockReason
		if reason == "" {
			reason = "no reason was given"
		}
		return j.refuse(workspace.ErrLocked, "unlock it when it can go: git worktree unlock "+j.w.Directory,
			"the worktree %s is locked: %s", j.w.Directory, reason)
	}
	if op := operation(j.v.admin); op != "" {
		return j.refuse(workspace.ErrOperationInProgress, "finish or abort it first", "a %s is under way in %s", op, j.w.Directory)
	}
	if j.v.missing {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(j.v.admin, "index.lock")); err == nil {
		return j.refuse(workspace.ErrLocked, "wait for it; if no git command is running there, remove "+filepath.Join(j.v.admin, "index.lock"),
			"a git command is at work in %s, or was ended within", j.w.Directory)
	}
	if b := j.worktree.Branch; b != "" && (b == j.main || b == j.w.Base && b != j.w.Branch) {
		return j.refuse(workspace.ErrLocked, "check out another branch there first", "%s, the default or base branch, is checked out in %s", b, j.w.Directory)
	}
	return j.alone()
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

// clean sees to it that there is no work which isn't committed.
func (j *judge) clean(ctx context.Context) error {
	if j.v.admin == "" || j.v.missing {
		return nil
	}
	report, err := j.r.status(ctx, j.v.admin, j.v.directory, "all")
	if err != nil {
		return err
	}
	files, err := j.r.hiddenEdits(ctx, j.v.admin, j.v.directory)
	if err != nil {
		return err
	}
	for _, c := range report.changes {
		files = append(files, c.path)
	}
	slices.Sort(files)
	files = slices.Compact(files)
	if len(files) == 0 {
		return j.submoduleCommits(ctx)
	}
	err = j.refuse(workspace.ErrDirtyWorktree, "commit the changes, or throw them away, and try again",
		"there is work in %s that isn't committed (%s)", j.w.Directory, plural(len(files), "file"))
	e, _ := errors.AsType[*workspace.Error](err)
	e.Files = files
	return e
}

// branches decides which branch goes, and sees to it that no commit is lost.
func (j *judge) branches(ctx context.Context) error {
	if err := j.ownBranch(ctx); err != nil {
		return err
	}
	if j.v.admin == "" || j.v.head == "" {
		return nil
	}
	if b := j.worktree.Branch; b != "" {
		if b != j.w.Branch {
			j.v.left = append(j.v.left, fmt.Sprintf("the branch %s, which is checked out there, was left", b))
		}
		return nil
	}
	n, err := j.lost(ctx, j.v.head, j.v.branch)
	if err != nil || n == 0 {
		return err
	}
	return j.unmerged(ctx, "the detached HEAD", j.v.head, n)
}

// ownBranch decides about the branch that was made with the workspace.
func (j *judge) ownBranch(ctx context.Context) error {
	branch := j.w.Branch
	if branch == "" {
		return nil
	}
	tip, err := j.r.tip(ctx, j.project, "refs/heads/"+branch)
	if err != nil || tip == "" {
		return err
	}
	keep := func(why string) error {
		j.v.left = append(j.v.left, fmt.Sprintf("the branch %s was left: %s", branch, why))
		return nil
	}
	switch {
	case !j.w.BranchCreated:
		return keep("it was there before the workspace")
	case branch == j.main || branch == j.w.Base:
		return keep("it is the default or base branch")
	}
	holder, err := j.r.heldBy(ctx, j.project, j.mainTop, branch, j.v.admin)
	if err != nil {
		return err
	}
	if holder != "" {
		return keep("it is checked out in " + holder)
	}
	n, err := j.lost(ctx, tip, branch)
	if err != nil {
		return err
	}
	if n > 0 {
		err := j.unmerged(ctx, "the branch "+branch, tip, n)
		switch {
		case err == nil:
		case errors.Is(err, workspace.ErrUnmerged) && (j.v.missing || j.worktree.Branch != branch):
			// Nothing but the name would be gained by deleting it.
			return keep(fmt.Sprintf("no other branch has %s of it, up to %s", plural(n, "commit"), short(tip)))
		default:
			return err
		}
	}
	j.v.branch, j.v.tip = branch, tip
	return nil
}

// lost counts the commits that no ref but the given branch has, and no HEAD of
// the main checkout.
func (j *judge) lost(ctx context.Context, sha, branch string) (int, error) {
	args := []string{"rev-list", "--count", sha, "--not"}
	if branch != "" {
		args = append(args, "--exclude="+branch)
	}
	args = append(args, "--branches", "--tags", "--remotes")
	if h, err := j.r.headOf(ctx, j.project.ID); err == nil && h.sha != "" {
		args = append(args, h.sha)
	}
	out, err := j.r.git.line(ctx, j.comparer.refs.command(append(args, "--")...))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out)
}

// unmerged is nil where the base or the default branch has what the commits
// bring, as after a squash merge.
func (j *judge) unmerged(ctx context.Context, what, sha string, n int) error {
	why := ""
	for _, name := range slices.Compact([]string{j.w.Base, ""}) {
		side := j.comparer.side(ctx, name)
		if side.unknown != "" {
			continue
		}
		rel, err := j.comparer.relation(ctx, side.sha, sha)
		switch {
		case err != nil:
			return err
		case rel.merged != nil && *rel.merged:
			return nil
		case rel.unknown != "":
			why = ", and whether they were merged otherwise is not known: " + rel.unknown
		}
	}
	return j.refuse(workspace.ErrUnmerged, "merge or push them first",
		"%s has %s, up to %s, that no other branch has%s", what, plural(n, "commit"), sha, why)
}

// used sees to it that no process works in the directory.
func (j *judge) used(context.Context) error {
	if j.v.missing {
		return nil
	}
	directory := resolveExisting(j.v.directory)
	if mount := mountWithin(directory); mount != "" {
		return j.refuse(workspace.ErrLocked, "unmount it first", "a file system is mounted at %s", mount)
	}
	if p, ok := processWithin(directory); ok {
		return j.refuse(workspace.ErrLocked, "end it first, or let it change its directory",
			"the process %d (%s) works in %s", p.pid, p.command, p.directory)
	}
	return nil
}
