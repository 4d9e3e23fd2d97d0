package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// Recover brings OpenCode's list of a project in line with the records and
// says what it did and what it found: a workspace of ours that OpenCode
// doesn't know is told to it again, with its sessions; a row of ours whose
// worktree is gone, and a second row of a worktree of ours, whose removal
// would delete it, are dropped; a row that is nobody's here is said and left.
// What OpenCode made after a create had given up is cleared away, unless
// somebody works in it; nothing else on disk is touched, and no session goes.
// A server that can't be reached is an error only where a record needs it.
func (p *Provider) Recover(ctx context.Context, project workspace.Project) ([]string, error) {
	query := workspace.Query{ProjectID: project.ID}
	records, err := p.cfg.Records.ListWorkspaces(ctx, query)
	if err != nil {
		return nil, err
	}
	trash, err := p.cfg.Records.ListTrash(ctx, query)
	if err != nil {
		return nil, err
	}
	waiting, err := p.lates(ctx, project)
	if err != nil {
		return nil, err
	}
	r := &recovery{p: p, project: project, records: records, place: placeOf(project, ""), deleted: make(map[string]bool)}
	var ours int
	for _, w := range records {
		if !p.knows(w) {
			continue
		}
		ours++
		if project.TopLevel == "" && present(w.Directory) {
			r.place = w.Directory
		}
	}
	for _, t := range trash {
		r.deleted[t.Workspace.ProviderID] = p.knows(t.Workspace)
	}
	limit, cancel := context.WithTimeoutCause(ctx, p.cfg.Timeout, ErrTimeout)
	defer cancel()
	var unsettled error
	if r.client, _, err = p.look(limit, r.place); err == nil {
		r.lines, unsettled = p.settleLates(limit, r.client, project)
		r.rows, err = r.client.Workspaces(limit, r.place)
	}
	if err != nil {
		if ours == 0 && len(waiting) == 0 {
			return nil, nil
		}
		doing := fmt.Sprintf("OpenCode's list of workspaces, which has %d of this project's, could not be looked at", ours)
		if len(waiting) > 0 {
			doing += ", nor what OpenCode may have made for creates that gave up"
		}
		return r.lines, failure(ctx, doing, "the workspaces themselves are usable", p.late(err))
	}
	err = errors.Join(unsettled, r.tellAgain(limit), r.dropRows(limit))
	if err != nil {
		err = failure(ctx, "OpenCode's list of workspaces could not be put right", "the workspaces themselves are usable", p.late(err))
	}
	return r.lines, err
}

// knows reports whether a record says that OpenCode knows the workspace.
func (p *Provider) knows(w workspace.Workspace) bool {
	return w.Provider == workspace.ProviderOpenCode && w.ProviderID != ""
}

// recovery is one Recover.
type recovery struct {
	p       *Provider
	client  *Client
	project workspace.Project
	place   string
	records []workspace.Workspace
	// deleted are the ids of the workspaces in the trash.
	deleted map[string]bool
	// rows are OpenCode's, before anything was done.
	rows  []Workspace
	lines []string
}

func (r *recovery) did(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// tellAgain has OpenCode know the ready workspaces whose worktrees are there.
func (r *recovery) tellAgain(ctx context.Context) error {
	sessions, err := r.client.ProjectSessions(ctx, r.place)
	if err != nil {
		return err
	}
	// loose are the workspaces that sessions belong to and are not bound to.
	loose := make(map[string]bool)
	for _, s := range sessions {
		if s.WorkspaceID == "" {
			loose[markOf(s).Workspace] = true
		}
	}
	var errs []error
	for _, w := range r.records {
		if !r.p.knows(w) || w.Status != workspace.StatusReady || !present(w.Directory) {
			continue
		}
		if !loose[w.ProviderID] && slices.ContainsFunc(r.rows, treeOf(r.project, w).is) {
			continue
		}
		switch did, err := r.p.rejoin(ctx, r.project, w); {
		case errors.Is(err, errNoPlugin):
			r.did("OpenCode doesn't list the workspace at %s, and can't be told of it: %s; its sessions work there all the same", w.Directory, reason(err))
		case err != nil:
			errs = append(errs, err)
		case did:
			r.did("told OpenCode again of the workspace at %s", w.Directory)
		}
	}
	return errors.Join(errs...)
}

// dropRows drops the rows that stand for nothing, or for a workspace of ours a
// second time, and says which are nobody's.
func (r *recovery) dropRows(ctx context.Context) error {
	var errs []error
	for _, row := range r.rows {
		owner := ownerOf(row, r.records)
		mine := r.deleted[row.ID] || row.Type == AdapterThreadtree && ofProject(row, r.project)
		var why string
		switch {
		case owner != nil && (owner.ProviderID == row.ID || owner.Status == workspace.StatusPending):
			continue
		case owner != nil && owner.Provider == workspace.ProviderAdopted && !mine:
			// The worktree is the user's own, and may be OpenCode's.
			continue
		case owner != nil:
			why = "a second entry of the workspace at " + row.Directory
		case !mine:
			r.stray(row)
			continue
		case present(row.Directory):
			r.did("OpenCode lists the worktree %s, which belongs to no thread; it was left", row.Directory)
			continue
		default:
			why = "whose worktree is gone"
		}
		if _, err := r.p.release(ctx, r.client, r.place, row.ID, row.Directory); err != nil {
			errs = append(errs, err)
			continue
		}
		r.did("dropped OpenCode's entry %s, %s", row.ID, why)
	}
	return errors.Join(errs...)
}

// stray says of a row that no record stands for. Those of our own of another
// clone are that one's to tell of, and so is a worktree that is there and
// belongs to it.
func (r *recovery) stray(row Workspace) {
	switch {
	case row.Type == AdapterThreadtree:
	case !present(row.Directory):
		r.did("OpenCode lists a workspace of its own (%s, %s) at %s, where there is nothing; it was left", row.ID, row.Type, shownPath(row.Directory))
	case worktreeOf(row.Directory, r.project):
		r.did("OpenCode lists the worktree %s (%s, %s), which belongs to no thread; it was left", row.Directory, row.ID, row.Type)
	}
}

func shownPath(path string) string {
	if path == "" {
		return "an unknown place"
	}
	return path
}

// worktreeOf reports whether a directory is, or may be, a linked worktree of a
// project: another clone's says so.
func worktreeOf(directory string, project workspace.Project) bool {
	content, err := os.ReadFile(filepath.Join(directory, ".git"))
	target, ok := strings.CutPrefix(strings.TrimSpace(string(content)), "gitdir: ")
	if err != nil || !ok {
		return true
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(directory, target)
	}
	return samePlace(filepath.Dir(filepath.Dir(target)), project.ID)
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
func ofProject(row Workspace, project workspace.Project) bool {
	var extra struct {
		Repo string `json:"repo"`
	}
	return json.Unmarshal(row.Extra, &extra) == nil && extra.Repo == project.ID
}
