package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// AdoptOptions say which worktree a thread is bound to.
type AdoptOptions struct {
	// Project is a directory of the repository.
	Project  string
	ThreadID string
	// Directory is an existing linked worktree of that repository.
	Directory string
}

// Adopt binds a thread to a worktree that exists, after checking that it is
// one of the project and bound to no other thread. The working copy is not
// touched, and deleting the workspace later only unbinds it. Where the thread
// is bound to it already that workspace is returned. Codes: not_found (no such
// directory, or no linked worktree of this project), not_a_repository,
// not_ready (git's entry for it is damaged), already_exists (another thread
// has it, or the thread has another), in_progress, store_failed.
func (m *Manager) Adopt(ctx context.Context, o AdoptOptions) (Workspace, error) {
	w, err := m.adoptOnce(ctx, o)
	for round := 0; errors.Is(err, errLookAgain) && round < 5; round++ {
		w, err = m.adoptOnce(ctx, o)
	}
	if errors.Is(err, errLookAgain) {
		err = busy(o.ThreadID)
	}
	return w, within("adopt", o.ThreadID, err)
}

func (m *Manager) adoptOnce(ctx context.Context, o AdoptOptions) (Workspace, error) {
	if err := CheckThreadID(o.ThreadID); err != nil {
		return Workspace{}, err
	}
	project, err := m.cfg.Repository.Open(ctx, o.Project)
	if err != nil {
		return Workspace{}, err
	}
	worktree, err := m.adoptable(ctx, project, o.Directory)
	if err != nil {
		return Workspace{}, err
	}
	rows, err := m.rowsOf(ctx, project)
	if err != nil {
		return Workspace{}, err
	}
	for _, w := range rows {
		if w.Directory == "" || canonical(w.Directory) != canonical(worktree.Directory) {
			continue
		}
		if w.ThreadID == o.ThreadID && w.Status == StatusReady {
			return w, nil
		}
		if w.ThreadID != o.ThreadID {
			return Workspace{}, &Error{
				Code: ErrAlreadyExists, Workspace: &w,
				Message: fmt.Sprintf("%s is the workspace of thread %s; nothing was changed", o.Directory, w.ThreadID),
				Hint:    "go on in that thread, or adopt another worktree",
			}
		}
	}
	return m.bind(ctx, project, worktree, o)
}

// adoptable says whether directory may become a thread's workspace.
func (m *Manager) adoptable(ctx context.Context, project Project, directory string) (Worktree, error) {
	owner, worktree, err := m.cfg.Repository.Inspect(ctx, directory)
	switch {
	case err != nil:
		return Worktree{}, err
	case owner.ID != project.ID:
		return Worktree{}, &Error{
			Code:    ErrNotFound,
			Message: fmt.Sprintf("%s is a working copy of another repository, %s; nothing was changed", directory, owner.ID),
			Hint:    "name a linked worktree of " + project.Directory,
		}
	case worktree.Main:
		return Worktree{}, &Error{
			Code:    ErrNotFound,
			Message: fmt.Sprintf("%s is the project's own checkout, not a linked worktree; nothing was changed", directory),
			Hint:    "name a linked worktree, or create a workspace",
		}
	case worktree.Spare:
		return Worktree{}, &Error{
			Code:    ErrNotFound,
			Message: fmt.Sprintf("%s is a spare that waits to be handed out; nothing was changed", directory),
			Hint:    "create a workspace instead",
		}
	case worktree.Broken != "":
		return Worktree{}, &Error{
			Code:    ErrNotReady,
			Message: fmt.Sprintf("git's entry for %s is damaged: %s; nothing was changed", directory, worktree.Broken),
			Hint:    "run git worktree repair in it, then adopt it",
		}
	}
	return worktree, nil
}

// bind writes the record of an adopted worktree.
func (m *Manager) bind(ctx context.Context, project Project, worktree Worktree, o AdoptOptions) (Workspace, error) {
	guard := Guard{}
	w, err := m.cfg.Store.Workspace(ctx, o.ThreadID)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return Workspace{}, err
	case w.Status == StatusReady:
		return w, &Error{
			Code: ErrAlreadyExists, Workspace: &w,
			Message: fmt.Sprintf("thread %s has a workspace already, at %s; nothing was changed", o.ThreadID, w.Directory),
			Hint:    "work in that one, or delete it first",
		}
	default:
		lock, err := m.takeOver(ctx, w, progress(nil))
		if err != nil {
			return w, err
		}
		defer release(lock, m)
		old, err := m.projectOf(ctx, w)
		if err != nil {
			return w, err
		}
		if w, err = m.settle(ctx, old, w, progress(nil)); err != nil {
			return w, err
		}
		if w.Status == StatusReady {
			return w, errLookAgain
		}
		guard = GuardOf(w)
	}
	w, lock, err := m.begin(ctx, m.cfg.NewID(), Workspace{
		ThreadID: o.ThreadID, Provider: ProviderAdopted, Name: shown(Slug(filepath.Base(worktree.Directory)), "worktree"),
		ProjectID: project.ID, ProjectDirectory: project.Directory, Subdirectory: project.Subdirectory,
	}, guard)
	if err != nil {
		return w, err
	}
	defer release(lock, m)
	// The directory is claimed before the branch is recorded: only the
	// directory has to be nobody else's.
	_, err = m.cfg.Store.UpdateWorkspace(ctx, o.ThreadID, GuardOf(w), Change{Claim: true, Directory: &worktree.Directory, BaseCommit: &worktree.Head})
	if err == nil {
		return m.cfg.Store.UpdateWorkspace(ctx, o.ThreadID, GuardOf(w), Change{Status: new(StatusReady), Branch: &worktree.Branch})
	}
	return m.rollBack(ctx, project, w, err, progress(nil))
}
