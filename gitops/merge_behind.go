package gitops

import (
	"context"
	"fmt"
	"strconv"

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
	count := 0
	out, err := m.r.git.line(ctx, m.refs.command("rev-list", "--count", "--no-merges", "--cherry-pick", "--right-only", m.tip+"..."+tip, "^"+m.onto, "--"))
	if err == nil {
		count, err = strconv.Atoi(out)
	}
	if err != nil {
		return failure("", fmt.Sprintf("the branch %s can't be compared with HEAD; nothing was changed", w.Branch), "see what git says there", err)
	}
	if count == 0 {
		return nil
	}
	return &workspace.Error{
		Code: workspace.ErrUnmerged,
		Message: fmt.Sprintf("HEAD is detached in %s, and the workspace's branch %s has %s that neither it nor %s has; nothing was changed",
			m.at.top, w.Branch, plural(count, "commit"), m.target),
		Hint: fmt.Sprintf("to merge the branch, run there: git switch %s; to merge what HEAD has alone: git switch -c NAME", quoted(w.Branch)),
	}
}
