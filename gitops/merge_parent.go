package gitops

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/threadtree/threadtree/workspace"
)

// findParent finds out whether all that was done since a merge was paused is to
// merge the target into the workspace, which only resolves the conflict: then
// the one merge commit has the resolved tree, and the commits from before as
// its parent, as if the conflict had been resolved on the target.
func (m *merging) findParent(ctx context.Context) error {
	m.parent, m.parentMerges = "", 0
	if !m.resolved || m.strategy != workspace.StrategyMerge {
		return nil
	}
	before := m.journal.Tip
	out, err := m.r.git.run(ctx, m.refs.command("rev-list", "--parents", m.tip, "^"+before, "^"+m.onto, "--"))
	if err != nil {
		return failure("", "the resolved commits can't be looked at; nothing was changed", "see what git says in the repository", err)
	}
	made := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		ids := strings.Fields(line)
		made[ids[0]] = ids[1:]
	}
	merges := 0
	for commit := m.tip; commit != before; merges++ {
		parents := made[commit]
		if len(parents) != 2 {
			return nil // there is work besides
		}
		commit = parents[0]
	}
	if merges > 0 && merges == len(made) {
		m.parent, m.parentMerges = before, merges
	}
	return nil
}

// parentInstead has git take m.parent for what is merged, before it commits a merge
// of m.tip.
func (m *merging) parentInstead(command string) error {
	if m.parent == "" || command != "commit" {
		return nil
	}
	return renameio.WriteFile(filepath.Join(m.at.gitDir, "MERGE_HEAD"), []byte(m.parent+"\n"), 0o644, renameio.WithTempDir(m.at.gitDir))
}
