package workspace

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// MergeTeller is what a [Recoverer] or a [Merging] may be besides: it remembers
// how the last merge of each workspace ended, whoever was killed since.
type MergeTeller interface {
	// LastMerge returns how the last merge of the workspace's thread in its
	// directory ended, and when; the zero time where there was none. Nothing is
	// written.
	LastMerge(ctx context.Context, project Project, w Workspace) (Merged, time.Time, error)
}

// followMerge has the record of a workspace say what its last merge would have
// written, where the process was killed before it could. It reports whether
// there was anything to write.
func (m *Manager) followMerge(ctx context.Context, teller MergeTeller, project Project, w Workspace) (Merged, bool, error) {
	if w.Status != StatusReady || w.Directory == "" {
		return Merged{}, false, nil
	}
	merged, at, err := teller.LastMerge(ctx, project, w)
	if err != nil || at.IsZero() || at.Before(w.Attempt.StartedAt) {
		return merged, false, err
	}
	if w.BaseCommit == merged.SHA && (merged.BranchKept || w.Branch == "" || w.Branch != merged.Branch) {
		return merged, false, nil
	}
	return merged, true, m.recordMerge(ctx, w, merged)
}

// recordMerge notes that the workspace is detached at the target's tip now, and
// that its branch is gone.
func (m *Manager) recordMerge(ctx context.Context, w Workspace, merged Merged) error {
	ctx, cancel := m.detached(ctx)
	defer cancel()
	change := Change{BaseCommit: &merged.SHA}
	if !merged.BranchKept && (merged.Branch == w.Branch || w.Branch == "") {
		change.Branch, change.BranchCreated = new(""), new(false)
	}
	_, err := m.cfg.Store.UpdateWorkspace(ctx, w.ThreadID, GuardOf(w), change)
	if errors.Is(err, ErrNotFound) {
		return nil // deleted in between
	}
	return err
}

// followMerges is followMerge for all workspaces of a project, by each of the
// recoverers that remembers merges. It says which records followed.
func (m *Manager) followMerges(ctx context.Context, project Project, recoverers ...any) []Action {
	var actions []Action
	for _, r := range recoverers {
		teller, ok := r.(MergeTeller)
		if !ok {
			continue
		}
		rows, err := m.rowsOf(ctx, project)
		if err != nil {
			return append(actions, Action{Kind: ActionFailed, Detail: messageOf(err)})
		}
		for _, w := range rows {
			merged, found, err := m.followMerge(ctx, teller, project, w)
			if !found {
				continue // what can't be looked at is found by what follows
			}
			action := Action{
				Kind: ActionMerged, ThreadID: w.ThreadID, Directory: w.Directory,
				Detail: fmt.Sprintf("it was merged into %s, and the record follows that", merged.Target),
			}
			if err != nil {
				action.Kind, action.Detail = ActionFailed, fmt.Sprintf("it was merged into %s, but the record could not follow: %s", merged.Target, messageOf(err))
			}
			actions = append(actions, action)
		}
	}
	return actions
}
