package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Location is where a thread works.
type Location struct {
	// Directory is where to start the agent.
	Directory string
	// Workspace is the thread's workspace, nil for a thread that never had
	// one and works in the project itself.
	Workspace *Workspace
}

// Resolve says where a thread works: in its ready workspace, or, for a thread
// that never had one, in project, the directory of the channel's project, which
// may be a folder that is no repository. A
// thread whose workspace is pending, failed, deleted, missing or moved gets
// an error with a hint, never the project: not_ready, not_found (wrapping
// [ErrDeleted]), or the code that was recorded for a failure. project may be
// empty; a thread that never had a workspace then gets not_found.
//
// That the directory is still a working copy of its own is looked at in each
// call.
func (m *Manager) Resolve(ctx context.Context, threadID, project string) (Location, error) {
	w, err := m.cfg.Store.Workspace(ctx, threadID)
	if errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDeleted) && project != "" {
		p, err := m.cfg.Repository.Open(ctx, project)
		if errors.Is(err, ErrNotARepository) {
			if info, statErr := os.Stat(project); statErr == nil && info.IsDir() {
				return Location{Directory: canonical(project)}, nil
			}
		}
		if err != nil {
			return Location{}, within("resolve", threadID, err)
		}
		return Location{Directory: p.Directory}, nil
	}
	if err != nil {
		return Location{}, m.explain("resolve", threadID, err)
	}
	switch w.Status {
	case StatusReady:
	case StatusError:
		return Location{}, failed("resolve", w)
	default:
		e := &Error{
			Code: ErrNotReady, Op: "resolve", ThreadID: threadID, Workspace: &w,
			Message: fmt.Sprintf("the workspace of thread %s is still being made, or was interrupted", threadID),
			Hint:    "wait until it is ready; if it was interrupted, create it again",
		}
		if w.Attempt.ID == "" {
			e.Message = fmt.Sprintf("another program (%s) recorded that it is making the workspace of thread %s, and whether it still does can't be told", shown(w.Provider, "unknown"), threadID)
			e.Hint = "let that program finish or delete it there"
		}
		return Location{}, e
	}
	if err := m.inPlace(ctx, w); err != nil {
		return Location{}, within("resolve", threadID, err)
	}
	dir := w.WorkDirectory()
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return Location{}, &Error{
			Code: ErrNotReady, Op: "resolve", ThreadID: threadID, Workspace: &w, Err: err,
			Message: fmt.Sprintf("the workspace at %s has no directory %s on the branch that is checked out there", w.Directory, w.Subdirectory),
			Hint:    "check out a branch that has it",
		}
	}
	return Location{Directory: dir, Workspace: &w}, nil
}

// inPlace says what is wrong with the place of a ready workspace: nil if its
// directory is a working copy of its project.
func (m *Manager) inPlace(ctx context.Context, w Workspace) error {
	project, worktree, err := m.cfg.Repository.Inspect(ctx, w.Directory)
	e := &Error{Code: ErrNotReady, ThreadID: w.ThreadID, Workspace: &w, Err: err}
	switch {
	case w.Directory == "":
		e.Message = fmt.Sprintf("the record of the workspace of thread %s names no directory", w.ThreadID)
		e.Hint = "reconcile the project, or delete the record and create the workspace again"
	case errors.Is(err, ErrNotFound):
		e.Message = fmt.Sprintf("the directory of the workspace, %s, is gone", w.Directory)
		e.Hint = "put it back, or reconcile if it was moved with git; if a delete was interrupted, restore it, which finishes that and brings it back, or delete it again and create the workspace anew"
	case errors.Is(err, ErrNotARepository):
		e.Message = fmt.Sprintf("%s is no working copy of its own any more: %s", w.Directory, messageOf(err))
		e.Hint = shown(HintOf(err), "repair it, or delete the record and create the workspace again")
	case err != nil:
		return err
	case worktree.Broken != "":
		e.Message = fmt.Sprintf("git's entry for %s is damaged: %s", w.Directory, worktree.Broken)
		e.Hint = "reconcile the project, or run git worktree repair in it"
	case worktree.Main:
		e.Message = fmt.Sprintf("%s is the main checkout of a repository, not a workspace", w.Directory)
		e.Hint = "delete the record and create the workspace again"
	case !m.sameProject(ctx, w, project):
		e.Message = fmt.Sprintf("%s is a working copy of another repository, %s", w.Directory, project.ID)
		e.Hint = "delete the record and create the workspace again"
	default:
		return nil
	}
	return e
}
