package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/threadtree/threadtree/workspace"
)

// composeInput says which commits are to be brought where, and how.
type composeInput struct {
	project workspace.Project
	// gitDir is the git directory of the checkout that git would do it in: the
	// linked worktree's entry for a rebase, that of the target's checkout for
	// a merge and a squash, or the common one. Its configuration and its
	// submodules count. "" is the common one.
	gitDir string
	// top is that checkout's directory, "" if there is none. A relative
	// core.hooksPath is looked for below it.
	top string
	// onto is the target's tip, tip that of the commits. Both are object ids.
	onto, tip string
	// branch and target are the short names for messages; branch may be "".
	branch, target string
	strategy       workspace.Strategy
	// parent, if set, is what a merge commit has as its parent in place of tip,
	// which only merges the target into it. parentMerges is how many merge commits
	// that leaves out.
	parent       string
	parentMerges int
	// message is that of the commit of a squash or a merge, "" to make one.
	message string
	// repoHooks is true where hooks that the repository brings may run.
	repoHooks bool
	// preview is true where what would change is asked for as well, and alone
	// where that is all that is asked for.
	preview, alone bool
	// byGit leaves every pick to git merge-tree, those that touch nothing in
	// common with the target too: for comparison.
	byGit   bool
	inherit []*os.File
	// objects, if set, reads the repository's objects, and is closed by who
	// set it.
	objects *objectReader
}

// composed is what the commits became. Nothing points at it yet.
type composed struct {
	// tip is what the target would move to: onto itself if nothing is left to
	// bring, "" where there is a conflict or nothing was composed.
	tip string
	// tree is the tree of tip.
	tree string
	// ontoTree and sourceTree are the trees of the target and of the commits'
	// tip, and changes the paths in which tip differs from the target; "" and
	// nil where they aren't known.
	ontoTree, sourceTree string
	changes              []treeChange
	// onWay are the paths in which tip differs from that of the commits, nil
	// as changes.
	onWay []treeChange
	// files are changes with their lines counted, nil where that takes git.
	files []workspace.FileChange
	// source are the commits that were asked for, oldest first, without merge
	// commits and without those that the target has already.
	source []workspace.CommitInfo
	// commits is how many commits the target would gain.
	commits int
	// dropped is how many are on the target already or became empty.
	dropped int
	// merges is how many merge commits the range has.
	merges int
	// fastForward is true where onto is an ancestor and the commits keep
	// their ids.
	fastForward bool
	// rewritten are the commits with another id now, in the order of the
	// picks. One that became empty stands with the commit it was dropped on,
	// as git rebase records it.
	rewritten []rewritten
	// copyNotes is true where notes are to follow rewritten commits.
	copyNotes bool
	// conflict is nil where all went through.
	conflict *replayConflict
	// needsGit says why git has to do it itself, "" if it need not. Nothing
	// was composed then.
	needsGit string
	// hooks are those that git would run on the way, by name, for a squash
	// and a merge; none of them has run.
	hooks []string
}

// rewritten is a commit and the one that stands for it now.
type rewritten struct{ old, new string }

// replayConflict is where the sides don't go together.
type replayConflict struct {
	// files are the paths in conflict, sorted.
	files []string
	// commit is the commit that could not be applied, zero for a squash or a
	// merge.
	commit workspace.CommitInfo
	// done is how many commits before it went through.
	done int
	// notes are git's own words on it.
	notes []mergeNote
}

// compose makes the commits that would bring in.tip to in.onto, in memory and
// in the object store: no ref, index or work tree is touched. With a conflict,
// a cancelled context or any error, not even an object is left.
//
// A range with merge commits is refused for a rebase that isn't a fast-forward
// with not_fast_forward, and so is, for a squash or a merge, one that has no
// commit in common with the target. Other codes: git_failed, timeout, permission_denied.
// It is safe for concurrent use and takes no lock.
func (r *Repository) compose(ctx context.Context, in composeInput) (composed, error) {
	var done composed
	err := r.withComposer(ctx, in, false, func(ctx context.Context, c *composer) error {
		if err := c.run(ctx); err != nil {
			return err
		}
		done = c.out
		if done.conflict != nil || done.needsGit != "" {
			return nil
		}
		return c.transfer(ctx, r.git, done.tip)
	})
	if err != nil {
		return composed{}, composeFailure(err)
	}
	return done, nil
}

// rehearse is compose that leaves nothing at all: the objects are gone when it
// returns. Until then use can look at them with the commands that command
// makes. What the configuration asks for, such as signatures and hooks, isn't
// looked at, and needsGit set only where the git is too old.
func (r *Repository) rehearse(ctx context.Context, in composeInput, use func(done composed, command func(args ...string) (command, error)) error) error {
	err := r.withComposer(ctx, in, true, func(ctx context.Context, c *composer) error {
		if err := c.run(ctx); err != nil {
			return err
		}
		return use(c.out, c.inside)
	})
	return composeFailure(err)
}

func composeFailure(err error) error {
	return failure("", "the commits could not be put together; nothing was changed", "see what git says, and try again", err)
}

// composer is one composition.
type composer struct {
	r  *Repository
	in composeInput
	// rehearsal is true where nothing may stay.
	rehearsal bool
	*quarantine
	objects    *objectReader
	trees      *treeStore
	attributes *attributeTree
	needs      replayNeeds
	// merged is what contended files have become.
	merged map[contended]treeEntry
	// foreseen is how many of the picks had their contended files merged
	// beforehand.
	foreseen int
	out      composed
}

func (r *Repository) withComposer(ctx context.Context, in composeInput, rehearsal bool, do func(context.Context, *composer) error) error {
	if in.gitDir == "" {
		in.gitDir = in.project.ID
	}
	// The reader of objects must end with the call, whatever happens.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q := newQuarantine(in)
	defer q.remove()
	c := &composer{r: r, in: in, rehearsal: rehearsal, quarantine: q, merged: make(map[contended]treeEntry)}
	if c.objects = in.objects; c.objects == nil {
		var err error
		if c.objects, err = r.openObjects(ctx, in.project.ID); err != nil {
			return err
		}
		defer c.objects.close()
	}
	c.trees = newTreeStore(c.objects, q)
	c.attributes = newAttributeTree(c)
	return do(ctx, c)
}

// run composes by the strategy.
func (c *composer) run(ctx context.Context) error {
	rebase := c.in.strategy == workspace.StrategyRebase || c.in.strategy == ""
	var list []rangeCommit
	together, listing := errgroup.WithContext(ctx)
	together.Go(func() (err error) {
		list, err = c.list(listing, rebase)
		return err
	})
	together.Go(func() (err error) {
		if !c.rehearsal {
			c.needs, err = c.findNeeds(listing, rebase)
		}
		return err
	})
	if err := together.Wait(); err != nil {
		return err
	}
	picks, err := c.readPicks(list)
	if err != nil {
		return err
	}
	c.out.copyNotes = c.needs.notes
	switch {
	case len(list) == 0:
		return c.finish(c.in.onto, 0)
	case rebase:
		err = c.rebase(ctx, list, picks)
	default:
		err = c.join(ctx, picks)
	}
	if errors.Is(err, errNoMergeTree) {
		c.out.needsGit = "this git can't merge in memory: that takes version 2.38"
		return nil
	}
	if err != nil || c.rehearsal && !c.in.preview || c.out.conflict != nil || c.out.needsGit != "" {
		return err
	}
	if err := c.compareTip(); err != nil || !c.in.preview {
		return err
	}
	c.out.files, err = c.countLines(c.out.changes)
	return err
}

// rebase replays the picks on the target, or takes them as they are.
func (c *composer) rebase(ctx context.Context, list []rangeCommit, picks []pick) error {
	onto, err := c.ontoIsAncestor(ctx, list)
	if err != nil {
		return err
	}
	if onto {
		c.out.fastForward = true
		return c.finish(c.in.tip, len(list))
	}
	if c.out.merges > 0 {
		return &workspace.Error{
			Code:    workspace.ErrNotFastForward,
			Message: fmt.Sprintf("%s among the commits, which a rebase would flatten; nothing was changed", plural(c.out.merges, "merge commit")),
			Hint:    "use the strategy merge, or squash",
			Option:  workspace.OptionStrategyMerge,
		}
	}
	if c.out.needsGit = c.needs.reason(picks); c.out.needsGit != "" {
		return nil
	}
	return c.replay(ctx, picks)
}

// finish ends the composition at a commit.
func (c *composer) finish(tip string, commits int) error {
	commit, err := c.objects.commit(tip)
	if err != nil {
		return err
	}
	c.out.tip, c.out.tree, c.out.commits = tip, commit.tree, commits
	return nil
}

// ontoIsAncestor reports whether the target can move forward to the tip.
func (c *composer) ontoIsAncestor(ctx context.Context, list []rangeCommit) (bool, error) {
	if c.out.merges == 0 {
		// One line of commits begins where it left the target.
		return slices.Equal(list[0].parents, []string{c.in.onto}), nil
	}
	_, err := c.r.git.run(ctx, c.plain("merge-base", "--is-ancestor", c.in.onto, c.in.tip))
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}
