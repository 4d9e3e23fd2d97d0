package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// Continue finishes a paused merge, as [workspace.Merging] says. The files
// must have been added: whether they are resolved is for who resolved them to
// say.
func (g *Merger) Continue(ctx context.Context, req workspace.MergeRequest) (workspace.Merged, error) {
	m, err := g.begin(ctx, req)
	if err == nil {
		err = m.goOn(ctx)
	}
	if err != nil {
		return workspace.Merged{}, withOp("continue", err)
	}
	merged, err := m.merge(ctx)
	return merged, withOp("continue", m.afterContinue(err))
}

// afterContinue corrects a refusal that comes after git has finished what was
// paused: that much has changed.
func (m *merging) afterContinue(err error) error {
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok || m.finished == "" || errors.Is(err, workspace.ErrPaused) {
		return err
	}
	now := fmt.Sprintf("; the %s in %s is finished, and nothing has reached %s yet", m.finished, m.at.top, m.target)
	out := *e
	for _, untrue := range []string{nothingChanged, allAsBefore} {
		out.Message = strings.Replace(out.Message, untrue, now, 1)
	}
	return &out
}

// goOn has git finish the operation that is paused.
func (m *merging) goOn(ctx context.Context) error {
	if err := m.findPaused(ctx); err != nil || m.resolved {
		return err
	}
	return m.hold(ctx, func() error {
		stop, err := m.unresolved(ctx)
		if err != nil {
			return err
		}
		if len(stop.files) > 0 {
			return m.pausedError(ctx, stop, "is not resolved yet")
		}
		if err := m.freeToContinue(ctx); err != nil {
			return err
		}
		m.finished = m.journal.Paused.operation()
		if err := m.continueGit(ctx); err != nil {
			m.finished = ""
			return err
		}
		return nil
	})
}

// findPaused finds the paused merge, or one that was finished by hand, for
// which m.resolved is true.
func (m *merging) findPaused(ctx context.Context) error {
	if err := m.lookAtWorkspace(ctx); err != nil {
		return err
	}
	var err error
	if m.journal, err = readMergeJournal(m.at.gitDir); err != nil {
		return err
	}
	none := &workspace.Error{
		Code: workspace.ErrNotFound, Hint: "merge it",
		Message: fmt.Sprintf("no merge is paused in %s; nothing was changed", m.at.top),
	}
	switch j := m.journal; {
	case j != nil && j.Phase != mergePaused:
		return m.interruptedNow()
	case j != nil && j.waits(m.at):
		m.resume(*j.Paused)
		return nil
	case m.at.operation != "":
		return &workspace.Error{
			Code: workspace.ErrOperationInProgress, Hint: "finish or abort it with git",
			Message: fmt.Sprintf("a %s is under way in %s, and it isn't a merge of ours; nothing was changed", m.at.operation, m.at.top),
		}
	case j == nil:
		return none
	}
	if err := m.takeUp(ctx); err != nil {
		return err
	}
	if !m.resolved {
		return none
	}
	return nil
}

// continueGit has git go on, up to the end or the next conflict.
func (m *merging) continueGit(ctx context.Context) error {
	// The message that git prepared has the conflicts in comments.
	args := []string{"commit", "-q", "--no-edit", "--cleanup=strip"}
	phase := workspace.PhaseMerge
	if m.strategy == workspace.StrategyRebase {
		args, phase = []string{"rebase", "--continue"}, workspace.PhaseRebase
	}
	m.tell(phase, "Continuing the %s in %s", m.journal.Paused.operation(), m.at.top)
	_, gitErr := m.r.git.run(ctx, m.inWorkspace(args...))
	m.did(stepGitDone)
	m.at.operation = operation(m.at.gitDir)
	if gitErr == nil && m.at.operation == "" {
		return nil
	}
	stop, err := m.whereStopped(context.WithoutCancel(ctx))
	switch {
	case err != nil:
		return err
	case stop != nil:
		return m.pauseAt(ctx, stop)
	case m.at.operation == "":
		return nil
	}
	if files := m.unadded(context.WithoutCancel(ctx)); len(files) > 0 {
		return &workspace.Error{
			Code: workspace.ErrDirtyWorktree, Files: files, Err: gitErr, Hint: "git add them there, or undo these changes, then continue",
			Message: fmt.Sprintf("%s in %s changed without being added (%s); the %s is paused as before",
				plural(len(files), "file"), m.at.top, nameSome(files), m.journal.Paused.operation()),
		}
	}
	return failure("", fmt.Sprintf("git could not continue the %s in %s, which is paused as before", m.journal.Paused.operation(), m.at.top),
		"see what git or a hook of it says there, then continue again, or abort", gitErr)
}

// unadded returns the files with changes that aren't in the index, nil where
// that can't be found out.
func (m *merging) unadded(ctx context.Context) []string {
	out, err := m.r.git.run(ctx, m.inWorkspace("ls-files", "-z", "--modified"))
	if err != nil {
		return nil
	}
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	slices.Sort(files)
	return slices.Compact(slices.DeleteFunc(files, func(file string) bool { return file == "" }))
}

// freeToContinue refuses to go on where a commit that is still to be replayed
// would overwrite a file that git doesn't track: git stops half-way at it, and
// takes an ignored one for expendable.
func (m *merging) freeToContinue(ctx context.Context) error {
	at, err := os.ReadFile(filepath.Join(m.at.gitDir, "REBASE_HEAD"))
	if err != nil || m.strategy != workspace.StrategyRebase {
		return nil // a merge makes its commit of what is in the index
	}
	changes, err := m.added(ctx, m.journal.Paused.Before, strings.TrimSpace(string(at)))
	if err != nil {
		return failure("", "what is in the way of going on can't be found out; nothing was changed", "see what git says in the workspace", err)
	}
	return hinted(m.free(ctx, changes), "move them out of the way, then continue again")
}
