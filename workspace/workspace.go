package workspace

import (
	"path/filepath"
	"time"
)

// Status is where a workspace stands in its life. A store holds no other
// values; missing and stale are found out when a workspace is looked at.
type Status string

// The three statuses.
const (
	StatusPending Status = "pending"
	StatusReady   Status = "ready"
	StatusError   Status = "error"
)

// Names of providers as they stand in a record.
const (
	// ProviderGit made the workspace with git alone.
	ProviderGit = "git"
	// ProviderOpenCode made it through OpenCode's workspace API.
	ProviderOpenCode = "opencode"
	// ProviderKimaki is the record of a Kimaki bot.
	ProviderKimaki = "kimaki"
	// ProviderAdopted was made by nobody of ours: a person's worktree that a
	// thread was bound to. It is unbound, not removed.
	ProviderAdopted = "adopted"
)

// Workspace is the working copy of one thread, as it is remembered.
type Workspace struct {
	// ThreadID is the conversation that owns it; an opaque string.
	ThreadID string
	// SessionID is the agent's conversation, "" while there is none.
	SessionID string
	// Provider is who made it: one of the Provider constants or the name of a
	// provider of the caller's own.
	Provider string
	// ProviderID is the provider's own handle, "" where it has none.
	ProviderID string
	// Name is the slug that branch and directory were made from.
	Name string
	// Branch is the short name of the branch it was made with, "" for a
	// detached one. What is checked out now is asked of git.
	Branch string
	// BranchCreated is true where the branch was made with the workspace, and
	// false where an existing one was attached.
	BranchCreated bool
	// Base is the name that the branch started from, as a person would say it.
	Base string
	// BaseCommit is the object id that Base stood for.
	BaseCommit string
	// ProjectID is the identity of the project: its resolved common git
	// directory. It is "" in a record made by another program.
	ProjectID string
	// ProjectDirectory is the project as the caller spelled it.
	ProjectDirectory string
	// Subdirectory is the project's place below the repository's top, in
	// slashes, "" for the top itself.
	Subdirectory string
	// Directory is the top of the working copy. It is "" until it is known.
	Directory string
	// Status is pending, ready or error.
	Status Status
	// Error says why Status is error, in one or two sentences.
	Error string
	// ErrorCode is the code that goes with Error.
	ErrorCode Code
	// Warnings are what went less than well on a workspace that is usable.
	Warnings []string
	// CreatedAt is when the row was first written, in UTC, whole seconds.
	CreatedAt time.Time
	// Attempt is the last try to make it. Its zero value means that another
	// program wrote the row.
	Attempt Attempt
}

// Attempt is one try to make a workspace. Its id is a fencing token: each
// transition compares it.
type Attempt struct {
	// ID is unique among all attempts.
	ID string
	// Host is the machine that it runs on.
	Host string
	// Lock is the path, on that machine, of the lock that is held while the
	// attempt or a child process of it lives.
	Lock string
	// Lease is until when another machine has to take the attempt for alive.
	Lease time.Time
	// StartedAt is when it began.
	StartedAt time.Time
}

// WorkDirectory returns where the thread works: the project's subdirectory of
// the working copy.
func (w Workspace) WorkDirectory() string {
	if w.Directory == "" || w.Subdirectory == "" {
		return w.Directory
	}
	return filepath.Join(w.Directory, filepath.FromSlash(w.Subdirectory))
}

// Project is a git repository that threads work on.
type Project struct {
	// ID is the resolved path of the common git directory: one for all
	// checkouts of a repository.
	ID string
	// Directory is the project as the caller spelled it.
	Directory string
	// TopLevel is the resolved top of the checkout that Directory lies in, ""
	// in a bare repository.
	TopLevel string
	// Subdirectory is Directory relative to TopLevel, in slashes, "" for the
	// top itself.
	Subdirectory string
	// Name is the repository's name as a person would say it; it may be used
	// as a file name.
	Name string
	// Bare is true for a repository without a checkout of its own.
	Bare bool
}

// Session is the agent's conversation that belongs to a thread.
type Session struct {
	ThreadID string
	// ID is the agent's handle, "" while there is no conversation yet.
	ID string
	// Source is the program that made it; "" is stored as "threadtree".
	Source string
	// ParentID is the session that this one was forked from, if any.
	ParentID string
	// LastSyncedName is the thread's title as the agent last saw it.
	LastSyncedName string
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Channel is what is set for a chat channel.
type Channel struct {
	ID      string
	GuildID string
	// Type is "text" or "voice"; "" is stored as "text".
	Type string
	// Directory is the project that the channel works on.
	Directory string
	// Automatic is whether each new thread gets a workspace without asking.
	Automatic bool
	CreatedAt time.Time
}
