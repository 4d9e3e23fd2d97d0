package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// byGit has git make the new commits in the workspace, because only git can
// sign them or run the hooks. The workspace has them checked out afterwards.
// With an error all is as it was, unless it is a conflict that was left
// paused.
func (m *merging) byGit(ctx context.Context, done composed) (composed, error) {
	if err := m.unobstructed(ctx, m.onto, true); err != nil {
		return composed{}, err
	}
	m.tell(workspace.PhaseRebase, "git has to do it: %s", done.needsGit)
	m.journal = m.begun(mergeWorking)
	if err := m.journal.write(m.at.gitDir); err != nil {
		return composed{}, err
	}
	m.did(stepWorking)
	if err := m.keepTips(ctx); err != nil {
		return composed{}, m.afterFailure(context.WithoutCancel(ctx), err)
	}
	if err := m.stillUnobstructed(ctx); err != nil {
		return composed{}, err
	}
	made := composed{source: done.source, dropped: done.dropped}
	var stop *stopped
	var err error
	if m.strategy == workspace.StrategyRebase {
		made.tip, stop, err = m.rebaseInPlace(ctx)
	} else {
		made.tip, stop, err = m.join(ctx)
	}
	calm := context.WithoutCancel(ctx)
	switch {
	case err != nil:
		return composed{}, err
	case stop != nil && m.req.Resolve && m.strategy == workspace.StrategyRebase:
		return composed{}, m.pauseAt(calm, stop)
	case stop != nil:
		return composed{}, m.afterFailure(calm, m.refuseConflict(calm, stop.files, stop.commit))
	case made.tip == m.onto:
		return composed{}, m.afterFailure(calm, m.nothing(len(done.source)+done.dropped))
	}
	return m.counted(ctx, made)
}

// counted counts what git has made.
func (m *merging) counted(ctx context.Context, made composed) (composed, error) {
	out, err := m.r.git.line(ctx, m.refs.command("rev-list", "--count", m.onto+".."+made.tip, "--"))
	if err == nil {
		_, err = fmt.Sscan(out, &made.commits)
	}
	if err != nil {
		return composed{}, m.afterFailure(context.WithoutCancel(ctx), asBefore("the commits that git made can't be counted", err))
	}
	if m.strategy == workspace.StrategyRebase {
		made.dropped += len(made.source) - made.commits
	}
	return made, nil
}

// join has git make the one commit of a squash or a merge, with the workspace
// detached at the target.
func (m *merging) join(ctx context.Context) (string, *stopped, error) {
	fail := func(err error) (string, *stopped, error) {
		err = asBefore(fmt.Sprintf("git could not put the commits of %s on %s", m.what(), m.target), err)
		return "", nil, m.afterFailure(context.WithoutCancel(ctx), err)
	}
	text := m.text
	file, err := text.file()
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.Remove(file) }()
	if _, err := m.r.git.run(ctx, m.withoutHooks("checkout", "-q", "--detach", "--no-overwrite-ignore", "--no-recurse-submodules", m.onto)); err != nil {
		return fail(err)
	}
	for _, c := range m.joinCommands(text, file) {
		gitErr := m.parentInstead(c.args[0])
		if gitErr == nil {
			_, gitErr = m.r.git.run(ctx, c)
		}
		m.did(stepGitDone)
		if gitErr == nil {
			continue
		}
		files, err := m.unmerged(context.WithoutCancel(ctx))
		if err == nil && len(files) > 0 && ctx.Err() == nil {
			return "", &stopped{files: files}, nil
		}
		return fail(gitErr)
	}
	tip, err := m.headNow(ctx)
	if err != nil {
		return fail(err)
	}
	return tip, nil, nil
}

// joinCommands are those that make the commit.
func (m *merging) joinCommands(text joinText, file string) []command {
	const whole = "i18n.commitEncoding=UTF-8"
	if m.strategy == workspace.StrategyMerge && m.parent != "" {
		merge := m.withoutHooks("merge", "-q", "--no-ff", "--no-commit", m.tip)
		merge.config = append(merge.config, "merge.ff=false")
		commit := m.inWorkspace("commit", "-q", "--no-edit", "--cleanup=whitespace", "-F", file)
		commit.config = append(commit.config, whole)
		return []command{merge, commit}
	}
	if m.strategy == workspace.StrategyMerge {
		merge := m.inWorkspace("merge", "-q", "--no-ff", "--no-edit", "--cleanup=whitespace", "-F", file, m.tip)
		merge.config = append(merge.config, whole, "merge.log=false", "merge.ff=false")
		return []command{merge}
	}
	squash := m.withoutHooks("merge", "-q", "--squash", m.tip)
	commit := m.inWorkspace("commit", "-q", "--no-edit", "--cleanup=whitespace", "-F", file)
	commit.config = append(commit.config, whole)
	commit.env = append(commit.env, text.author...)
	return []command{squash, commit}
}

// joinText is the message of the one commit, and who wrote it.
type joinText struct {
	message string
	// author is the environment that names somebody else than the user.
	author []string
}

// rehearse finds out whether what only git can make will conflict, and what
// the one commit of a squash or a merge is to say. Where that can't be found
// out, git will tell.
func (m *merging) rehearse(ctx context.Context, done composed) (composed, error) {
	m.text = joinText{message: m.message}
	err := m.r.rehearse(ctx, m.composeInput(), func(tried composed, command func(...string) (command, error)) error {
		done.conflict = tried.conflict
		if tried.conflict != nil {
			return nil
		}
		if tried.tip == m.onto {
			return m.nothing(tried.dropped)
		}
		if m.strategy == workspace.StrategyRebase {
			return nil
		}
		cmd, err := command("cat-file", "commit", tried.tip)
		if err != nil {
			return err
		}
		out, err := m.r.git.run(ctx, cmd)
		if err == nil {
			m.text.take(parseCommit(tried.tip, out), m.strategy)
		}
		return err
	})
	if m.text.message == "" {
		m.text.message = fmt.Sprintf("Merge %s into %s\n", m.what(), m.target)
	}
	if errors.Is(err, workspace.ErrNothingToMerge) || errors.Is(err, workspace.ErrNotFastForward) || ctx.Err() != nil {
		return done, err
	}
	return done, nil
}

// take takes over what a rehearsed commit says.
func (t *joinText) take(commit commitObject, s workspace.Strategy) {
	t.message = commit.replayed().message
	identity, date, _ := strings.Cut(commit.author, "> ")
	name, email, ok := strings.Cut(identity, "<")
	if s == workspace.StrategySquash && ok && email != "" {
		t.author = []string{"GIT_AUTHOR_NAME=" + strings.TrimSpace(name), "GIT_AUTHOR_EMAIL=" + email, "GIT_AUTHOR_DATE=@" + date}
	}
}

// file writes the message into a file of its own.
func (t joinText) file() (string, error) {
	file, err := os.CreateTemp("", "threadtree-message-")
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(strings.TrimRight(t.message, "\n") + "\n")
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return file.Name(), err
}
