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

const (
	// advanceTries is how often a move is tried where a checkout's HEAD
	// changed between the look at it and its lock.
	advanceTries = 3
	// indexLockPause is the time between two tries for an index's lock.
	indexLockPause = 5 * time.Millisecond
	// recoverWait bounds the wait for the lock of an index that somebody else
	// holds while an interrupted move is to be settled.
	recoverWait = time.Second
	// settleTimeout bounds the undoing or finishing of a move, which isn't
	// cancelled with the caller: a filter may hang.
	settleTimeout = 5 * time.Minute
)

// advanceInput says which branch moves forward, from where to where.
type advanceInput struct {
	// ref is the branch's full name.
	ref string
	// old is where the branch must stand, new is where it goes: a descendant.
	old, new string
	// oldTree is the tree of old, and changes are the paths in which new
	// differs, where both are known: then new is known to be ahead, too.
	oldTree string
	changes []treeChange
	// detach moves the HEAD of one checkout instead, off the branch that ref
	// names (or from "HEAD" itself), which stays: see relocate.
	detach bool
	// message is the line in the reflog: "merge topic: Fast-forward".
	message string
	// set are the project's settings, read anew where nil.
	set *settings
	// ownHooks allows the hooks that the repository brings.
	ownHooks bool
	// lockWait bounds the wait for the lock of a checkout's index, 5 s if 0.
	lockWait time.Duration
	// hookTimeout bounds the move of the ref and each hook, 1 min if 0.
	hookTimeout time.Duration
	// inherit are open files that children keep: the repository's lock.
	inherit []*os.File
	// step is told of each step that was done, nil for nobody.
	step func(string)
}

// advanced is a branch that was moved.
type advanced struct {
	// at is the checkout whose files moved along, nil where the branch is
	// checked out nowhere.
	at *checkout
	// changes are the paths that the move changed.
	changes []treeChange
	// recovered has a line for each interrupted move that was settled first.
	recovered []string
}

// errHeadMoved is a checkout that has switched to something else meanwhile.
var errHeadMoved = errors.New("something else was checked out meanwhile")

// advance moves a branch forward by compare-and-swap, with the files and the
// index of the checkout that has it. The repository's lock must be held, its
// open file among in.inherit. Interrupted moves are settled first. Before
// files are touched a journal says so; an error means that all is as it was,
// unless it says otherwise. ORIG_HEAD of the checkout is the old tip
// afterwards, as after a merge; the hooks of a merge are for [Repository].
// afterAdvance, which needs no lock.
//
// The codes are target_not_found, not_fast_forward (the branch has moved, or
// new isn't ahead of it), target_dirty (with Files), operation_in_progress,
// branch_checked_out (in several places, or in one that is missing), locked
// (another git command holds the index), in_progress (an interrupted move is
// not settled), permission_denied, timeout and git_failed.
func (r *Repository) advance(ctx context.Context, p workspace.Project, in advanceInput) (advanced, error) {
	if err := in.complete(ctx, r, p); err != nil {
		return advanced{}, err
	}
	var out advanced
	var earlier error
	out.recovered, earlier = r.recoverAdvance(ctx, p, in.inherit...)
	target, sha, err := r.openRefs(p.ID).resolve(ctx, in.ref)
	switch {
	case err != nil:
		return out, err
	case sha == "":
		return out, &workspace.Error{
			Code: workspace.ErrTargetNotFound, Message: fmt.Sprintf("there is no branch %s", in.branch()),
			Hint: "name a branch that exists",
		}
	case sha != in.old:
		return out, in.movedAway(sha)
	case in.new == in.old:
		return out, nil
	}
	in.ref = target
	changes, err := r.forward(ctx, p, in)
	if err != nil {
		return out, err
	}
	for try := 1; ; try++ {
		at, err := r.advanceOnce(ctx, p, in, changes, earlier)
		switch {
		case err == nil:
			out.at, out.changes = at, changes
			return out, nil
		case !errors.Is(err, errHeadMoved) || try == advanceTries:
			return out, err
		}
	}
}

// complete fills in what was left out.
func (in *advanceInput) complete(ctx context.Context, r *Repository, p workspace.Project) error {
	if in.lockWait <= 0 {
		in.lockWait = 5 * time.Second
	}
	if in.hookTimeout <= 0 {
		in.hookTimeout = time.Minute
	}
	if in.message == "" {
		in.message = "merge: Fast-forward"
	}
	if in.set != nil {
		return nil
	}
	var err error
	in.set, err = r.settings(ctx, p)
	return err
}

func (in *advanceInput) branch() string { return strings.TrimPrefix(in.ref, "refs/heads/") }

func (in *advanceInput) did(step string) {
	if in.step != nil {
		in.step(step)
	}
}

// movedAway says that the branch isn't where it was.
func (in *advanceInput) movedAway(now string) error {
	where := "it is gone"
	if now != "" {
		where = "it stands at " + short(now)
	}
	return &workspace.Error{
		Code:    workspace.ErrNotFastForward,
		Message: fmt.Sprintf("the branch %s has moved meanwhile: %s, not at %s; nothing was changed", in.branch(), where, short(in.old)),
		Hint:    "try again",
	}
}

// forward sees to it that the move goes forward, and returns the paths that
// it changes.
func (r *Repository) forward(ctx context.Context, p workspace.Project, in advanceInput) ([]treeChange, error) {
	if in.changes != nil {
		return in.changes, nil
	}
	x := r.openRefs(p.ID)
	var group errgroup.Group
	var ahead bool
	group.Go(func() (err error) {
		ahead, err = (&comparer{r: r, refs: x}).ancestor(ctx, in.old, in.new)
		return err
	})
	out, err := r.git.run(ctx, x.command("diff-tree", "-r", "-z", "--no-renames", "--raw", "--ignore-submodules=none", in.old, in.new, "--"))
	err = errors.Join(group.Wait(), err)
	if err != nil {
		return nil, failure("", "the new commits can't be compared with "+in.branch()+"; nothing was changed", "see what git says in the repository", err)
	}
	if !ahead {
		return nil, &workspace.Error{
			Code:    workspace.ErrNotFastForward,
			Message: fmt.Sprintf("%s is not ahead of %s, which stands at %s; nothing was changed", short(in.new), in.branch(), short(in.old)),
			Hint:    "bring the new commits up to date first",
		}
	}
	changes, err := parseTreeChanges(out)
	return changes, failure("", "the new commits can't be compared with "+in.branch()+"; nothing was changed", "", err)
}

// advanceOnce moves the branch where it is checked out at this moment.
// earlier is what kept an interrupted move from being settled.
func (r *Repository) advanceOnce(ctx context.Context, p workspace.Project, in advanceInput, changes []treeChange, earlier error) (*checkout, error) {
	at, err := r.checkouts(ctx, p, in.branch())
	if err != nil {
		return nil, err
	}
	if len(at) == 0 {
		return nil, r.moveRef(ctx, p, in, nil, in.inherit)
	}
	if err := movable(in.branch(), at); err != nil {
		return nil, err
	}
	m := &move{r: r, p: p, in: in, at: at[0], files: moveFiles(at[0].gitDir), changes: changes, earlier: earlier}
	return &at[0], m.run(ctx)
}

// settling is a context for what has to be carried through.
func settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
}

// moveRef moves the ref itself. Whatever git answers, where the ref stands
// then decides; a move that wasn't done is an error.
func (r *Repository) moveRef(ctx context.Context, p workspace.Project, in advanceInput, at *checkout, inherit []*os.File) error {
	if in.detach {
		return r.moveHead(ctx, p, in, *at, inherit)
	}
	c := command{
		dir: workDir(p), args: []string{"update-ref", "-m", in.message, "--stdin"}, write: true,
		config: in.set.hooksOff(in.ownHooks), inherit: inherit, timeout: in.hookTimeout,
	}
	lines := fmt.Sprintf("update %s %s %s\n", in.ref, in.new, in.old)
	if at != nil {
		c.dir, c.env = at.top, at.lookup()
		lines += "update ORIG_HEAD " + in.old + "\n"
	}
	c.stdin = strings.NewReader(lines)
	_, gitErr := r.git.run(ctx, c)
	if gitErr == nil {
		return nil
	}
	now, err := r.tip(context.WithoutCancel(ctx), p, in.ref)
	switch {
	case err != nil:
		return errors.Join(err, gitErr)
	case now == in.new:
		return nil
	case now != in.old:
		return in.movedAway(now)
	}
	return failure("", fmt.Sprintf("the branch %s could not be moved; it is where it was", in.branch()),
		"see what git or its reference-transaction hook says, then try again", gitErr)
}
