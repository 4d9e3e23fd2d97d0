package workspace

import (
	"context"
	"time"
)

// Repository is what the life cycle has to know about git. Nothing here
// writes: no index is refreshed, nothing is pruned. All methods may be called
// concurrently.
type Repository interface {
	// Open finds the project that directory belongs to. Codes: not_found (no
	// such directory), not_a_repository, permission_denied, git_failed. A
	// repository without commits opens.
	Open(ctx context.Context, directory string) (Project, error)

	// Worktrees returns the linked worktrees of the project, those that are
	// missing or half made included, without the main checkout, sorted by
	// directory. It runs no status.
	Worktrees(ctx context.Context, project Project) ([]Worktree, error)

	// Inspect looks at one directory. It returns not_found if there is none,
	// not_a_repository unless the directory is itself the top of a working
	// copy, and the project and the worktree otherwise; Worktree.Main tells
	// the main checkout.
	Inspect(ctx context.Context, directory string) (Project, Worktree, error)

	// States finds out the state of each worktree, several at once, and calls
	// each with the index of a query and its result, one call at a time and
	// once a query, as soon as it is known. What can't be found out in time is
	// nil in the state and said in Unknown. It returns early only when ctx
	// ends.
	States(ctx context.Context, project Project, queries []StateQuery, each func(i int, s State)) error

	// Managed reports whether directory lies where the library puts the
	// worktrees that it makes.
	Managed(directory string) bool
}

// Worktree is a working copy as git has it.
type Worktree struct {
	// Directory is where git says that it is, as git spells it.
	Directory string
	// Admin is the name of its entry in the common git directory, "" for the
	// main checkout.
	Admin string
	// Main is true for the main checkout.
	Main bool
	// Head is the object id that is checked out, "" where it can't be read or
	// there is no commit yet.
	Head string
	// Branch is the short name of the checked-out branch, "" when detached.
	Branch string
	// Detached is true where HEAD is no branch.
	Detached bool
	// Locked is true where git was told to keep it, LockReason why.
	Locked     bool
	LockReason string
	// Prunable says why git would drop the entry, "" if it wouldn't.
	Prunable string
	// Missing is true where the directory is not there.
	Missing bool
	// Broken says what is wrong with the entry, "" if nothing is.
	Broken string
	// Spare is true for a worktree that waits to be handed out.
	Spare bool
}

// StateQuery asks for the state of a worktree.
type StateQuery struct {
	Worktree Worktree
	// Base is the branch to compare with, "" for the default branch.
	Base string
	// Own is the branch that would be deleted with the worktree, "" for none.
	Own string
}

// State is what git knows of a working copy at this moment. A nil field could
// not be found out.
type State struct {
	// Dirty is true with anything staged, modified, conflicted or untracked.
	Dirty *bool
	// Staged, Modified, Conflicted and Untracked count paths. A directory
	// that is untracked as a whole counts once. Changed counts the tracked
	// paths with a change of any kind, each once.
	Changed    *int
	Staged     *int
	Modified   *int
	Conflicted *int
	Untracked  *int
	// Ahead and Behind count commits against the fresher side of the base.
	Ahead  *int
	Behind *int
	// Merged is true where the base has all that the working copy's commits
	// bring, by ancestry or as a squash.
	Merged *bool
	// Elsewhere is true where no commit would be lost if the worktree went, and
	// its own branch with it: another branch stays checked out, other refs
	// have all commits, or the base or the default branch what they bring.
	Elsewhere *bool
	// Committed is true where a commit was made in the worktree, or brought
	// home from it, at any time.
	Committed *bool
	// Process names a process that works in the directory, "" for none that
	// can be seen.
	Process string
	// Default is true where the checked-out branch is the project's default
	// branch or the base itself.
	Default bool
	// Operation is what is under way: "rebase", "merge", "cherry-pick",
	// "revert", "am", "bisect" or "".
	Operation string
	// Unfinished names a merge that was interrupted or left paused, and is
	// neither finished nor undone although git has nothing under way, "" for
	// none.
	Unfinished string
	// LastActivity is the newest of the last commit and the last change of
	// the index or of HEAD.
	LastActivity *time.Time
	// Unknown has a line for each thing that could not be found out.
	Unknown []string
}
