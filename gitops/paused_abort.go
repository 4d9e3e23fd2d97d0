package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	if err != nil && !m.ended && !(m.resolved && errors.Is(err, workspace.ErrPaused)) {
		return err
	}
	if m.resolved {
		if err := m.clean(ctx); err != nil {
			return err
		}
	}
	return m.hold(ctx, func() error {
		if err := m.freeToAbort(ctx); err != nil {
			return err
		}
		ctx := context.WithoutCancel(ctx)
		m.tell(workspace.PhaseMerge, "Restoring %s", m.at.top)
		// Written down as work of ours, so that a kill is followed by this.
		j := m.journal
		j.Phase, j.Now, j.Aborting, j.Started = mergeWorking, *j.Paused, true, m.r.now()
		if err := j.write(m.at.gitDir); err != nil {
			return err
		}
		m.did(stepWorking)
		var err error
		if m.ended {
			err = m.reattach(ctx, j.Branch, j.Paused.Before, true)
		}
		if err == nil {
			err = m.stepBack(ctx, true)
		}
		if err != nil {
			m.stillPaused(j)
			return failure("", fmt.Sprintf("the %s in %s could not be undone yet", j.Now.operation(), m.at.top), "see what git says there, then abort again", err)
		}
		return nil
	})
}

// freeToAbort refuses to go back where that would overwrite a file that git
// doesn't track, ignored or not: no snapshot is taken of an ignored one, and
// git stops half-way at others.
func (m *merging) freeToAbort(ctx context.Context) error {
	commits := []string{m.journal.Paused.Before, m.journal.Tip}
	for _, to := range slices.Compact(commits) {
		changes, err := m.fromIndex(ctx, to)
		if err != nil {
			return failure("", "what is in the way of going back can't be found out; nothing was changed", "see what git says in the workspace", err)
		}
		if err := m.free(ctx, changes); err != nil {
			return hinted(err, "move them out of the way, then abort again")
		}
	}
	return nil
}

// fromIndex returns the paths in which a commit differs from the workspace's
// index. One that is unmerged there counts as coming back.
func (m *merging) fromIndex(ctx context.Context, to string) ([]treeChange, error) {
	out, err := m.r.git.run(ctx, command{
		dir: m.at.top, env: m.at.env(), config: []string{"core.fsmonitor=false"},
		args: []string{"diff-index", "--cached", "-R", "--raw", "-z", "--no-renames", "--ignore-submodules=none", to, "--"},
	})
	if err != nil {
		return nil, err
	}
	return parseTreeChanges(out)
}

// hinted is a refusal with another hint.
func hinted(err error, hint string) error {
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok {
		return err
	}
	out := *e
	out.Hint = hint
	return &out
}

// stillPaused writes down again that a merge is paused, where going back could
// not even begin.
func (m *merging) stillPaused(j *mergeJournal) {
	m.at.operation = operation(m.at.gitDir)
	if !j.waits(m.at) {
		return // the next call goes on from where it is
	}
	again := *j
	again.Phase, again.Now, again.Aborting = mergePaused, *j.Paused, false
	// If it can't be written, the next call aborts again.
	_ = again.write(m.at.gitDir)
}
