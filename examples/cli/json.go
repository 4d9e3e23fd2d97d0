package main

import (
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// workspaceJSON is a workspace; all its fields are always there.
type workspaceJSON struct {
	ThreadID         string           `json:"thread_id"`
	SessionID        string           `json:"session_id"`
	Provider         string           `json:"provider"`
	ProviderID       string           `json:"provider_id"`
	Name             string           `json:"name"`
	Branch           string           `json:"branch"`
	Base             string           `json:"base"`
	BaseCommit       string           `json:"base_commit"`
	ProjectDirectory string           `json:"project_directory"`
	Directory        string           `json:"directory"`
	Status           workspace.Status `json:"status"`
	Error            string           `json:"error"`
	Warnings         []string         `json:"warnings"`
	CreatedAt        string           `json:"created_at"`
}

// rowJSON is a line of the list; what is not known is left out.
type rowJSON struct {
	ThreadID         *string           `json:"thread_id,omitempty"`
	SessionID        *string           `json:"session_id,omitempty"`
	Provider         *string           `json:"provider,omitempty"`
	ProviderID       *string           `json:"provider_id,omitempty"`
	Name             *string           `json:"name,omitempty"`
	Branch           *string           `json:"branch,omitempty"`
	Base             *string           `json:"base,omitempty"`
	BaseCommit       *string           `json:"base_commit,omitempty"`
	ProjectDirectory *string           `json:"project_directory,omitempty"`
	Directory        *string           `json:"directory,omitempty"`
	Status           *workspace.Status `json:"status,omitempty"`
	Error            *string           `json:"error,omitempty"`
	Warnings         *[]string         `json:"warnings,omitempty"`
	CreatedAt        *string           `json:"created_at,omitempty"`

	// Thread is "archived" or "deleted", absent for one that is open.
	Thread *workspace.ThreadState `json:"thread,omitempty"`

	Source       workspace.Source `json:"source"`
	Head         *string          `json:"head,omitempty"`
	Detached     *bool            `json:"detached,omitempty"`
	Dirty        *bool            `json:"dirty,omitempty"`
	Modified     *int             `json:"modified,omitempty"`
	Untracked    *int             `json:"untracked,omitempty"`
	Ahead        *int             `json:"ahead,omitempty"`
	Behind       *int             `json:"behind,omitempty"`
	Merged       *bool            `json:"merged,omitempty"`
	Locked       *bool            `json:"locked,omitempty"`
	Prunable     *bool            `json:"prunable,omitempty"`
	Missing      bool             `json:"missing"`
	Operation    *string          `json:"operation,omitempty"`
	Deletable    bool             `json:"deletable"`
	Reason       string           `json:"reason"`
	LastActivity *string          `json:"last_activity,omitempty"`
}

type listJSON struct {
	Workspaces []rowJSON `json:"workspaces"`
}

type deletedJSON struct {
	Deleted bool `json:"deleted"`
	// RestoreUntil is absent where nothing can be restored.
	RestoreUntil string `json:"restore_until,omitempty"`
	// WithoutSnapshot can be restored no longer than until DirectoryUntil; both
	// are absent where the snapshot has all but ignored files.
	DirectoryUntil  string   `json:"directory_until,omitempty"`
	WithoutSnapshot []string `json:"missing_from_snapshot,omitempty"`
	// Warnings is what was done besides, Left what was left in place.
	Warnings []string `json:"warnings,omitempty"`
	Left     []string `json:"left,omitempty"`
}

func deletedOf(d workspace.Deleted) deletedJSON {
	j := deletedJSON{Deleted: true, Warnings: d.Removed.Warnings, Left: d.Removed.Left}
	if d.Trashed != nil {
		j.RestoreUntil = timeOf(d.Trashed.RestorableUntil)
		if missing := d.Trashed.Kept.Missing; len(missing) > 0 {
			j.DirectoryUntil, j.WithoutSnapshot = timeOf(d.Trashed.DirectoryUntil), missing
		}
	}
	return j
}

type locationJSON struct {
	Directory string         `json:"directory"`
	Workspace *workspaceJSON `json:"workspace,omitempty"`
}

type actionJSON struct {
	Kind      workspace.ActionKind `json:"kind"`
	ThreadID  string               `json:"thread_id,omitempty"`
	Directory string               `json:"directory,omitempty"`
	Detail    string               `json:"detail"`
}

type actionsJSON struct {
	Actions []actionJSON `json:"actions"`
}

type errorJSON struct {
	Error struct {
		refusalJSON
		*conflictJSON
	} `json:"error"`
}

// refusalJSON is why something was refused.
type refusalJSON struct {
	Code    workspace.Code `json:"code"`
	Message string         `json:"message"`
	Hint    string         `json:"hint"`
	Files   []string       `json:"files"`
}

// conflictJSON is what an error has besides where it is a conflict.
type conflictJSON struct {
	Branch string `json:"branch"`
	Target string `json:"target"`
	// Ours are the commits of the branch that touch the files, Theirs those of
	// the target, newest first.
	Ours         []commitJSON `json:"ours"`
	Theirs       []commitJSON `json:"theirs"`
	Paused       bool         `json:"paused"`
	Directory    string       `json:"directory"`
	Instructions string       `json:"instructions"`
}

type commitJSON struct {
	SHA     string `json:"sha"`
	Subject string `json:"subject"`
	Author  string `json:"author"`
	When    string `json:"when"`
}

func conflictOf(c *workspace.Conflict) *conflictJSON {
	return &conflictJSON{
		Branch: c.Branch, Target: c.Target, Ours: commitsOf(c.Ours), Theirs: commitsOf(c.Theirs),
		Paused: c.Paused, Directory: c.Directory, Instructions: c.Instructions,
	}
}

func commitsOf(commits []workspace.CommitInfo) []commitJSON {
	list := []commitJSON{}
	for _, c := range commits {
		list = append(list, commitJSON{SHA: c.SHA, Subject: c.Subject, Author: c.Author, When: timeOf(c.When)})
	}
	return list
}

func (a *app) printJSON(v any) error { return unwritten(encode(a.out, v)) }

func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func workspaceOf(w workspace.Workspace) workspaceJSON {
	warnings := w.Warnings
	if warnings == nil {
		warnings = []string{}
	}
	return workspaceJSON{
		ThreadID: w.ThreadID, SessionID: w.SessionID, Provider: w.Provider, ProviderID: w.ProviderID,
		Name: w.Name, Branch: w.Branch, Base: w.Base, BaseCommit: w.BaseCommit,
		ProjectDirectory: w.ProjectDirectory, Directory: w.Directory,
		Status: w.Status, Error: w.Error, Warnings: warnings, CreatedAt: timeOf(w.CreatedAt),
	}
}

func rowsOf(rows []workspace.Row) listJSON {
	list := listJSON{Workspaces: []rowJSON{}}
	for _, row := range rows {
		list.Workspaces = append(list.Workspaces, rowOf(row))
	}
	return list
}

func rowOf(row workspace.Row) rowJSON {
	j := rowJSON{Source: row.Source, Missing: row.Missing, Deletable: row.Deletable, Reason: row.Reason()}
	if row.Workspace != nil {
		w := workspaceOf(*row.Workspace)
		j.ThreadID, j.SessionID, j.Provider, j.ProviderID = &w.ThreadID, &w.SessionID, &w.Provider, &w.ProviderID
		j.Name, j.Branch, j.Base, j.BaseCommit = &w.Name, &w.Branch, &w.Base, &w.BaseCommit
		j.ProjectDirectory, j.Directory = &w.ProjectDirectory, &w.Directory
		j.Status, j.Error, j.Warnings, j.CreatedAt = &w.Status, &w.Error, &w.Warnings, &w.CreatedAt
	}
	if wt := row.Worktree; wt != nil {
		// What is checked out now, and where, is git's to say.
		j.Directory = &wt.Directory
		// Without a commit it isn't known what is checked out.
		if wt.Branch != "" || wt.Detached && wt.Head != "" {
			j.Branch, j.Detached = &wt.Branch, &wt.Detached
		}
		if wt.Head != "" {
			j.Head = &wt.Head
		}
		j.Locked, j.Prunable = &wt.Locked, new(wt.Prunable != "")
	}
	if row.Thread != workspace.ThreadOpen {
		j.Thread = &row.Thread
	}
	s := row.State
	// To a script a change is a change, staged or not.
	j.Dirty, j.Modified, j.Untracked = s.Dirty, s.Changed, s.Untracked
	j.Ahead, j.Behind, j.Merged = s.Ahead, s.Behind, s.Merged
	if s.Operation != "" || s.Dirty != nil {
		j.Operation = &s.Operation
	}
	if s.LastActivity != nil {
		j.LastActivity = new(timeOf(*s.LastActivity))
	}
	return j
}

func locationOf(place workspace.Location) locationJSON {
	j := locationJSON{Directory: place.Directory}
	if place.Workspace != nil {
		j.Workspace = new(workspaceOf(*place.Workspace))
	}
	return j
}

func actionsOf(actions []workspace.Action) actionsJSON {
	j := actionsJSON{Actions: []actionJSON{}}
	for _, a := range actions {
		j.Actions = append(j.Actions, actionJSON{Kind: a.Kind, ThreadID: a.ThreadID, Directory: a.Directory, Detail: a.Detail})
	}
	return j
}

// errorOf is an error for programs; what is no error of the library's own has
// the code that its cause stands for.
func errorOf(err error) errorJSON {
	var j errorJSON
	j.Error.Code = workspace.CodeOf(err)
	j.Error.Message = err.Error()
	j.Error.Hint = hintOf(err)
	j.Error.Files = []string{}
	if e, ok := errors.AsType[*workspace.Error](err); ok {
		if e.Message != "" {
			j.Error.Message = e.Message
		}
		j.Error.Files = append(j.Error.Files, e.Files...)
	}
	if c, ok := errors.AsType[*workspace.Conflict](err); ok {
		j.Error.conflictJSON = conflictOf(c)
	}
	return j
}

// hintOf is the hint with the flag that it speaks of.
func hintOf(err error) string {
	hint, option := workspace.HintOf(err), workspace.OptionOf(err)
	if option == "" {
		return hint
	}
	return hint + " (--" + string(option) + ")"
}

func timeOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
