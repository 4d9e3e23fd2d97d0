package workspace

import (
	"context"
	"errors"
	"os"
	"time"
)

// Strategy says how commits are brought home.
type Strategy string

// The strategies.
const (
	// StrategyRebase replays each commit on the target and then moves the
	// target forward to the last one.
	StrategyRebase Strategy = "rebase"
	// StrategySquash makes one commit of all.
	StrategySquash Strategy = "squash"
	// StrategyMerge makes a merge commit.
	StrategyMerge Strategy = "merge"
)

// ErrPaused is wrapped, beside rebase_conflict or merge_conflict, where the
// operation was left paused in the workspace: resolve and continue it, or
// abort it.
var ErrPaused = errors.New("the operation is paused in the workspace")

// Merging is what bringing commits home has to do in git. All methods may be
// called concurrently; those that write take turns by the repository's lock.
// What a method leaves when its context ends, or its process is killed, is
// either nothing or a state that the next call of any method here, or of
// [Merging].Recover, finishes or undoes.
//
// Common codes: operation_in_progress (an operation that is not ours, named),
// dirty_worktree (uncommitted changes, in Files), nothing_to_merge,
// target_not_found, invalid_ref, not_ready (the directory is gone), timeout,
// git_failed, permission_denied.
type Merging interface {
	// Preview says what a merge would do. No file, index or ref is touched.
	Preview(ctx context.Context, req MergeRequest) (Preview, error)

	// Merge brings the workspace's commits to the target. A conflict has the
	// code rebase_conflict (or merge_conflict for squash and merge) and a
	// *Conflict in its chain; nothing has changed then, unless req.Resolve
	// asked to leave the operation paused in the workspace, which is said by
	// ErrPaused. Where it is paused already that error comes again and
	// nothing is aborted; where somebody has finished it by hand, the merge
	// goes on from there. Further codes: target_dirty (Files),
	// not_fast_forward (the target moved, even when tried again, or the
	// strategy can't bring these commits to it).
	Merge(ctx context.Context, req MergeRequest) (Merged, error)

	// Continue finishes a paused merge once its files are resolved. Files
	// that still have markers, or that are unmerged, come back as the same
	// conflict as from Merge, paused. A new conflict, because the target has
	// moved on meanwhile, is left paused where req.Resolve asks for that.
	// Without a paused one: not_found.
	Continue(ctx context.Context, req MergeRequest) (Merged, error)

	// Abort restores exactly what was before a paused merge. Without one:
	// not_found.
	Abort(ctx context.Context, req MergeRequest) error

	// Recover finishes or undoes what a killed process left in the project,
	// and returns a line for each thing it did.
	Recover(ctx context.Context, project Project) ([]string, error)
}

// MergeRequest says what to merge and how.
type MergeRequest struct {
	Project   Project
	Workspace Workspace
	// Target is the branch to merge into: "" for the workspace's base branch,
	// or else the project's default branch.
	Target string
	// Strategy is StrategyRebase if empty.
	Strategy Strategy
	// Message is that of the commit of a squash or a merge; "" makes one from
	// the commits. A rebase keeps those of the commits, and doesn't use it.
	Message string
	// Resolve leaves a conflict paused in the workspace.
	Resolve bool
	// KeepBranch keeps the workspace's branch after the merge, at the merged
	// tip.
	KeepBranch bool
	// CommitsAlone has Preview judge the commits alone, which takes a fraction
	// of the time: conflicts, commits and files are all found, but neither the
	// workspace's files are looked at nor those of the target's checkout. What
	// isn't committed there, and files in the way, don't count then, so that
	// Clean only says that the commits go together. It changes nothing else.
	CommitsAlone bool
	// Progress is told of each step, in order. It is never nil.
	Progress func(Event)
	// Inherit are open files that each child process must inherit.
	Inherit []*os.File
}

// Merged is a merge that was done.
type Merged struct {
	// Branch is the workspace's branch as it was, "" for a detached one.
	Branch string
	// BranchKept is true where that branch is still there.
	BranchKept bool
	// Target is the branch that the commits are on now.
	Target string
	// Commits is how many commits the target gained, merge commits included,
	// and the one that a squash or a merge makes.
	Commits int
	// Dropped is how many commits were on the target already or became empty.
	Dropped int
	// SHA is the target's tip.
	SHA string
	// FastForward is true where the commits kept their ids.
	FastForward bool
	Strategy    Strategy
	// Backups are the refs that keep both tips as they were before.
	Backups []string
	// SkippedHooks are those that git would have run for the new commits, had
	// it been allowed to run code that the repository brings.
	SkippedHooks []string
	// Warnings are what went less than well.
	Warnings []string
}

// CommitInfo is a commit as it is shown to people.
type CommitInfo struct {
	SHA     string
	Subject string
	Author  string
	When    time.Time
}

// FileChange is what became of one path.
type FileChange struct {
	Path string
	// From is the path it was renamed from, if it was.
	From string
	// Added and Deleted count lines, -1 for a binary file.
	Added, Deleted int
}

// Preview is what a merge would do.
type Preview struct {
	// Branch and Target are what would be merged into what.
	Branch, Target string
	Strategy       Strategy
	// Clean is true where it would go through now: without a conflict, and
	// with nothing in Refusals. False alone doesn't mean a conflict.
	Clean bool
	// FastForward is true where the commits would keep their ids.
	FastForward bool
	// Commits are those that would be merged, oldest first, without merge
	// commits and those that the target has already.
	Commits []CommitInfo
	// Gains is how many commits the target would gain, counted as
	// [Merged].Commits is; 0 where there is a conflict.
	Gains int
	// Files are what the target would change in.
	Files []FileChange
	// Conflict is nil where there is none, Clean or not.
	Conflict *Conflict
	// Refusals say what besides a conflict stands in the way now, such as
	// uncommitted changes.
	Refusals []error
	// Warnings are what a merge would bring that people should know before.
	Warnings []string
}

// Conflict is what two sides changed differently. It is an error, found by
// errors.AsType in the chain of the one that Merge returns.
type Conflict struct {
	Strategy Strategy
	// Files are the paths in conflict.
	Files []string
	// Branch and Target name the two sides.
	Branch, Target string
	// Commit is the commit that could not be applied, zero for a squash or a
	// merge.
	Commit CommitInfo
	// Ours are the workspace's commits that touch the files, Theirs those of
	// the target since the two parted, newest first, at most 20 each.
	Ours, Theirs []CommitInfo
	// Paused is true where the operation waits in Directory.
	Paused    bool
	Directory string
	// Instructions is a text for an agent: what conflicted, both sides, the
	// steps, and how to finish.
	Instructions string
}

// Error names the files.
func (c *Conflict) Error() string { return "conflict in " + joinShort(c.Files, 3) }

// Reviewing is what a review of a workspace asks of git. Nothing here writes
// but Push. All methods may be called concurrently.
type Reviewing interface {
	// Diff compares a workspace, uncommitted and untracked work included,
	// with its base: with the commit where the two parted.
	Diff(ctx context.Context, req DiffRequest) (Diff, error)
	// Overlap finds the workspaces, of those given, that change the same
	// files, and says which of them would conflict.
	Overlap(ctx context.Context, project Project, workspaces []Workspace) ([]Overlap, error)
	// Branches returns branches, newest commit first, without the pointers to
	// a remote's HEAD. A branch that is local and remote counts once where
	// both are the same.
	Branches(ctx context.Context, project Project, q BranchQuery) ([]string, error)
	// Push publishes the workspace's branch under its own name. Codes:
	// nothing_to_merge (no commits to push), not_fast_forward (the remote has
	// others), target_not_found (no remote), timeout, git_failed.
	Push(ctx context.Context, req PushRequest) (Pushed, error)
}

// DiffRequest says what to compare.
type DiffRequest struct {
	Project   Project
	Workspace Workspace
	// Patch asks for the patch besides the counts, at most MaxPatch bytes.
	Patch    bool
	MaxPatch int
}

// Diff is how a workspace differs from its base.
type Diff struct {
	Base       string
	BaseCommit string
	Files      []FileChange
	Patch      string
	// Truncated is true where the patch was cut at MaxPatch.
	Truncated bool
}

// Overlap is a set of workspaces that change the same files.
type Overlap struct {
	Threads []string
	Files   []string
	// Conflict is true where merging both would conflict.
	Conflict bool
}

// BranchQuery selects branches.
type BranchQuery struct {
	// Text is a part of the name, without regard to case; "" is all.
	Text string
	// Local leaves remote branches out.
	Local bool
	// Limit bounds the answer; 0 is no bound.
	Limit int
}

// PushRequest says what to publish.
type PushRequest struct {
	Project   Project
	Workspace Workspace
	// ForceWithLease replaces what the remote has, if that is still what was
	// last seen of it.
	ForceWithLease bool
	Progress       func(Event)
}

// Pushed is a branch that was published.
type Pushed struct {
	Remote string
	Branch string
	// URL is where the host compares it or opens a request for it, "" for a
	// host that isn't known.
	URL string
	// UpToDate is true where the remote had it all already.
	UpToDate bool
	// Warnings are what went less than well, or what isn't in it.
	Warnings []string
}
