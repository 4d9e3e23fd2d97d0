package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// DeleteOptions say what to delete.
type DeleteOptions struct {
	ThreadID string
	// Attempt, if set, is the id of the attempt that made what is meant: where
	// the thread has another workspace by now, nothing is deleted, and the code
	// is in_progress, wrapping [ErrStale].
	Attempt string
	// RemoveAdopted asks by name for the removal of a worktree that the
	// thread was only bound to; without it the thread is unbound and the
	// worktree stays.
	RemoveAdopted bool
	// Force deletes also what would be refused for uncommitted work, commits
	// that are nowhere else, a lock, an operation or a process. It is kept
	// like any other.
	Force bool
	// Progress, if set, is told of each step, in order.
	Progress func(Event)
}

// Deleted is what became of a deleted workspace.
type Deleted struct {
	// Workspace is the record as it was.
	Workspace Workspace
	// Removed is what was removed from disk; zero where only the record went.
	Removed Removed
	// Unbound is true where only the record went, and what lies in its
	// directory stays as it is.
	Unbound bool
	// Trashed is what can be restored, nil where nothing can.
	Trashed *Trashed
}

// Delete removes the thread's workspace. Whether that loses nothing is judged
// at this moment by the provider that made it; refusals have its codes, and
// leave everything as it was. What is removed is kept for a while, and
// [Manager.Restore] brings it back. Of one that failed or whose directory is
// gone, the record goes and what its attempt made. One that is being made is
// in_progress; one whose directory another thread has too is locked, naming
// that thread. A branch that is the base of another workspace stays. With Force, the record alone goes of one whose directory another
// thread has, is no working copy of the project, or whose project is gone. A
// delete that was interrupted is finished by the next, or by
// [Manager.Reconcile].
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
	if err := meant(w, o.Attempt, "deleted"); err != nil {
		return Deleted{Workspace: w}, err
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
		err = m.projectGone(w, err, "deleted")
	} else if err = m.alone(ctx, project, w); err == nil {
		err = m.itsOwn(ctx, w)
	}
	if err != nil {
		if !o.Force || !lostTrack(err) {
			return done, err
		}
		done.Unbound = true
		return done, m.forget(ctx, w)
	}
	if w.Directory == "" {
		return done, m.forget(ctx, w)
	}
	provider, err := m.removerOf(w)
	if err != nil {
		return done, err
	}
	stacked, err := m.stackedOn(ctx, project, w)
	if err != nil {
		return done, err
	}
	needed := ""
	if len(stacked) > 0 {
		needed = "it is the base of " + joinShort(stacked, 3)
	}
	o.Progress(Event{Phase: PhaseRemove, Message: "Looking whether " + w.Directory + " can go"})
	done.Removed, err = provider.Remove(ctx, RemoveRequest{
		Project: project, Workspace: w, TrashID: trashID(w), KeepBranch: needed, Force: o.Force, Progress: o.Progress,
	})
	if err != nil {
		return done, err
	}
	done.Trashed, err = m.discard(ctx, project, w, done.Removed)
	return done, err
}

// meant refuses where a thread's workspace isn't the one that an attempt made.
func meant(w Workspace, attempt, done string) error {
	if attempt == "" || w.Attempt.ID == attempt {
		return nil
	}
	return &Error{
		Code: ErrInProgress, ThreadID: w.ThreadID, Workspace: &w, Err: ErrStale,
		Message: fmt.Sprintf("the thread has another workspace by now; nothing was %s", done),
		Hint:    "look at how things are, then ask again",
	}
}

// discard puts the record of a removed workspace into the trash, or forgets it
// where nothing was kept. The working copy is gone by now, whatever became of
// ctx.
func (m *Manager) discard(ctx context.Context, project Project, w Workspace, removed Removed) (*Trashed, error) {
	ctx, cancel := m.detached(ctx)
	defer cancel()
	if removed.Kept == nil {
		return nil, m.forget(ctx, w)
	}
	now := m.cfg.Now().UTC().Truncate(time.Second)
	t := Trashed{
		ID: trashID(w), Workspace: w, DeletedAt: now, Kept: *removed.Kept,
		RestorableUntil: now.Add(m.cfg.KeepSnapshot), Size: -1,
	}
	if t.Workspace.ProjectID == "" {
		// Another program's record has none, and is found by it from now on.
		t.Workspace.ProjectID = project.ID
	}
	if t.Kept.Directory != "" {
		t.DirectoryUntil = now.Add(m.cfg.KeepDirectory)
	}
	err := m.cfg.Store.TrashWorkspace(ctx, w.ThreadID, GuardOf(w), t)
	if errors.Is(err, ErrStale) {
		err = errLookAgain
	}
	return &t, err
}

// trashID names what is kept of w: the same for each try to delete it, and
// another for each workspace.
func trashID(w Workspace) string {
	if w.Attempt.ID != "" {
		return w.Attempt.ID
	}
	sum := sha256.Sum256([]byte(w.ThreadID + "\x00" + w.Directory + "\x00" + w.CreatedAt.UTC().Format(time.RFC3339)))
	return "row-" + hex.EncodeToString(sum[:12])
}

// itsOwn refuses a record whose directory is there and is something else than
// a linked worktree of the project.
func (m *Manager) itsOwn(ctx context.Context, w Workspace) error {
	err := m.inPlace(ctx, w)
	if err == nil || w.Directory == "" {
		return nil
	}
	_, worktree, lookErr := m.cfg.Repository.Inspect(ctx, w.Directory)
	switch {
	case errors.Is(lookErr, ErrNotFound):
		return nil // missing: what git still has of it is cleared
	case lookErr == nil && worktree.Broken != "":
		// It is its own, and can be deleted properly once it is mended.
		return err
	}
	var e *Error
	if errors.As(err, &e) && e.Code == ErrNotReady {
		told := *e
		told.Code = ErrLocked
		told.Message += "; nothing was deleted"
		told.Hint = shown(told.Hint, "see what it is") + "; forced, the delete drops the record alone"
		told.Option = OptionForce
		return &told
	}
	return err
}

// lostTrack reports whether a refusal means that the record no longer stands
// for a working copy of the thread's own, so that it may go alone.
func lostTrack(err error) bool {
	return errors.Is(err, ErrLocked) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrNotARepository)
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
	if remains(w) {
		project, err := m.projectOf(ctx, w)
		if err != nil {
			return done, m.projectGone(w, err, "deleted")
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
	if err == nil {
		m.threadGone(ctx, w.ThreadID)
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
		Hint:    "forced, the delete drops the record of this thread and leaves the directory to the other",
		Option:  OptionForce,
	}
}

// projectGone explains that nothing can be done without the repository.
func (m *Manager) projectGone(w Workspace, err error, done string) error {
	hint := "put the repository back in its place; if it was moved, run git worktree repair and a reconcile where it is now"
	var option Option
	if done == "deleted" {
		hint += "; forced, a delete drops the record alone"
		option = OptionForce
	}
	return &Error{
		Code: CodeOf(err), ThreadID: w.ThreadID, Workspace: &w, Err: err,
		Message: fmt.Sprintf("the repository of the workspace, %s, can't be opened: %s; nothing was %s", w.ProjectDirectory, messageOf(err), done),
		Hint:    hint, Option: option,
	}
}
