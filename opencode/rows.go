package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// tree is a worktree that OpenCode is to know.
type tree struct {
	id, directory, branch string
	// work is where sessions work: the project's subdirectory of it.
	work    string
	project workspace.Project
	// place is the directory by which OpenCode finds the project.
	place string
}

// treeOf is the worktree of a record.
func treeOf(project workspace.Project, w workspace.Workspace) tree {
	return tree{
		id: w.ProviderID, directory: w.Directory, branch: w.Branch, work: w.WorkDirectory(),
		project: project, place: placeOf(project, w.Directory),
	}
}

// is reports whether a row stands for the worktree.
func (t tree) is(row Workspace) bool { return row.ID == t.id && samePlace(row.Directory, t.directory) }

// register has OpenCode know a worktree, under an id of ours and in one row
// alone. It may be called again.
func (p *Provider) register(ctx context.Context, client *Client, t tree) error {
	made, err := adopt(ctx, client, t)
	if e, ok := errors.AsType[*Error](err); ok && e.Err == nil {
		// A row of an earlier try may have the id.
		if _, err := p.onlyRow(ctx, client, t, false); err != nil {
			return err
		}
		made, err = adopt(ctx, client, t)
	}
	if err != nil {
		return err
	}
	if made.ID != t.id || made.Branch != t.branch || !samePlace(made.Directory, t.directory) {
		return &Error{Op: "create workspace", Err: ErrMalformed, Message: fmt.Sprintf(
			"asked for %s on %s at %s, it made %s on %s at %s", t.id, t.branch, t.directory, made.ID, made.Branch, made.Directory)}
	}
	if listed, err := p.onlyRow(ctx, client, t, true); err != nil || listed {
		return err
	}
	return &Error{Op: "create workspace", Err: ErrNoFlag}
}

// adopt has our adapter take a worktree.
func adopt(ctx context.Context, client *Client, t tree) (Workspace, error) {
	made, err := client.CreateWorkspace(ctx, t.place, NewWorkspace{
		ID: t.id, Type: AdapterThreadtree, Branch: t.branch,
		Extra: map[string]string{
			"path": t.directory, "work": t.work, "repo": t.project.ID, "branch": t.branch, "name": rowName(t.project, t.directory),
		},
	})
	return made, flagged(err)
}

// onlyRow drops the rows that have the worktree's id or directory, but for its
// own where that is to stay, and reports whether that is listed: a server
// without the workspace flag lists nothing.
func (p *Provider) onlyRow(ctx context.Context, client *Client, t tree, stay bool) (listed bool, err error) {
	rows, err := client.Workspaces(ctx, t.place)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		switch {
		case stay && row.ID == t.id:
			listed = true
		case row.ID == t.id || samePlace(row.Directory, t.directory):
			if _, err := p.release(ctx, client, t.place, row.ID, row.Directory); err != nil {
				return listed, err
			}
		}
	}
	return listed, nil
}

// flagged is err, where it is what a server without the workspace flag answers
// with: it waits in vain for something that only the flag brings about.
func flagged(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && strings.Contains(e.Message, "Timed out waiting for global event") {
		return &Error{Op: e.Op, Status: e.Status, Name: e.Name, Err: ErrNoFlag}
	}
	return err
}

// mark is what is kept with a session under metadataKey.
type mark struct {
	// Workspace is the one that the session belongs to, also while it is
	// bound to none.
	Workspace string `json:"workspace,omitempty"`
	// Model is the one to go on with, where the session has used none yet.
	Model *SessionModel `json:"model,omitempty"`
}

const metadataKey = "threadtree"

// markOf is the mark of a session, zero for one that isn't ours.
func markOf(s Session) mark {
	var m mark
	_ = json.Unmarshal(s.Metadata[metadataKey], &m)
	return m
}

// withMark is a session's metadata with another mark.
func withMark(metadata map[string]json.RawMessage, m mark) map[string]json.RawMessage {
	with := make(map[string]json.RawMessage, len(metadata)+1)
	maps.Copy(with, metadata)
	with[metadataKey], _ = json.Marshal(m)
	return with
}

// sessionsAt returns the sessions of a project, and those that were made in a
// directory, which OpenCode may count to no project.
func sessionsAt(ctx context.Context, client *Client, place, directory string) ([]Session, error) {
	list, err := client.ProjectSessions(ctx, place)
	if err != nil || directory == "" {
		return list, err
	}
	there, err := client.Sessions(ctx, directory)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(list))
	for _, s := range list {
		known[s.ID] = true
	}
	for _, s := range there {
		if !known[s.ID] {
			list = append(list, s)
		}
	}
	return list, nil
}

// release lets go of the sessions of a row and then of the row, so that nothing
// on disk is touched. It stays where a session is still bound to it, for that
// would go with it, and where there is a directory that somebody's adapter
// would delete: the server's own does nothing outside of the project. listed is
// false where the server has no such row, or doesn't show it: then nothing was
// done.
func (p *Provider) release(ctx context.Context, client *Client, place, id, directory string) (listed bool, err error) {
	rows, err := client.Workspaces(ctx, place)
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(rows, func(row Workspace) bool { return row.ID == id })
	if at < 0 {
		return false, nil
	}
	if row := rows[at]; row.Type != AdapterThreadtree && row.Type != AdapterWorktree && present(row.Directory) {
		return true, &Error{Op: "remove workspace", Message: fmt.Sprintf("its adapter %s would delete %s", row.Type, row.Directory)}
	}
	// Until a look finds none: a session may be bound to it meanwhile.
	for try := 1; ; try++ {
		bound, err := p.unbind(ctx, client, place, id, directory)
		if err != nil {
			return true, err
		}
		if bound == 0 {
			break
		}
		if try == releaseTries {
			return true, &Error{Op: "remove workspace", Message: "sessions are bound to it as fast as they are let go"}
		}
	}
	if err := client.RemoveWorkspace(ctx, "", id); err != nil && !errors.Is(err, ErrNotFound) {
		return true, err
	}
	if rows, err = client.Workspaces(ctx, place); err != nil {
		return true, err
	}
	for _, row := range rows {
		if row.ID == id {
			return true, &Error{Op: "remove workspace", Err: ErrMalformed, Message: "it is still listed"}
		}
	}
	return true, nil
}

// releaseTries is how often sessions are looked for that are bound to a row.
const releaseTries = 3

// unbind lets go of the sessions that are bound to a row, and returns how many
// there were.
func (p *Provider) unbind(ctx context.Context, client *Client, place, id, directory string) (bound int, err error) {
	sessions, err := sessionsAt(ctx, client, place, directory)
	if err != nil {
		return 0, err
	}
	for _, s := range sessions {
		if s.WorkspaceID != id {
			continue
		}
		bound++
		if m := markOf(s); m.Workspace != id {
			m.Workspace = id
			marked, err := client.UpdateSession(ctx, s.ID, SessionChange{Metadata: withMark(s.Metadata, m)})
			if err != nil {
				return bound, err
			}
			if markOf(marked).Workspace != id {
				return bound, &Error{Op: "change session", Err: ErrNoEndpoint, Message: "it keeps no metadata, so the session would not be found again"}
			}
		}
		if err := client.Warp(ctx, place, s.ID, ""); err != nil {
			return bound, fmt.Errorf("the session %s could not be let go, so the workspace stays listed: %w", s.ID, err)
		}
	}
	return bound, nil
}

// letGo releases what OpenCode has of w and returns a line where it can't.
// listed is whether it had something.
func (p *Provider) letGo(ctx context.Context, w workspace.Workspace, place string) (listed bool, left []string) {
	if w.ProviderID == "" {
		return false, nil
	}
	client, err := p.cfg.Connection.Client(ctx)
	if err == nil {
		listed, err = p.release(ctx, client, place, w.ProviderID, w.Directory)
	}
	if err == nil {
		return listed, nil
	}
	return listed, []string{fmt.Sprintf("OpenCode still lists the workspace %s (%s); it is dropped when the project is reconciled", w.ProviderID, reason(p.late(err)))}
}

// letGoRemoved lets go of what was removed. It goes on where ctx is cancelled,
// since the worktree is gone already. With first, something must be there to
// let go of.
func (p *Provider) letGoRemoved(ctx context.Context, req workspace.RemoveRequest, removed workspace.Removed, a *allowance, first bool) []string {
	ctx, done := a.tidy(ctx)
	defer done()
	w := req.Workspace
	var kept string
	if removed.Kept != nil {
		kept = removed.Kept.Directory
	}
	listed, left := p.letGo(ctx, w, p.somePlace(ctx, req.Project, kept))
	if first && w.ProviderID != "" && !listed && len(left) == 0 {
		left = append(left, fmt.Sprintf(
			"OpenCode did not list the workspace %s: it has dropped it before, or runs without OPENCODE_EXPERIMENTAL_WORKSPACES=1 and lists it again when it runs with it; then a reconcile of the project drops it",
			w.ProviderID,
		))
	}
	return left
}

// Rejoin has OpenCode know a ready workspace again and binds the sessions that
// belong to it, as after a restore while it was down. One that another provider
// made is left alone.
func (p *Provider) Rejoin(ctx context.Context, w workspace.Workspace) error {
	if w.Provider != workspace.ProviderOpenCode || w.ProviderID == "" {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.cfg.Timeout, ErrTimeout)
	defer cancel()
	// Any directory of a project stands for it.
	_, err := p.rejoin(ctx, workspace.Project{ID: w.ProjectID, Directory: w.ProjectDirectory, TopLevel: w.ProjectDirectory}, w)
	return err
}

// errNoPlugin is why a server can't be told of a worktree that exists.
var errNoPlugin = &Error{Op: "create workspace", Err: ErrNoEndpoint, Message: "it has no threadtree plugin, without which it can't take a worktree that exists"}

// rejoin has OpenCode know a workspace again and binds the sessions that
// belong to it. It reports whether there was anything to do.
func (p *Provider) rejoin(ctx context.Context, project workspace.Project, w workspace.Workspace) (bool, error) {
	t := treeOf(project, w)
	client, has, err := p.look(ctx, t.place)
	if err != nil {
		return false, err
	}
	rows, err := client.Workspaces(ctx, t.place)
	if err != nil {
		return false, err
	}
	did := !slices.ContainsFunc(rows, t.is)
	if did {
		if !slices.Contains(has, AdapterThreadtree) {
			return false, errNoPlugin
		}
		if err := p.register(ctx, client, t); err != nil {
			return false, err
		}
	}
	sessions, err := sessionsAt(ctx, client, t.place, t.directory)
	if err != nil {
		return did, err
	}
	for _, s := range sessions {
		if s.WorkspaceID != "" || markOf(s).Workspace != t.id {
			continue
		}
		did = true
		if !samePlace(s.Directory, t.work) {
			if err := client.MoveSession(ctx, s.ID, t.work); err != nil && !errors.Is(err, ErrNoEndpoint) {
				return did, err
			}
		}
		if err := client.Warp(ctx, t.place, s.ID, t.id); err != nil {
			return did, err
		}
	}
	return did, nil
}
