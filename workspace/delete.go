package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// DeleteOptions say what to delete.
type DeleteOptions struct {
	ThreadID string
	// RemoveAdopted asks by name for the removal of a worktree that the
	// thread was only bound to; without it the thread is unbound and the
	// worktree stays.
	RemoveAdopted bool
	// Progress, if set, is told of each step, in order.
	Progress func(Event)
}

// Deleted is what became of a deleted workspace.
type Deleted struct {
	// Workspace is the record as it was.
	Workspace Workspace
	// Removed is what was removed from disk; zero where only the record went.
	Removed Removed
	// Unbound is true where an adopted worktree stays in place.
	Unbound bool
}

// Delete removes the thread's workspace. Whether that loses nothing is judged
// at this moment by the provider that made it; refusals have its codes, and
// leave everything as it was. Of one that failed or whose directory is gone,
// the record goes and what its attempt made. One that is being made is
// in_progress; one whose directory another thread has too is locked, naming
// that thread.
func (m *Manager) Delete(ctx context.Context, o DeleteOptions) (Deleted, error) {
	o.Progress = progress(o.Progress)
	d, err := m.deleteOnce(ctx, o)
	for round := 0; errors.Is(err, errLookAgain) && round < 5; round++ {
		d, err = m.deleteOnce(ctx, o)
	}
	if errors.Is(err, errLookAgain) {
		err = busy(o.ThreadID)
	}
	return d, within("delete", o.ThreadID, err)
}

func (m *Manager) deleteOnce(ctx context.Context, o DeleteOptions) (Deleted, error) {
	w, err := m.Get(ctx, o.ThreadID)
	if err != nil {
		return Deleted{}, err
	}
	if w.Status != StatusReady {
		return m.deleteUnfinished(ctx, w, o)
	}
	done := Deleted{Workspace: w}
	if w.Provider == ProviderAdopted && !o.RemoveAdopted {
		done.Unbound = true
		return done, m.forget(ctx, w)
	}
	project, err := m.projectOf(ctx, w)
	if err != nil {
		return done, m.projectGone(w, err)
	}
	if err := m.alone(ctx, project, w); err != nil {
		return done, err
	}
	if w.Directory != "" {
		provider, err := m.removerOf(w)
		if err != nil {
			return done, err
		}
		o.Progress(Event{Phase: PhaseRemove, Message: "Looking whether " + w.Directory + " can go"})
		done.Removed, err = provider.Remove(ctx, RemoveRequest{Project: project, Workspace: w, Progress: o.Progress})
		if err != nil {
			return done, err
		}
	}
	// The working copy is gone by now, whatever became of ctx.
	ctx, cancel := m.detached(ctx)
	defer cancel()
	return done, m.forget(ctx, w)
}

// removerOf returns the provider that removes w; an adopted one is a plain
// worktree.
func (m *Manager) removerOf(w Workspace) (Provider, error) {
	if w.Provider == ProviderAdopted {
		w.Provider = ProviderGit
	}
	return m.providerOf(w)
}

// deleteUnfinished deletes the record of a workspace that is not ready, and
// what its attempt made.
func (m *Manager) deleteUnfinished(ctx context.Context, w Workspace, o DeleteOptions) (Deleted, error) {
	done := Deleted{Workspace: w}
	lock, err := m.takeOver(ctx, w, o.Progress)
	if err != nil {
		return done, err
	}
	defer release(lock, m)
	if w.Attempt.ID != "" && w.Directory != "" {
		project, err := m.projectOf(ctx, w)
		if err != nil {
			return done, m.projectGone(w, err)
		}
		w, err = m.settle(ctx, project, w, o.Progress)
		if err != nil {
			return done, err
		}
		if w.Status == StatusReady {
			// It was whole after all: it is judged like any other.
			return done, errLookAgain
		}
		if w.Directory != "" {
			return done, &Error{
				Code: ErrProviderFailed, Workspace: &w,
				Message: fmt.Sprintf("what the failed attempt left at %s could not be cleared: %s; the record stays", w.Directory, w.Error),
				Hint:    "clear it by hand, then delete again",
			}
		}
	}
	done.Workspace = w
	return done, m.forget(ctx, w)
}

// forget deletes the record, if it is still what it was.
func (m *Manager) forget(ctx context.Context, w Workspace) error {
	err := m.cfg.Store.DeleteWorkspace(ctx, w.ThreadID, GuardOf(w))
	if errors.Is(err, ErrStale) {
		return errLookAgain
	}
	return err
}

// alone refuses where another thread's record has the same directory.
func (m *Manager) alone(ctx context.Context, project Project, w Workspace) error {
	if w.Directory == "" {
		return nil
	}
	rows, err := m.rowsOf(ctx, project)
	if err != nil {
		return err
	}
	var others []string
	dir := canonical(w.Directory)
	for _, o := range rows {
		if o.ThreadID != w.ThreadID && o.Directory != "" && canonical(o.Directory) == dir {
			others = append(others, o.ThreadID)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return &Error{
		Code: ErrLocked, Workspace: &w,
		Message: fmt.Sprintf("thread %s works in the same directory, %s; nothing was deleted", strings.Join(others, ", "), w.Directory),
		Hint:    "let that thread move to a workspace of its own first",
	}
}

// projectGone explains that nothing can be removed without the repository.
func (m *Manager) projectGone(w Workspace, err error) error {
	return &Error{
		Code: CodeOf(err), ThreadID: w.ThreadID, Workspace: &w, Err: err,
		Message: fmt.Sprintf("the repository of the workspace, %s, can't be opened: %s; nothing was deleted", w.ProjectDirectory, messageOf(err)),
		Hint:    "put the repository back in its place; if it was moved, run git worktree repair and a reconcile where it is now",
	}
}
