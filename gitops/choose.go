package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// maxVariants bounds the suffixes that are tried.
const maxVariants = 1000

// choice is what a create has settled to make.
type choice struct {
	plan workspace.Plan
	// start is the commit that a new branch starts at.
	start string
	// remote is the one that has the branch too, "" if none does.
	remote   string
	warnings []string
}

// chooser settles name, branch and directory. What it finds holds while the
// repository's lock is held.
type chooser struct {
	r       *Repository
	project workspace.Project
	name    workspace.Name
	base    base
	// remoteTip is where the branch stands on remote, which alone has it, ""
	// if there is none.
	remoteTip, remote string
	mainTop           string
	// local is where the branch stands, "" where there is none.
	local string
	// claim reserves a plan; nil looks only.
	claim func(workspace.Plan) error
}

// start is the commit that the branch is or will be at, "" where that isn't
// known.
func (c *chooser) start() string {
	return cmp.Or(c.local, c.remoteTip, c.base.commit)
}

// choose returns the first choice that is free and that the claim takes.
func (c *chooser) choose(ctx context.Context) (choice, error) {
	t, err := c.r.taken(ctx, c.project)
	if err != nil {
		return choice{}, err
	}
	if c.name.Kind == workspace.NameTitle {
		return c.derived(ctx, t)
	}
	return c.asked(ctx, t)
}

func (c *chooser) take(plan workspace.Plan) error {
	if c.claim == nil {
		return nil
	}
	return c.claim(plan)
}

// derived looks for a variant of a derived name that joins nothing.
func (c *chooser) derived(ctx context.Context, t *taken) (choice, error) {
	remotes, err := c.r.remotes(ctx, c.project)
	if err != nil {
		return choice{}, err
	}
	refs := c.r.openRefs(c.project.ID)
	for i := 1; i < maxVariants; i++ {
		name := c.name.Suffixed(i)
		if other, _ := t.clash(name.Branch); other != "" {
			if strings.HasPrefix(workspace.Fold(name.Branch), workspace.Fold(other)+"/") {
				// No suffix helps: it is the prefix that clashes.
				return choice{}, c.clashes(t, other)
			}
			continue
		}
		directory, why := t.directory(name.Slug)
		if why != "" {
			continue
		}
		onRemote := false
		for _, remote := range remotes {
			sha, err := refs.lookup(ctx, trackingRef(remote, name.Branch))
			if err != nil {
				return choice{}, err
			}
			onRemote = onRemote || sha != ""
		}
		if onRemote {
			continue
		}
		plan := workspace.Plan{
			Name: name.Slug, Branch: name.Branch, BranchCreated: true,
			Base: c.base.name, BaseCommit: c.base.commit, Directory: directory,
		}
		err := c.take(plan)
		if errors.Is(err, workspace.ErrAlreadyExists) {
			continue
		}
		return choice{plan: plan, start: c.base.commit}, err
	}
	return choice{}, c.allTaken(t)
}

func (c *chooser) allTaken(t *taken) error {
	return &workspace.Error{
		Code: workspace.ErrDirectoryExists, Op: "create",
		Message: fmt.Sprintf("%d variants of the name %s are taken, in %s or as branches; nothing was made", maxVariants-1, c.name.Slug, t.parent),
		Hint:    "use another name",
	}
}

// asked settles a name that a person gave: an existing branch is attached, one
// that only a remote has is made at its tip there, else a new one is made.
func (c *chooser) asked(ctx context.Context, t *taken) (choice, error) {
	made := choice{plan: workspace.Plan{
		Name: c.name.Slug, Branch: c.name.Branch, BranchCreated: true,
		Base: c.base.name, BaseCommit: c.base.commit,
	}, start: c.base.commit}
	other, same := t.clash(c.name.Branch)
	switch {
	case same:
		warning, err := c.attach(ctx)
		if err != nil {
			return choice{}, err
		}
		made.plan.BranchCreated, made.start = false, ""
		made.warnings = append(made.warnings, warning)
	case other != "":
		return choice{}, c.clashes(t, other)
	case c.remoteTip != "":
		made.start, made.remote = c.remoteTip, c.remote
		made.warnings = append(made.warnings, fmt.Sprintf("the branch %s exists on %s and was made at its tip there, %s",
			c.name.Branch, c.remote, short(c.remoteTip)))
	}
	return c.settleDirectory(t, made)
}

// settleDirectory finds a directory for a branch that is settled.
func (c *chooser) settleDirectory(t *taken, made choice) (choice, error) {
	var kept []string
	for i := 1; i < maxVariants; i++ {
		name := c.name.Suffixed(i)
		directory, why := t.directory(name.Slug)
		if why != "" {
			kept = append(kept, fmt.Sprintf("the directory %s was left as it is (%s)", directory, why))
			continue
		}
		made.plan.Name, made.plan.Directory = name.Slug, directory
		err := c.take(made.plan)
		if errors.Is(err, workspace.ErrAlreadyExists) && !c.branchClaimed(err) {
			continue
		}
		if len(kept) > 0 {
			made.warnings = append(made.warnings, strings.Join(kept, "; "))
		}
		return made, err
	}
	return choice{}, c.allTaken(t)
}

// branchClaimed reports whether a claim was refused for the branch, which
// another directory wouldn't change.
func (c *chooser) branchClaimed(err error) bool {
	e, ok := errors.AsType[*workspace.Error](err)
	return !ok || e.Workspace == nil || workspace.Fold(e.Workspace.Branch) == workspace.Fold(c.name.Branch)
}

// attach says that an existing branch is taken as it is, or refuses where it
// is checked out.
func (c *chooser) attach(ctx context.Context) (warning string, err error) {
	branch := c.name.Branch
	directory, err := c.r.heldBy(ctx, c.project, c.mainTop, branch, "")
	if err != nil {
		return "", err
	}
	if directory != "" {
		hint := "work in that one, or use another name"
		if absent, _ := emptyOrAbsent(directory); absent {
			hint = "that directory is missing: bring it back, or drop git's entry of it with: git worktree remove " + quoted(directory)
		}
		return "", &workspace.Error{
			Code: workspace.ErrBranchCheckedOut, Op: "create",
			Message: fmt.Sprintf("the branch %s is checked out in %s; nothing was made", branch, directory),
			Hint:    hint,
			Files:   []string{directory},
		}
	}
	sha, err := c.r.tip(ctx, c.project, "refs/heads/"+branch)
	if err == nil && sha == "" {
		err = &workspace.Error{
			Code: workspace.ErrGitFailed, Op: "create",
			Message: fmt.Sprintf("the branch %s exists and can't be read; nothing was made", branch),
			Hint:    "see what git says: git rev-parse " + quoted("refs/heads/"+branch),
		}
	}
	return fmt.Sprintf("the branch %s existed and was attached as it is, at %s", branch, short(sha)), err
}

// clashes refuses a branch that can't be made beside an existing one.
func (c *chooser) clashes(t *taken, other string) error {
	e := &workspace.Error{
		Code: workspace.ErrAlreadyExists, Op: "create",
		Message: fmt.Sprintf("a branch %s can't be made beside the existing branch %s; nothing was made", c.name.Branch, other),
		Hint:    "use another name, or rename that branch",
	}
	if free := t.freeName(c.name); free != "" {
		e.Hint = "use another name, for example " + free
	}
	return e
}

// short returns an object id as it is shown to people.
func short(sha string) string { return sha[:min(len(sha), 10)] }
