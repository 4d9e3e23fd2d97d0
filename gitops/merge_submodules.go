package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// staleSubmodules returns a line for each submodule of a checkout that the
// changes leave behind: as with any merge, files of a submodule aren't
// touched, and the checkout is dirty until somebody brings it up to date. One
// that isn't initialised there has none.
func (r *Repository) staleSubmodules(ctx context.Context, at checkout, changes []treeChange) []string {
	var lines []string
	for _, c := range changes {
		top := at.path(c.path)
		if c.newMode != modeSubmodule && c.oldMode != modeSubmodule {
			continue
		}
		if _, err := os.Lstat(filepath.Join(top, ".git")); err != nil {
			continue
		}
		if c.newMode != modeSubmodule {
			lines = append(lines, fmt.Sprintf("the submodule %s is gone, but its files still lie in %s", quoted(c.path), top))
			continue
		}
		const update = "the submodule %s in %s is %s, not at %s: run there: git submodule update -- %s"
		sha, err := r.git.line(ctx, command{dir: top, args: []string{"rev-parse", "--verify", "HEAD"}})
		switch {
		case err != nil:
			lines = append(lines, fmt.Sprintf(update, quoted(c.path), at.name(), "at an unknown commit", short(c.newID), quoted(c.path)))
		case sha != c.newID:
			lines = append(lines, fmt.Sprintf(update, quoted(c.path), at.name(), "still at "+short(sha), short(c.newID), quoted(c.path)))
		}
	}
	return lines
}

// warnOfSubmodules warns of those that a checkout's move has left behind.
func (m *merging) warnOfSubmodules(ctx context.Context, at checkout, changes []treeChange) {
	for _, line := range m.r.staleSubmodules(ctx, at, changes) {
		m.warn(workspace.PhaseMerge, "%s", line)
	}
}

// unpushedSubmodules returns a line for each submodule whose commit, as the
// changes bring it, only the checkout has: who gets the changes can't fetch it.
func (r *Repository) unpushedSubmodules(ctx context.Context, top string, changes []treeChange) []string {
	var lines []string
	for _, c := range changes {
		if c.newMode != modeSubmodule {
			continue
		}
		dir := filepath.Join(top, filepath.FromSlash(c.path))
		gitDir := gitDirOf(dir)
		if gitDir == "" {
			continue // not initialised: nothing was committed there
		}
		args := append([]string{"rev-list", "--max-count=1", c.newID, "--not", "--remotes"}, fetchedHeads(gitDir)...)
		out, err := r.git.line(ctx, command{dir: gitDir, env: []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + gitDir}, args: append(args, "--")})
		if err == nil && strings.TrimSpace(out) != "" {
			lines = append(lines, fmt.Sprintf("nobody else can fetch the commit %s of the submodule %s, which isn't pushed: push it first, from %s",
				short(c.newID), quoted(c.path), dir))
		}
	}
	return lines
}

// warnOfUnpushed warns of submodules' commits that the target names now and
// nobody else can fetch.
func (m *merging) warnOfUnpushed(ctx context.Context, done composed) {
	changes, err := done.changes, error(nil)
	if changes == nil {
		changes, err = m.r.treeChanges(ctx, m.refs, m.onto, done.tip)
	}
	if err != nil {
		m.warn(workspace.PhaseMerge, "whether all commits of submodules are pushed could not be found out: %s", because(err))
	}
	for _, line := range m.r.unpushedSubmodules(ctx, m.at.top, changes) {
		m.warn(workspace.PhaseMerge, "%s", line)
	}
}
