package gitops

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// Steps of a merge, in order, as they are told to MergeOptions.step.
const (
	stepWorking    = "work written down"
	stepGitDone    = "git done"
	stepPaused     = "pause written down"
	stepLanding    = "landing written down"
	stepBackedUp   = "tips kept"
	stepTargetDone = "target moved"
	stepNotesDone  = "notes copied"
	stepSettled    = "workspace moved"
	stepBranchDone = "branch settled"
	stepForgotten  = "merge journal removed"
	stepBackDone   = "workspace put back"
)

// land brings composed commits to the target, and the workspace after them.
// From where the target has moved nothing is an error any more.
func (m *merging) land(ctx context.Context, done composed) (workspace.Merged, error) {
	if done.conflict == nil && done.needsGit == "" {
		if done.onWay != nil {
			m.onWay = wayBetween{from: m.tip, to: done.tip, changes: done.onWay}
		}
		if err := m.unobstructed(ctx, done.tip, false); err != nil {
			return workspace.Merged{}, err
		}
		m.onWay.fromTree = done.sourceTree
	}
	var merged workspace.Merged
	var moved advanced
	err := m.hold(ctx, func() error {
		if err := m.recheck(ctx); err != nil {
			return err
		}
		if done.conflict != nil {
			return m.pause(ctx)
		}
		var err error
		inPlace := done.needsGit != ""
		if inPlace {
			if done, err = m.byGit(ctx, done); err != nil {
				return err
			}
		}
		merged, moved, err = m.landHeld(ctx, done, inPlace)
		return err
	})
	if err != nil {
		return workspace.Merged{}, err
	}
	// The hooks of the target's move may call git or us: no lock is held.
	for _, warning := range m.r.afterAdvance(ctx, m.req.Project, m.advanceInput(done, nil), moved.at) {
		m.warn(workspace.PhaseHooks, "%s", warning)
	}
	if !done.fastForward || m.resolved {
		merged.SkippedHooks = m.skippedHooks()
	}
	if len(merged.SkippedHooks) > 0 {
		m.warn(workspace.PhaseHooks, "the repository's own hooks were not run: %s: they need the permission for set-up", strings.Join(merged.SkippedHooks, ", "))
	}
	merged.Warnings = m.warnings
	m.tell(workspace.PhaseDone, "Merged %s into %s at %s", m.what(), m.target, short(merged.SHA))
	return merged, nil
}

func (m *merging) advanceInput(done composed, inherit []*os.File) advanceInput {
	return advanceInput{
		ref: "refs/heads/" + m.target, old: m.onto, new: done.tip, oldTree: done.ontoTree, changes: done.changes, message: m.reflogMessage(done), set: m.set,
		ownHooks: m.g.o.RepositoryHooks, hookTimeout: m.g.o.HookTimeout, inherit: inherit, step: m.g.o.step,
	}
}

// recheck sees to it, with the lock held, that nothing has changed since it
// was looked at.
func (m *merging) recheck(ctx context.Context) error {
	m.refs = m.r.openRefs(m.req.Project.ID)
	j, err := readMergeJournal(m.at.gitDir)
	if err != nil {
		return err
	}
	sha, branch, err := m.checkedOut(ctx)
	if err != nil {
		return err
	}
	onto, err := m.targetNow(ctx)
	if err != nil {
		return err
	}
	other := j != nil && j.Phase != mergePaused || m.resolved && (j == nil || j.Paused.Onto != m.journal.Paused.Onto)
	if other || operation(m.at.gitDir) != "" || sha != m.tip || branch != m.branch || onto != m.onto {
		return m.movedMeanwhile()
	}
	return nil
}

func (m *merging) movedMeanwhile() error {
	return &workspace.Error{
		Code: workspace.ErrNotFastForward, Err: errTargetMoved, Hint: "try again when nobody is at work on it",
		Message: fmt.Sprintf("%s or %s moved while they were merged, again and again; nothing was changed", m.target, m.what()),
	}
}

// begun is the journal of this merge in its next phase.
func (m *merging) begun(phase mergePhase) *mergeJournal {
	j := &mergeJournal{Thread: m.req.Workspace.ThreadID, Branch: m.branch, Tip: m.tip}
	if m.resolved {
		j.Tip, j.Paused, j.Files = m.journal.Tip, m.journal.Paused, m.journal.Files
	}
	j.Phase, j.Started = phase, m.r.now()
	j.Now = mergeStage{
		Strategy: m.strategy, Before: m.tip, Target: m.target, Onto: m.onto, Message: m.message, Keep: m.keep,
	}
	return j
}

// landHeld moves the target and settles the workspace.
func (m *merging) landHeld(ctx context.Context, done composed, inPlace bool) (workspace.Merged, advanced, error) {
	j := m.begun(mergeMoving)
	j.Landing = &landing{Result: done.tip, Fate: m.fate(), InPlace: inPlace}
	if done.copyNotes && !inPlace {
		for _, pair := range done.rewritten {
			j.Landing.Notes = append(j.Landing.Notes, [2]string{pair.old, pair.new})
		}
	}
	m.journal = j
	if err := j.write(m.at.gitDir); err != nil {
		return workspace.Merged{}, advanced{}, m.retreat(ctx, err)
	}
	m.did(stepLanding)
	if err := m.keepTips(ctx); err != nil {
		return workspace.Merged{}, advanced{}, m.retreat(ctx, err)
	}
	m.tell(workspace.PhaseMerge, "Moving %s to %s", m.target, short(done.tip))
	moved, err := m.r.advance(ctx, m.req.Project, m.advanceInput(done, m.inherit()))
	if err != nil {
		return workspace.Merged{}, advanced{}, m.retreat(ctx, m.notMoved(err))
	}
	m.did(stepTargetDone)
	// It is done; what is left is carried through.
	ctx = context.WithoutCancel(ctx)
	m.warnOfUnpushed(ctx, done)
	if moved.at != nil {
		m.warnOfSubmodules(ctx, *moved.at, moved.changes)
	}
	kept, err := m.follow(ctx)
	if err != nil {
		m.warn(workspace.PhaseMerge, "the merge is done, but the workspace could not follow it: %s; the next merge tries again", because(err))
		kept = m.branch != ""
	}
	if len(m.lost) > 0 {
		m.warn(workspace.PhaseMerge, "by how the conflict was resolved %s", m.dropped())
	}
	return workspace.Merged{
		Branch: m.branch, BranchKept: kept, Target: m.target, Commits: done.commits, Dropped: done.dropped + len(m.lost), SHA: done.tip,
		FastForward: done.fastForward, Strategy: m.strategy, Backups: m.kept,
	}, moved, nil
}

// keepTips keeps both tips by refs of their own, once a merge.
func (m *merging) keepTips(ctx context.Context) error {
	if m.kept != nil {
		return nil
	}
	var err error
	m.kept, err = m.keepBackups(ctx, m.tips())
	m.did(stepBackedUp)
	return err
}

// tips are the commits from before the merge.
func (m *merging) tips() map[string]string {
	tips := map[string]string{"workspace": m.tip, "target": m.onto}
	if original := m.journal.Tip; original != m.tip {
		tips["original"] = original
	}
	return tips
}

// notMoved marks a target that moved away, so that it is tried again.
func (m *merging) notMoved(err error) error {
	if workspace.CodeOf(err) == workspace.ErrNotFastForward {
		return m.movedMeanwhile()
	}
	return err
}

func (m *merging) reflogMessage(done composed) string {
	name := m.branch
	if name == "" {
		name = short(m.tip)
	}
	switch {
	case done.fastForward:
		return "merge " + name + ": Fast-forward"
	case m.strategy == workspace.StrategyRebase:
		return "merge " + name + ": rebased"
	}
	return "merge " + name + ": " + string(m.strategy)
}

// fate decides what becomes of the workspace's branch: only the one that was
// made with it goes.
func (m *merging) fate() branchFate {
	w := m.req.Workspace
	switch {
	case m.branch == "":
		return ""
	case !m.keep && m.branch == w.Branch && w.BranchCreated:
		return fateDelete
	case !m.keep && m.strategy == workspace.StrategySquash:
		return fateStay
	}
	return fateFollow
}

// retreat undoes what was done before the target could be moved.
func (m *merging) retreat(ctx context.Context, cause error) error {
	ctx = context.WithoutCancel(ctx)
	if m.journal.Landing.InPlace {
		return m.afterFailure(ctx, cause)
	}
	return m.turnBack(ctx, cause)
}

// turnBack is for a merge that has touched neither workspace nor target yet.
func (m *merging) turnBack(ctx context.Context, cause error) error {
	m.dropBackups(ctx)
	if err := m.forget(m.journal); err != nil {
		return fmt.Errorf("%w; %w", cause, err)
	}
	return cause
}
