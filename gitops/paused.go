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

// waits reports whether the operation under way in the checkout is the one
// that the journal says was left paused there.
func (j *mergeJournal) waits(at checkout) bool {
	if at.operation == "" || at.operation != j.Paused.operation() {
		return false
	}
	is := func(want string, name ...string) bool {
		content, err := os.ReadFile(filepath.Join(append([]string{at.gitDir}, name...)...))
		return err == nil && strings.TrimSpace(string(content)) == want
	}
	if j.Paused.Strategy == workspace.StrategyRebase {
		return is(j.Paused.Onto, "rebase-merge", "onto") && is(j.Paused.Before, "rebase-merge", "orig-head")
	}
	return is(j.Paused.Onto, "MERGE_HEAD")
}

// resume takes from the journal what a merge is about.
func (m *merging) resume(s mergeStage) {
	m.branch, m.tip, m.target, m.onto, m.strategy = m.journal.Branch, s.Before, s.Target, s.Onto, s.Strategy
}

// takeUp goes on from a paused merge that somebody has finished or undone by
// hand. A merge that was finished is merged as it was asked for at first.
func (m *merging) takeUp(ctx context.Context) error {
	j := m.journal
	finished, err := j.unfinished(ctx, &comparer{r: m.r, refs: m.refs}, m.branch, m.tip)
	if err != nil {
		return err
	}
	if m.ended, err = j.quit(ctx, &comparer{r: m.r, refs: m.refs}, m.branch, m.tip); err != nil {
		return err
	}
	if m.ended {
		return m.wasQuit(ctx)
	}
	if !finished {
		// Undone by hand, or left for something else.
		m.journal = nil
		return nil
	}
	m.resolved = true
	if m.strategy == workspace.StrategyRebase {
		m.strategy = j.Paused.Strategy
	}
	if m.message == "" {
		m.message = j.Paused.Message
	}
	m.keep = m.keep || j.Paused.Keep
	if err := m.findDropped(ctx); err != nil {
		return err
	}
	marked, err := m.markedIn(ctx, j.Paused.Onto, m.tip, j.Paused.Before)
	if err != nil || len(marked) == 0 {
		return err
	}
	m.target, m.onto = j.Paused.Target, j.Paused.Onto
	return m.stillMarked(ctx, marked)
}

// markedIn returns the files of a commit that have conflict markers which
// neither of the other two has.
func (m *merging) markedIn(ctx context.Context, onto, tip, before string) ([]string, error) {
	changes, err := m.r.treeChanges(ctx, m.refs, onto, tip)
	if err != nil {
		return nil, failure("", "the resolved commits can't be looked at; nothing was changed", "see what git says there", err)
	}
	var paths []string
	for _, c := range changes {
		if c.newMode != 0 && c.newMode != modeSubmodule {
			paths = append(paths, c.path)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	marked, err := m.grepMarkers(ctx, tip, paths)
	for _, other := range []string{onto, before} {
		if err != nil || len(marked) == 0 {
			break
		}
		var also []string
		also, err = m.grepMarkers(ctx, other, marked)
		marked = slices.DeleteFunc(marked, func(path string) bool { return slices.Contains(also, path) })
	}
	return marked, err
}

func (m *merging) grepMarkers(ctx context.Context, commit string, paths []string) ([]string, error) {
	args := []string{
		"grep", "-z", "-l", "-I", "--no-color", "--all-match", "-e", "^<<<<<<< ", "--or", "-e", "^=======", "--or", "-e", "^>>>>>>> ", commit, "--",
	}
	if len(paths) <= maxSidePaths {
		args = append(args, paths...)
	}
	cmd := m.refs.command(args...)
	cmd.env = append(cmd.env, "GIT_LITERAL_PATHSPECS=1")
	out, err := m.r.git.run(ctx, cmd)
	if exitCode(err) == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, failure("", "the resolved files can't be searched; nothing was changed", "see what git says there", err)
	}
	var found []string
	for name := range strings.SplitSeq(string(out), "\x00") {
		path := strings.TrimPrefix(name, commit+":")
		if name != "" && slices.Contains(paths, path) {
			found = append(found, path)
		}
	}
	return found, nil
}

// stillMarked is the conflict of a merge that was finished with markers left.
func (m *merging) stillMarked(ctx context.Context, files []string) error {
	c, err := m.conflict(ctx, files, workspace.CommitInfo{})
	if err != nil {
		return failure("", "conflict markers are left in the commits", "edit the files, and commit", err)
	}
	c.Paused, c.Directory = true, m.at.top
	c.Instructions = instructions(c, m.journal.Tip, m.onto)
	return &workspace.Error{
		Code: conflictCode(m.journal.Paused.Strategy), Files: c.Files, Err: errors.Join(c, workspace.ErrPaused),
		Message: fmt.Sprintf("the %s was finished, but conflict markers are left in what was committed: %s; nothing was merged",
			m.journal.Paused.operation(), nameSome(c.Files)),
		Hint: "edit these files, commit them and continue, or abort",
	}
}

// pause starts the rebase or the merge in the workspace and leaves it where it
// stops. It returns the conflict.
func (m *merging) pause(ctx context.Context) error {
	if err := m.unobstructed(ctx, m.onto, true); err != nil {
		return err
	}
	m.journal = m.begun(mergeWorking)
	if err := m.journal.write(m.at.gitDir); err != nil {
		return err
	}
	m.did(stepWorking)
	if err := m.keepTips(ctx); err != nil {
		return m.afterFailure(context.WithoutCancel(ctx), err)
	}
	if err := m.stillUnobstructed(ctx); err != nil {
		return err
	}
	var stop *stopped
	var err error
	if m.strategy == workspace.StrategyRebase {
		_, stop, err = m.rebaseInPlace(ctx)
	} else {
		stop, err = m.mergeTarget(ctx)
	}
	if err != nil {
		return err
	}
	if stop == nil {
		// What git makes of it isn't what was foreseen: what it did is kept,
		// and taken up by the next try.
		if err := m.wait(nil); err != nil {
			return err
		}
		return m.movedMeanwhile()
	}
	return m.pauseAt(ctx, stop)
}

// pauseAt leaves the operation that has stopped paused.
func (m *merging) pauseAt(ctx context.Context, stop *stopped) error {
	if err := m.wait(stop.files); err != nil {
		return err
	}
	m.did(stepPaused)
	return m.pausedError(ctx, stop, "is paused at a conflict")
}

// wait writes down that the workspace is somebody else's now to resolve.
func (m *merging) wait(files []string) error {
	j := m.journal
	now := j.Now
	j.Phase, j.Paused, j.Landing = mergePaused, &now, nil
	for _, file := range files {
		if !slices.ContainsFunc(j.Files, func(known []byte) bool { return string(known) == file }) {
			j.Files = append(j.Files, []byte(file))
		}
	}
	return j.write(m.at.gitDir)
}

// mergeTarget merges the target into the workspace's branch, for a conflict of
// a squash or a merge to be resolved there: after that, the one commit that
// brings it home has nothing to conflict with.
func (m *merging) mergeTarget(ctx context.Context) (*stopped, error) {
	m.tell(workspace.PhaseMerge, "git merges %s into %s", m.target, m.what())
	message := fmt.Sprintf("Merge branch '%s' into %s", m.target, m.what())
	_, gitErr := m.r.git.run(ctx, m.inWorkspace("merge", "-q", "--no-commit", "--no-ff", "-m", message, m.onto))
	m.did(stepGitDone)
	calm := context.WithoutCancel(ctx)
	if ctx.Err() == nil && exitCode(gitErr) >= 0 {
		stop, err := m.whereStopped(calm)
		if err != nil || stop != nil {
			return stop, err
		}
	}
	if gitErr == nil {
		gitErr = errors.New("it went through although a conflict was foreseen")
	}
	return nil, m.afterFailure(calm, asBefore(fmt.Sprintf("git could not merge %s into %s", m.target, m.what()), gitErr))
}

// pausedConflict is the conflict of a paused merge, again. Nothing is touched.
func (m *merging) pausedConflict(ctx context.Context, what string) error {
	m.resume(*m.journal.Paused)
	stop, err := m.unresolved(ctx)
	if err != nil {
		return err
	}
	return m.pausedError(ctx, stop, what)
}

// pausedError describes a paused merge.
func (m *merging) pausedError(ctx context.Context, stop *stopped, what string) error {
	files := stop.files
	if len(files) == 0 {
		for _, file := range m.journal.Files {
			files = append(files, string(file))
		}
	}
	c, err := m.conflict(ctx, files, stop.commit)
	if err != nil {
		// That it is paused is true all the same.
		c = &workspace.Conflict{Strategy: m.strategy, Files: files, Branch: m.branch, Target: m.target, Commit: stop.commit, Directory: m.at.top}
	}
	c.Paused = true
	c.Instructions = instructions(c, m.tip, m.onto)
	both := "the merge of %s and %s"
	if m.journal.Paused.operation() == opRebase {
		both = "the rebase of %s onto %s"
	}
	message := fmt.Sprintf(both+" %s in %s", m.what(), m.target, what, m.at.top)
	if len(stop.files) > 0 {
		message += ": " + nameSome(stop.files)
	}
	return &workspace.Error{
		Code: conflictCode(m.journal.Paused.Strategy), Files: c.Files, Message: message, Hint: stop.hint(), Err: errors.Join(c, workspace.ErrPaused),
	}
}

// hint says what is left to do in a paused workspace.
func (s *stopped) hint() string {
	switch {
	case len(s.files) == 0:
		return "all files are resolved: continue, or abort"
	case len(s.edited) == len(s.files):
		return "no conflict markers are left in them, only git add is missing: git add each file, then continue, or abort"
	case len(s.marked) == len(s.files):
		return "these were added with conflict markers left in them: take the markers out, add them once more and continue, or abort"
	case len(s.marked) > 0:
		return "resolve it there (git add each file, then continue), or abort; added already, but with conflict markers left: " + nameSome(s.marked)
	case len(s.edited) > 0:
		return "resolve it there (git add each file, then continue), or abort; no markers are left, only git add is missing in: " + nameSome(s.edited)
	}
	return "resolve it there (git add each file, then continue), or abort"
}

// unresolved returns the files of a paused operation that aren't resolved:
// those unmerged, and those that were and still have markers.
func (m *merging) unresolved(ctx context.Context) (*stopped, error) {
	stop, err := m.whereStopped(ctx)
	if err != nil {
		return nil, err
	}
	if stop == nil {
		stop = &stopped{}
	}
	stop.edited = m.edited(ctx, stop.files)
	added, err := m.listFiles(ctx, "--resolve-undo")
	if err != nil {
		return nil, err
	}
	for _, path := range added {
		if !slices.Contains(stop.files, path) && hasMarkers(m.at.path(path)) {
			stop.files, stop.marked = append(stop.files, path), append(stop.marked, path)
		}
	}
	return stop, nil
}
