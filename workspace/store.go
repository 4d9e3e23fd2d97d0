package workspace

import (
	"context"
	"time"
)

// Store is all that has to outlive the process. Extras are optional interfaces
// found by type assertion: [Notes] is one.
type Store interface {
	Workspaces
	Sessions
	Channels
}

// Guard is what a guarded change compares a row with. The zero Guard means
// that there must be no row.
type Guard struct {
	Status  Status
	Attempt string
}

// GuardOf returns the guard that holds while w is what it is now.
func GuardOf(w Workspace) Guard { return Guard{Status: w.Status, Attempt: w.Attempt.ID} }

// Change is a partial update of a row. A nil field stays as it is.
type Change struct {
	Status        *Status
	Error         *string
	ErrorCode     *Code
	Provider      *string
	ProviderID    *string
	Name          *string
	Branch        *string
	BranchCreated *bool
	Base          *string
	BaseCommit    *string
	ProjectID     *string
	Directory     *string
	Warnings      *[]string
	Lease         *time.Time

	// Claim makes the change conditional: it is written only if no other row
	// of the project (by ProjectID, or by ProjectDirectory where a row has no
	// ProjectID) has the same directory, or the same branch, compared without
	// regard to case and Unicode form. An empty directory or branch is never
	// the same as another. The error has the code already_exists and carries
	// the other row in Error.Workspace.
	Claim bool
}

// Query selects rows.
type Query struct {
	// ProjectID selects the rows with that identity. Empty selects none by
	// identity.
	ProjectID string
	// ProjectDirectories also selects the rows, whoever wrote them, whose
	// ProjectDirectory is spelled as one of these and whose ProjectID is empty.
	ProjectDirectories []string
	// Directory, if not empty, also selects the rows whose Directory is
	// spelled so, of any project.
	Directory string
	// ThreadID, if not empty, also selects the rows of that thread.
	ThreadID string
	// All selects every row.
	All bool
}

// Workspaces remembers the workspaces, one a thread at most. All methods may
// be called concurrently, also by several processes on one store, and each
// takes effect wholly or not at all. A cancelled context leaves the store as
// it was before the call or as it is after a successful one. Failures of the
// store itself have the code store_failed.
//
// A Workspace's SessionID is read from the thread's session; it is written
// through [Sessions] only.
type Workspaces interface {
	// BeginWorkspace writes w as the thread's row and, where the thread has no
	// session row, an empty session row, in one transaction. Where guard is
	// zero the thread must have no row; else the present row must match guard
	// and is replaced, CreatedAt excepted, which stays that of the first row.
	// It returns the row as it was stored. Where the guard doesn't hold, the
	// error wraps [ErrStale]; it has the code already_exists where there is a
	// row although none was expected, with that row in Error.Workspace, and
	// in_progress otherwise. A status that isn't one of the three is internal,
	// and a zero CreatedAt becomes the present.
	BeginWorkspace(ctx context.Context, w Workspace, guard Guard) (Workspace, error)

	// UpdateWorkspace changes the thread's row if it matches guard, and
	// returns the new row. Without a row the code is not_found; where the row
	// doesn't match, in_progress, wrapping [ErrStale]; where a claim is
	// refused, already_exists.
	UpdateWorkspace(ctx context.Context, threadID string, guard Guard, change Change) (Workspace, error)

	// DeleteWorkspace removes the thread's row, and all copies of it that
	// other programs of the same database keep, if it matches guard. It
	// remembers that the thread had a workspace. The session row stays.
	// Without a row the code is not_found; where the row doesn't match,
	// in_progress, wrapping [ErrStale].
	DeleteWorkspace(ctx context.Context, threadID string, guard Guard) error

	// Workspace returns the thread's row. Without one the code is not_found,
	// and the error wraps [ErrDeleted] if the last row was removed by
	// DeleteWorkspace and none was begun since.
	Workspace(ctx context.Context, threadID string) (Workspace, error)

	// ListWorkspaces returns the rows that q selects, oldest first, then by
	// thread id; none is no error.
	ListWorkspaces(ctx context.Context, q Query) ([]Workspace, error)

	// ProjectDirectories returns each distinct ProjectDirectory of a row
	// without a ProjectID, sorted. It is how the rows of other programs, which know no
	// identity, are found: the caller resolves the few spellings.
	ProjectDirectories(ctx context.Context) ([]string, error)

	// Revision returns a number that has grown whenever a workspace row or a
	// session row was written or removed, by whichever process and program.
	Revision(ctx context.Context) (int64, error)
}

// Sessions remembers the agent's conversation of each thread. All methods may
// be called concurrently and each takes effect wholly or not at all.
type Sessions interface {
	// Session returns the thread's session; without one the code is not_found.
	Session(ctx context.Context, threadID string) (Session, error)
	// PutSession inserts or replaces the thread's session. CreatedAt stays
	// that of the first one; UpdatedAt is set by the store.
	PutSession(ctx context.Context, s Session) error
	// FindSession returns the session with that id, whichever thread's it is;
	// the newest if there are several; without one, or for "", not_found.
	FindSession(ctx context.Context, sessionID string) (Session, error)
	// DeleteSession forgets the thread's session. It is no error if there is
	// none. While the thread has a workspace the row stays, with an empty id.
	DeleteSession(ctx context.Context, threadID string) error
}

// Channels remembers what is set for each chat channel. All methods may be
// called concurrently and each takes effect wholly or not at all.
type Channels interface {
	// Channel returns the channel's settings; without any, not_found.
	Channel(ctx context.Context, channelID string) (Channel, error)
	// PutChannel inserts or replaces them. CreatedAt stays that of the first.
	PutChannel(ctx context.Context, c Channel) error
	// ListChannels returns the channels of a guild, or all for "", by id.
	ListChannels(ctx context.Context, guildID string) ([]Channel, error)
	// DeleteChannel forgets a channel. It is no error if there is none.
	DeleteChannel(ctx context.Context, channelID string) error
}

// Note is an opaque value that an adapter keeps by namespace and key.
type Note struct {
	// Namespace keeps adapters apart, for example "discord/status".
	Namespace string
	// Key is mostly a thread id.
	Key   string
	Value []byte
	// Version grows with each write of this note and is never 0.
	Version int64
	// UpdatedAt is when it was last written.
	UpdatedAt time.Time
}

// Notes is an optional extra of a [Store]: small values that must outlive a
// restart, so that adapters hold no SQL. All methods may be called
// concurrently and each takes effect wholly or not at all.
type Notes interface {
	// Note returns a note; without one the code is not_found.
	Note(ctx context.Context, namespace, key string) (Note, error)
	// PutNote writes value if the note's version is the given one, 0 meaning
	// that there is none yet, and returns the new version, which is greater
	// than any the note had before, also where it was deleted in between.
	// Where the version is another the error has the code in_progress and
	// wraps [ErrStale].
	PutNote(ctx context.Context, namespace, key string, value []byte, version int64) (int64, error)
	// DeleteNote removes a note if its version is the given one; a note that
	// isn't there is no error. Where the version is another the error has the
	// code in_progress and wraps [ErrStale].
	DeleteNote(ctx context.Context, namespace, key string, version int64) error
	// ListNotes returns the notes of a namespace by key; none is no error.
	ListNotes(ctx context.Context, namespace string) ([]Note, error)
}
