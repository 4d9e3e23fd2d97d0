package opencode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// Places says where a thread works. A [workspace.Manager] does.
type Places interface {
	Resolve(ctx context.Context, threadID, project string) (workspace.Location, error)
}

// Rejoiner has OpenCode know a workspace again, and its sessions bound to it.
type Rejoiner interface {
	Rejoin(ctx context.Context, w workspace.Workspace) error
}

// AgentConfig is what an [Agent] works with. Connection, Sessions and Places
// are needed.
type AgentConfig struct {
	Connection Connection
	Sessions   workspace.Sessions
	Places     Places
	// Rejoiner tells OpenCode of a workspace that it doesn't know, such as one
	// that was restored while it was down; without one, that waits for a
	// reconcile. A [Provider] is one.
	Rejoiner Rejoiner
	// Rules are added to those that each new session gets, after them: the
	// last that matches decides.
	Rules []Rule
	// Logger gets what nobody can be told otherwise, slog.Default if nil.
	Logger *slog.Logger
}

// Agent is OpenCode as the agent of threads: each has a session, in its
// workspace. It is safe for concurrent use.
//
// A session may not write outside its workspace with OpenCode's own tools, and
// not name the project's main checkout in a shell command. That is a guard
// rail: a command can still write there by a path that isn't spelled out.
type Agent struct {
	cfg AgentConfig

	mu sync.Mutex
	// turns has a token for each thread that was spoken to: who holds it
	// speaks.
	turns map[string]chan struct{}
}

var _ workspace.Agent = (*Agent)(nil)

// NewAgent returns an agent. The error has the code internal and says what is
// missing.
func NewAgent(cfg AgentConfig) (*Agent, error) {
	if cfg.Connection == nil || cfg.Sessions == nil || cfg.Places == nil {
		return nil, &workspace.Error{Code: workspace.ErrInternal, Message: "the OpenCode agent's configuration lacks Connection, Sessions or Places"}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Agent{cfg: cfg, turns: make(map[string]chan struct{})}, nil
}

// turn waits until nobody else speaks for a thread. done hands it on.
func (a *Agent) turn(ctx context.Context, threadID string) (done func(), err error) {
	a.mu.Lock()
	token, ok := a.turns[threadID]
	if !ok {
		token = make(chan struct{}, 1)
		a.turns[threadID] = token
	}
	a.mu.Unlock()
	select {
	case token <- struct{}{}:
		return func() { <-token }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Prompt hands text to the thread's session: see [workspace.Agent].
func (a *Agent) Prompt(ctx context.Context, project, threadID, text string, tell func(workspace.AgentEvent)) (workspace.Answer, error) {
	done, err := a.turn(ctx, threadID)
	if err != nil {
		return workspace.Answer{}, err
	}
	defer done()
	at, err := a.cfg.Places.Resolve(ctx, threadID, project)
	if err != nil {
		return workspace.Answer{}, err
	}
	client, err := a.cfg.Connection.Client(ctx)
	if err != nil {
		return workspace.Answer{}, a.failure(ctx, threadID, "the agent can't be asked", "nothing was sent", err)
	}
	session, err := a.session(ctx, client, threadID, at)
	if err != nil {
		return workspace.Answer{}, a.failure(ctx, threadID, "the agent has no session for this thread", "nothing was sent", err)
	}
	if tell == nil {
		tell = func(workspace.AgentEvent) {}
	}
	f := &follower{client: client, session: session, tell: tell, log: a.cfg.Logger}
	answer, err := f.ask(ctx, Prompt{Text: text, Model: modelOf(session)})
	return answer, a.failure(ctx, threadID, "the agent did not answer", "what it had done by then stays in the workspace", err)
}

// Abort stops what the agent does for the thread.
func (a *Agent) Abort(ctx context.Context, threadID string) error {
	s, err := a.cfg.Sessions.Session(ctx, threadID)
	if errors.Is(err, workspace.ErrNotFound) || err == nil && s.ID == "" {
		return nil
	}
	if err != nil {
		return err
	}
	client, err := a.cfg.Connection.Client(ctx)
	if err == nil {
		err = client.AbortSession(ctx, s.ID)
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return a.failure(ctx, threadID, "the agent could not be stopped", "it may still be at work", err)
}

func (a *Agent) failure(ctx context.Context, threadID, doing, left string, err error) error {
	if err == nil {
		return nil
	}
	err = failure(ctx, doing, left, err)
	if e, ok := errors.AsType[*workspace.Error](err); ok && e.ThreadID == "" {
		e.ThreadID = threadID
	}
	return err
}

// session returns the session of a thread, where the thread works now. One
// that OpenCode has lost, or that works elsewhere, is replaced.
func (a *Agent) session(ctx context.Context, client *Client, threadID string, at workspace.Location) (Session, error) {
	// The first request for a project after a start of the server loads it:
	// sessions in its workspaces fail before that.
	where := placeAt(at)
	if _, err := client.Workspaces(ctx, where); err != nil {
		return Session{}, err
	}
	known, err := a.cfg.Sessions.Session(ctx, threadID)
	if err != nil && !errors.Is(err, workspace.ErrNotFound) {
		return Session{}, err
	}
	if known.ID != "" {
		s, err := client.Session(ctx, known.ID)
		if err == nil && !worksIn(s, at) && letGoOf(s, at) {
			if s, err = a.rebind(ctx, client, s, at); errors.Is(err, errNoPlugin) {
				return a.unbound(ctx, client, known.ID, at)
			}
		}
		switch {
		case err == nil && worksIn(s, at):
			return s, nil
		case err != nil && !errors.Is(err, ErrNotFound):
			return Session{}, err
		}
	}
	wanted := NewSession{Title: "thread " + threadID, Metadata: withMark(nil, mark{Workspace: workspaceID(at)}), Permission: a.rules(at)}
	made, err := client.CreateSession(ctx, atOf(at), wanted)
	in := worksIn
	if errors.Is(err, ErrNotFound) && workspaceID(at) != "" && a.cfg.Rejoiner != nil {
		switch err = a.cfg.Rejoiner.Rejoin(ctx, *at.Workspace); {
		case err == nil:
			made, err = client.CreateSession(ctx, atOf(at), wanted)
		case errors.Is(err, errNoPlugin):
			in = worksThere
			made, err = client.CreateSession(ctx, At{Directory: at.Directory}, wanted)
		}
	}
	if err != nil {
		return Session{}, err
	}
	if !in(made, at) || !landed(made, at) {
		a.discard(ctx, client, made)
		return Session{}, &Error{Op: "create session", Err: ErrMalformed, Message: fmt.Sprintf("asked for one in %s, it is in %s", at.Directory, made.Directory)}
	}
	known.ThreadID, known.ID = threadID, made.ID
	if err := a.cfg.Sessions.PutSession(ctx, known); err != nil {
		a.discard(ctx, client, made)
		return Session{}, err
	}
	return made, nil
}

// discard deletes a session that was just made and that nobody will use.
func (a *Agent) discard(ctx context.Context, client *Client, made Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := client.DeleteSession(ctx, made.ID); err != nil {
		a.cfg.Logger.WarnContext(ctx, "a session that nobody uses stays", "session", made.ID, "error", err)
	}
}

// letGoOf reports whether a session belongs to the workspace of a location and
// was let go of: the workspace was deleted and restored.
func letGoOf(s Session, at workspace.Location) bool {
	id := workspaceID(at)
	return id != "" && s.WorkspaceID == "" && markOf(s).Workspace == id
}

// rebind binds a session again that was let go of.
func (a *Agent) rebind(ctx context.Context, client *Client, s Session, at workspace.Location) (Session, error) {
	if a.cfg.Rejoiner != nil {
		if err := a.cfg.Rejoiner.Rejoin(ctx, *at.Workspace); err != nil {
			return Session{}, err
		}
		return client.Session(ctx, s.ID)
	}
	if !landed(s, at) {
		if err := client.MoveSession(ctx, s.ID, at.Directory); err != nil && !errors.Is(err, ErrNoEndpoint) {
			return Session{}, err
		}
	}
	if err := client.Warp(ctx, placeAt(at), s.ID, workspaceID(at)); err != nil {
		return Session{}, err
	}
	return client.Session(ctx, s.ID)
}

// unbound has a session that was let go of work in the workspace by its
// directory alone, where the server can't be told of the workspace again.
func (a *Agent) unbound(ctx context.Context, client *Client, id string, at workspace.Location) (Session, error) {
	s, err := client.Session(ctx, id)
	if err == nil && !worksThere(s, at) {
		if err = client.MoveSession(ctx, id, at.Directory); err == nil {
			s, err = client.Session(ctx, id)
		}
	}
	if err == nil && !worksThere(s, at) {
		err = &Error{Op: "move session", Err: ErrMalformed, Message: fmt.Sprintf("it was to be in %s, it is in %s", at.Directory, s.Directory)}
	}
	return s, err
}

// placeAt is the directory by which OpenCode finds the project of a location.
func placeAt(at workspace.Location) string {
	if at.Workspace != nil {
		return at.Workspace.ProjectDirectory
	}
	return at.Directory
}

// workspaceID is OpenCode's workspace of a location, "" for none.
func workspaceID(at workspace.Location) string {
	if at.Workspace == nil || at.Workspace.Provider != workspace.ProviderOpenCode {
		return ""
	}
	return at.Workspace.ProviderID
}

// atOf is a location as the client names it.
func atOf(at workspace.Location) At {
	if id := workspaceID(at); id != "" {
		return At{WorkspaceID: id}
	}
	return At{Directory: at.Directory}
}

// worksIn reports whether a session works at a location.
func worksIn(s Session, at workspace.Location) bool {
	if id := workspaceID(at); id != "" {
		return s.WorkspaceID == id
	}
	return worksThere(s, at)
}

// worksThere reports whether a session works in the directory of a location,
// bound to no workspace.
func worksThere(s Session, at workspace.Location) bool {
	return s.WorkspaceID == "" && samePlace(s.Directory, at.Directory)
}

// landed reports whether a session was made in the directory of a location. A
// server decodes the directory of a workspace once too often, and makes the
// session elsewhere, where the path has a percent sign that means something.
func landed(s Session, at workspace.Location) bool {
	return samePlace(s.Directory, at.Directory) || at.Workspace != nil && samePlace(s.Directory, at.Workspace.Directory)
}

// modelOf is the model that a session is to use although it has not used it
// yet.
func modelOf(s Session) *SessionModel {
	if s.Model != nil {
		return nil
	}
	return markOf(s).Model
}
