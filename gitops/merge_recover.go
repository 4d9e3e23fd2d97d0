package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// Recover finishes or undoes what killed processes left in a project, as
// [workspace.Merging] says.
func (g *Merger) Recover(ctx context.Context, p workspace.Project) ([]string, error) {
	if !g.r.interrupted(p) {
		return nil, nil
	}
	lock, err := g.r.lock(ctx, p)
	if err != nil {
		return nil, withOp("recover", err)
	}
	defer lock.release()
	done, err := g.recoverLocked(ctx, p, lock)
	return done, withOp("recover", err)
}

// interrupted reports whether a killed process, or one that is alive, has
// left a journal in the project.
func (r *Repository) interrupted(p workspace.Project) bool {
	if isFile(moveFiles(p.ID).journal()) {
		return true
	}
	names, _ := os.ReadDir(filepath.Join(p.ID, "worktrees"))
	for _, name := range names {
		admin := filepath.Join(p.ID, "worktrees", name.Name())
		if isFile(moveFiles(admin).journal()) {
			return true
		}
		if j, err := readMergeJournal(admin); err != nil || j != nil && j.Phase != mergePaused {
			return true
		}
	}
	return false
}

// recoverLocked settles all that was left. What can't be settled is in the
// error, and keeps nothing else from being settled.
func (g *Merger) recoverLocked(ctx context.Context, p workspace.Project, lock *repoLock) ([]string, error) {
	done, all := g.r.recoverAdvance(ctx, p, lock.inherit()...)
	entries, err := readEntries(p.ID)
	if err != nil {
		return done, unreadable(p.ID, err)
	}
	for _, e := range entries {
		if reason, _, _ := lockReason(e.path); strings.HasPrefix(reason, trashReason) {
			continue
		}
		line, err := g.recoverMerge(ctx, p, lock, e)
		if line != "" {
			done = append(done, line)
		}
		all = errors.Join(all, err)
	}
	return done, oneOf(all)
}

// recoverMerge settles the merge of one worktree.
func (g *Merger) recoverMerge(ctx context.Context, p workspace.Project, lock *repoLock, e entry) (string, error) {
	j, err := readMergeJournal(e.path)
	if err != nil || j == nil || j.Phase == mergePaused {
		return "", err
	}
	m, err := g.merging(ctx, workspace.MergeRequest{
		Project: p, Workspace: workspace.Workspace{ThreadID: j.Thread, Directory: e.directory, Branch: j.Branch},
	})
	if err != nil {
		return "", err
	}
	m.lock, m.journal = lock, j
	m.at = checkout{gitDir: e.path, top: e.directory}
	m.resume(j.Now)
	if e.directory == "" || resolveExisting(gitDirOf(e.directory)) != resolveExisting(e.path) {
		return "", &workspace.Error{
			Code: workspace.ErrNotReady, Hint: bringBack(e.directory),
			Message: fmt.Sprintf("an interrupted merge of %s can't be settled: the directory is missing or was moved", e.directory),
		}
	}
	if j.Phase == mergeMoving {
		return m.recovered(m.settleLanding(ctx))
	}
	return m.recovered(m.settleWork(ctx))
}

// recovered completes the line with what went less than well.
func (m *merging) recovered(line string, err error) (string, error) {
	if err != nil {
		return "", failure("", fmt.Sprintf("the interrupted merge of %s can't be settled yet", m.at.top), "see what git says there, then try again", err)
	}
	for _, warning := range m.warnings {
		line += "; " + warning
	}
	return line, nil
}

// settleWork undoes what git did in the workspace when we were killed. A
// rebase that it finished is left as it is: nothing is lost by it, and work
// may have been done on top of it since.
func (m *merging) settleWork(ctx context.Context) (string, error) {
	j := m.journal
	what := fmt.Sprintf("the interrupted %s of %s in %s", j.Now.operation(), m.what(), m.at.top)
	sha, on, err := m.checkedOut(ctx)
	if err != nil {
		return "", err
	}
	begun := operation(m.at.gitDir) != "" || on == "" || on != j.Branch || sha == j.Now.Before || sha == j.Now.Onto
	if !j.Aborting && !begun && j.Now.Strategy == workspace.StrategyRebase {
		finished, err := (&comparer{r: m.r, refs: m.refs}).ancestor(ctx, j.Now.Onto, sha)
		if err == nil && finished {
			if err := m.dropDeadLock(ctx, j.Started); err != nil {
				return "", err
			}
			return what + " was finished; it can be merged again", m.forget(j)
		}
	}
	return what + " was undone", m.stepBack(ctx, true)
}

// oneOf returns the first error for a person of joined ones, with the others
// as its cause.
func oneOf(err error) error {
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok {
		return err
	}
	out := *e
	out.Err = err
	return &out
}
