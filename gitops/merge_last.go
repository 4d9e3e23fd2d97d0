package gitops

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"github.com/threadtree/threadtree/workspace"
)

// lastFile is the file in a worktree's entry that says how its last merge
// ended. It is there before the journal goes, and stays: a record that a kill
// has kept from following can follow at any time.
const lastFile = "threadtree.merged"

// lastMerge is the content of that file.
type lastMerge struct {
	Thread   string             `json:"thread"`
	At       time.Time          `json:"at"`
	Branch   string             `json:"branch,omitempty"`
	Kept     bool               `json:"kept,omitempty"`
	Target   string             `json:"target"`
	SHA      string             `json:"sha"`
	Strategy workspace.Strategy `json:"strategy"`
}

// noteMerged writes down how the merge ended.
func (m *merging) noteMerged(kept bool) error {
	j := m.journal
	content, err := json.Marshal(lastMerge{
		Thread: j.Thread, At: m.r.now().UTC(), Branch: j.Branch, Kept: kept,
		Target: j.Now.Target, SHA: j.Landing.Result, Strategy: j.Now.Strategy,
	})
	if err == nil {
		err = renameio.WriteFile(filepath.Join(m.at.gitDir, lastFile), append(content, '\n'), 0o644, renameio.WithTempDir(m.at.gitDir))
	}
	return failure("", "how the merge ended can't be written down", "see that the repository can be written to", err)
}

// LastMerge says how the last merge of a workspace ended, as
// [workspace.MergeTeller] says.
func (g *Merger) LastMerge(ctx context.Context, p workspace.Project, w workspace.Workspace) (workspace.Merged, time.Time, error) {
	_, admin, err := g.r.worktreeAdmin(ctx, p, resolvedParent(w.Directory))
	if err != nil {
		return workspace.Merged{}, time.Time{}, withOp("merge", err)
	}
	var last lastMerge
	content, err := os.ReadFile(filepath.Join(admin, lastFile))
	// A file that can't be read as one of ours tells nothing.
	if err != nil || json.Unmarshal(content, &last) != nil || last.Thread != w.ThreadID || !isObjectID(last.SHA) {
		return workspace.Merged{}, time.Time{}, nil
	}
	return workspace.Merged{
		Branch: last.Branch, BranchKept: last.Kept, Target: last.Target, SHA: last.SHA, Strategy: last.Strategy,
	}, last.At, nil
}
