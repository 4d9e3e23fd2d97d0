package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ActionKind says what a reconcile found or did.
type ActionKind string

// The kinds of actions. Only ready, error, moved, merged and deleted change a record;
// the others say what was found.
const (
	// ActionReady: a pending record whose worktree is whole became ready.
	ActionReady ActionKind = "ready"
	// ActionError: a pending record whose attempt died became error, and what
	// the attempt had made was cleared.
	ActionError ActionKind = "error"
	// ActionMoved: the record follows a worktree that git has elsewhere now,
	// or a repository that is elsewhere now.
	ActionMoved ActionKind = "moved"
	// ActionDeleted: a delete that was interrupted was finished.
	ActionDeleted ActionKind = "deleted"
	// ActionRecovered: something else that was interrupted, such as a merge,
	// was finished or undone.
	ActionRecovered ActionKind = "recovered"
	// ActionMerged: the record follows a merge whose process was killed before
	// it could.
	ActionMerged ActionKind = "merged"
	// ActionMissing: a ready record whose directory isn't there, or is no
	// worktree.
	ActionMissing ActionKind = "missing"
	// ActionPending: a pending record whose attempt lives.
	ActionPending ActionKind = "pending"
	// ActionStale: a pending record of another program.
	ActionStale ActionKind = "stale"
	// ActionShared: two threads on one directory.
	ActionShared ActionKind = "shared"
	// ActionUnowned: a worktree without a record.
	ActionUnowned ActionKind = "unowned"
	// ActionBroken: a worktree whose entry in git is damaged.
	ActionBroken ActionKind = "broken"
	// ActionFailed: something that could not be repaired, with the reason.
	ActionFailed ActionKind = "failed"
)

// Recoverer finishes or undoes what a killed process left in a project, and
// returns a line for each thing it did.
type Recoverer interface {
	Recover(ctx context.Context, project Project) ([]string, error)
}

// Action is one finding of a reconcile.
type Action struct {
	Kind      ActionKind
	ThreadID  string
	Directory string
	// Detail says it in a sentence.
	Detail string
}

// Reconcile brings the records of a project in line with git and the disk,
// which are the truth for what exists, and says what it found. Pending records
// without a live attempt become ready or error; what such an attempt made is
// cleared, and nothing else is ever removed. It is meant for the start of a
// program and may be run at any time. What the configured recoverers find comes
// first. One record that can't be repaired does
// not keep the others from it.
func (m *Manager) Reconcile(ctx context.Context, projectDir string) ([]Action, error) {
	project, err := m.cfg.Repository.Open(ctx, projectDir)
	if err != nil {
		return nil, within("reconcile", "", err)
	}
	actions := m.recoverAll(ctx, project)
	for _, r := range m.cfg.Recoverers {
		actions = append(actions, m.followMerges(ctx, project, r)...)
	}
	rows, project, err := m.list(ctx, ListOptions{Project: projectDir, WithoutState: true})
	if err != nil {
		return actions, within("reconcile", "", err)
	}
	// Records come first: one of them may follow a worktree that has none.
	slices.SortStableFunc(rows, func(a, b Row) int {
		switch {
		case a.Workspace != nil && b.Workspace == nil:
			return -1
		case a.Workspace == nil && b.Workspace != nil:
			return 1
		}
		return 0
	})
	followed := make(map[string]bool)
	brief, cancel := context.WithTimeout(ctx, orphanGrace)
	defer cancel()
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return actions, within("reconcile", "", err)
		}
		if row.Workspace == nil && followed[row.Directory()] {
			continue
		}
		if action, ok := m.followProject(ctx, project, row); ok {
			actions = append(actions, action)
			continue
		}
		if err := m.outlive(brief, &row); err != nil {
			return actions, within("reconcile", "", err)
		}
		for _, action := range m.reconcileRow(ctx, project, row, rows) {
			followed[action.Directory] = followed[action.Directory] || action.Kind == ActionMoved
			actions = append(actions, action)
		}
	}
	return actions, nil
}

// orphanGrace is how long a reconcile waits for the processes that killed makers
// left behind: most end by themselves at once.
const orphanGrace = 500 * time.Millisecond

// outlive waits until such a process has ended, or brief has.
func (m *Manager) outlive(brief context.Context, row *Row) error {
	for row.Liveness == Orphaned {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-brief.Done():
			return nil
		}
		if err := m.liveness(brief, row); err != nil {
			return err
		}
	}
	return nil
}

// recoverAll has each recoverer put its own things right. One that can't does
// not keep the records from being repaired.
func (m *Manager) recoverAll(ctx context.Context, project Project) []Action {
	var actions []Action
	for _, r := range m.cfg.Recoverers {
		lines, err := r.Recover(ctx, project)
		for _, line := range lines {
			actions = append(actions, Action{Kind: ActionRecovered, Detail: line})
		}
		if err != nil {
			actions = append(actions, Action{Kind: ActionFailed, Detail: messageOf(err)})
		}
	}
	return actions
}

func (m *Manager) reconcileRow(ctx context.Context, project Project, row Row, rows []Row) []Action {
	var actions []Action
	act := func(kind ActionKind, format string, args ...any) {
		a := Action{Kind: kind, Directory: row.Directory(), Detail: fmt.Sprintf(format, args...)}
		if row.Workspace != nil {
			a.ThreadID = row.Workspace.ThreadID
		}
		actions = append(actions, a)
	}
	if row.Worktree != nil && row.Worktree.Broken != "" {
		act(ActionBroken, "git's entry for the worktree is damaged: %s", row.Worktree.Broken)
	}
	for _, other := range row.SharedWith {
		act(ActionShared, "thread %s works in the same directory", other)
	}
	w := row.Workspace
	switch {
	case w == nil && row.Worktree != nil && row.Worktree.Spare:
	case w == nil:
		act(ActionUnowned, "a worktree (%s) that no thread owns; it stays as it is", row.Source)
	case w.Status == StatusPending && row.Liveness == Unknown && w.Attempt.ID == "":
		act(ActionStale, "another program (%s) recorded that it is being made; that record stays as it is", shown(w.Provider, "unknown"))
	case w.Status == StatusPending && row.Liveness != Dead:
		act(ActionPending, "it is being made (%s)", row.Liveness)
	case w.Status == StatusPending:
		next, err := m.settleIfDead(ctx, *w)
		switch {
		case errors.Is(err, errLookAgain), err == nil && next.Status == StatusPending:
			act(ActionPending, "somebody else is settling it")
		case err != nil:
			act(ActionFailed, "it could not be settled: %s", messageOf(err))
		case next.Status == StatusReady:
			act(ActionReady, "its worktree is whole: it is ready")
		default:
			act(ActionError, "%s", next.Error)
		}
	case w.Status == StatusError && remains(*w):
		if next, err := m.clearAgain(ctx, *w); err != nil {
			act(ActionFailed, "what its failed attempt left could not be cleared: %s", messageOf(err))
		} else if !remains(next) {
			act(ActionError, "%s; what the attempt left is cleared now", next.Error)
		} else {
			act(ActionFailed, "%s", next.Error)
		}
	case w.Status == StatusReady && m.resumed(ctx, project, *w, act):
	case w.Status == StatusReady && (row.Missing || row.Worktree == nil):
		actions = append(actions, m.follow(ctx, *w, rows))
	}
	return actions
}

// resumed finishes a delete that was interrupted, if one was.
func (m *Manager) resumed(ctx context.Context, project Project, w Workspace, act func(ActionKind, string, ...any)) bool {
	found, err := m.resume(ctx, project, w)
	if !found {
		return false
	}
	if err != nil {
		act(ActionFailed, "its delete was interrupted and could not be finished: %s", messageOf(err))
	} else {
		act(ActionDeleted, "its delete, which was interrupted, is finished; it can be restored")
	}
	return true
}

// clearAgain clears what an attempt left that could not be cleared when it
// failed.
func (m *Manager) clearAgain(ctx context.Context, w Workspace) (Workspace, error) {
	lock, err := m.takeOver(ctx, w, progress(nil))
	if err != nil {
		return w, err
	}
	defer release(lock, m)
	project, err := m.projectOf(ctx, w)
	if err != nil {
		return w, err
	}
	return m.settle(ctx, project, w, progress(nil))
}

// follow makes a record whose directory is gone follow its worktree, if git
// has exactly one on the same branch that no record owns.
func (m *Manager) follow(ctx context.Context, w Workspace, rows []Row) Action {
	missing := Action{
		Kind: ActionMissing, ThreadID: w.ThreadID, Directory: w.Directory,
		Detail: "its directory is gone; if it was moved by hand, run git worktree repair with the new path and reconcile again",
	}
	if !absent(w.Directory) {
		missing.Detail = "what is there is no worktree of the project; it stays as it is"
	}
	var found []Worktree
	for _, row := range rows {
		wt := row.Worktree
		if row.Workspace == nil && wt != nil && w.Branch != "" && wt.Branch == w.Branch && !wt.Missing && wt.Broken == "" {
			found = append(found, *wt)
		}
	}
	if len(found) != 1 {
		return missing
	}
	_, err := m.cfg.Store.UpdateWorkspace(ctx, w.ThreadID, GuardOf(w), Change{Claim: true, Directory: &found[0].Directory})
	if err != nil {
		missing.Kind, missing.Detail = ActionFailed, fmt.Sprintf("its worktree is at %s now, but the record could not follow: %s", found[0].Directory, messageOf(err))
		return missing
	}
	return Action{
		Kind: ActionMoved, ThreadID: w.ThreadID, Directory: found[0].Directory,
		Detail: fmt.Sprintf("the worktree moved from %s; the record follows it", w.Directory),
	}
}

// followProject makes the record of a worktree follow the repository that the
// worktree belongs to, where that was moved: where it was, none is left.
func (m *Manager) followProject(ctx context.Context, project Project, row Row) (Action, bool) {
	wt := row.Worktree
	if row.Workspace != nil || wt == nil || wt.Missing || wt.Broken != "" {
		return Action{}, false
	}
	records, err := m.cfg.Store.ListWorkspaces(ctx, Query{Directory: wt.Directory})
	if err != nil || len(records) != 1 {
		return Action{}, false
	}
	w := records[0]
	if w.Status != StatusReady || w.ProjectID == "" || w.ProjectID == project.ID {
		return Action{}, false
	}
	if _, err := m.cfg.Repository.Open(ctx, w.ProjectID); !errors.Is(err, ErrNotFound) {
		return Action{}, false
	}
	moved := Action{
		Kind: ActionMoved, ThreadID: w.ThreadID, Directory: w.Directory,
		Detail: fmt.Sprintf("the repository moved from %s; the record follows it", w.ProjectID),
	}
	if _, err := m.cfg.Store.UpdateWorkspace(ctx, w.ThreadID, GuardOf(w), Change{Claim: true, ProjectID: &project.ID}); err != nil {
		moved.Kind, moved.Detail = ActionFailed, fmt.Sprintf("its repository moved from %s, but the record could not follow: %s", w.ProjectID, messageOf(err))
	}
	return moved, true
}
