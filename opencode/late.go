package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// late is what a server was asked to make under an id of ours, and may make
// yet although nobody waits for it any more. It is remembered before the
// server is asked, and until it is known what became of it.
type late struct {
	ID      string `json:"id"`
	Project string `json:"project"`
	// Server is the address of the server that was asked.
	Server  string    `json:"server"`
	Attempt string    `json:"attempt"`
	Began   time.Time `json:"began"`
	// Branch is the branch that it was to make, "" for none, at BaseCommit.
	Branch     string `json:"branch,omitempty"`
	BaseCommit string `json:"base_commit,omitempty"`
	// Directory is where the worktree is, "" while that isn't known.
	Directory string `json:"directory,omitempty"`
	// Answered is true once the server said that it is done with it, or gave up.
	Answered bool `json:"answered,omitempty"`
	// Probe is true for one that was never to be a worktree.
	Probe bool `json:"probe,omitempty"`
}

// lateSpace is the namespace of the notes in which they are kept.
const lateSpace = "opencode/late"

// lateAfter is when a server that gave no answer is taken to be done with what
// it was asked for.
const lateAfter = 10 * time.Minute

// over reports whether the server at an address makes nothing of it any more:
// one that was started anew doesn't know that it was asked.
func (l late) over(server string) bool {
	return l.Answered || l.Server != server || time.Since(l.Began) > lateAfter
}

// workspace is it as a record would have it, of an attempt of its own: the
// attempt itself may have gone on with git.
func (l late) workspace() workspace.Workspace {
	return workspace.Workspace{
		Provider: workspace.ProviderOpenCode, ProviderID: l.ID, ProjectID: l.Project, Directory: l.Directory,
		Branch: l.Branch, BranchCreated: l.Branch != "", BaseCommit: l.BaseCommit,
		Attempt: workspace.Attempt{ID: l.ID, StartedAt: l.Began},
	}
}

// remember writes it down, or anew.
func (p *Provider) remember(ctx context.Context, l late) error {
	value, err := json.Marshal(l)
	if err != nil {
		return err
	}
	for {
		note, err := p.cfg.Records.Note(ctx, lateSpace, l.ID)
		if err != nil && !errors.Is(err, workspace.ErrNotFound) {
			return err
		}
		if _, err = p.cfg.Records.PutNote(ctx, lateSpace, l.ID, value, note.Version); !errors.Is(err, workspace.ErrStale) {
			return err
		}
	}
}

// forgetLate forgets it, since it is known what became of it. It goes on where
// ctx has ended.
func (p *Provider) forgetLate(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxSpare)
	defer cancel()
	note, err := p.cfg.Records.Note(ctx, lateSpace, id)
	if err == nil {
		err = p.cfg.Records.DeleteNote(ctx, lateSpace, id, note.Version)
	}
	if err != nil && !errors.Is(err, workspace.ErrNotFound) && !errors.Is(err, workspace.ErrStale) {
		p.cfg.Logger.WarnContext(ctx, "what OpenCode was asked for stays remembered, and is looked for once more", "id", id, "error", err)
	}
}

// lateOf returns what is remembered of an id; ok is false for nothing.
func (p *Provider) lateOf(ctx context.Context, id string) (l late, ok bool, err error) {
	note, err := p.cfg.Records.Note(ctx, lateSpace, id)
	if errors.Is(err, workspace.ErrNotFound) {
		return l, false, nil
	}
	if err == nil {
		err = json.Unmarshal(note.Value, &l)
	}
	return l, err == nil, err
}

// lates are those of a project that no create is still at. What a record has
// by now is forgotten: it was made in time, or somebody has adopted it.
func (p *Provider) lates(ctx context.Context, project workspace.Project) ([]late, error) {
	notes, err := p.cfg.Records.ListNotes(ctx, lateSpace)
	if err != nil || len(notes) == 0 {
		return nil, err
	}
	records, err := p.cfg.Records.ListWorkspaces(ctx, workspace.Query{ProjectID: project.ID})
	if err != nil {
		return nil, err
	}
	var all []late
	for _, note := range notes {
		var l late
		if json.Unmarshal(note.Value, &l) != nil || l.Project != project.ID {
			continue
		}
		under, owned := false, false
		for _, w := range records {
			under = under || w.Status == workspace.StatusPending && w.Attempt.ID == l.Attempt
			owned = owned || w.Status == workspace.StatusReady && (w.ProviderID == l.ID || samePlace(w.Directory, l.Directory))
		}
		switch {
		case under && !l.Probe:
		case owned:
			p.forgetLate(ctx, l.ID)
		default:
			all = append(all, l)
		}
	}
	return all, nil
}

// settled is what became of one of them.
type settled struct {
	// done is true once there is nothing more to wait for.
	done bool
	// cleared is the worktree that was cleared away, "" for none.
	cleared string
	// left has a line for what was found and left.
	left []string
}

// settleLate looks what a server made of it and clears that away, where it is
// certain that it is that, and nothing that somebody has done in it is lost.
func (p *Provider) settleLate(ctx context.Context, client *Client, project workspace.Project, l late) (settled, error) {
	place := p.somePlace(ctx, project)
	rows, err := client.Workspaces(ctx, place)
	if err != nil {
		return settled{}, err
	}
	at := slices.IndexFunc(rows, func(row Workspace) bool { return row.ID == l.ID })
	if at >= 0 && !l.Probe && rows[at].Directory != "" && rows[at].Directory != l.Directory {
		// Before its row goes, for after that nothing tells where it is.
		l.Directory = rows[at].Directory
		if err := p.remember(ctx, l); err != nil {
			return settled{}, err
		}
	}
	s, err := p.reclaim(ctx, project, l, l.over(client.URL()))
	if err != nil || !s.done {
		return s, err
	}
	if !present(l.Directory) {
		if _, err := p.release(ctx, client, place, l.ID, l.Directory); err != nil {
			return settled{}, err
		}
		if at < 0 {
			// A server without the workspace flag has rows that it doesn't
			// list. No session was ever bound to this one.
			if err := client.RemoveWorkspace(ctx, "", l.ID); err != nil && !errors.Is(err, ErrNotFound) {
				return settled{}, err
			}
		}
	}
	p.forgetLate(ctx, l.ID)
	return s, nil
}

// reclaim clears the worktree away, if there is one.
func (p *Provider) reclaim(ctx context.Context, project workspace.Project, l late, over bool) (settled, error) {
	taker, ok := p.cfg.Git.(Taker)
	if !ok || !present(l.Directory) {
		return settled{done: over}, nil
	}
	w := l.workspace()
	left, err := taker.Reclaim(ctx, project, w, over)
	if err == nil && len(left) > 0 {
		// Git may have begun to go on with it.
		w.Attempt.ID = l.Attempt
		left, err = taker.Reclaim(ctx, project, w, over)
	}
	switch {
	case errors.Is(err, workspace.ErrLocked) && !over:
		return settled{}, nil
	case judged(err):
		return settled{done: true, left: []string{
			fmt.Sprintf("OpenCode made the worktree %s for a create that had given up; it was left: %s", l.Directory, reason(err)),
		}}, nil
	case err != nil:
		return settled{}, err
	case len(left) > 0:
		return settled{done: true, left: left}, nil
	}
	return settled{done: true, cleared: l.Directory}, nil
}

// judged reports whether git refuses to remove a worktree for what is in it.
func judged(err error) bool {
	for _, code := range []workspace.Code{
		workspace.ErrDirtyWorktree, workspace.ErrUnmerged, workspace.ErrLocked, workspace.ErrOperationInProgress, workspace.ErrPermissionDenied,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// settleLates settles all of a project, as far as that is possible now, and
// returns a line for what was cleared, or found and left.
func (p *Provider) settleLates(ctx context.Context, client *Client, project workspace.Project) (said []string, err error) {
	all, err := p.lates(ctx, project)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, l := range all {
		s, err := p.settleLate(ctx, client, project, l)
		if s.cleared != "" {
			said = append(said, fmt.Sprintf("cleared the worktree %s, which OpenCode had made for a create that gave up", s.cleared))
		}
		said, errs = append(said, s.left...), append(errs, err)
	}
	return said, errors.Join(errs...)
}

// settleEarlier settles what earlier creates in the project may have left. One
// that can't be settled now is none of this create's business.
func (p *Provider) settleEarlier(ctx context.Context, client *Client, project workspace.Project) {
	said, err := p.settleLates(ctx, client, project)
	for _, line := range said {
		p.cfg.Logger.InfoContext(ctx, line)
	}
	if err != nil && ctx.Err() == nil {
		p.cfg.Logger.WarnContext(ctx, "what OpenCode may have made for an earlier create could not be looked for", "error", err)
	}
}

// settleEvery is how often it is looked whether a server is done.
const settleEvery = 200 * time.Millisecond

// clearThere clears what a server was asked for under the id of w, and waits,
// while ctx lasts, until it is certain that nothing comes of it any more.
func (p *Provider) clearThere(ctx context.Context, project workspace.Project, w workspace.Workspace) ([]string, error) {
	l, ok, err := p.lateOf(ctx, w.ProviderID)
	if err != nil || !ok {
		return nil, err
	}
	for {
		client, err := p.cfg.Connection.Client(ctx)
		var s settled
		if err == nil {
			s, err = p.settleLate(ctx, client, project, l)
		}
		switch {
		case ctx.Err() != nil && !s.done:
			return []string{fmt.Sprintf(
				"OpenCode may still make the worktree that it was asked for (%s): it is cleared when the project is reconciled, or by the next create", l.ID)}, nil
		case err != nil || s.done:
			return s.left, err
		}
		select {
		case <-time.After(settleEvery):
		case <-ctx.Done():
		}
	}
}
