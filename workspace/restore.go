package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// RestoreOptions say what to restore.
type RestoreOptions struct {
	ThreadID string
	// TrashID is one of several of the thread's, "" for the newest.
	TrashID string
	// Progress, if set, is told of each step, in order.
	Progress func(Event)
}

// Restore brings a deleted workspace back: branch, directory, staged, unstaged
// and untracked work, record and session; ignored files only while the
// directory is kept. Where the branch's name or the place is taken by now it
// gets another, with a warning. Where the thread has a newer workspace the
// code is already_exists; where nothing can be restored, not_found. A restore
// that was interrupted is finished by calling it again, and a delete that was
// interrupted is finished first.
func (m *Manager) Restore(ctx context.Context, o RestoreOptions) (Workspace, error) {
	w, err := m.restore(ctx, o)
	return w, within("restore", o.ThreadID, err)
}

func (m *Manager) restore(ctx context.Context, o RestoreOptions) (Workspace, error) {
	if err := m.finishDelete(ctx, o.ThreadID); err != nil {
		return Workspace{}, err
	}
	t, err := m.trashed(ctx, o)
	if err != nil {
		return Workspace{}, err
	}
	if w, err := m.cfg.Store.Workspace(ctx, o.ThreadID); err == nil {
		return w, &Error{
			Code: ErrAlreadyExists, Workspace: &w,
			Message: fmt.Sprintf("thread %s has a newer workspace, at %s; nothing was restored", o.ThreadID, shown(w.Directory, "no directory yet")),
			Hint:    fmt.Sprintf("delete that one first, which can be restored as well; then restore this one by its id in the trash, %s", t.ID),
		}
	} else if !errors.Is(err, ErrNotFound) {
		return Workspace{}, err
	}
	project, err := m.projectOf(ctx, t.Workspace)
	if err != nil {
		return Workspace{}, m.projectGone(t.Workspace, err, "restored")
	}
	restorer, err := m.restorerOf(t.Workspace)
	if err != nil {
		return Workspace{}, err
	}
	rows, err := m.rowsOf(ctx, project)
	if err != nil {
		return Workspace{}, err
	}
	w := t.Workspace
	w.Status, w.Error, w.ErrorCode = StatusReady, "", ""
	w.Attempt = Attempt{ID: m.cfg.NewID(), Host: m.cfg.Locker.Host(), StartedAt: m.cfg.Now()}
	restored, err := restorer.Restore(ctx, RestoreRequest{
		Project: project, Trashed: t, Attempt: w.Attempt.ID, Progress: progress(o.Progress),
		Free: func(dir, branch string) bool { return free(rows, dir, branch) },
	})
	if err != nil {
		return Workspace{}, err
	}
	w.Directory, w.Branch = restored.Directory, restored.Branch
	w.Warnings = append(slices.Clone(w.Warnings), restored.Warnings...)
	// It is back on disk by now, whatever became of ctx.
	ctx, cancel := m.detached(ctx)
	defer cancel()
	back, err := m.cfg.Store.RestoreWorkspace(ctx, t.ID, w)
	if err != nil {
		return w, &Error{
			Code: CodeOf(err), Err: err,
			Message: fmt.Sprintf("the workspace is back at %s, but that could not be recorded: %s", w.Directory, messageOf(err)),
			Hint:    shown(HintOf(err), "restore it again"),
		}
	}
	if err := restorer.Discard(ctx, project, t, true); err != nil {
		m.cfg.Logger.WarnContext(ctx, "the snapshot of a restored workspace could not be let go", "thread", o.ThreadID, "error", err)
	}
	return back, nil
}

// finishDelete finishes a delete of the thread's workspace that was
// interrupted, if one was.
func (m *Manager) finishDelete(ctx context.Context, threadID string) error {
	w, err := m.cfg.Store.Workspace(ctx, threadID)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil || w.Status != StatusReady || !absent(w.Directory) {
		return err
	}
	project, err := m.projectOf(ctx, w)
	if err != nil {
		return m.projectGone(w, err, "restored")
	}
	_, err = m.resume(ctx, project, w)
	if errors.Is(err, errLookAgain) {
		return nil // somebody else has finished it
	}
	return err
}

// resume carries on a delete of w that was begun, and records it; found is
// false where none was.
func (m *Manager) resume(ctx context.Context, project Project, w Workspace) (found bool, err error) {
	provider, err := m.removerOf(w)
	if err != nil {
		return false, nil //nolint:nilerr // nobody here could have begun it
	}
	restorer, ok := provider.(Restorer)
	if !ok || w.Directory == "" {
		return false, nil
	}
	removed, found, err := restorer.Resume(ctx, RemoveRequest{Project: project, Workspace: w, TrashID: trashID(w), Progress: progress(nil)})
	if err == nil && found {
		_, err = m.discard(ctx, project, w, removed)
	}
	return found || err != nil, err
}

// trashed returns what is to be restored.
func (m *Manager) trashed(ctx context.Context, o RestoreOptions) (Trashed, error) {
	all, err := m.cfg.Store.ListTrash(ctx, Query{ThreadID: o.ThreadID})
	if err != nil {
		return Trashed{}, err
	}
	var others []string
	for _, t := range all {
		if t.Workspace.ThreadID != o.ThreadID {
			continue
		}
		if o.TrashID == "" || t.ID == o.TrashID {
			return t, nil
		}
		others = append(others, t.ID)
	}
	if len(others) > 0 {
		return Trashed{}, &Error{
			Code:    ErrNotFound,
			Message: fmt.Sprintf("no such id: nothing of thread %s in the trash is called %s; nothing was restored", o.ThreadID, quote(o.TrashID)),
			Hint:    "there is, the newest first: " + joinShort(others, 5),
		}
	}
	return Trashed{}, &Error{
		Code:    ErrNotFound,
		Message: fmt.Sprintf("nothing of thread %s can be restored", o.ThreadID),
		Hint:    fmt.Sprintf("a deleted workspace can be restored for %s; see what is there in the trash", days(m.cfg.KeepSnapshot)),
	}
}

func days(d time.Duration) string {
	if n := int(d / (24 * time.Hour)); n > 1 && d == time.Duration(n)*24*time.Hour {
		return fmt.Sprintf("%d days", n)
	}
	return d.String()
}

func (m *Manager) restorerOf(w Workspace) (Restorer, error) {
	provider, err := m.removerOf(w)
	if err != nil {
		return nil, err
	}
	if r, ok := provider.(Restorer); ok {
		return r, nil
	}
	return nil, &Error{
		Code: ErrProviderUnavailable, ThreadID: w.ThreadID, Err: errors.ErrUnsupported,
		Message: fmt.Sprintf("the provider %q keeps nothing of what it removes", provider.Name()),
		Hint:    "create a new workspace",
	}
}

// free reports whether no record has the directory or the branch.
func free(rows []Workspace, dir, branch string) bool {
	return !slices.ContainsFunc(rows, func(w Workspace) bool {
		return w.Directory != "" && (canonical(w.Directory) == canonical(dir) || branch != "" && Fold(w.Branch) == Fold(branch))
	})
}

// Trash returns what can be restored of a project, newest first. A delete that
// was interrupted with its directory gone is finished first; where that can't
// be done, the next delete or reconcile says why.
func (m *Manager) Trash(ctx context.Context, projectDir string) ([]Trashed, error) {
	project, err := m.cfg.Repository.Open(ctx, projectDir)
	if err != nil {
		return nil, within("trash", "", err)
	}
	rows, err := m.rowsOf(ctx, project)
	if err != nil {
		return nil, within("trash", "", err)
	}
	for _, w := range rows {
		if w.Status == StatusReady && absent(w.Directory) {
			_, _ = m.resume(ctx, project, w)
		}
	}
	q, err := m.queryOf(ctx, project)
	if err != nil {
		return nil, within("trash", "", err)
	}
	all, err := m.cfg.Store.ListTrash(ctx, q)
	return all, within("trash", "", err)
}
