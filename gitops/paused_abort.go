package gitops

import (
	"context"
	"errors"
	"fmt"

	"github.com/threadtree/threadtree/workspace"
)

// Abort restores what was before a paused merge, as [workspace.Merging] says.
// What was done since, committed or not, stays reachable by a backup ref.
func (g *Merger) Abort(ctx context.Context, req workspace.MergeRequest) error {
	m, err := g.begin(ctx, req)
	if err == nil {
		err = m.abort(ctx)
	}
	return withOp("abort", err)
}

func (m *merging) abort(ctx context.Context) error {
	err := m.findPaused(ctx)
	// Markers left in commits are no reason to keep these.
	if err != nil && !(m.resolved && errors.Is(err, workspace.ErrPaused)) {
		return err
	}
	if m.resolved {
		if err := m.clean(ctx); err != nil {
			return err
		}
	}
	return m.hold(ctx, func() error {
		ctx := context.WithoutCancel(ctx)
		m.tell(workspace.PhaseMerge, "Restoring %s", m.at.top)
		// Written down as work of ours, so that a kill is followed by this.
		j := m.journal
		j.Phase, j.Now, j.Aborting, j.Started = mergeWorking, *j.Paused, true, m.r.now()
		if err := j.write(m.at.gitDir); err != nil {
			return err
		}
		m.did(stepWorking)
		if err := m.stepBack(ctx, true); err != nil {
			return failure("", fmt.Sprintf("the %s in %s could not be undone yet", j.Now.operation(), m.at.top), "see what git says there, then abort again", err)
		}
		return nil
	})
}
