package opencode

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// Session is a conversation with the agent.
type Session struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Directory is where it was made; it works there unless it is bound to a
	// workspace elsewhere.
	Directory string `json:"directory"`
	// WorkspaceID is the workspace that it is bound to, "" for none.
	WorkspaceID string `json:"workspaceID"`
	ParentID    string `json:"parentID"`
	ProjectID   string `json:"projectID"`
	Agent       string `json:"agent"`
	// Model is the one that it was last used with, nil before that.
	Model *SessionModel `json:"model"`
	// Metadata is whatever programs keep with it.
	Metadata   map[string]json.RawMessage `json:"metadata"`
	Permission []Rule                     `json:"permission"`
	Time       SessionTime                `json:"time"`
}

// SessionModel is a model as a session has it.
type SessionModel struct {
	ID         string `json:"id"`
	ProviderID string `json:"providerID"`
	Variant    string `json:"variant,omitempty"`
}

// SessionTime has times in milliseconds since 1970.
type SessionTime struct {
	Created int64 `json:"created"`
	Updated int64 `json:"updated"`
}

// Rule says what a session's tools may do. The last one that matches decides.
type Rule struct {
	// Permission is the tool or the kind of access, such as
	// "external_directory" or "bash".
	Permission string `json:"permission"`
	// Pattern is compared with what the tool is about to do; * is anything.
	Pattern string `json:"pattern"`
	// Action is "allow", "deny" or "ask".
	Action string `json:"action"`
}

// NewSession is a session to be made.
type NewSession struct {
	Title      string                     `json:"title,omitempty"`
	Agent      string                     `json:"agent,omitempty"`
	Model      *SessionModel              `json:"model,omitempty"`
	Metadata   map[string]json.RawMessage `json:"metadata,omitempty"`
	Permission []Rule                     `json:"permission,omitempty"`
}

// SessionChange is what to change of a session; what is empty stays.
type SessionChange struct {
	Title string `json:"title,omitempty"`
	// Metadata replaces all that there is.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	// Permission is added to the rules that there are.
	Permission []Rule `json:"permission,omitempty"`
}

// At says where a session is to be: in a workspace, or in a directory.
type At struct{ Directory, WorkspaceID string }

func sessionPath(id string, more string) string {
	return "/session/" + url.PathEscape(id) + more
}

// CreateSession makes a session.
func (c *Client) CreateSession(ctx context.Context, at At, s NewSession) (Session, error) {
	var made Session
	err := c.do(ctx, call{
		op: "create session", method: http.MethodPost, path: "/session",
		directory: at.Directory, workspace: at.WorkspaceID, body: s, out: &made,
	})
	return made, err
}

// Session returns a session; without one the error is [ErrNotFound].
func (c *Client) Session(ctx context.Context, id string) (Session, error) {
	var s Session
	err := c.do(ctx, call{op: "get session", method: http.MethodGet, path: sessionPath(id, ""), out: &s})
	return s, err
}

// Sessions returns the sessions that were made in directory, the latest first.
func (c *Client) Sessions(ctx context.Context, directory string) ([]Session, error) {
	return c.sessions(ctx, directory, url.Values{})
}

// ProjectSessions returns the sessions of the project of directory, wherever
// they were made, the latest first.
func (c *Client) ProjectSessions(ctx context.Context, directory string) ([]Session, error) {
	return c.sessions(ctx, directory, url.Values{"scope": {"project"}})
}

func (c *Client) sessions(ctx context.Context, directory string, query url.Values) ([]Session, error) {
	// Without a limit of ours the server has one of its own.
	query.Set("limit", "100000")
	var list []Session
	err := c.do(ctx, call{op: "list the sessions", method: http.MethodGet, path: "/session", directory: directory, query: query, out: &list})
	return list, err
}

// ForkSession makes a session in a workspace with all that was said in another
// one. That the server put it there is for the caller to check.
func (c *Client) ForkSession(ctx context.Context, id, workspaceID string) (Session, error) {
	var made Session
	err := c.do(ctx, call{
		op: "fork session", method: http.MethodPost, path: sessionPath(id, "/fork"), workspace: workspaceID, body: struct{}{}, out: &made,
	})
	return made, err
}

// UpdateSession changes a session.
func (c *Client) UpdateSession(ctx context.Context, id string, change SessionChange) (Session, error) {
	var s Session
	err := c.do(ctx, call{op: "change session", method: http.MethodPatch, path: sessionPath(id, ""), body: change, out: &s})
	return s, err
}

// SessionStatuses returns what the sessions of directory do: "busy" or
// "retry". One that does nothing is left out.
func (c *Client) SessionStatuses(ctx context.Context, at At) (map[string]string, error) {
	var list map[string]struct {
		Type string `json:"type"`
	}
	err := c.do(ctx, call{
		op: "look at the sessions", method: http.MethodGet, path: "/session/status",
		directory: at.Directory, workspace: at.WorkspaceID, out: &list,
	})
	statuses := make(map[string]string, len(list))
	for id, s := range list {
		statuses[id] = s.Type
	}
	return statuses, err
}

// AbortSession ends the turn that the session is in, if it is in one.
func (c *Client) AbortSession(ctx context.Context, id string) error {
	return c.do(ctx, call{op: "stop session", method: http.MethodPost, path: sessionPath(id, "/abort")})
}

// DeleteSession removes a session with all that was said in it.
func (c *Client) DeleteSession(ctx context.Context, id string) error {
	return c.do(ctx, call{op: "delete session", method: http.MethodDelete, path: sessionPath(id, "")})
}

// MoveSession has a session be as if it had been made in another directory, and
// binds it to no workspace. No file is touched.
func (c *Client) MoveSession(ctx context.Context, id, directory string) error {
	return c.do(ctx, call{
		op: "move session", method: http.MethodPost, path: "/experimental/control-plane/move-session",
		body: map[string]any{"sessionID": id, "destination": map[string]string{"directory": directory}},
	})
}
