package gitops

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// ReviewOptions are the settings of a [Reviewer]. The zero value is usable.
type ReviewOptions struct {
	// Timeout bounds a look at branches, differences or overlaps, 60 s if 0.
	Timeout time.Duration
	// PushTimeout bounds a push, its hooks included, 2 min if 0.
	PushTimeout time.Duration
	// RepositoryHooks allows a pre-push hook that lies in a work tree, and so
	// is code that the repository brings.
	RepositoryHooks bool
}

// Reviewer compares workspaces, lists branches and publishes them. It is safe
// for concurrent use and keeps nothing.
type Reviewer struct {
	r *Repository
	o ReviewOptions
}

var _ workspace.Reviewing = (*Reviewer)(nil)

// NewReviewer returns a Reviewer of the projects that r reads.
func NewReviewer(r *Repository, o ReviewOptions) *Reviewer {
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.PushTimeout == 0 {
		o.PushTimeout = 2 * time.Minute
	}
	return &Reviewer{r: r, o: o}
}

// reviewed is the working copy of a workspace.
type reviewed struct {
	workspace.Worktree
	// gitDir is its entry in the common git directory.
	gitDir string
}

// find finds the working copy of w. The code is not_ready where there is none
// to look at.
func (v *Reviewer) find(ctx context.Context, p workspace.Project, w workspace.Workspace) (reviewed, error) {
	gone := func(why string, err error) error {
		return &workspace.Error{
			Code: workspace.ErrNotReady, ThreadID: w.ThreadID, Err: err,
			Message: fmt.Sprintf("the workspace of thread %s can't be looked at: %s", w.ThreadID, why),
			Hint:    "list the project's worktrees to see what became of it",
		}
	}
	if w.Directory == "" {
		return reviewed{}, gone("it has no directory", nil)
	}
	worktree, admin, err := v.r.worktreeAdmin(ctx, p, w.Directory)
	if errors.Is(err, workspace.ErrNotFound) {
		return reviewed{}, gone(fmt.Sprintf("%s has no worktree at %s", p.Name, w.Directory), err)
	}
	if err != nil {
		return reviewed{}, err
	}
	if why := (&looker{w: worktree, gitDir: admin}).absent(); why != "" {
		return reviewed{}, gone(why, nil)
	}
	return reviewed{worktree, admin}, nil
}

// parting is where a working copy and its base parted.
type parting struct {
	// base is the base as it is told to people.
	base string
	// branch is the base's short name.
	branch string
	// commit is the last one that both have.
	commit string
	// side is the base's fresher side, "" where the base is gone.
	side string
}

// parted finds out where the working copy with that HEAD left its base. Where
// the base is gone, the commit that it had at the beginning stands for it.
func (v *Reviewer) parted(ctx context.Context, c *comparer, w workspace.Workspace, head string) (parting, error) {
	side := c.side(ctx, w.Base)
	if err := ctx.Err(); err != nil {
		return parting{}, err
	}
	at := parting{base: side.branch, branch: side.branch, side: side.sha}
	sha := side.sha
	if side.unknown != "" {
		if w.BaseCommit == "" {
			return parting{}, &workspace.Error{
				Code: workspace.ErrTargetNotFound, ThreadID: w.ThreadID,
				Message: fmt.Sprintf("there is nothing to compare the workspace of thread %s with: %s", w.ThreadID, side.unknown),
				Hint:    "bring the base branch back, or fetch it",
			}
		}
		sha, at.side = w.BaseCommit, ""
		at.base = fmt.Sprintf("%s; compared with %s, where it began", side.unknown, short(sha))
	}
	var err error
	at.commit, err = v.mergeBase(ctx, c, sha, head)
	switch {
	case exitCode(err) > 1:
		return parting{}, &workspace.Error{
			Code: workspace.ErrTargetNotFound, ThreadID: w.ThreadID, Err: err,
			Message: fmt.Sprintf("the commit %s, which the workspace of thread %s is to be compared with, is not in the repository", short(sha), w.ThreadID),
			Hint:    "fetch it, or bring the base branch back",
		}
	case err != nil:
		return parting{}, err
	case at.commit == "":
		at.commit = sha
		at.base += " (no common history)"
	}
	return at, nil
}

// mergeBase returns the last commit that both have, "" if there is none.
func (v *Reviewer) mergeBase(ctx context.Context, c *comparer, base, head string) (string, error) {
	if head == "" || head == base {
		return head, nil
	}
	if _, ok := c.refs.linear(base, head); ok {
		return base, nil
	}
	sha, err := c.r.git.line(ctx, c.refs.command("merge-base", base, head))
	if exitCode(err) == 1 {
		return "", nil
	}
	return sha, err
}
