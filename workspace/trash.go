package workspace

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Trashed is a deleted workspace that can be restored.
type Trashed struct {
	// ID is its own; a thread may have several.
	ID string
	// Workspace is the record as it was, SessionID included.
	Workspace Workspace
	DeletedAt time.Time
	// Kept is what the provider kept.
	Kept Kept
	// DirectoryUntil is until when the directory is kept whole, zero where it
	// is gone.
	DirectoryUntil time.Time
	// RestorableUntil is until when it can be restored at all.
	RestorableUntil time.Time
	// Size is the disk use of the kept directory in bytes, -1 where it wasn't
	// measured; MeasuredAt is when it was.
	Size       int64
	MeasuredAt time.Time
}

// Kept is what is left of a removed working copy.
type Kept struct {
	// Ref keeps the snapshot, Snapshot is its object id.
	Ref, Snapshot string
	// Tip is the commit that was checked out.
	Tip string
	// Branch is the branch that was checked out, "" for a detached HEAD.
	Branch string
	// Directory is where the whole directory is now, "" where it isn't kept.
	Directory string
	// Missing has a line for each thing that the snapshot lacks and that is
	// lost with the directory, such as an embedded repository.
	Missing []string
}

// Trash remembers deleted workspaces. All methods may be called concurrently,
// also by several processes on one store, and each takes effect wholly or not
// at all. Times come back in UTC, with all that they had, except for the
// workspace's CreatedAt, which has whole seconds.
type Trash interface {
	// TrashWorkspace does what DeleteWorkspace does and remembers t, in one
	// transaction. A record with t's id is replaced. Where t has no id, or its
	// workspace another thread, the code is internal.
	TrashWorkspace(ctx context.Context, threadID string, guard Guard, t Trashed) error
	// Trashed returns a record; without one the code is not_found.
	Trashed(ctx context.Context, id string) (Trashed, error)
	// ListTrash returns the records whose workspace q selects, newest first,
	// then by id; none is no error.
	ListTrash(ctx context.Context, q Query) ([]Trashed, error)
	// UpdateTrash replaces a record; without one the code is not_found.
	UpdateTrash(ctx context.Context, t Trashed) error
	// RestoreWorkspace writes w as the thread's row, as BeginWorkspace does
	// for a thread without one and with the claim of UpdateWorkspace, links
	// the session again, and forgets the record, in one transaction. CreatedAt
	// is that of the record's workspace, and the record's SessionID is put
	// back where the thread has no session by now. The codes are those of the
	// two; without the record, and without a row of the thread, not_found.
	RestoreWorkspace(ctx context.Context, id string, w Workspace) (Workspace, error)
	// ForgetTrash forgets a record. It is no error if there is none. That the
	// thread had a workspace stays known.
	ForgetTrash(ctx context.Context, id string) error
}

// Restorer is an optional extra of a [Provider]: what it removed can be had
// back. The working copy of a provider without it is removed only where it is
// clean and merged, and for good.
type Restorer interface {
	// Resume finishes a removal of w that was interrupted, with the id that
	// it was begun with. found is false where none had begun.
	Resume(ctx context.Context, req RemoveRequest) (removed Removed, found bool, err error)
	// Restore brings a removed workspace back: by renaming the directory, or
	// from the snapshot where that is gone. It may be called again after it
	// was interrupted at any point. Codes: directory_exists, not_found (the
	// snapshot is gone), git_failed, timeout, permission_denied.
	Restore(ctx context.Context, req RestoreRequest) (Restored, error)
	// Discard lets go of what was kept: the directory alone, or all. What was
	// done in the directory since it was removed is kept by the snapshot, or,
	// where all is to go, refused with dirty_worktree. It is no error where it
	// is gone.
	Discard(ctx context.Context, project Project, t Trashed, all bool) error
	// DiskUse measures a directory, in bytes, files with several names
	// counted once.
	DiskUse(ctx context.Context, directory string) (int64, error)
}

// Thinner is an optional extra of a [Restorer]: of a kept directory, folders
// that can be made again may go before the whole does.
type Thinner interface {
	// Regenerable returns these folders, relative to the directory, and the
	// bytes that they take. It writes nothing; none is no error. A directory
	// in which a process works is refused with locked.
	Regenerable(ctx context.Context, project Project, t Trashed) (folders []string, size int64, err error)
	// DiscardRegenerable lets go of those of the folders that it would still
	// return, and says how many bytes that freed. A restore tells of them.
	// Cancelled, it has let go of some.
	DiscardRegenerable(ctx context.Context, project Project, t Trashed, folders []string) (freed int64, err error)
}

// RestoreRequest says what to restore.
type RestoreRequest struct {
	Project Project
	Trashed Trashed
	// Attempt marks the restored working copy, as in CreateRequest.
	Attempt string
	// Free reports whether no other record has the directory or the branch.
	Free func(directory, branch string) bool
	// Progress is told of each step, in order. It is never nil.
	Progress func(Event)
}

// Restored is a workspace that is back.
type Restored struct {
	// Directory and Branch are where it is now; they differ from before where
	// the place or the name was taken.
	Directory, Branch string
	// Warnings say what is not as it was.
	Warnings []string
}

// joinShort joins at most n items and counts the rest.
func joinShort(items []string, n int) string {
	if len(items) <= n {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:n], ", "), len(items)-n)
}
