package opencode

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/threadtree/threadtree/workspace"
)

// Fork gives a thread a session that goes on from another thread's: see
// [workspace.Agent].
func (a *Agent) Fork(ctx context.Context, from, threadID string) (workspace.Session, error) {
	done, err := a.turn(ctx, threadID)
	if err != nil {
		return workspace.Session{}, err
	}
	defer done()
	present, err := a.cfg.Sessions.Session(ctx, threadID)
	switch {
	case err == nil && present.ID != "":
		return present, &workspace.Error{
			Code: workspace.ErrAlreadyExists, ThreadID: threadID,
			Message: "the thread has a session of its own; it was left as it is", Hint: "go on in that one",
		}
	case err != nil && !errors.Is(err, workspace.ErrNotFound):
		return workspace.Session{}, err
	}
	source, err := a.cfg.Sessions.Session(ctx, from)
	if errors.Is(err, workspace.ErrNotFound) || err == nil && source.ID == "" {
		return workspace.Session{}, noSource(threadID, "the thread that it comes from has no session", nil)
	}
	if err != nil {
		return workspace.Session{}, err
	}
	at, err := a.cfg.Places.Resolve(ctx, threadID, "")
	if err != nil {
		return workspace.Session{}, err
	}
	made, err := a.fork(ctx, source.ID, at)
	switch {
	case errors.Is(err, ErrNotFound):
		return workspace.Session{}, noSource(threadID, "OpenCode no longer has the session that it comes from", err)
	case err != nil:
		return workspace.Session{}, a.failure(ctx, threadID, "the session can't be forked into the workspace", "the thread begins with a new one", err)
	}
	session := workspace.Session{ThreadID: threadID, ID: made.ID, ParentID: source.ID}
	return session, a.cfg.Sessions.PutSession(ctx, session)
}

func noSource(threadID, why string, err error) error {
	return &workspace.Error{
		Code: workspace.ErrNotFound, ThreadID: threadID, Err: err,
		Message: why + "; the thread begins with a new one", Hint: "tell the agent again what it has to know",
	}
}

// fork makes a session at a location with all that was said in another one.
func (a *Agent) fork(ctx context.Context, sourceID string, at workspace.Location) (Session, error) {
	client, err := a.cfg.Connection.Client(ctx)
	if err != nil {
		return Session{}, err
	}
	id := workspaceID(at)
	if id == "" {
		return Session{}, &Error{Op: "fork session", Err: ErrNoEndpoint, Message: "OpenCode doesn't know the workspace, so a session can't be forked into it"}
	}
	rows, err := client.Workspaces(ctx, placeAt(at))
	if err == nil && a.cfg.Rejoiner != nil && !slices.ContainsFunc(rows, func(row Workspace) bool { return row.ID == id }) {
		err = a.cfg.Rejoiner.Rejoin(ctx, *at.Workspace)
	}
	if err != nil {
		return Session{}, err
	}
	source, err := client.Session(ctx, sourceID)
	if err != nil {
		return Session{}, err
	}
	made, err := client.ForkSession(ctx, source.ID, id)
	if err != nil {
		return Session{}, err
	}
	settled, err := a.settle(ctx, client, source, made, at)
	if err != nil {
		a.discard(ctx, client, made)
	}
	return settled, err
}

// settle brings a forked session to where it has to be, and gives it what any
// session of ours has. The server makes the fork of a session that is bound to
// a workspace in that one, whatever it is asked for.
func (a *Agent) settle(ctx context.Context, client *Client, source, made Session, at workspace.Location) (Session, error) {
	here := at.Directory
	if !samePlace(made.Directory, here) {
		if err := client.MoveSession(ctx, made.ID, here); err != nil {
			return made, err
		}
	}
	id := workspaceID(at)
	m := mark{Workspace: id, Model: source.Model}
	if m.Model == nil {
		m.Model = markOf(source).Model
	}
	if _, err := client.UpdateSession(ctx, made.ID, SessionChange{Metadata: withMark(made.Metadata, m), Permission: a.rules(at)}); err != nil {
		return made, err
	}
	if err := client.Warp(ctx, placeAt(at), made.ID, id); err != nil {
		return made, err
	}
	settled, err := client.Session(ctx, made.ID)
	if err == nil && (settled.WorkspaceID != id || !samePlace(settled.Directory, here)) {
		err = &Error{Op: "fork session", Err: ErrMalformed, Message: fmt.Sprintf("asked for one in %s, it is in %s", here, settled.Directory)}
	}
	return settled, err
}
