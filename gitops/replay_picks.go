package gitops

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// position is how far a replay has come.
type position struct{ commit, tree string }

// replay applies the picks one after the other. What git rebase keeps, drops
// and stops at is kept, dropped and stopped at.
func (c *composer) replay(ctx context.Context, picks []pick) error {
	start, err := c.objects.commit(c.in.onto)
	if err != nil {
		return err
	}
	at := position{c.in.onto, start.tree}
	for i, p := range picks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if slices.Equal(p.parents, []string{at.commit}) {
			at = position{p.id, p.commit.tree}
			c.out.commits++
			continue
		}
		merged, err := c.merge(ctx, at, picks, i)
		if err != nil {
			return err
		}
		if !merged.clean {
			c.out.conflict = newReplayConflict(merged, p.commit.info(), i)
			return nil
		}
		if merged.tree == at.tree && !p.empty() {
			c.out.dropped++
		} else {
			at = c.commitPick(at, p, merged.tree)
		}
		c.out.rewritten = append(c.out.rewritten, rewritten{p.id, at.commit})
	}
	c.out.tip, c.out.tree = at.commit, at.tree
	return nil
}

// commitPick commits a tree as a pick.
func (c *composer) commitPick(at position, p pick, tree string) position {
	c.out.commits++
	return position{c.put("commit", formatCommit(tree, []string{at.commit}, p.commit.replayed(), c.needs.committer)), tree}
}

// merge merges a pick into the tree that was reached. Where the trees alone
// decide they are put together here, and git merges no more than the files
// that both sides changed. All else it decides on the whole trees.
func (c *composer) merge(ctx context.Context, at position, picks []pick, i int) (mergeResult, error) {
	p := picks[i]
	if c.in.byGit {
		return c.mergeWhole(ctx, at, p)
	}
	o := &overlay{trees: c.trees}
	tree, ok, err := o.merge(p.base, at.tree, p.commit.tree)
	if err == nil && ok && o.waiting() {
		if ok, err = c.mergeContended(ctx, o, at.tree, picks, i); err == nil && ok {
			tree, ok, err = o.merge(p.base, at.tree, p.commit.tree)
		}
	}
	switch {
	case errors.Is(err, errOddTree):
	case err != nil || ok:
		return mergeResult{clean: true, tree: tree}, err
	}
	return c.mergeWhole(ctx, at, p)
}

// mergeWhole has git merge a pick.
func (c *composer) mergeWhole(ctx context.Context, at position, p pick) (mergeResult, error) {
	if err := c.attributes.checkout(ctx, at.tree); err != nil {
		return mergeResult{}, err
	}
	// The merge base of two commits is a parent that they share: with one
	// made for the purpose it is the pick's own, which --merge-base can't be
	// told before git 2.40.
	ours := c.throwaway(at.tree, p.parents)
	return c.mergeTree(ctx, ours, p.id, len(p.parents) == 0)
}

func newReplayConflict(merged mergeResult, commit workspace.CommitInfo, done int) *replayConflict {
	conflict := &replayConflict{files: merged.files(), commit: commit, done: done}
	for _, n := range merged.notes {
		if strings.HasPrefix(n.kind, "CONFLICT") {
			conflict.notes = append(conflict.notes, n)
		}
	}
	return conflict
}
