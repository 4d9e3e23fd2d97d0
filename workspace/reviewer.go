package workspace

import "context"

// Reviewer looks at what workspaces change, and publishes them. It is safe for
// concurrent use.
type Reviewer struct {
	m   *Manager
	git Reviewing
}

// NewReviewer returns a Reviewer over the life cycle of m.
func NewReviewer(m *Manager, git Reviewing) *Reviewer { return &Reviewer{m: m, git: git} }

// DefaultMaxPatch is how many bytes of a patch are returned where no limit was
// given.
const DefaultMaxPatch = 1 << 20

// Diff compares a workspace with its base; patch asks for the patch, of at
// most maxPatch bytes (DefaultMaxPatch for 0), besides the counts.
func (r *Reviewer) Diff(ctx context.Context, threadID string, patch bool, maxPatch int) (Diff, error) {
	w, project, err := r.m.ready(ctx, threadID)
	if err != nil {
		return Diff{}, within("diff", threadID, err)
	}
	if maxPatch <= 0 {
		maxPatch = DefaultMaxPatch
	}
	d, err := r.git.Diff(ctx, DiffRequest{Project: project, Workspace: w, Patch: patch, MaxPatch: maxPatch})
	return d, within("diff", threadID, err)
}

// Overlap returns which workspaces of a project change the same files, and
// whether they would conflict. Workspaces that aren't ready, or whose
// directory is gone, are left out.
func (r *Reviewer) Overlap(ctx context.Context, projectDir string) ([]Overlap, error) {
	rows, project, err := r.m.list(ctx, ListOptions{Project: projectDir, WithoutState: true})
	if err != nil {
		return nil, within("overlap", "", err)
	}
	var workspaces []Workspace
	for _, row := range rows {
		if row.Workspace != nil && row.Workspace.Status == StatusReady && row.Worktree != nil && !row.Missing && row.Worktree.Broken == "" {
			workspaces = append(workspaces, *row.Workspace)
		}
	}
	found, err := r.git.Overlap(ctx, project, workspaces)
	return found, within("overlap", "", err)
}

// Branches returns the branches of a project, newest first.
func (r *Reviewer) Branches(ctx context.Context, projectDir string, q BranchQuery) ([]string, error) {
	project, err := r.m.cfg.Repository.Open(ctx, projectDir)
	if err != nil {
		return nil, within("branches", "", err)
	}
	names, err := r.git.Branches(ctx, project, q)
	return names, within("branches", "", err)
}

// Push publishes the workspace's branch under its own name. It never forces,
// but with lease where that is asked for.
func (r *Reviewer) Push(ctx context.Context, threadID string, forceWithLease bool, tell func(Event)) (Pushed, error) {
	w, project, err := r.m.ready(ctx, threadID)
	if err != nil {
		return Pushed{}, within("push", threadID, err)
	}
	p, err := r.git.Push(ctx, PushRequest{Project: project, Workspace: w, ForceWithLease: forceWithLease, Progress: progress(tell)})
	return p, within("push", threadID, err)
}
