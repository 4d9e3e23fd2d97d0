package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// plainRebase are the settings by which "git rebase" replays the commits and
// does nothing besides. As settings they may be ones that a git doesn't know.
var plainRebase = []string{
	"rebase.backend=merge", "rebase.autoStash=false", "rebase.autoSquash=false", "rebase.updateRefs=false",
	"rebase.rebaseMerges=false", "rebase.forkPoint=false", "rebase.rescheduleFailedExec=false",
	"merge.autoStash=false", "submodule.recurse=false", rewriteNotesToo,
}

// inWorkspace is a git command in the workspace, as a person would run it
// there, with the hooks that may run.
func (m *merging) inWorkspace(args ...string) command {
	return command{
		dir: m.at.top, env: m.at.lookup(), args: args, write: true, timeout: m.g.o.GitTimeout,
		config: append(slices.Clone(plainRebase), m.set.hooksOff(m.g.o.RepositoryHooks)...), inherit: m.inherit(),
	}
}

// withoutHooks is inWorkspace for what is none of git's own operations.
func (m *merging) withoutHooks(args ...string) command {
	c := m.inWorkspace(args...)
	c.config = append(c.config, "core.hooksPath="+os.DevNull)
	return c
}

// stopped is where an operation of git's has stopped.
type stopped struct {
	files []string
	// marked are those of the files that were added with conflict markers left
	// in them.
	marked []string
	// edited are those of the files that have no markers any more, and were
	// not added.
	edited []string
	commit workspace.CommitInfo
}

// rebaseInPlace has git rebase the workspace on the target. Where that stops
// at a conflict, it is left so and told. With any other error all is as it
// was.
func (m *merging) rebaseInPlace(ctx context.Context) (string, *stopped, error) {
	m.tell(workspace.PhaseRebase, "git rebases %s on %s", m.what(), m.target)
	_, gitErr := m.r.git.run(ctx, m.inWorkspace("rebase", "-q", m.onto))
	m.did(stepGitDone)
	if gitErr == nil {
		tip, err := m.headNow(ctx)
		return tip, nil, err
	}
	calm := context.WithoutCancel(ctx)
	if ctx.Err() == nil && exitCode(gitErr) > 0 {
		stop, err := m.whereStopped(calm)
		if err != nil || stop != nil {
			return "", stop, err
		}
	}
	return "", nil, m.afterFailure(calm, asBefore(fmt.Sprintf("git could not rebase %s on %s", m.what(), m.target), gitErr))
}

// What messages end in.
const (
	allAsBefore    = "; all is as it was"
	nothingChanged = "; nothing was changed"
)

// asBefore is the failure of a git command that was undone.
func asBefore(what string, err error) error {
	e, ok := errors.AsType[*workspace.Error](failure("", what, "see what git or a hook of it says, then merge again", err))
	if ok && !strings.HasSuffix(e.Message, allAsBefore) {
		out := *e
		out.Message += allAsBefore
		return &out
	}
	return err
}

// whereStopped returns what keeps an operation of git's from going on: the
// paths that are unmerged. It is nil where there are none.
func (m *merging) whereStopped(ctx context.Context) (*stopped, error) {
	if operation(m.at.gitDir) == "" {
		return nil, nil
	}
	files, err := m.unmerged(ctx)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	stop := &stopped{files: files}
	content, err := os.ReadFile(filepath.Join(m.at.gitDir, "REBASE_HEAD"))
	if err != nil {
		return stop, nil // a merge
	}
	sha := strings.TrimSpace(string(content))
	infos, err := m.r.commitInfos(ctx, m.refs, 1, sha, "--")
	if err == nil && len(infos) == 1 {
		stop.commit = infos[0]
	}
	return stop, err
}

// unmerged returns the paths that are in conflict in the workspace's index.
func (m *merging) unmerged(ctx context.Context) ([]string, error) {
	return m.listFiles(ctx, "--unmerged")
}

// listFiles lists paths of the index that git has several versions of.
func (m *merging) listFiles(ctx context.Context, which string) ([]string, error) {
	out, err := m.r.git.run(ctx, command{
		dir: m.at.top, env: m.at.env(), args: []string{"ls-files", "-z", which}, config: []string{"core.fsmonitor=false"},
	})
	if err != nil {
		return nil, failure("", "the workspace's index can't be read", "see what git status says there", err)
	}
	var paths []string
	for line := range strings.SplitSeq(string(out), "\x00") {
		if _, path, ok := strings.Cut(line, "\t"); ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

func (m *merging) headNow(ctx context.Context) (string, error) {
	h, err := m.r.headOf(ctx, m.at.gitDir)
	if err != nil {
		return "", err
	}
	sha, _, err := m.r.openRefs(m.req.Project.ID).checkedOut(ctx, h)
	return sha, err
}

// afterFailure brings the workspace back to what it was before git was at
// work in it, and completes the error where that fails.
func (m *merging) afterFailure(ctx context.Context, cause error) error {
	err := m.stepBack(ctx, false)
	if err == nil {
		m.dropBackups(ctx)
		return cause
	}
	e, ok := errors.AsType[*workspace.Error](cause)
	if !ok {
		return errors.Join(cause, err)
	}
	out := *e
	out.Message = strings.TrimSuffix(out.Message, allAsBefore) + "; and the workspace could not be brought back to what it was yet: " + because(err)
	out.Hint = "the next merge tries again"
	out.Err = errors.Join(cause, err)
	return &out
}

// stepBack undoes what git did in the workspace for us. With keep, which is
// for later calls, whatever is found there is kept by backup refs first; within
// the call it is git's own doing. It can be called again after it was
// interrupted.
func (m *merging) stepBack(ctx context.Context, keep bool) error {
	j := m.journal
	if err := m.dropDeadLock(ctx, j.Started); err != nil {
		return err
	}
	if err := m.clearLeftovers(ctx); err != nil {
		return err
	}
	if err := m.abortOperation(ctx, keep); err != nil {
		return err
	}
	to := j.Now.Before
	if j.Aborting {
		to = j.Tip
	}
	if err := m.reattach(ctx, j.Branch, to, keep); err != nil {
		return err
	}
	m.did(stepBackDone)
	return m.forget(j)
}

// forget ends what a journal says is under way: it goes, or says again that
// there was a paused merge.
func (m *merging) forget(j *mergeJournal) error {
	if j.Paused == nil || j.Aborting {
		return dropMergeJournal(m.at.gitDir)
	}
	j.Phase, j.Now, j.Landing = mergePaused, *j.Paused, nil
	return j.write(m.at.gitDir)
}

// abortOperation ends a rebase or a merge of ours in the workspace, if there
// is one.
func (m *merging) abortOperation(ctx context.Context, keep bool) error {
	op := operation(m.at.gitDir)
	switch op {
	case "":
		return nil
	case opRebase, opMerge:
	default:
		return &workspace.Error{
			Code: workspace.ErrOperationInProgress, Hint: "finish or abort it first",
			Message: fmt.Sprintf("a %s is under way in %s that isn't ours", op, m.at.top),
		}
	}
	if keep {
		if err := m.keepMiddle(ctx); err != nil {
			return err
		}
	}
	_, err := m.r.git.run(ctx, m.withoutHooks(op, "--abort"))
	if err == nil || operation(m.at.gitDir) == "" {
		return nil
	}
	// Killed while it began, a rebase has too little written down to be
	// aborted; what it has changed is put back by what follows.
	if state := filepath.Join(m.at.gitDir, "rebase-merge"); op == opRebase && hardlyBegun(state) {
		return os.RemoveAll(state)
	}
	// A merge isn't aborted over files that were edited since; they are kept.
	if op == opMerge && exitCode(err) > 0 {
		return m.resetMerge(ctx, keep)
	}
	return err
}

// resetMerge ends a merge that git doesn't abort. kept is true where what was
// done since is kept already.
func (m *merging) resetMerge(ctx context.Context, kept bool) error {
	if !kept {
		if _, err := m.keepWork(ctx); err != nil {
			return err
		}
	}
	_, err := m.r.git.run(ctx, m.withoutHooks("reset", "-q", "--hard", "--no-recurse-submodules", "HEAD"))
	return err
}

// hardlyBegun reports whether a rebase lacks, in its directory, what it would
// go back by. A file that was being written is empty.
func hardlyBegun(state string) bool {
	for _, name := range []string{"head-name", "onto", "orig-head"} {
		content, err := os.ReadFile(filepath.Join(state, name))
		if isAbsent(err) || err == nil && len(bytes.TrimSpace(content)) == 0 {
			return true
		}
	}
	return false
}

// keepMiddle keeps what was reached in the middle of an operation: what isn't
// committed, or else the commits.
func (m *merging) keepMiddle(ctx context.Context) error {
	kept, err := m.keepWork(ctx)
	if err != nil || kept {
		return err
	}
	head, _, err := m.checkedOut(ctx)
	if err != nil || head == m.journal.Now.Before || head == m.journal.Now.Onto {
		return err
	}
	return m.keepCommit(ctx, "undone", head)
}

func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// reattach puts the workspace on a branch, or on a commit for branch "", and
// the branch at that commit.
func (m *merging) reattach(ctx context.Context, branch, sha string, keep bool) error {
	now, on, err := m.checkedOut(ctx)
	if err != nil {
		return err
	}
	if on != "" && on != branch {
		m.warn(workspace.PhaseMerge, "%s is checked out in %s by now, which was left as it is", on, m.at.top)
		return nil
	}
	report, err := m.r.status(ctx, m.at.gitDir, m.at.top, "all")
	if err != nil {
		return err
	}
	if now == sha && on == branch && report.counts().changed == 0 {
		return nil
	}
	// What is in the index, within a call, is git's doing. Files that git
	// doesn't know of would be overwritten as well.
	if n := report.counts(); n.modified+n.untracked > 0 || keep && n.changed > 0 {
		if _, err := m.keepWork(ctx); err != nil {
			return err
		}
	}
	if now != sha && keep {
		// Whatever was committed since stays reachable.
		if err := m.keepCommit(ctx, "undone", now); err != nil {
			return err
		}
	}
	if _, err := m.r.git.run(ctx, m.withoutHooks("reset", "-q", "--hard", "--no-recurse-submodules", sha)); err != nil {
		return err
	}
	if on == branch {
		return nil
	}
	// HEAD is detached at what the branch has.
	ref := "refs/heads/" + branch
	tip, err := m.refs.lookup(ctx, ref)
	if err != nil {
		return err
	}
	if tip != sha {
		return &workspace.Error{
			Code: workspace.ErrGitFailed, Hint: "see which commit is the right one, and check the branch out again",
			Message: fmt.Sprintf("the branch %s has moved to %s meanwhile; the workspace is detached at %s", branch, short(tip), short(sha)),
		}
	}
	_, err = m.r.git.run(ctx, m.withoutHooks("symbolic-ref", "-m", "merge: back to "+branch, "HEAD", ref))
	return err
}

func (m *merging) checkedOut(ctx context.Context) (sha, branch string, err error) {
	h, err := m.r.headOf(ctx, m.at.gitDir)
	if err != nil {
		return "", "", err
	}
	return m.r.openRefs(m.req.Project.ID).checkedOut(ctx, h)
}

// dropDeadLock removes the locks in the workspace's git directory, and that of
// its branch, where a git of ours has left them: nobody of ours is alive, as
// the repository's lock is held, the lock came after the journal that says that
// git was at work there, and no other process works in the directory.
func (m *merging) dropDeadLock(ctx context.Context, since time.Time) error {
	locks, err := filepath.Glob(filepath.Join(globQuoted(m.at.gitDir), "*.lock"))
	if err != nil {
		return err
	}
	if j := m.journal; j != nil && j.Branch != "" {
		locks = append(locks, filepath.Join(m.req.Project.ID, "refs", "heads", filepath.FromSlash(j.Branch)+".lock"))
	}
	for _, path := range locks {
		if strings.Contains(filepath.Base(path), "threadtree") {
			continue // our own, which is held
		}
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		p, used := processWithin(resolveExisting(m.at.top))
		if info.ModTime().Before(since.Add(-time.Second)) || used {
			why := "it is older than the merge"
			if used {
				why = fmt.Sprintf("the process %d (%s) works there", p.pid, p.command)
			}
			return &workspace.Error{
				Code:    workspace.ErrLocked,
				Message: fmt.Sprintf("an interrupted merge can't be undone: %s is there, and %s", path, why),
				Hint:    "if no git command is running there, remove " + path,
			}
		}
		if err := os.Remove(path); err != nil && !isAbsent(err) {
			return err
		}
	}
	return m.r.dropDeadPackedLock(ctx, m.req.Project, since)
}

// globQuoted returns a path as a pattern that only it matches.
func globQuoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
