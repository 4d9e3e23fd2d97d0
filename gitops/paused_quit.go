package gitops

import (
	"context"
	"fmt"

	"github.com/threadtree/threadtree/workspace"
)

// quit reports whether a paused rebase was ended in the middle, as by "git
// rebase --quit": HEAD is left detached on the way, and the branch stands where
// it was.
func (j *mergeJournal) quit(ctx context.Context, c *comparer, branch, head string) (bool, error) {
	if j.Phase != mergePaused || j.Paused.Strategy != workspace.StrategyRebase || j.Branch == "" || branch != "" || head == j.Paused.Before {
		return false, nil
	}
	tip, err := c.refs.lookup(ctx, "refs/heads/"+j.Branch)
	if err != nil || tip != j.Paused.Before {
		return false, err
	}
	onto, err := c.ancestor(ctx, j.Paused.Onto, head)
	if err != nil && exitCode(err) >= 0 {
		err = nil // one of them is gone
	}
	return onto, err
}

// wasQuit is the refusal to go on from there: what HEAD has is a part only.
func (m *merging) wasQuit(ctx context.Context) error {
	j := m.journal
	kept := ""
	if ref, err := m.keptAs(ctx, j.Tip); err == nil && ref != "" {
		kept = ", and " + ref + " keeps them as well"
	}
	return &workspace.Error{
		Code: workspace.ErrOperationInProgress, Hint: "abort brings back what was before the merge; what was done since is kept",
		Message: fmt.Sprintf("the rebase of %[1]s onto %[2]s that was paused in %[3]s was ended in the middle, and can't be continued; the branch %[1]s has all its commits%[4]s; nothing was changed",
			j.Branch, j.Paused.Target, m.at.top, kept),
	}
}
