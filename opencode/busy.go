package opencode

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// Judge is what a [Git] has besides where it can tell beforehand whether a
// removal would be refused.
type Judge interface {
	// Removable returns the refusal that Remove would answer with now, nil for
	// none.
	Removable(ctx context.Context, req workspace.RemoveRequest) error
}

// stopFor is how long a turn that was stopped may take to end.
const stopFor = 10 * time.Second

// stopEvery is how often it is looked whether it has.
const stopEvery = 100 * time.Millisecond

// inUseTries is how often a removal that is refused for a process is asked for
// again, at that pace: OpenCode runs git in a workspace itself, for a moment,
// when it opens it and when a turn is over.
const inUseTries = 10

// stopWork stops what agents do in a workspace that is to be removed, unless
// the removal is refused: then they are left alone, and the refusal is
// returned. It returns a line for what it did. A server that can't be asked has
// nothing that could be stopped.
func (p *Provider) stopWork(ctx context.Context, req workspace.RemoveRequest, a *allowance) ([]string, error) {
	judge, ok := p.cfg.Git.(Judge)
	w := req.Workspace
	if !ok || w.ProviderID == "" || !present(w.Directory) {
		return nil, nil
	}
	if c, ok := p.cfg.Connection.(interface{ Started() bool }); ok && !c.Started() {
		return nil, nil
	}
	limit, done := a.wait(ctx)
	defer done()
	client, err := p.cfg.Connection.Client(limit)
	if err != nil {
		return nil, nil
	}
	place := p.somePlace(limit, req.Project, w.Directory)
	busy, err := busyAt(limit, client, place, w)
	if err != nil || len(busy) == 0 {
		return nil, nil
	}
	if err := judge.Removable(ctx, req); err != nil {
		return nil, err
	}
	stop, cancel := context.WithTimeoutCause(limit, stopFor, ErrTimeout)
	defer cancel()
	if err := stopAll(stop, client, place, w, busy); err == nil {
		line := "the agent was at work in it: its turn was stopped"
		req.Progress(workspace.Event{Phase: workspace.PhaseRemove, Message: line, Warning: true})
		return []string{line}, nil
	} else if !req.Force {
		return nil, &workspace.Error{
			Code: workspace.ErrLocked, ThreadID: w.ThreadID, Err: err, Option: workspace.OptionForce,
			Message: fmt.Sprintf("the agent is at work in %s and could not be stopped (%s); nothing was removed", w.Directory, reason(p.late(err))),
			Hint:    "stop it, then delete again; forced, the delete doesn't wait for it",
		}
	}
	return []string{"the agent was at work in it and could not be stopped: what it still does there goes nowhere"}, nil
}

// busyAt are the sessions of a workspace that are at work. To ask for those of its directory would have OpenCode open that, if
// it hasn't yet, and run git there.
func busyAt(ctx context.Context, client *Client, place string, w workspace.Workspace) (busy []string, err error) {
	sessions, err := client.ProjectSessions(ctx, place)
	if err != nil {
		return nil, err
	}
	at := make(map[string]At)
	for _, s := range sessions {
		switch {
		case s.WorkspaceID == w.ProviderID:
			at[s.ID] = At{Directory: s.Directory, WorkspaceID: s.WorkspaceID}
		case s.WorkspaceID == "" && samePlace(s.Directory, w.WorkDirectory()):
			at[s.ID] = At{Directory: s.Directory}
		}
	}
	// Each place is asked once.
	found := make(map[string]string)
	asked := make(map[At]bool)
	for _, where := range at {
		if asked[where] {
			continue
		}
		asked[where] = true
		statuses, err := client.SessionStatuses(ctx, where)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, statuses)
	}
	for id, status := range found {
		if _, ours := at[id]; ours && status != "" && status != "idle" {
			busy = append(busy, id)
		}
	}
	slices.Sort(busy)
	return busy, nil
}

// stopAll stops sessions and waits until none is at work in the workspace.
func stopAll(ctx context.Context, client *Client, place string, w workspace.Workspace, busy []string) error {
	for {
		for _, id := range busy {
			if err := client.AbortSession(ctx, id); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		var err error
		if busy, err = busyAt(ctx, client, place, w); err != nil || len(busy) == 0 {
			return err
		}
		select {
		case <-time.After(stopEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// withStopped is a refusal that came although the agent was stopped for it.
func withStopped(err error, stopped []string) error {
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok || len(stopped) == 0 {
		return err
	}
	told := *e
	told.Message += "; " + strings.Join(stopped, "; ")
	return &told
}
