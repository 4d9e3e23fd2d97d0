package workspace

import (
	"context"
	"os"
)

// Provider makes and removes working copies. All methods may be called
// concurrently, for the same project too. A provider keeps no record of its
// own that must outlive the process: what it has to know later it puts into
// the [Plan].
//
// workspace/providertest is the contract as tests.
type Provider interface {
	// Name is what the record says about who made a workspace.
	Name() string

	// Create makes the working copy. Before it makes anything it settles what
	// it will make and calls req.Claim with it, at most a few times with
	// another name each, until one is accepted; nothing that was not claimed
	// may be made. An error after the claim, cancellation included, may leave
	// things behind: the caller then calls Clear.
	//
	// No existing branch is moved or reset, no existing directory is written
	// to. Refusals have the codes invalid_ref, no_commits, branch_checked_out,
	// directory_exists, already_exists (a branch of that name where none may
	// be attached), target_not_found (no such base), git_failed, timeout,
	// provider_unavailable, provider_failed, permission_denied.
	Create(ctx context.Context, req CreateRequest) (Created, error)

	// Complete reports whether the working copy of w, whose attempt is over,
	// was made to the end: nil if so. It changes nothing.
	Complete(ctx context.Context, project Project, w Workspace) error

	// Clear removes what the attempt of w made and no more: the directory and
	// its git entry, and the branch if the attempt made it and it has not
	// moved since. It is called only with the attempt's lock held, and is no
	// error where nothing is left. It returns a line for each thing that it
	// found and left in place, with the reason.
	Clear(ctx context.Context, project Project, w Workspace) (left []string, err error)

	// Remove removes a ready workspace, after judging at that moment that
	// nothing is lost by it. Refusals have the codes dirty_worktree, unmerged,
	// locked, operation_in_progress, permission_denied, and leave everything
	// as it was; Error.Message has all reasons. A directory that is gone
	// already is no error. A provider that is also a [Restorer] keeps what it
	// removes, under req.TrashID, and with req.Force removes also what would
	// be refused for work in it, a lock, an operation or a process; never the
	// project's own checkout or that of the default branch, and nothing that
	// isn't a linked worktree of the project. Called again after it was
	// interrupted it goes on from there.
	Remove(ctx context.Context, req RemoveRequest) (Removed, error)
}

// Prechecker is what a [Provider] may have besides: a look ahead of a create,
// so that one which is refused leaves no record of itself.
type Prechecker interface {
	// Precheck returns the refusal that Create would answer req with, as far
	// as reading alone can tell: it asks no network and writes nothing. Create
	// judges again, so nil promises nothing. Claim isn't called.
	//
	// With an attempt in req the create with that attempt follows at once: what
	// is kept for it goes when it is made, or when ctx ends.
	Precheck(ctx context.Context, req CreateRequest) error
}

// CreateRequest says what to make.
type CreateRequest struct {
	Project  Project
	ThreadID string
	// Attempt is the id of this try; it marks what the try made.
	Attempt string
	// Name is how branch and directory are named.
	Name Name
	// Base is where the branch starts: "" for the project's current HEAD, or
	// a branch, a remote branch, a tag or a commit.
	Base string
	// NoFetch keeps the provider off the network.
	NoFetch bool
	// Setup allows the set-up of the fresh working copy: copied files,
	// installed dependencies, hooks that are part of the repository.
	Setup bool
	// Prechecked is true where [Prechecker] has just let the request pass: what
	// it looked at and Create looks at again under a lock need no third look.
	Prechecked bool
	// Claim reserves what is about to be made. An error with the code
	// already_exists means that another thread has the branch or the
	// directory: try another name, or give up. Any other error ends the try.
	Claim func(ctx context.Context, plan Plan) error
	// Progress is told of each step, in order. It is never nil and returns
	// soon.
	Progress func(Event)
	// Inherit are open files that each child process must inherit.
	Inherit []*os.File
}

// Plan is what a provider is about to make.
type Plan struct {
	ProviderID string
	Name       string
	Branch     string
	// BranchCreated is false where an existing branch is attached.
	BranchCreated bool
	Base          string
	BaseCommit    string
	Directory     string
}

// Created is what a provider made.
type Created struct {
	// Provider overrides Name, for a provider that hands the work on.
	Provider string
	// Plan is the last plan that was claimed, completed with what became
	// known only by making it.
	Plan Plan
	// Warnings are what went less than well.
	Warnings []string
}

// RemoveRequest says what to remove.
type RemoveRequest struct {
	Project   Project
	Workspace Workspace
	// TrashID names what is kept. It may be used as a file name and as a part
	// of a ref.
	TrashID string
	// KeepBranch, if set, is why the branch must stay, such as "it is the base
	// of thread 2"; it is then named in Removed.Left.
	KeepBranch string
	// Force removes what would be refused; what can't be kept of it, because
	// it can't be renamed or there is no room, is lost then, and named in
	// Removed.Left.
	Force bool
	// Progress is told of each step, in order. It is never nil.
	Progress func(Event)
}

// Removed is what became of a workspace.
type Removed struct {
	// Branch is the branch that was deleted, "" if none was, and BranchTip
	// where it stood.
	Branch, BranchTip string
	// Tip is the object id that HEAD stood at.
	Tip string
	// Left has a line for each thing that was left in place, with the reason.
	Left []string
	// Warnings has a line for each thing that was done besides and that a
	// person wants to know of, such as that an agent's turn was stopped.
	Warnings []string
	// Kept is what can be restored, nil where nothing was kept.
	Kept *Kept
}

// Phase names a step of long work.
type Phase string

// The phases, in the order in which a create goes through them. Those that
// have nothing to do are left out.
const (
	PhaseWait       Phase = "wait"
	PhaseClear      Phase = "clear"
	PhaseFetch      Phase = "fetch"
	PhaseAdd        Phase = "add"
	PhaseCheckout   Phase = "checkout"
	PhaseSubmodules Phase = "submodules"
	PhaseHooks      Phase = "hooks"
	PhaseCopy       Phase = "copy"
	PhaseInstall    Phase = "install"
	PhaseSnapshot   Phase = "snapshot"
	PhaseRemove     Phase = "remove"
	PhaseRestore    Phase = "restore"
	PhaseRebase     Phase = "rebase"
	PhaseMerge      Phase = "merge"
	PhasePush       Phase = "push"
	PhaseRegister   Phase = "register"
	PhaseDone       Phase = "done"
)

// Event is a step of long work, or a warning within it.
type Event struct {
	Phase Phase
	// Message says the step in a few words, such as "Fetching origin".
	Message string
	// Warning is true where the message says what went less than well.
	Warning bool
	// Done and Total count the files of the step where it is known how far it
	// has come: further events of the step, with the same message, tell that
	// from time to time. Both are 0 otherwise.
	Done, Total int
}
