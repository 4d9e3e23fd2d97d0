package gitops

import (
	"context"
	"errors"
	"fmt"

	"github.com/threadtree/threadtree/workspace"
)

// making is one create.
type making struct {
	p   *Provider
	r   *Repository
	req workspace.CreateRequest
	set *settings
	// written is true where the entry was written here and not by git.
	written bool
	// idle has git run at low priority.
	idle bool
	// branch waits to make the branch, nil where none does.
	branch *branchMaker
	// spare is the one that is kept for this create, nil for none, and claimed
	// where the one was that has become its worktree.
	spare   *spare
	claimed string
	// setup is what was done in that spare for the commit start.
	setup *spareSetup
	start string
	// placed is where its index says that it is.
	placed string
	// warnings are what went less than well so far.
	warnings []string
}

// Create makes a linked worktree with a branch, as [workspace.Provider] says.
// The worktree's entry is locked, with the attempt in the reason, until it is
// complete.
func (p *Provider) Create(ctx context.Context, req workspace.CreateRequest) (workspace.Created, error) {
	defer p.r.busy()()
	m := &making{p: p, r: p.r, req: req}
	defer m.wake()
	plan, err := m.make(ctx)
	if err != nil {
		return workspace.Created{}, withOp("create", err)
	}
	return workspace.Created{Plan: plan, Warnings: m.warnings}, nil
}

func (m *making) make(ctx context.Context) (workspace.Plan, error) {
	reserved := m.takeChecked()
	c, err := m.prepare(ctx)
	if err != nil {
		m.giveBack(<-reserved.found)
		return workspace.Plan{}, err
	}
	m.branchAhead(ctx, c)
	defer m.endBranch()
	m.bring(ctx, c, reserved)
	defer func() { m.giveBack(m.spare) }()
	m.awaitBranch(ctx)
	made, admin, err := m.claimAndAdd(ctx, c)
	m.branchDone()
	if err != nil {
		return workspace.Plan{}, err
	}
	for _, w := range made.warnings {
		m.warn(workspace.PhaseAdd, "%s", w)
	}
	if err := m.writeFiles(ctx, made, admin); err != nil {
		return workspace.Plan{}, err
	}
	m.furnish(ctx, made, admin)
	if err := ctx.Err(); err != nil {
		return workspace.Plan{}, failure("create", "the worktree could not be finished", "try again", err)
	}
	err = finishEntry(admin, m.marker(made))
	return made.plan, m.failed(made.plan, "the worktree could not be marked as complete", "see that the repository can be written to", err)
}

// prepare does what needs no lock: the network, and all that can refuse the
// request before anything is touched.
func (m *making) prepare(ctx context.Context) (*chooser, error) {
	c, bases, err := m.look(ctx)
	if err != nil {
		return nil, err
	}
	err = m.resolve(ctx, c, bases)
	m.warnings = append(m.warnings, bases.warnings...)
	if err != nil {
		return nil, err
	}
	if m.req.Prechecked {
		return c, nil
	}
	// Refusals come before the lock, so that they leave no trace at all.
	_, err = c.choose(ctx)
	return c, err
}

// look reads what a create goes by.
func (m *making) look(ctx context.Context) (*chooser, *baseResolver, error) {
	if err := checkBranch(m.req.Name.Branch); err != nil {
		return nil, nil, err
	}
	if m.req.Base != "" {
		if err := workspace.CheckRef(m.req.Base); err != nil {
			return nil, nil, err
		}
	}
	if err := m.r.takesWorktrees(ctx, m.req.Project); err != nil {
		return nil, nil, err
	}
	var err error
	if m.set == nil {
		if m.set, err = m.r.settings(ctx, m.req.Project); err != nil {
			return nil, nil, err
		}
	}
	c := &chooser{r: m.r, project: m.req.Project, name: m.req.Name, mainTop: m.set.mainTop}
	bases := &baseResolver{
		fetcher: &fetcher{
			r: m.r, project: m.req.Project, settings: m.set, timeout: m.p.o.FetchTimeout,
			inherit: m.req.Inherit, tell: m.req.Progress,
		},
		noFetch: m.req.NoFetch,
	}
	return c, bases, nil
}

// checkBranch refuses what git might read as anything but a new branch.
func checkBranch(branch string) error {
	if err := workspace.CheckRef(branch); err != nil || branch == "HEAD" {
		return &workspace.Error{
			Code: workspace.ErrInvalidName, Op: "create", Err: err,
			Message: fmt.Sprintf("%q is no valid branch name; nothing was made", branch),
			Hint:    "give a branch name that git accepts, for example feature/login",
		}
	}
	return nil
}

// resolve finds out what the branch starts from.
func (m *making) resolve(ctx context.Context, c *chooser, bases *baseResolver) error {
	local := ""
	defer func() { c.local = local }()
	if c.name.Kind != workspace.NameTitle {
		var err error
		if local, err = m.r.tip(ctx, c.project, "refs/heads/"+c.name.Branch); err != nil {
			return err
		}
		if local == "" {
			// A typed name is mostly a new one: no network is asked for it
			// where an ordinary fetch has told that no remote has it.
			fetch := c.name.Kind == workspace.NameBranch || m.maybeRemote(ctx, c)
			c.remoteTip, c.remote, err = bases.remoteTip(ctx, c.name.Branch, fetch)
			if err != nil && (m.req.Base == "" || !errors.Is(err, errNetwork)) {
				return err
			}
		}
	}
	var err error
	if local == "" && c.remoteTip == "" || m.req.Base != "" {
		c.base, err = bases.resolve(ctx, m.req.Base)
		return err
	}
	return m.defaultBase(ctx, c)
}

// maybeRemote reports whether a remote is known to have the branch, or could
// have it without that being known here.
func (m *making) maybeRemote(ctx context.Context, c *chooser) bool {
	remotes, err := m.r.remotes(ctx, c.project)
	if err != nil {
		return false
	}
	refs := m.r.openRefs(c.project.ID)
	for _, remote := range remotes {
		if !m.set.fetches(remote, c.name.Branch) {
			return true
		}
		if sha, err := refs.lookup(ctx, trackingRef(remote, c.name.Branch)); err != nil || sha != "" {
			return true
		}
	}
	return false
}

// defaultBase is what a branch that isn't made from a base is compared with.
func (m *making) defaultBase(ctx context.Context, c *chooser) error {
	name, err := m.r.defaultBranch(ctx, c.project)
	if err != nil || name == "" {
		return err
	}
	for _, ref := range []string{"refs/heads/" + name, trackingRef("origin", name)} {
		sha, err := m.r.tip(ctx, c.project, ref)
		if err != nil {
			return err
		}
		if sha != "" {
			c.base = base{name: name, commit: sha}
			return nil
		}
	}
	return nil
}

func (m *making) warn(phase workspace.Phase, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	m.warnings = append(m.warnings, message)
	m.req.Progress(workspace.Event{Phase: phase, Message: message, Warning: true})
}

// writeFiles writes the files, unless a spare has them.
func (m *making) writeFiles(ctx context.Context, made choice, admin string) error {
	if m.claimed != "" {
		return m.settleClaim(ctx, made, admin)
	}
	return m.checkout(ctx, made.plan, admin)
}

// furnish does what makes a worktree more useful and can only warn.
func (m *making) furnish(ctx context.Context, made choice, admin string) {
	m.warnHome(ctx)
	m.cacheUntracked(ctx, made.plan.Directory, admin)
	m.initSubmodules(ctx, made.plan.Directory, admin)
	m.postCheckout(ctx, made.plan.Directory)
	if !m.req.Setup || ctx.Err() != nil {
		return
	}
	m.warnings = append(m.warnings, m.r.setup(ctx, setupRequest{
		options: m.setupAfter(m.p.o.Setup, made), source: m.set.mainTop, directory: made.plan.Directory,
		subdirectory: m.req.Project.Subdirectory, progress: m.req.Progress, inherit: m.req.Inherit,
	})...)
}
