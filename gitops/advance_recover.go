package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/threadtree/threadtree/workspace"
)

// recoverAdvance settles the moves that a killed process left anywhere in the
// project: one whose ref has moved is finished, any other is undone. It
// returns a line for each; where a git that outlived its process is still at
// work, nothing is touched and the line says so. What could not be settled is
// an error, and stays for the next call. The repository's lock must be held;
// inherit are open files that children keep.
func (r *Repository) recoverAdvance(ctx context.Context, p workspace.Project, inherit ...*os.File) ([]string, error) {
	return r.recoverMoves(ctx, p, advanceInput{inherit: inherit})
}

// recoverMoves is recoverAdvance, of whose input the rest may be empty.
func (r *Repository) recoverMoves(ctx context.Context, p workspace.Project, in advanceInput) ([]string, error) {
	names, err := os.ReadDir(filepath.Join(p.ID, "worktrees"))
	if err != nil && !isAbsent(err) {
		return nil, unreadable(p.ID, err)
	}
	gitDirs := []string{p.ID}
	for _, name := range names {
		gitDirs = append(gitDirs, filepath.Join(p.ID, "worktrees", name.Name()))
	}
	var lines []string
	var all []error
	for _, gitDir := range gitDirs {
		line, err := r.recoverMove(ctx, p, gitDir, in)
		if line != "" {
			lines = append(lines, line)
		}
		if err != nil {
			all = append(all, err)
		}
	}
	if len(all) == 1 {
		return lines, all[0]
	}
	return lines, errors.Join(all...)
}

// recoverMove settles what is left in one git directory.
func (r *Repository) recoverMove(ctx context.Context, p workspace.Project, gitDir string, in advanceInput) (string, error) {
	files := moveFiles(gitDir)
	if _, err := os.Lstat(files.journal()); isAbsent(err) {
		return "", nil
	}
	m := &move{r: r, p: p, in: in, at: checkout{gitDir: gitDir}, files: files}
	if err := m.findTop(ctx); err != nil {
		return "", err
	}
	var err error
	m.held, err = openLocked(files.held(), os.O_CREATE)
	switch {
	case errors.Is(err, errLockBusy):
		return "a move of files in " + m.at.name() + " is still at work and was left alone", nil
	case err != nil:
		return "", m.cantSettle(err)
	}
	defer m.held.Close()
	m.in.lockWait = recoverWait
	if err := m.in.complete(ctx, r, p); err != nil {
		return "", err
	}
	j, there, err := readMove(files)
	if err != nil || !there {
		return "", m.cantSettle(err)
	}
	m.journal, m.in.ref, m.in.old, m.in.new, m.in.detach = j, j.Ref, j.Old, j.New, j.Detach
	line, err := m.settle(ctx)
	if err != nil {
		return line, m.cantSettle(errors.Join(err, m.dropIndexLock()))
	}
	// The lock goes before the journal that says whose it is.
	if err := errors.Join(m.dropIndexLock(), files.drop()); err != nil {
		return line, m.cantSettle(err)
	}
	return line, nil
}

func (m *move) findTop(ctx context.Context) (err error) {
	if m.at.gitDir == m.p.ID {
		m.at.top, err = m.r.mainTop(ctx, m.p)
		return err
	}
	m.at.top = entryDirectory(m.at.gitDir)
	m.at.gone = resolveExisting(gitDirOf(m.at.top)) != resolveExisting(m.at.gitDir)
	return nil
}

func (m *move) cantSettle(err error) error {
	return failure("", fmt.Sprintf("a move of files in %s was interrupted and can be neither finished nor undone yet", m.at.name()),
		"see that the checkout and its git directory can be written to, then try again", err)
}

// settle finishes or undoes the move, and returns what was done.
func (m *move) settle(ctx context.Context) (string, error) {
	what := fmt.Sprintf("the interrupted move of %s to %s in %s", m.in.branch(), short(m.in.new), m.at.name())
	if m.journal.Phase == phaseBegun {
		return what + " was dropped: it had changed nothing", nil
	}
	if m.at.gone || m.at.top == "" {
		return "", &workspace.Error{
			Code: workspace.ErrNotFound, Message: what + " can't be settled: the directory is missing or was moved",
			Hint: bringBack(m.at.top),
		}
	}
	// Somebody may have removed the lock, as git's message about it suggests.
	if !m.hasIndexLock() {
		if err := m.takeIndexLock(ctx); err != nil {
			return "", err
		}
	}
	moved, err := m.moved(ctx)
	switch {
	case err != nil:
		return "", err
	case moved:
		note, err := m.install(ctx)
		if err != nil {
			return "", err
		}
		m.in.did(stepInstalled)
		return what + " was finished" + note, nil
	}
	undone, err := m.undo(ctx)
	if err != nil {
		return "", err
	}
	m.in.did(stepWritten)
	if len(undone.left) > 0 {
		return what + " was undone, but for what somebody edited since: " + nameSome(undone.left), nil
	}
	return what + " was undone", nil
}

// moved reports whether the ref has got to the new commit, or beyond it.
func (m *move) moved(ctx context.Context) (bool, error) {
	if m.in.detach {
		return m.r.headIs(ctx, m.p, m.at, m.in.new)
	}
	tip, err := m.r.tip(ctx, m.p, m.in.ref)
	if err != nil || tip == "" || tip == m.in.old {
		return false, err
	}
	if tip == m.in.new {
		return true, nil
	}
	return (&comparer{r: m.r, refs: m.r.openRefs(m.p.ID)}).ancestor(ctx, m.in.new, tip)
}

// install puts the new index in its place, in one step: the lock on the index
// takes no part in it. Where somebody has changed the index since it was
// copied, the move is made on theirs. Where HEAD has gone elsewhere, or that
// can't be done, the index stays, and the note says so.
func (m *move) install(ctx context.Context) (note string, err error) {
	if mark, err := markOf(m.files.next()); err != nil || mark.Kind == kindAbsent {
		return "", err // it is in its place
	}
	ctx, cancel := settling(ctx)
	defer cancel()
	now, err := markOf(m.files.index())
	switch {
	case err != nil:
		return "", err
	case !m.hasIndexLock():
		// Somebody has removed it: whose turn is it?
		if err := m.takeIndexLock(ctx); err != nil {
			return "", err
		}
		return m.installAnew(ctx)
	case now != m.journal.Index:
		return m.installAnew(ctx)
	}
	return "", os.Rename(m.files.next(), m.files.index())
}

// installAnew makes the move on the index as it is now.
func (m *move) installAnew(ctx context.Context) (note string, err error) {
	h, err := m.r.headOf(ctx, m.at.gitDir)
	if err != nil {
		return "", err
	}
	sha, branch, err := m.r.openRefs(m.p.ID).checkedOut(ctx, h)
	if err != nil {
		return "", err
	}
	if branch != m.in.leads() || sha != m.in.new {
		return "; something else is checked out there by now, and the index was left as it is", nil
	}
	if err := m.files.dropNext(); err != nil {
		return "", err
	}
	if _, err := m.files.copyIndex(); err != nil {
		return "", err
	}
	if _, err := m.r.git.run(ctx, m.onNext("read-tree", "-i", "-m", m.in.old, m.in.new)); err != nil {
		if exitCode(err) < 0 {
			return "", err
		}
		return "; the index has changes of somebody's that the move overlaps, and was left as it is", nil
	}
	if _, err := m.r.git.run(ctx, m.onNext("update-index", "-q", "--refresh")); exitCode(err) < 0 {
		return "", err
	}
	return "", os.Rename(m.files.next(), m.files.index())
}
