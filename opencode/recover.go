package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/threadtree/threadtree/workspace"
)

// Recover brings OpenCode's list of a project in line with the records and
// says what it did and what it found: a workspace of ours that OpenCode
// doesn't know is told to it again, with its sessions; a row of ours whose
// worktree is gone, and a second row of a worktree of ours, whose removal
// would delete it, are dropped. Nothing on disk is touched, and no session
// goes. A server that can't be reached is an error only where a record needs
// it.
func (p *Provider) Recover(ctx context.Context, project workspace.Project) ([]string, error) {
	records, err := p.cfg.Records.ListWorkspaces(ctx, workspace.Query{ProjectID: project.ID})
	if err != nil {
		return nil, err
	}
	ours := records[:0:0]
	for _, w := range records {
		if w.Provider == workspace.ProviderOpenCode && w.ProviderID != "" {
			ours = append(ours, w)
		}
	}
	limit, cancel := context.WithTimeoutCause(ctx, p.cfg.Timeout, ErrTimeout)
	defer cancel()
	client, _, err := p.ready(limit, placeOf(project, ""))
	if err != nil {
		if len(ours) == 0 {
			return nil, nil
		}
		return nil, failure(ctx, fmt.Sprintf("OpenCode's list of workspaces, which has %d of this project's, could not be looked at", len(ours)),
			"the workspaces themselves are usable", p.late(err))
	}
	lines, err := p.tellAgain(limit, project, ours)
	more, dropErr := p.dropRows(limit, client, project, records)
	if err = errors.Join(err, dropErr); err != nil {
		err = failure(ctx, "OpenCode's list of workspaces could not be put right", "the workspaces themselves are usable", p.late(err))
	}
	return append(lines, more...), err
}

// tellAgain has OpenCode know the ready workspaces whose worktrees are there.
func (p *Provider) tellAgain(ctx context.Context, project workspace.Project, ours []workspace.Workspace) ([]string, error) {
	var (
		lines []string
		errs  []error
	)
	for _, w := range ours {
		if w.Status != workspace.StatusReady || !present(w.Directory) {
			continue
		}
		did, err := p.rejoin(ctx, project, w)
		switch {
		case err != nil:
			errs = append(errs, err)
		case did:
			lines = append(lines, fmt.Sprintf("told OpenCode again of the workspace at %s", w.Directory))
		}
	}
	return lines, errors.Join(errs...)
}

// dropRows drops the rows that stand for nothing, or for a workspace of ours a
// second time, and says which are nobody's.
func (p *Provider) dropRows(ctx context.Context, client *Client, project workspace.Project, records []workspace.Workspace) ([]string, error) {
	place := placeOf(project, "")
	rows, err := client.Workspaces(ctx, place)
	if err != nil {
		return nil, err
	}
	var (
		lines []string
		errs  []error
	)
	for _, row := range rows {
		owner := ownerOf(row, records)
		var why string
		switch {
		case owner != nil && owner.ProviderID == row.ID:
			continue
		case owner != nil && owner.Status == workspace.StatusPending:
			continue
		case owner != nil:
			why = "a second entry of the workspace at " + row.Directory
		case row.Type != AdapterThreadtree || !p.ofProject(row, project):
			continue
		case present(row.Directory):
			lines = append(lines, fmt.Sprintf("OpenCode lists the worktree %s, which belongs to no thread; it was left", row.Directory))
			continue
		default:
			why = "whose worktree is gone"
		}
		if err := p.release(ctx, client, place, row.ID, row.Directory); err != nil {
			errs = append(errs, err)
			continue
		}
		lines = append(lines, fmt.Sprintf("dropped OpenCode's entry %s, %s", row.ID, why))
	}
	return lines, errors.Join(errs...)
}

// ownerOf is the record that a row stands for, by id or by directory.
func ownerOf(row Workspace, records []workspace.Workspace) *workspace.Workspace {
	for i, w := range records {
		if w.ProviderID == row.ID {
			return &records[i]
		}
	}
	for i, w := range records {
		if samePlace(w.Directory, row.Directory) {
			return &records[i]
		}
	}
	return nil
}

// present reports whether something may be at a path.
func present(path string) bool {
	if path == "" {
		return false
	}
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// ofProject reports whether a row of ours was made for this repository: all
// its clones share OpenCode's list.
func (p *Provider) ofProject(row Workspace, project workspace.Project) bool {
	var extra struct {
		Repo string `json:"repo"`
	}
	return json.Unmarshal(row.Extra, &extra) == nil && extra.Repo == project.ID
}
