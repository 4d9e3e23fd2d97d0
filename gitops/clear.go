package gitops

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/threadtree/threadtree/workspace"
)

// Complete reports whether the attempt of w made its worktree to the end: the
// entry has the attempt's mark, directory and entry lead to each other, and
// the branch is checked out. The code is not_ready otherwise.
func (p *Provider) Complete(ctx context.Context, project workspace.Project, w workspace.Workspace) error {
	incomplete := func(why string, err error) error {
		return &workspace.Error{
			Code: workspace.ErrNotReady, ThreadID: w.ThreadID, Err: err,
			Message: fmt.Sprintf("the worktree %s was not made to the end: %s", w.Directory, why),
			Hint:    "create it again",
		}
	}
	if w.Directory == "" || w.Attempt.ID == "" {
		return incomplete("nothing was begun", nil)
	}
	admin := gitDirOf(w.Directory)
	if admin == "" || filepath.Dir(resolveExisting(admin)) != filepath.Join(project.ID, "worktrees") {
		return incomplete("it is no worktree of the project", nil)
	}
	e := readEntry(admin)
	switch {
	case !e.of(resolvedParent(w.Directory)):
		return incomplete("git has its entry for another directory", nil)
	case e.marker.Attempt != w.Attempt.ID:
		return incomplete("another attempt made it", nil)
	case !e.marker.Complete:
		return incomplete("it was interrupted", nil)
	}
	head, err := p.r.headOf(ctx, admin)
	if err != nil || head.branch() != w.Branch {
		return incomplete(fmt.Sprintf("the branch %s is not checked out", w.Branch), err)
	}
	return nil
}

// Clear removes what the attempt of w made: see [workspace.Provider]. It can
// be called again after it was interrupted at any point.
func (p *Provider) Clear(ctx context.Context, project workspace.Project, w workspace.Workspace) ([]string, error) {
	if w.Attempt.ID == "" || w.Directory == "" {
		return nil, nil
	}
	lock, err := p.r.lock(ctx, project)
	if err != nil {
		return nil, withOp("clear", err)
	}
	left, aside, err := p.r.clearLocked(ctx, project, w)
	lock.release()
	if removeErr := removeTrees(aside); err == nil && removeErr != nil {
		err = cantRemove("clear", "what the attempt left", removeErr)
	}
	return left, withOp("clear", err)
}

// clearing is one removal of an attempt's remains.
type clearing struct {
	r         *Repository
	project   workspace.Project
	w         workspace.Workspace
	directory string
	own       []entry
	left      []string
	aside     []string
}

// clearLocked does what needs the repository's lock. What it returns as aside
// is out of everybody's sight, and still has to be deleted.
func (r *Repository) clearLocked(ctx context.Context, p workspace.Project, w workspace.Workspace) (left, aside []string, err error) {
	c := &clearing{r: r, project: p, w: w, directory: resolvedParent(w.Directory)}
	if c.aside, err = r.dropClaims(p, w.Attempt.ID); err != nil {
		return nil, c.aside, err
	}
	if err := r.dropDeadPackedLock(ctx, p, w.Attempt.StartedAt); err != nil {
		return nil, c.aside, cantRemove("clear", "the lock on packed refs", err)
	}
	foreign, err := c.findOwn()
	if err == nil && !foreign {
		err = c.putAside()
	}
	if err == nil {
		err = c.bury()
	}
	if err == nil {
		err = c.deleteBranch(ctx)
	}
	return c.left, append(c.aside, buried(p.ID)...), err
}

func (c *clearing) leave(format string, args ...any) {
	c.left = append(c.left, fmt.Sprintf(format, args...))
}

// findOwn finds the entries that the attempt made. foreign is true where the
// directory is somebody else's by now.
func (c *clearing) findOwn() (foreign bool, err error) {
	entries, err := readEntries(c.project.ID)
	if err != nil {
		return false, cantRemove("clear", "the worktree's entry", err)
	}
	for _, e := range entries {
		switch {
		case e.attempt == c.w.Attempt.ID && (e.directory == "" || e.of(c.directory)):
			c.own = append(c.own, e)
		case e.attempt == c.w.Attempt.ID:
			c.leave("the worktree was moved to %s and was left there", e.directory)
		case e.of(c.directory):
			foreign = true
			c.leave("the worktree at %s was made by somebody else and was left there", c.directory)
		case e.unwritten() && e.named(c.directory):
			c.own = append(c.own, e)
		}
	}
	return foreign, nil
}

// putAside takes the directory away from its place, if the attempt made it.
func (c *clearing) putAside() error {
	hidden := asideName(c.directory, "cleared", c.w.Attempt.ID)
	if _, err := os.Lstat(hidden); err == nil {
		// An earlier call got as far as this.
		if err := removeTree(hidden); err != nil {
			return cantRemove("clear", hidden, err)
		}
	}
	info, err := os.Lstat(c.directory)
	switch {
	case isAbsent(err):
		return nil
	case err != nil:
		return cantRemove("clear", c.directory, err)
	case !info.IsDir():
		c.leave("%s is no directory and was left there", c.directory)
		return nil
	}
	if empty, _ := emptyOrAbsent(c.directory); empty {
		if err := os.Remove(c.directory); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cantRemove("clear", c.directory, err)
		}
		return nil
	}
	if !c.madeDirectory() {
		c.leave("the files in %s were not made by the attempt and were left there", c.directory)
		return nil
	}
	if err := os.Rename(c.directory, hidden); err != nil {
		return cantRemove("clear", c.directory, err)
	}
	c.aside = append(c.aside, hidden)
	return nil
}

// madeDirectory reports whether one of the attempt's entries is that of the
// directory, and the directory doesn't belong to another.
func (c *clearing) madeDirectory() bool {
	for _, e := range c.own {
		if !e.of(c.directory) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(c.directory, ".git")); isAbsent(err) {
			return within(c.directory, c.r.worktreesDir(c.project))
		}
		// git writes .git after the entry: a kill can leave it empty.
		target := gitDirOf(c.directory)
		return target == "" && within(c.directory, c.r.worktreesDir(c.project)) || resolveExisting(target) == resolveExisting(e.path)
	}
	return false
}

func (c *clearing) bury() error {
	for _, e := range c.own {
		to, err := buryEntry(c.project.ID, e.path)
		if err != nil {
			return cantRemove("clear", "the worktree's entry", err)
		}
		c.aside = append(c.aside, to)
	}
	return nil
}

// deleteBranch deletes the branch if the attempt made it and it is where it
// was made.
func (c *clearing) deleteBranch(ctx context.Context) error {
	branch := c.w.Branch
	if !c.w.BranchCreated || branch == "" {
		return nil
	}
	tip, err := c.r.tip(ctx, c.project, "refs/heads/"+branch)
	if err != nil {
		return err
	}
	if tip == "" {
		c.forgetUpstream(ctx)
		return nil
	}
	made, err := c.madeAt(ctx, tip)
	if err != nil {
		return err
	}
	if !made {
		c.leave("the branch %s has moved to %s since and was left there", branch, short(tip))
		return nil
	}
	kept := false
	err = c.r.deleteBranch(ctx, c.project, branch, tip, func(format string, args ...any) {
		kept = true
		c.leave(format, args...)
	})
	if err == nil && !kept {
		c.forgetUpstream(ctx)
	}
	return err
}

// madeAt reports whether the attempt made its branch at tip: at its base, or
// where a remote has a branch of that name.
func (c *clearing) madeAt(ctx context.Context, tip string) (bool, error) {
	if tip == c.w.BaseCommit {
		return true, nil
	}
	for _, e := range c.own {
		if e.marker.Start == tip {
			return true, nil
		}
	}
	remotes, err := c.r.remotes(ctx, c.project)
	if err != nil {
		return false, err
	}
	refs := c.r.openRefs(c.project.ID)
	for _, remote := range remotes {
		sha, err := refs.lookup(ctx, trackingRef(remote, c.w.Branch))
		if err != nil {
			return false, err
		}
		if sha == tip {
			return true, nil
		}
	}
	return false, nil
}

// deleteBranch deletes a branch that stands at tip at this very moment and is
// checked out nowhere; leave is told where it can't be.
func (r *Repository) deleteBranch(ctx context.Context, p workspace.Project, branch, tip string, leave func(string, ...any)) error {
	set, err := r.settings(ctx, p)
	if err != nil {
		return err
	}
	return r.deleteBranchBy(ctx, p, set, branch, tip, leave)
}

// deleteBranchBy is deleteBranch for settings that were read.
func (r *Repository) deleteBranchBy(ctx context.Context, p workspace.Project, set *settings, branch, tip string, leave func(string, ...any)) error {
	held, err := r.heldBy(ctx, p, set.mainTop, branch, "")
	if err != nil {
		return err
	}
	if held != "" {
		leave("the branch %s is checked out in %s and was left there", branch, held)
		return nil
	}
	_, err = r.git.run(ctx, command{
		dir: workDir(p), args: []string{"update-ref", "--no-deref", "-d", "refs/heads/" + branch, tip}, write: true,
		config: set.hooksOff(false),
	})
	if err == nil {
		return nil
	}
	if now, tipErr := r.tip(ctx, p, "refs/heads/"+branch); tipErr == nil && now != tip {
		if now != "" {
			leave("the branch %s has just moved to %s and was left there", branch, short(now))
		}
		return nil
	}
	return failure("", "the branch "+branch+" could not be deleted", "see what git says, then try again", err)
}

// asideName is where a directory is put to be deleted: beside it, so that it
// is the same disk, and under a name that a later call with the same key finds
// again.
func asideName(directory, why, key string) string {
	const room = 200 // of the 255 bytes that a name can have
	sum := sha256.Sum256([]byte(key))
	base := filepath.Base(directory)
	return filepath.Join(filepath.Dir(directory), "."+base[:min(len(base), room)]+"."+why+"-"+hex.EncodeToString(sum[:4]))
}
