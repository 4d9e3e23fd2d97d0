package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// leftBehind refuses to merge a detached HEAD while the branch that was made
// with the workspace has commits that neither it nor the target has: whoever
// asked would take these for merged, too. One that has them as other commits
// with the same changes, as after a rebase, has them.
func (m *merging) leftBehind(ctx context.Context) error {
	w := m.req.Workspace
	if m.branch != "" || m.resolved || w.Branch == "" || !w.BranchCreated {
		return nil
	}
	tip, err := m.refs.lookup(ctx, "refs/heads/"+w.Branch)
	if err != nil || tip == "" {
		return err
	}
	missing, err := m.lacks(ctx, m.tip, tip)
	if err == nil && len(missing) > 0 {
		var target []string
		target, err = m.lacks(ctx, m.onto, tip)
		missing = slices.DeleteFunc(missing, func(sha string) bool { return !slices.Contains(target, sha) })
	}
	if err != nil {
		return failure("", fmt.Sprintf("the branch %s can't be compared with HEAD; nothing was changed", w.Branch), "see what git says there", err)
	}
	if len(missing) == 0 {
		return nil
	}
	return &workspace.Error{
		Code: workspace.ErrUnmerged,
		Message: fmt.Sprintf("HEAD is detached in %s, and the workspace's branch %s has %s that neither it nor %s has; nothing was changed",
			m.at.top, w.Branch, plural(len(missing), "commit"), m.target),
		Hint: fmt.Sprintf("to merge the branch, run there: git switch %s; to merge what HEAD has alone: git switch -c NAME", quoted(w.Branch)),
	}
}

// lacks returns the commits of tip that a commit has neither themselves nor as
// others with the same changes.
func (m *merging) lacks(ctx context.Context, commit, tip string) ([]string, error) {
	out, err := m.r.git.line(ctx, m.refs.command("rev-list", "--no-merges", "--cherry-pick", "--right-only", commit+"..."+tip, "--"))
	return strings.Fields(out), err
}
