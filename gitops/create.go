package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// addTries is how often git is asked for a worktree. It fails where another
// git process of somebody else's is writing an entry at that moment.
const addTries = 3

// making is one create.
type making struct {
	p   *Provider
	r   *Repository
	req workspace.CreateRequest
	set *settings
	// warnings are what went less than well so far.
	warnings []string
}

// Create makes a linked worktree with a branch, as [workspace.Provider] says.
// The worktree's entry is locked, with the attempt in the reason, until it is
// complete.
func (p *Provider) Create(ctx context.Context, req workspace.CreateRequest) (workspace.Created, error) {
	m := &making{p: p, r: p.r, req: req}
	plan, err := m.make(ctx)
	if err != nil {
		return workspace.Created{}, withOp("create", err)
	}
	return workspace.Created{Plan: plan, Warnings: m.warnings}, nil
}

func (m *making) make(ctx context.Context) (workspace.Plan, error) {
	c, err := m.prepare(ctx)
	if err != nil {
		return workspace.Plan{}, err
	}
	made, admin, err := m.claimAndAdd(ctx, c)
	if err != nil {
		return workspace.Plan{}, err
	}
	for _, w := range made.warnings {
		m.warn(workspace.PhaseAdd, "%s", w)
	}
	if err := m.checkout(ctx, made.plan.Directory, admin); err != nil {
		return workspace.Plan{}, err
	}
	m.furnish(ctx, made, admin)
	if err := ctx.Err(); err != nil {
		return workspace.Plan{}, failure("create", "the worktree could not be finished", "try again", err)
	}
	err = finishEntry(admin, m.marker(made))
	return made.plan, failure("create", "the worktree could not be marked as complete", "see that the repository can be written to", err)
}

// prepare does what needs no lock: the network, and all that can refuse the
// request before anything is touched.
func (m *making) prepare(ctx context.Context) (*chooser, error) {
	if err := checkBranch(m.req.Name.Branch); err != nil {
		return nil, err
	}
	if m.req.Base != "" {
		if err := workspace.CheckRef(m.req.Base); err != nil {
			return nil, err
		}
	}
	var err error
	if m.set, err = m.r.settings(ctx, m.req.Project); err != nil {
		return nil, err
	}
	c := &chooser{r: m.r, project: m.req.Project, name: m.req.Name, mainTop: m.set.mainTop}
	bases := &baseResolver{
		fetcher: &fetcher{
			r: m.r, project: m.req.Project, settings: m.set, timeout: m.p.o.FetchTimeout,
			inherit: m.req.Inherit, tell: m.req.Progress,
		},
		noFetch: m.req.NoFetch,
	}
	err = m.resolve(ctx, c, bases)
	m.warnings = append(m.warnings, bases.warnings...)
	if err != nil {
		return nil, err
	}
	// Refusals come before the lock, so that they leave no trace at all.
	if _, err := c.choose(ctx); err != nil {
		return nil, err
	}
	return c, nil
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
	if c.name.Kind != workspace.NameTitle {
		var err error
		if local, err = m.r.tip(ctx, c.project, "refs/heads/"+c.name.Branch); err != nil {
			return err
		}
		if local == "" {
			// A typed name is mostly a new one: no network is asked for it
			// unless a remote is known to have it.
			fetch := c.name.Kind == workspace.NameBranch || m.knownRemotely(ctx, c)
			if c.remoteTip, c.remote, err = bases.remoteTip(ctx, c.name.Branch, fetch); err != nil {
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

func (m *making) knownRemotely(ctx context.Context, c *chooser) bool {
	remotes, err := m.r.remotes(ctx, c.project)
	if err != nil {
		return false
	}
	refs := m.r.openRefs(c.project.ID)
	for _, remote := range remotes {
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

// claimAndAdd settles and claims what is made, and makes branch and entry,
// all under the repository's lock.
func (m *making) claimAndAdd(ctx context.Context, c *chooser) (choice, string, error) {
	lock, err := m.r.lock(ctx, m.req.Project)
	if err != nil {
		return choice{}, "", err
	}
	defer lock.release()
	c.claim = func(plan workspace.Plan) error { return m.req.Claim(ctx, plan) }
	made, err := c.choose(ctx)
	if err != nil {
		return choice{}, "", err
	}
	m.req.Progress(workspace.Event{Phase: workspace.PhaseAdd, Message: "Adding a worktree on " + made.plan.Branch})
	admin, err := m.add(ctx, lock, made)
	if err != nil {
		return choice{}, "", err
	}
	err = writeMarker(admin, m.marker(made))
	return made, admin, failure("create", "the worktree's entry can't be written to", "see that the repository can be written to", err)
}

func (m *making) marker(made choice) marker {
	return marker{Attempt: m.req.Attempt, Thread: m.req.ThreadID, Start: made.start}
}

// add runs "git worktree add", again where it failed and left nothing that
// couldn't be cleared.
func (m *making) add(ctx context.Context, lock *repoLock, made choice) (admin string, err error) {
	directory := made.plan.Directory
	if err := os.MkdirAll(filepath.Dir(directory), 0o755); err != nil {
		return "", (&taken{parent: filepath.Dir(directory)}).cantHold(err)
	}
	for try := 1; ; try++ {
		admin, err = m.addOnce(ctx, lock, made)
		if err == nil || ctx.Err() != nil || try == addTries {
			break
		}
		if clearErr := m.clearTry(ctx, made); clearErr != nil {
			err = errors.Join(err, clearErr)
			break
		}
		select {
		case <-time.After(time.Duration(try*try) * 30 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return admin, failure("create", "the worktree could not be added", m.addHint(), err)
}

// addOnce makes branch and entry, and no files.
func (m *making) addOnce(ctx context.Context, lock *repoLock, made choice) (admin string, err error) {
	args := []string{"worktree", "add", "-q", "--no-checkout", "--lock", "--reason=" + makingReason + m.req.Attempt}
	if made.plan.BranchCreated {
		args = append(args, "--no-track", "-b", made.plan.Branch, "--", made.plan.Directory, made.start)
	} else {
		// Only the short name attaches the branch.
		args = append(args, "--", made.plan.Directory, made.plan.Branch)
	}
	_, err = m.r.git.run(ctx, command{
		dir: workDir(m.req.Project), args: args, write: true,
		config: m.set.hooksOff(m.req.Setup), inherit: append(lock.inherit(), m.req.Inherit...),
	})
	if err != nil {
		return "", err
	}
	admin = gitDirOf(made.plan.Directory)
	if e := readEntry(admin); admin == "" || filepath.Dir(resolveExisting(admin)) != filepath.Join(m.req.Project.ID, "worktrees") || !e.of(made.plan.Directory) {
		return "", fmt.Errorf("git made an entry for %s that doesn't lead back to it", made.plan.Directory)
	}
	return admin, nil
}

// clearTry takes back what a failed try left, so that the next one finds
// things as they were.
func (m *making) clearTry(ctx context.Context, made choice) error {
	w := workspace.Workspace{
		Branch: made.plan.Branch, BranchCreated: made.plan.BranchCreated, BaseCommit: made.start,
		Directory: made.plan.Directory, Attempt: workspace.Attempt{ID: m.req.Attempt},
	}
	left, aside, err := m.r.clearLocked(ctx, m.req.Project, w)
	if err == nil {
		err = removeTrees(aside)
	}
	if err == nil && len(left) > 0 {
		err = errors.New(left[0])
	}
	return err
}

// addHint names an entry that keeps git from working in the repository.
func (m *making) addHint() string {
	entries, _ := readEntries(m.req.Project.ID)
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(e.path, "commondir"))
		if e.directory != "" && (err != nil || len(content) == 0) {
			return fmt.Sprintf("the entry %s is half written and keeps git from working; if no git command is running, move it away and try again", e.path)
		}
	}
	return "see what git says, then try again"
}

// checkout writes the files, exactly as "git worktree add" has it done. It
// needs no lock: nobody else knows of the worktree yet.
func (m *making) checkout(ctx context.Context, directory, admin string) error {
	m.req.Progress(workspace.Event{Phase: workspace.PhaseCheckout, Message: "Checking out files"})
	_, err := m.r.git.run(ctx, command{
		dir: directory, args: []string{"reset", "-q", "--hard", "--no-recurse-submodules"}, write: true,
		env: []string{"GIT_DIR=" + admin, "GIT_WORK_TREE=" + directory}, config: m.set.hooksOff(m.req.Setup),
		inherit: m.req.Inherit,
	})
	return failure("create", "the files could not be checked out", "see what git says; a filter that is required may be missing", err)
}

// furnish does what makes a worktree more useful and can only warn.
func (m *making) furnish(ctx context.Context, made choice, admin string) {
	m.cacheUntracked(ctx, made.plan.Directory, admin)
	m.initSubmodules(ctx, made.plan.Directory, admin)
	m.postCheckout(ctx, made.plan.Directory)
	if !m.req.Setup || ctx.Err() != nil {
		return
	}
	m.warnings = append(m.warnings, m.r.setup(ctx, setupRequest{
		options: m.p.o.Setup, source: m.set.mainTop, directory: made.plan.Directory,
		subdirectory: m.req.Project.Subdirectory, progress: m.req.Progress, inherit: m.req.Inherit,
	})...)
}

// largeIndex is the size of an index from which on keeping track of untracked
// files is worth its writing: some ten thousand files.
const largeIndex = 1 << 20

// cacheUntracked makes each later status of a large worktree faster. Where it
// can't, nothing is lost.
func (m *making) cacheUntracked(ctx context.Context, directory, admin string) {
	info, err := os.Stat(filepath.Join(admin, "index"))
	if err != nil || info.Size() < largeIndex || m.set.get("core.untrackedcache") != "" || m.set.get("core.splitindex") != "" {
		return
	}
	_, _ = m.r.git.run(ctx, command{
		dir: directory, args: []string{"update-index", "--untracked-cache"}, write: true, inherit: m.req.Inherit,
		config: m.set.hooksOff(m.req.Setup), timeout: time.Minute,
	})
}
