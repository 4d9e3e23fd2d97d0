package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// Worktrees returns the linked worktrees of the project, sorted by directory:
// those that are missing, half made or damaged are among them and say so, and
// deleted ones that can be restored are not. It reads the repository's records and starts no process.
func (r *Repository) Worktrees(ctx context.Context, p workspace.Project) ([]workspace.Worktree, error) {
	records, err := readRecords(p.ID)
	if err != nil {
		return nil, withOp("list", err)
	}
	records = slices.DeleteFunc(records, record.deleted)
	if len(records) == 0 {
		return nil, nil
	}
	x := r.openRefs(p.ID)
	shared, err := r.git.checkoutConfig(ctx, p.ID, p.ID)
	if err != nil {
		return nil, withOp("list", unreadable(p.ID, err))
	}
	worktrees := make([]workspace.Worktree, len(records))
	inParallel(len(records), func(i int) {
		if ctx.Err() == nil {
			worktrees[i] = r.complete(ctx, x, records[i], shared.perWorktree)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, failure("list", "the worktrees could not be listed", "", err)
	}
	slices.SortFunc(worktrees, func(a, b workspace.Worktree) int {
		if c := strings.Compare(a.Directory, b.Directory); c != 0 {
			return c
		}
		return strings.Compare(a.Admin, b.Admin)
	})
	return worktrees, nil
}

// complete looks at an entry's worktree and at its HEAD.
func (r *Repository) complete(ctx context.Context, x *refs, e record, perWorktree bool) workspace.Worktree {
	if e.head.ref == reftableHead {
		if h, err := r.askHead(ctx, e.admin); err == nil {
			e.head = h
		}
	}
	w := e.look()
	var err error
	if w.Head, w.Branch, err = x.checkedOut(ctx, e.head); err != nil {
		w.Broken = joinFault(w.Broken, fmt.Sprintf("its HEAD can't be read: %v", err))
	}
	w.Detached = w.Branch == ""
	if perWorktree && w.Broken == "" {
		c, err := r.git.checkoutConfig(ctx, x.common, e.admin)
		if err == nil && c.bareSet && c.bare {
			w.Broken = sharedBareFault(x.common)
		}
	}
	return w
}

// Inspect looks at one directory, which must be the top of a working copy
// itself, and returns its project and what git has of it. A linked worktree
// that its repository has at another place, because it was moved or copied, is
// returned with Broken saying so. The codes are not_found, not_a_repository,
// permission_denied and git_failed. It starts no process.
func (r *Repository) Inspect(ctx context.Context, directory string) (workspace.Project, workspace.Worktree, error) {
	s, err := r.site(ctx, directory)
	if err == nil {
		err = s.checkTop()
	} else {
		err = lostDotGit(directory, err)
	}
	if err != nil {
		return workspace.Project{}, workspace.Worktree{}, withOp("inspect", err)
	}
	w, err := r.inspect(ctx, s)
	if err != nil {
		return workspace.Project{}, workspace.Worktree{}, withOp("inspect", err)
	}
	return s.project(directory), w, nil
}

// checkTop refuses a directory that is not the top of a working copy: git
// would work in the repository around it.
func (s site) checkTop() error {
	switch {
	case s.top == s.directory:
		return nil
	case s.top == "" && s.dotGit != "":
		return &workspace.Error{
			Code:    workspace.ErrNotARepository,
			Message: fmt.Sprintf("%s is no working copy: core.bare is true in the configuration of its repository %s", s.directory, s.common),
			Hint:    "work in one of the repository's worktrees, or set core.bare to false if it has files of its own",
		}
	case s.top == "" || within(s.directory, s.common):
		return &workspace.Error{
			Code:    workspace.ErrNotARepository,
			Message: fmt.Sprintf("%s is no working copy: it lies in the git directory %s", s.directory, s.common),
			Hint:    "give the top of a working copy",
		}
	}
	return &workspace.Error{
		Code:    workspace.ErrNotARepository,
		Message: fmt.Sprintf("%s is no working copy of its own: it lies in that of %s", s.directory, s.top),
		Hint:    "work done in this directory would go to the repository around it; " + lostHint,
	}
}

// lostHint is what to do with a directory that has no .git of its own.
const lostHint = "if it was a worktree, run in its repository: git worktree repair; if not, make the workspace anew"

// lostDotGit puts the hint for a worktree that lost its .git on the error that
// the directory is in no repository: a new repository there is no way out.
func lostDotGit(directory string, err error) error {
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok || e.Code != workspace.ErrNotARepository {
		return err
	}
	if _, statErr := os.Lstat(filepath.Join(directory, ".git")); !errors.Is(statErr, fs.ErrNotExist) {
		return err
	}
	told := *e
	told.Hint = lostHint
	return &told
}

func (r *Repository) inspect(ctx context.Context, s site) (workspace.Worktree, error) {
	x := r.openRefs(s.common)
	if s.linked() {
		return r.inspectLinked(ctx, s, x)
	}
	h, err := r.headOf(ctx, s.gitDir)
	if err != nil {
		return workspace.Worktree{}, err
	}
	w := workspace.Worktree{Directory: s.top, Main: true}
	w.Head, w.Branch, err = x.checkedOut(ctx, h)
	w.Detached = w.Branch == ""
	return w, err
}

func (r *Repository) inspectLinked(ctx context.Context, s site, x *refs) (workspace.Worktree, error) {
	e, ok, err := readRecord(s.gitDir)
	if err != nil {
		return workspace.Worktree{}, err
	}
	if !ok {
		return workspace.Worktree{}, missingGitDir(s.top, s.gitDir)
	}
	recorded := e.directory()
	if recorded != "" && !samePlace(recorded, s.top) {
		e.fault = joinFault(e.fault, movedFault(recorded, s.top))
	}
	if recorded == "" || e.fault != "" {
		e.dotGit = s.dotGit
	}
	w := r.complete(ctx, x, e, false)
	if s.fault != "" {
		w.Broken = joinFault(w.Broken, s.fault)
	}
	return w, nil
}

// movedFault explains a worktree that isn't where its repository has it.
func movedFault(recorded, actual string) string {
	if _, err := os.Lstat(recorded); isAbsent(err) {
		return fmt.Sprintf("the worktree was moved: its repository has it at %s; run in it: git worktree repair %s", recorded, quoted(actual))
	}
	return fmt.Sprintf("the directory is a copy: its repository has the worktree at %s, and that is there too", recorded)
}

// worktreeAdmin returns the linked worktree of the project at that directory,
// in any spelling, and the path of its entry. Without one the code is
// not_found. A directory that is missing is found by the spelling that git
// has.
func (r *Repository) worktreeAdmin(ctx context.Context, p workspace.Project, directory string) (workspace.Worktree, string, error) {
	records, err := readRecords(p.ID)
	if err != nil {
		return workspace.Worktree{}, "", err
	}
	wanted := resolvedParent(directory)
	var found *record
	for i := range records {
		e := &records[i]
		if e.dotGit == "" || resolvedParent(e.directory()) != wanted {
			continue
		}
		// Of two records for one place it is the one that the place's .git
		// file belongs to.
		if found == nil || e.look().Broken == "" {
			found = e
		}
	}
	if found == nil {
		return workspace.Worktree{}, "", &workspace.Error{
			Code:    workspace.ErrNotFound,
			Message: fmt.Sprintf("%s has no worktree at %s", p.Name, directory),
			Hint:    "list the project's worktrees",
		}
	}
	shared, err := r.git.checkoutConfig(ctx, p.ID, p.ID)
	if err != nil {
		return workspace.Worktree{}, "", unreadable(p.ID, err)
	}
	return r.complete(ctx, r.openRefs(p.ID), *found, shared.perWorktree), found.admin, nil
}

// resolvedParent resolves the symlinks in a path but for its last part, which
// may be missing. Where that can't be done the path is returned clean.
func resolvedParent(path string) string {
	path = filepath.Clean(path)
	if parent, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(parent, filepath.Base(path))
	}
	return path
}

// Managed reports whether directory lies where the library puts the worktrees
// that it makes: below the directory worktrees of its home. Symlinks are
// resolved as far as the path exists.
func (r *Repository) Managed(directory string) bool {
	if directory == "" {
		return false
	}
	abs, err := filepath.Abs(directory)
	if err != nil {
		return false
	}
	root := resolveExisting(filepath.Join(r.home, "worktrees"))
	path := resolveExisting(abs)
	return path != root && within(path, root)
}

// resolveExisting resolves the symlinks of the part of a path that exists.
func resolveExisting(path string) string {
	rest := ""
	for current := filepath.Clean(path); ; {
		if resolved, err := filepath.EvalSymlinks(current); err == nil {
			return filepath.Join(resolved, rest)
		}
		parent := filepath.Dir(current)
		if parent == current {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(current), rest)
		current = parent
	}
}
