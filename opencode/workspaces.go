package opencode

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// Health is what a server says of itself.
type Health struct {
	Healthy bool   `json:"healthy"`
	Version string `json:"version"`
}

// Adapter is a kind of workspaces that a server can make.
type Adapter struct {
	Type        string `json:"type"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Workspace is a working copy as OpenCode knows it. All copies of a repository,
// clones included, share one list.
type Workspace struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Name string `json:"name"`
	// Branch is the branch that it was made with, "" for none. OpenCode
	// doesn't look which one is checked out.
	Branch string `json:"branch"`
	// Directory is where it is, "" where its adapter never said.
	Directory string          `json:"directory"`
	Extra     json.RawMessage `json:"extra"`
	ProjectID string          `json:"projectID"`
}

// NewWorkspace is a workspace to be made.
type NewWorkspace struct {
	// ID is chosen by the caller, see [NewWorkspaceID]; OpenCode takes one of
	// its own for "".
	ID string
	// Type is the adapter's.
	Type string
	// Branch is handed to the adapter, "" for none.
	Branch string
	// Extra is handed to the adapter as it is.
	Extra any
}

// WorkspaceStatus is whether OpenCode has a workspace at hand.
type WorkspaceStatus struct {
	WorkspaceID string `json:"workspaceID"`
	// Status is "connected", or "error" where the directory is missing.
	Status string `json:"status"`
}

// Health asks the server for its version.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	err := c.do(ctx, call{op: "look at the server", method: http.MethodGet, path: "/global/health", out: &h})
	return h, err
}

const workspaces = "/experimental/workspace"

// nowhere is in no project. Where a call names no directory the server takes
// the one that it was started in, and its adapter would delete a worktree from
// there, whatever repository it is of.
const nowhere = "/threadtree-nowhere"

// Adapters returns the adapters that the server has for the project of
// directory. The first call for a project loads it, plugins included.
func (c *Client) Adapters(ctx context.Context, directory string) ([]Adapter, error) {
	var list []Adapter
	err := c.do(ctx, call{
		op: "list the workspace adapters", method: http.MethodGet, path: workspaces + "/adapter", directory: directory, out: &list,
	})
	return list, err
}

// Workspaces returns the workspaces of the project of directory, those of all
// its clones. A server without the workspace flag answers with none.
func (c *Client) Workspaces(ctx context.Context, directory string) ([]Workspace, error) {
	var list []Workspace
	err := c.do(ctx, call{op: "list the workspaces", method: http.MethodGet, path: workspaces, directory: directory, out: &list})
	return list, err
}

// CreateWorkspace has the server make a workspace for the project of
// directory. After an error the server may hold a row with the id, and with an
// adapter of its own a worktree: after a timeout it may even still be at it.
func (c *Client) CreateWorkspace(ctx context.Context, directory string, w NewWorkspace) (Workspace, error) {
	body := map[string]any{"type": w.Type, "branch": nil}
	if w.Branch != "" {
		body["branch"] = w.Branch
	}
	if w.ID != "" {
		body["id"] = w.ID
	}
	if w.Extra != nil {
		body["extra"] = w.Extra
	}
	var made Workspace
	err := c.do(ctx, call{
		op: "create workspace", method: http.MethodPost, path: workspaces, directory: directory,
		body: body, out: &made, timeout: c.o.CreateTimeout,
	})
	return made, err
}

// RemoveWorkspace has the server drop a workspace: the row, the sessions that
// are bound to it (see [Client.Warp]), and whatever its adapter removes, from
// the project of directory. With an empty directory the row alone goes. That it
// returns nil proves nothing about the disk; an unknown id is no error.
func (c *Client) RemoveWorkspace(ctx context.Context, directory, id string) error {
	if directory == "" {
		directory = nowhere
	}
	return c.do(ctx, call{
		op: "remove workspace", method: http.MethodDelete, path: workspaces + "/" + url.PathEscape(id), directory: directory,
	})
}

// WorkspaceStatuses returns the status of the project's workspaces. After a
// start of the server there are none until StartSync was called.
func (c *Client) WorkspaceStatuses(ctx context.Context, directory string) ([]WorkspaceStatus, error) {
	var list []WorkspaceStatus
	err := c.do(ctx, call{op: "look at the workspaces", method: http.MethodGet, path: workspaces + "/status", directory: directory, out: &list})
	return list, err
}

// StartSync has the server look after the project's workspaces.
func (c *Client) StartSync(ctx context.Context, directory string) error {
	return c.do(ctx, call{op: "start looking after the workspaces", method: http.MethodPost, path: "/sync/start", directory: directory})
}

// Warp binds a session to a workspace, or to none for "". The directory in
// which the session was made stays in its record.
func (c *Client) Warp(ctx context.Context, directory, sessionID, workspaceID string) error {
	body := map[string]any{"id": nil, "sessionID": sessionID}
	if workspaceID != "" {
		body["id"] = workspaceID
	}
	return c.do(ctx, call{op: "bind session", method: http.MethodPost, path: workspaces + "/warp", directory: directory, body: body})
}
