package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// taking is one Take.
type taking struct {
	*making
	// start makes the worktree.
	start func(ctx context.Context, plan workspace.Plan) (directory string, err error)
	// since is when it was called.
	since time.Time
}

// Take does what Create does with a worktree that somebody else makes: name,
// branch, base and what is done with the fresh worktree are by the same rules,
// and only the place is the other's. start is called once the plan is claimed,
// with no directory in it, and returns the directory of a linked worktree of
// the project that is whole by then: with a detached HEAD, or on the plan's
// branch where that is to be made. An error of start is returned as it is.
// After an error the caller calls Clear, with the directory where that is
// known.
//
// Where the repository brings hooks that it would run unasked, the code is
// permission_denied, unless req.Setup allows them.
func (p *Provider) Take(ctx context.Context, req workspace.CreateRequest, start func(ctx context.Context, plan workspace.Plan) (directory string, err error)) (workspace.Created, error) {
	t := &taking{making: &making{p: p, r: p.r, req: req}, start: start}
	plan, err := t.take(ctx)
	if err != nil {
		return workspace.Created{}, withOp("create", err)
	}
	return workspace.Created{Plan: plan, Warnings: t.warnings}, nil
}

func (t *taking) take(ctx context.Context) (workspace.Plan, error) {
	c, err := t.prepare(ctx)
	if err != nil {
		return workspace.Plan{}, err
	}
	if t.set.hooksInTree && !t.req.Setup {
		return workspace.Plan{}, &workspace.Error{
			Code: workspace.ErrPermissionDenied, Op: "create",
			Message: "the repository brings hooks of its own (core.hooksPath), and who makes this worktree would run them; nothing was made",
			Hint:    "allow the set-up of the repository, or have git make the workspace",
		}
	}
	made, err := t.claimPlace(ctx, c)
	if err != nil {
		return workspace.Plan{}, err
	}
	t.since = time.Now()
	directory, err := t.start(ctx, made.plan)
	if err != nil {
		return workspace.Plan{}, err
	}
	admin, err := t.join(ctx, &made, directory)
	if err != nil {
		return workspace.Plan{}, err
	}
	for _, w := range made.warnings {
		t.warn(workspace.PhaseAdd, "%s", w)
	}
	if err := t.checkout(ctx, made.plan, admin); err != nil {
		return workspace.Plan{}, err
	}
	t.furnish(ctx, made, admin)
	if err := ctx.Err(); err != nil {
		return workspace.Plan{}, failure("create", "the worktree could not be finished", "try again", err)
	}
	err = finishEntry(admin, t.marker(made))
	return made.plan, t.failed(made.plan, "the worktree could not be marked as complete", "see that the repository can be written to", err)
}

// claimPlace settles and claims the name and the branch.
func (t *taking) claimPlace(ctx context.Context, c *chooser) (choice, error) {
	lock, err := t.r.lock(ctx, t.req.Project)
	if err != nil {
		return choice{}, err
	}
	defer lock.release()
	c.claim = func(plan workspace.Plan) error {
		plan.Directory = ""
		return t.req.Claim(ctx, plan)
	}
	made, err := c.choose(ctx)
	made.plan.Directory = ""
	return made, err
}

// join makes a worktree the attempt's own and puts it on its branch.
func (t *taking) join(ctx context.Context, made *choice, directory string) (admin string, err error) {
	lock, err := t.r.lock(ctx, t.req.Project)
	if err != nil {
		return "", err
	}
	defer lock.release()
	directory = resolvedParent(directory)
	admin, e, err := t.r.fresh(t.req.Project, directory, t.req.Attempt, t.since)
	if err != nil {
		return "", err
	}
	made.plan.Directory = directory
	if err := writeMarker(e.path, t.marker(*made)); err != nil {
		return "", t.failed(made.plan, "the worktree's entry can't be written to", "see that the repository can be written to", err)
	}
	if err := t.req.Claim(ctx, made.plan); err != nil {
		return "", err
	}
	if err := t.switchTo(ctx, lock, *made, admin); err != nil {
		return "", t.failed(made.plan, "the worktree could not be put on its branch", "see what git says, then try again", err)
	}
	t.setUpstream(ctx, made)
	return admin, nil
}

// clockSlack is how far a file system's clock may be behind.
const clockSlack = time.Second

// fresh is the entry of a linked worktree that no attempt but the given one
// has made, and nobody before that began.
func (r *Repository) fresh(p workspace.Project, directory, attempt string, since time.Time) (admin string, e entry, err error) {
	strange := func(why string) error {
		return &workspace.Error{
			Code: workspace.ErrProviderFailed, Op: "create",
			Message: fmt.Sprintf("%s was to be a new worktree of %s: %s; it was left as it is", directory, p.Name, why),
			Hint:    "try again, or have git make the workspace",
		}
	}
	admin = gitDirOf(directory)
	if admin == "" || filepath.Dir(resolveExisting(admin)) != filepath.Join(p.ID, "worktrees") {
		return "", entry{}, strange("it is no worktree of it")
	}
	e = readEntry(admin)
	switch {
	case !e.of(directory):
		return "", entry{}, strange("git has its entry for another directory")
	case e.attempt != "" && e.attempt != attempt:
		return "", entry{}, strange("another attempt made it")
	case e.attempt == "" && !madeSince(e, since.Add(-clockSlack)):
		// Somebody works in it.
		return "", entry{}, strange("it was there before")
	}
	return admin, e, nil
}

// madeSince reports whether an entry was made at that time or later. Git writes
// this file of it once.
func madeSince(e entry, since time.Time) bool {
	info, err := os.Stat(filepath.Join(e.path, "commondir"))
	return err == nil && !info.ModTime().Before(since)
}

// switchTo puts HEAD on the branch, which is made where it has to be. The
// files follow.
func (t *taking) switchTo(ctx context.Context, lock *repoLock, made choice, admin string) error {
	head, err := t.r.headOf(ctx, admin)
	if err != nil {
		return err
	}
	ref := "refs/heads/" + made.plan.Branch
	old := strings.Repeat("0", len(made.start))
	switch on := head.branch(); {
	case on == "":
	case on == made.plan.Branch && made.plan.BranchCreated:
		// Whoever made the worktree made the branch with it.
		if old, err = t.r.tip(ctx, t.req.Project, ref); err != nil {
			return err
		}
	default:
		return fmt.Errorf("it is on the branch %s", on)
	}
	if made.plan.BranchCreated && old != made.start {
		if err := t.run(ctx, lock, admin, made.plan.Directory, "update-ref", "-m", "branch: Created from "+made.plan.Base, ref, made.start, old); err != nil {
			return err
		}
	} else if !made.plan.BranchCreated {
		// It was free when it was chosen, and others need no lock of ours.
		directory, err := t.r.heldBy(ctx, t.req.Project, t.set.mainTop, made.plan.Branch, admin)
		if err != nil || directory != "" {
			return errorsOr(err, fmt.Errorf("the branch is checked out in %s", directory))
		}
	}
	return t.run(ctx, lock, admin, made.plan.Directory, "symbolic-ref", "-m", "checkout: moving to "+made.plan.Branch, "HEAD", ref)
}

func errorsOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

func (t *taking) run(ctx context.Context, lock *repoLock, admin, directory string, args ...string) error {
	_, err := t.r.git.run(ctx, command{
		dir: directory, args: args, write: true, env: []string{"GIT_DIR=" + admin, "GIT_WORK_TREE=" + directory},
		config: t.set.hooksOff(t.req.Setup), inherit: append(lock.inherit(), t.req.Inherit...),
	})
	return err
}

// Own marks a linked worktree of the project as made by an attempt, so that
// Clear takes it for that: for one that was made by somebody else on the
// attempt's behalf, before the attempt could do so. It is no error where there
// is nothing in directory; a worktree of another attempt, or one that was there
// before this one began, is left alone, with the code provider_failed.
func (p *Provider) Own(ctx context.Context, project workspace.Project, directory string, attempt workspace.Attempt) error {
	directory = resolvedParent(directory)
	if absent, err := emptyOrAbsent(directory); absent || err != nil {
		return nil
	}
	lock, err := p.r.lock(ctx, project)
	if err != nil {
		return withOp("clear", err)
	}
	defer lock.release()
	_, e, err := p.r.fresh(project, directory, attempt.ID, attempt.StartedAt)
	if err != nil || e.marker.Attempt == attempt.ID {
		return withOp("clear", err)
	}
	return withOp("clear", writeMarker(e.path, marker{Attempt: attempt.ID}))
}

// Reclaim removes a worktree that was made on an attempt's behalf, as Own tells
// them, after the attempt had given up. One in which somebody may have worked
// since goes only where nothing is lost by it, with the refusals of Remove; one
// that was not made to the end, only where it is abandoned: nobody is at it any
// more. The code is locked otherwise. It is no error where nothing is there. The
// branch goes as with Clear. left has a line for what is not the attempt's.
func (p *Provider) Reclaim(ctx context.Context, project workspace.Project, w workspace.Workspace, abandoned bool) (left []string, err error) {
	err = p.Own(ctx, project, w.Directory, w.Attempt)
	if e, ok := errors.AsType[*workspace.Error](err); ok && e.Code == workspace.ErrProviderFailed {
		return []string{e.Message}, nil
	}
	if err != nil {
		return nil, err
	}
	if admin := gitDirOf(resolvedParent(w.Directory)); admin != "" {
		switch _, err := os.Lstat(filepath.Join(admin, "index")); {
		case err == nil:
			if _, err := p.r.remove(ctx, workspace.RemoveRequest{Project: project, Workspace: w}); err != nil {
				return nil, withOp("clear", err)
			}
		case !abandoned:
			return nil, &workspace.Error{
				Code: workspace.ErrLocked, Op: "clear",
				Message: fmt.Sprintf("the worktree %s is still being made; it was left as it is", w.Directory), Hint: "try again when it is whole",
			}
		}
	}
	return p.Clear(ctx, project, w)
}
