package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/threadtree/threadtree/workspace"
)

// Steps of a move, in order, as they are told to advanceInput.step.
const (
	stepJournal   = "journal written"
	stepLocked    = "index locked"
	stepChecked   = "HEAD checked"
	stepCopied    = "index copied"
	stepLooked    = "untracked files looked for"
	stepRecorded  = "files recorded"
	stepWritten   = "files written"
	stepRefMoved  = "ref moved"
	stepInstalled = "index installed"
	stepUnlocked  = "index unlocked"
	stepDone      = "journal removed"
)

// move moves a branch forward in a checkout of it. The order of its steps is
// what makes it recoverable: as long as the ref is where it was all can be
// undone by the user's index, which isn't touched; afterwards nothing is left
// but to put the new index in its place.
type move struct {
	r       *Repository
	p       workspace.Project
	in      advanceInput
	at      checkout
	files   moveFiles
	changes []treeChange
	journal journal
	// held is the lock that says that we or our children are at work.
	held *os.File
	// earlier is what kept an interrupted move from being settled.
	earlier error
	// unsettled is true where the journal has to stay for the next call.
	unsettled bool
}

func (m *move) run(ctx context.Context) error {
	if err := m.begin(); err != nil {
		return err
	}
	defer m.held.Close()
	err := m.locked(ctx)
	if err != nil && !m.unsettled && m.journal.Phase == phaseWriting {
		// All is as it was: from the unlocking on, files are the user's again.
		m.journal.Phase, m.journal.Paths, m.journal.Made = phaseBegun, nil, nil
		err = errors.Join(err, m.journal.write(m.files))
	}
	err = errors.Join(err, m.dropIndexLock())
	m.in.did(stepUnlocked)
	if m.unsettled {
		return single(err)
	}
	err = errors.Join(err, m.files.drop())
	m.in.did(stepDone)
	return single(err)
}

// single returns the error for a person out of joined ones.
func single(err error) error {
	return failure("", "the files of ours in the git directory could not be removed", "see that the directory can be written to", err)
}

// begin says in the checkout's git directory what is going to be done.
func (m *move) begin() error {
	var err error
	m.held, err = openLocked(m.files.held(), os.O_CREATE)
	switch {
	case errors.Is(err, errLockBusy):
		return stillAtWork(m.at.name())
	case err != nil:
		return m.cant("nothing can be written to the git directory of "+m.at.name(), err)
	}
	if _, there, err := readMove(m.files); there || err != nil {
		_ = m.held.Close()
		return m.notSettled(errors.Join(m.earlier, err))
	}
	m.journal = journal{Version: journalVersion, Phase: phaseBegun, Ref: m.in.ref, Old: m.in.old, New: m.in.new, Detach: m.in.detach, Nonce: newNonce()}
	if err := m.journal.write(m.files); err != nil {
		err = errors.Join(m.cant("nothing can be written to the git directory of "+m.at.name(), err), m.files.drop())
		_ = m.held.Close()
		return single(err)
	}
	m.in.did(stepJournal)
	return nil
}

// locked does what is done under the index's lock. An error means that all is
// as it was, unless m.unsettled.
func (m *move) locked(ctx context.Context) error {
	if err := m.takeIndexLock(ctx); err != nil {
		return err
	}
	m.in.did(stepLocked)
	if err := m.check(ctx); err != nil {
		return err
	}
	m.in.did(stepChecked)
	if err := m.writeFiles(ctx); err != nil {
		return err
	}
	m.in.did(stepWritten)
	if err := m.r.moveRef(ctx, m.p, m.in, &m.at, m.children()); err != nil {
		undone, undoErr := m.undo(ctx)
		return m.afterUndo(err, undone, undoErr)
	}
	m.in.did(stepRefMoved)
	if _, err := m.install(ctx); err != nil {
		m.unsettled = true
		return failure("", fmt.Sprintf("the branch %s was moved and so were the files in %s, but not its index", m.in.branch(), m.at.name()),
			"the next merge finishes it; or run there: git reset", err)
	}
	m.in.did(stepInstalled)
	return nil
}

// check looks again, now that no git command can come between.
func (m *move) check(ctx context.Context) error {
	if m.at.operation = operation(m.at.gitDir); m.at.operation != "" {
		return busyCheckout(m.in.branch(), m.at)
	}
	x := m.r.openRefs(m.p.ID)
	h, err := m.r.headOf(ctx, m.at.gitDir)
	if err != nil {
		return err
	}
	sha, branch, err := x.checkedOut(ctx, h)
	switch {
	case err != nil:
		return err
	case branch != m.in.leaves():
		return &workspace.Error{
			Code: workspace.ErrInProgress, Err: errHeadMoved,
			Message: fmt.Sprintf("something else was checked out in %s meanwhile; nothing was changed", m.at.name()),
			Hint:    "try again",
		}
	case sha != m.in.old:
		return m.in.movedAway(sha)
	}
	return nil
}

// command is a git command in the checkout that heeds neither what a file
// system monitor believes nor submodules, and calls no hook: those that a
// merge would call are called for the whole of it.
func (m *move) command(args ...string) command {
	return command{
		dir: m.at.top, env: m.at.env(), args: args, write: true, inherit: m.children(),
		config: []string{"core.fsmonitor=false", "submodule.recurse=false", "core.hooksPath=" + os.DevNull},
	}
}

// onNext is a git command by the index to be.
func (m *move) onNext(args ...string) command {
	c := m.command(args...)
	c.env = append(c.env, "GIT_INDEX_FILE="+m.files.next())
	return c
}

func (m *move) children() []*os.File {
	return append([]*os.File{m.held}, m.in.inherit...)
}

// writeFiles moves the files and the index to be. Mostly nothing speaks
// against it; where git refuses, it is tried again with the index refreshed,
// as a file may have been touched without being changed.
func (m *move) writeFiles(ctx context.Context) error {
	for refreshed := false; ; refreshed = true {
		if err := m.prepare(ctx, refreshed); err != nil {
			return err
		}
		// Once more, as late as can be: git overwrites what is ignored.
		if err := m.lookAhead(ctx); err != nil {
			return err
		}
		_, gitErr := m.r.git.run(ctx, m.onNext(append([]string{"read-tree", "-m", "-u"}, m.treesToRead(ctx)...)...))
		if gitErr == nil {
			return nil
		}
		undone, err := m.undo(ctx)
		switch {
		case err != nil || undone.any || exitCode(gitErr) < 0:
			return m.afterUndo(failure("", fmt.Sprintf("the files in %s could not be written", m.at.name()), "see what git says, then try again", gitErr), undone, err)
		case refreshed:
			return m.refused(ctx, gitErr)
		}
	}
}

// prepare makes the index to be, looks for files in the way, and writes down
// what is there.
func (m *move) prepare(ctx context.Context, refresh bool) error {
	err := m.files.dropNext()
	if err == nil {
		m.journal.Index, err = m.files.copyIndex()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &workspace.Error{
			Code: workspace.ErrTargetDirty, Err: err,
			Message: fmt.Sprintf("%s has no index: nothing was ever checked out there; nothing was changed", m.at.name()),
			Hint:    "run there: git reset --hard",
		}
	case err != nil:
		return m.cant("the index of "+m.at.name()+" can't be copied", err)
	}
	if refresh {
		// It exits with 1 where files are changed.
		if _, err := m.r.git.run(ctx, m.onNext("update-index", "-q", "--refresh")); exitCode(err) < 0 {
			return m.cant("the index of "+m.at.name()+" can't be refreshed", err)
		}
	}
	m.in.did(stepCopied)
	if err := m.lookAhead(ctx); err != nil {
		return err
	}
	m.in.did(stepLooked)
	if err := m.record(); err != nil {
		return m.cant("what is in "+m.at.name()+" can't be recorded", err)
	}
	m.in.did(stepRecorded)
	return nil
}

// record writes down, durably, what is at each path that the move changes.
func (m *move) record() error {
	seen := make(map[string]bool)
	m.journal.Phase, m.journal.Paths, m.journal.Made = phaseWriting, nil, nil
	for _, c := range m.changes {
		was, err := markOf(m.at.path(c.path))
		if err != nil {
			return err
		}
		m.journal.Paths = append(m.journal.Paths, pathMark{Path: []byte(c.path), Mode: c.newMode, ID: c.newID, Was: was})
		if c.newMode == 0 {
			continue
		}
		for _, parent := range parents(c.path) {
			if seen[parent] {
				continue
			}
			seen[parent] = true
			mark, err := markOf(m.at.path(parent))
			if err != nil {
				return err
			}
			if mark.Kind != kindDirectory {
				m.journal.Made = append(m.journal.Made, []byte(parent))
			}
		}
	}
	return m.journal.write(m.files)
}

// cant is the error for a step that failed before anything was changed.
func (m *move) cant(what string, err error) error {
	return failure("", what+"; nothing was changed", "see that the checkout and its git directory can be written to, then try again", err)
}

// afterUndo completes the error of a step that was undone.
func (m *move) afterUndo(cause error, u undone, undoErr error) error {
	e, ok := errors.AsType[*workspace.Error](cause)
	if !ok {
		e = &workspace.Error{Code: workspace.ErrGitFailed, Message: cause.Error(), Err: cause}
	}
	out := *e
	switch {
	case undoErr != nil:
		m.unsettled = true
		out.Message += fmt.Sprintf("; of the files in %s some are already as in %s, and they could not be put back: %v", m.at.name(), short(m.in.new), undoErr)
		out.Hint = "the next merge tries again"
		out.Err = errors.Join(cause, undoErr)
	case len(u.left) > 0:
		out.Files = u.left
		out.Message += fmt.Sprintf("; what was written was put back, but not what somebody edited meanwhile: %s", nameSome(u.left))
	case u.any:
		out.Message += "; what was written was put back"
	}
	return &out
}

// notSettled refuses a move where an earlier one has left its journal.
func (m *move) notSettled(err error) error {
	return &workspace.Error{
		Code: workspace.ErrInProgress, Err: err,
		Message: fmt.Sprintf("an earlier move of a branch in %s was interrupted and could be neither finished nor undone (%v); nothing was changed", m.at.name(), err),
		Hint:    fmt.Sprintf("see to what it says; or mend the checkout by hand and remove %s", m.files.journal()),
	}
}

// stillAtWork refuses to touch what somebody is at work on.
func stillAtWork(where string) error {
	return &workspace.Error{
		Code:    workspace.ErrInProgress,
		Message: fmt.Sprintf("a git command of ours is still at work in %s; nothing was changed", where),
		Hint:    "wait for it to end, then try again",
		Err:     errLockBusy,
	}
}
