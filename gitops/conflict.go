package gitops

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

const (
	// maxSideCommits is how many commits of each side a conflict shows.
	maxSideCommits = 20
	// maxSidePaths is how many paths the commits of a side are looked up by;
	// past it, all commits count.
	maxSidePaths = 200
)

// conflictCode is the code for a conflict of a strategy.
func conflictCode(s workspace.Strategy) workspace.Code {
	if s == workspace.StrategyRebase {
		return workspace.ErrRebaseConflict
	}
	return workspace.ErrMergeConflict
}

// conflict describes what conflicts. commit is the one that could not be
// applied, zero for a squash or a merge.
func (m *merging) conflict(ctx context.Context, files []string, commit workspace.CommitInfo) (*workspace.Conflict, error) {
	slices.Sort(files)
	c := &workspace.Conflict{
		Strategy: m.strategy, Files: slices.Compact(files), Branch: m.branch, Target: m.target, Commit: commit,
		Directory: m.at.top,
	}
	fork, err := m.r.git.line(ctx, m.refs.command("merge-base", m.onto, m.tip))
	if err != nil && exitCode(err) != 1 {
		return nil, err
	}
	// Without common history everything counts.
	if c.Ours, err = m.side(ctx, fork, m.tip, c.Files); err != nil {
		return nil, err
	}
	c.Theirs, err = m.side(ctx, fork, m.onto, c.Files)
	return c, err
}

// side returns the commits since the fork that touch the files, newest first.
func (m *merging) side(ctx context.Context, fork, tip string, files []string) ([]workspace.CommitInfo, error) {
	args := []string{tip}
	if fork != "" {
		args = append(args, "^"+fork)
	}
	args = append(args, "--")
	if len(files) <= maxSidePaths {
		args = append(args, files...)
	}
	return m.r.commitInfos(ctx, m.refs, maxSideCommits, args...)
}

// commitInfos lists commits, newest first, at most that many. args end with
// "--" and paths, which are taken literally.
func (r *Repository) commitInfos(ctx context.Context, x *refs, most int, args ...string) ([]workspace.CommitInfo, error) {
	cmd := x.command(append([]string{
		"log", "-z", "--no-show-signature", "--no-color", "--no-notes", "--no-patch", "--encoding=UTF-8",
		"-n", strconv.Itoa(most), "--format=%H%x1f%at%x1f%an%x1f%s",
	}, args...)...)
	cmd.env = append(cmd.env, "GIT_LITERAL_PATHSPECS=1")
	out, err := r.git.run(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return parseCommitInfos(string(out))
}

func parseCommitInfos(out string) ([]workspace.CommitInfo, error) {
	var all []workspace.CommitInfo
	for record := range strings.SplitSeq(out, "\x00") {
		if record == "" {
			continue
		}
		fields := strings.SplitN(record, "\x1f", 4)
		if len(fields) != 4 || !isObjectID(fields[0]) {
			return nil, fmt.Errorf("a line of the log can't be read: %q", clip([]byte(record)))
		}
		seconds, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the date of %s can't be read: %q", fields[0], fields[1])
		}
		all = append(all, workspace.CommitInfo{
			SHA: fields[0], When: time.Unix(seconds, 0).UTC(),
			Author: strings.ToValidUTF8(fields[2], "\uFFFD"), Subject: strings.ToValidUTF8(fields[3], "\uFFFD"),
		})
	}
	return all, nil
}

// refuseConflict is the error for a conflict after which nothing has changed.
func (m *merging) refuseConflict(ctx context.Context, files []string, commit workspace.CommitInfo) error {
	c, err := m.conflict(ctx, files, commit)
	if err != nil {
		return failure("", "there is a conflict, but who changed what could not be found out; nothing was changed", "try again", err)
	}
	c.Instructions = instructions(c, m.tip, m.onto)
	at := ""
	if commit.SHA != "" {
		at = fmt.Sprintf(" (at %s %q)", short(commit.SHA), sentence(commit.Subject))
	}
	return &workspace.Error{
		Code: conflictCode(m.strategy), Files: c.Files, Err: c,
		Message: fmt.Sprintf("%s and %s change %s in different ways%s: %s; nothing was changed",
			m.what(), m.target, plural(len(c.Files), "file"), at, nameSome(c.Files)),
		Hint:   "have it paused in the workspace to resolve it there: merge again and ask for that",
		Option: workspace.OptionResolve,
	}
}
