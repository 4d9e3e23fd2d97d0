package workspace

import (
	"strings"
	"time"
)

// Source says where a worktree comes from.
type Source string

// The sources.
const (
	SourceThreadtree Source = "threadtree"
	SourceKimaki     Source = "kimaki"
	SourceOpenCode   Source = "opencode"
	SourceManual     Source = "manual"
	// SourceSpare is a worktree of threadtree's that waits to be handed out.
	SourceSpare Source = "spare"
)

// Row is a line of the list: a worktree, a record, or both.
type Row struct {
	// Workspace is the record, nil for a worktree without one.
	Workspace *Workspace
	// Worktree is what git has, nil for a record without a worktree.
	Worktree *Worktree
	// State is what git knows of the working copy; its fields are nil where
	// that was not asked for or could not be found out.
	State State
	// Source is known from the record, or else from the location.
	Source Source
	// Liveness is that of a pending record's attempt.
	Liveness Liveness
	// Missing is true where the working copy's directory is not there.
	Missing bool
	// Thread is how the record's thread stands in its chat system, as far as
	// an adapter has told, and ThreadSince since when it isn't open.
	Thread      ThreadState
	ThreadSince time.Time
	// SharedWith are other threads whose record has the same directory.
	SharedWith []string
	// Deletable is true where a delete would be accepted as things stood when
	// the row was drawn. It is judged anew when the delete is asked for.
	Deletable bool
	// Reasons say why it isn't deletable, and what could not be found out.
	Reasons []string
}

// Directory returns where the row's working copy is, "" where no such place
// is known.
func (r Row) Directory() string {
	switch {
	case r.Worktree != nil:
		return r.Worktree.Directory
	case r.Workspace != nil:
		return r.Workspace.Directory
	}
	return ""
}

// Reason returns the reasons as one text.
func (r Row) Reason() string { return strings.Join(r.Reasons, "; ") }

// sourceOf tells the source from the record, then from the location, never
// from a branch's name alone.
func sourceOf(w *Workspace, dir string, managed bool) Source {
	if w != nil {
		switch w.Provider {
		case ProviderKimaki:
			return SourceKimaki
		case ProviderAdopted, "":
		default:
			return SourceThreadtree
		}
	}
	slashed := "/" + strings.Trim(strings.ReplaceAll(dir, `\`, "/"), "/") + "/"
	switch {
	case managed:
		return SourceThreadtree
	case strings.Contains(slashed, "/opencode/worktree/"):
		return SourceOpenCode
	case inKimakiHome(slashed):
		return SourceKimaki
	}
	return SourceManual
}

// inKimakiHome reports whether a path has the form in which Kimaki lays out
// worktrees: …kimaki…/worktrees/<8 hex digits>/<name>.
func inKimakiHome(slashed string) bool {
	before, after, ok := strings.Cut(slashed, "/worktrees/")
	if !ok || !strings.Contains(strings.ToLower(before), "kimaki") {
		return false
	}
	hash, _, _ := strings.Cut(after, "/")
	return len(hash) == 8 && strings.Trim(hash, "0123456789abcdef") == ""
}
