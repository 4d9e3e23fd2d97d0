package gitops

import (
	"context"
	"path/filepath"

	"github.com/threadtree/threadtree/workspace"
)

// warnHome tells where the worktrees lie in a checkout of the project itself,
// in which git then takes them for untracked files.
func (m *making) warnHome(ctx context.Context) {
	home := resolveExisting(m.r.home)
	if within(home, m.req.Project.ID) {
		return
	}
	for _, top := range []string{m.set.mainTop, m.req.Project.TopLevel} {
		if top == "" || !within(home, resolveExisting(top)) {
			continue
		}
		_, err := m.r.git.run(ctx, command{dir: top, args: []string{"check-ignore", "-q", "--", filepath.Join(home, "worktrees")}})
		if exitCode(err) == 1 {
			m.warn(workspace.PhaseAdd, "the home directory for worktrees, %s, lies in the checkout %s and makes it dirty: put it outside, or ignore it there", home, top)
			return
		}
	}
}
