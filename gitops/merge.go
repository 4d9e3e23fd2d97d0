package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/threadtree/threadtree/workspace"
)

// mergeTries is how often a merge is composed where the target moves before
// it could be moved.
const mergeTries = 5

// MergeOptions are the settings of a [Merger]. The zero value is usable.
type MergeOptions struct {
	// RepositoryHooks allows the hooks that lie in a checkout of the project:
	// code that the repository brings. Those in the git directory are the
	// operator's own and run in any case.
	RepositoryHooks bool
	// HookTimeout bounds each hook that is run by itself, and each change of a
	// ref, 1 min if 0.
	HookTimeout time.Duration
	// GitTimeout bounds a rebase or a merge that git does in the workspace,
	// with its hooks, 10 min if 0.
	GitTimeout time.Duration
	// Backups is how many merges of a workspace have the tips from before
	// them kept, 10 if 0.
	Backups int

	// step is told of each step that was done, for tests.
	step func(string)
}

// Merger brings commits home with git. It is safe for concurrent use.
type Merger struct {
	r *Repository
	o MergeOptions
}

var (
	_ workspace.Merging     = (*Merger)(nil)
	_ workspace.MergeTeller = (*Merger)(nil)
)

// NewMerger returns a Merger over the repositories that r reads.
func NewMerger(r *Repository, o MergeOptions) *Merger {
	if o.HookTimeout <= 0 {
		o.HookTimeout = time.Minute
	}
	if o.GitTimeout <= 0 {
		o.GitTimeout = 10 * time.Minute
	}
	if o.Backups <= 0 {
		o.Backups = 10
	}
	if o.step == nil {
		o.step = func(string) {}
	}
	return &Merger{r: r, o: o}
}

// errTargetMoved is a target that moved while its new tip was composed.
var errTargetMoved = errors.New("the target moved")

// merging is one merge.
type merging struct {
	g    *Merger
	r    *Repository
	req  workspace.MergeRequest
	set  *settings
	refs *refs

	// at is the workspace's checkout, branch what is checked out there, "" for
	// a detached HEAD, and tip its commit.
	at     checkout
	branch string
	tip    string
	// journal is that of an earlier call, nil for none.
	journal *mergeJournal

	// target is the short name of the branch to merge into, onto its tip.
	target, onto string
	strategy     workspace.Strategy
	message      string
	keep         bool
	// resolved is true where the commits are those of a paused merge that was
	// finished.
	resolved bool
	// lost are the commits that resolving it has made empty, and lostIn is the
	// ref that keeps them.
	lost   []workspace.CommitInfo
	lostIn string
	// ended is true where the paused rebase was ended in the middle.
	ended bool
	// finished is what git has finished within this call that was paused, such
	// as a rebase, "" for nothing.
	finished string
	// parent and parentMerges are as in composeInput.
	parent       string
	parentMerges int
	// kept are the refs that keep the tips from before.
	kept []string
	// onWay are the paths that differ on the workspace's way, as far as they
	// were looked at.
	onWay wayBetween
	// written are the paths that git will write in the workspace, on its way.
	written []treeChange
	// text is what git is to say in the one commit of a squash or a merge.
	text joinText

	// lock is the repository's, while it is held.
	lock *repoLock
	// unsettled is what kept leftovers of a killed process from being settled.
	unsettled error
	warnings  []string
}

// wayBetween is how two commits differ.
type wayBetween struct {
	from, to string
	changes  []treeChange
	// fromTree is the tree of from, "" where it isn't known.
	fromTree string
}

// Merge brings the workspace's commits to the target, as [workspace.Merging]
// says. New commits are composed in memory. Where git has to make them itself,
// because they are signed or hooks are to run, it does so in the workspace.
func (g *Merger) Merge(ctx context.Context, req workspace.MergeRequest) (workspace.Merged, error) {
	defer g.r.busy()()
	m, err := g.begin(ctx, req)
	if err != nil {
		return workspace.Merged{}, withOp("merge", err)
	}
	merged, err := m.merge(ctx)
	return merged, withOp("merge", err)
}

// begin settles what a killed process left in the project.
func (g *Merger) begin(ctx context.Context, req workspace.MergeRequest) (*merging, error) {
	m, err := g.merging(ctx, req)
	if err != nil || !g.r.interrupted(req.Project) {
		return m, err
	}
	err = m.hold(ctx, func() error {
		var done []string
		// What of other workspaces can't be settled yet is theirs; of this one
		// it is met again.
		done, m.unsettled = g.recoverLocked(ctx, req.Project, m.lock)
		for _, line := range done {
			m.tell(workspace.PhaseMerge, "%s", line)
		}
		return nil
	})
	return m, err
}

// merging prepares a call. A preview needs no settings.
func (g *Merger) merging(ctx context.Context, req workspace.MergeRequest) (*merging, error) {
	m := g.looking(req)
	var err error
	m.set, err = g.r.settings(ctx, req.Project)
	return m, err
}

func (g *Merger) looking(req workspace.MergeRequest) *merging {
	if req.Strategy == "" {
		req.Strategy = workspace.StrategyRebase
	}
	return &merging{
		g: g, r: g.r, req: req, refs: g.r.openRefs(req.Project.ID),
		strategy: req.Strategy, message: req.Message, keep: req.KeepBranch,
	}
}

func (m *merging) tell(phase workspace.Phase, format string, args ...any) {
	if m.req.Progress != nil {
		m.req.Progress(workspace.Event{Phase: phase, Message: fmt.Sprintf(format, args...)})
	}
}

func (m *merging) warn(phase workspace.Phase, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	m.warnings = append(m.warnings, text)
	if m.req.Progress != nil {
		m.req.Progress(workspace.Event{Phase: phase, Message: text, Warning: true})
	}
}

// merge looks, composes and lands, again where the target moves meanwhile.
func (m *merging) merge(ctx context.Context) (workspace.Merged, error) {
	m.tell(workspace.PhaseMerge, "Looking at %s", m.req.Workspace.Directory)
	for try := 1; ; try++ {
		merged, err := m.mergeOnce(ctx)
		if !errors.Is(err, errTargetMoved) || try == mergeTries || ctx.Err() != nil {
			return merged, err
		}
		m.tell(workspace.PhaseMerge, "%s has moved meanwhile, trying again", m.target)
	}
}

func (m *merging) mergeOnce(ctx context.Context) (workspace.Merged, error) {
	if err := m.look(ctx); err != nil {
		return workspace.Merged{}, err
	}
	done, err := m.judged(ctx)
	if err != nil {
		return workspace.Merged{}, err
	}
	if done.conflict != nil && !m.req.Resolve {
		return workspace.Merged{}, m.refuseConflict(ctx, done.conflict.files, done.conflict.commit)
	}
	return m.land(ctx, done)
}

// judged refuses what can't be merged now and composes the new commits, both
// at once. Work that isn't committed is told of first.
func (m *merging) judged(ctx context.Context) (composed, error) {
	var clean error
	var group errgroup.Group
	group.Go(func() error {
		if clean = m.clean(ctx); clean == nil {
			clean = m.leftBehind(ctx)
		}
		return nil
	})
	done, err := m.compose(ctx)
	_ = group.Wait()
	if clean != nil {
		return composed{}, clean
	}
	return done, err
}

// compose makes the new commits, where that needs neither hooks nor keys.
func (m *merging) compose(ctx context.Context) (composed, error) {
	if m.onto == m.tip {
		return composed{}, m.nothing(0)
	}
	if err := m.findParent(ctx); err != nil {
		return composed{}, err
	}
	m.tell(workspace.PhaseRebase, "Putting the commits of %s on %s", m.what(), m.target)
	done, err := m.r.compose(ctx, m.composeInput())
	switch {
	case err != nil:
		return composed{}, err
	case done.needsGit == "" && len(done.hooks) > 0:
		done.needsGit = fmt.Sprintf("there are hooks that a %s runs: %s", m.strategy, strings.Join(done.hooks, ", "))
		return m.rehearse(ctx, done)
	case done.needsGit != "":
		return m.rehearse(ctx, done)
	case done.conflict != nil:
		return done, nil
	case done.tip == m.onto:
		return composed{}, m.nothing(done.dropped)
	}
	return done, nil
}

func (m *merging) composeInput() composeInput {
	in := composeInput{
		project: m.req.Project, gitDir: m.at.gitDir, top: m.at.top, onto: m.onto, tip: m.tip,
		branch: m.branch, target: m.target, strategy: m.strategy, message: m.message,
		parent: m.parent, parentMerges: m.parentMerges, repoHooks: m.g.o.RepositoryHooks, inherit: m.req.Inherit,
	}
	return in
}

// nothing is the refusal where the target has it all.
func (m *merging) nothing(dropped int) error {
	if m.resolved && len(m.lost) > 0 {
		return &workspace.Error{
			Code: workspace.ErrNothingToMerge, Hint: "abort brings the work back as it was before the merge; if it can go, force the delete",
			Message: fmt.Sprintf("by how the conflict was resolved %s, and %s has nothing left to merge into %s", m.dropped(), m.what(), m.target),
		}
	}
	message := fmt.Sprintf("%s has no commit that isn't on %s already; nothing was changed", m.what(), m.target)
	if dropped > 0 {
		message = fmt.Sprintf("what %s changes is on %s already (%s); nothing was changed", m.what(), m.target, plural(dropped, "commit"))
	}
	hint := "commit the work first, if there is any"
	if m.resolved {
		hint = "abort brings the work back as it was before the merge"
	}
	return &workspace.Error{Code: workspace.ErrNothingToMerge, Message: message, Hint: hint}
}

// what names the workspace's commits.
func (m *merging) what() string {
	if m.branch == "" {
		return "the detached HEAD of the workspace"
	}
	return m.branch
}

// hold takes the repository's lock for f.
func (m *merging) hold(ctx context.Context, f func() error) error {
	lock, err := m.r.lock(ctx, m.req.Project)
	if err != nil {
		return err
	}
	m.lock = lock
	defer func() {
		m.lock = nil
		lock.release()
	}()
	return f()
}

// inherit are the open files that children keep.
func (m *merging) inherit() []*os.File {
	if m.lock == nil {
		return m.req.Inherit
	}
	return append(m.lock.inherit(), m.req.Inherit...)
}

func (m *merging) did(step string) { m.g.o.step(step) }
