package rules

import "github.com/threadtree/threadtree/workspace"

// Claim is what one row claims for itself within its project.
type Claim struct {
	threadID, projectID, projectDirectory string
	// directory and branch are folded, and empty where nothing is claimed.
	directory, branch string
}

// ClaimOf returns what a row wants to have for itself alone.
func ClaimOf(w workspace.Workspace) Claim {
	return Claim{
		threadID: w.ThreadID, projectID: w.ProjectID, projectDirectory: w.ProjectDirectory,
		directory: workspace.Fold(w.Directory), branch: workspace.Fold(w.Branch),
	}
}

// Clashes reports whether the stored row other already has what c claims. The
// branch of a row that is not ready counts only once the row has a directory, or
// an id of its provider's, where that chooses the directory only later: before
// that nothing was claimed for it, and it may get another one still.
func (c Claim) Clashes(other workspace.Workspace) bool {
	if other.ThreadID == c.threadID || !c.sameProject(other) {
		return false
	}
	if c.directory != "" && c.directory == workspace.Fold(other.Directory) {
		return true
	}
	reserved := other.Directory != "" || other.ProviderID != "" || other.Status == workspace.StatusReady
	return reserved && c.branch != "" && c.branch == workspace.Fold(other.Branch)
}

// sameProject compares the identities, or the spellings where one of the two
// rows has no identity.
func (c Claim) sameProject(other workspace.Workspace) bool {
	if c.projectID != "" && other.ProjectID != "" {
		return c.projectID == other.ProjectID
	}
	return c.projectDirectory == other.ProjectDirectory
}
