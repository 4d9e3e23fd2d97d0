package workspace

import (
	"context"
	"errors"
	"io/fs"
	"strings"
)

// Code names a kind of refusal or failure. The values are stable: scripts and
// bots compare them. A Code is itself an error, so that
//
//	errors.Is(err, workspace.ErrNotFound)
//
// holds for each [Error] with that code.
type Code string

// The codes. Each message that reaches a person carries one of them.
const (
	ErrNotFound            Code = "not_found"
	ErrAlreadyExists       Code = "already_exists"
	ErrInProgress          Code = "in_progress"
	ErrNotReady            Code = "not_ready"
	ErrInvalidName         Code = "invalid_name"
	ErrInvalidRef          Code = "invalid_ref"
	ErrNotARepository      Code = "not_a_repository"
	ErrNoCommits           Code = "no_commits"
	ErrBranchCheckedOut    Code = "branch_checked_out"
	ErrDirectoryExists     Code = "directory_exists"
	ErrDirtyWorktree       Code = "dirty_worktree"
	ErrUnmerged            Code = "unmerged"
	ErrLocked              Code = "locked"
	ErrTargetDirty         Code = "target_dirty"
	ErrTargetNotFound      Code = "target_not_found"
	ErrNothingToMerge      Code = "nothing_to_merge"
	ErrRebaseConflict      Code = "rebase_conflict"
	ErrMergeConflict       Code = "merge_conflict"
	ErrNotFastForward      Code = "not_fast_forward"
	ErrOperationInProgress Code = "operation_in_progress"
	ErrGitFailed           Code = "git_failed"
	ErrTimeout             Code = "timeout"
	ErrProviderUnavailable Code = "provider_unavailable"
	ErrProviderFailed      Code = "provider_failed"
	ErrStoreFailed         Code = "store_failed"
	ErrPermissionDenied    Code = "permission_denied"
	ErrInternal            Code = "internal"
)

// Error returns the code's text.
func (c Code) Error() string { return string(c) }

var (
	// ErrDeleted is wrapped, beside the code not_found, by the error for a
	// thread whose workspace was deleted: it had one once, so it must not be
	// sent to the project's own checkout.
	ErrDeleted = errors.New("the workspace was deleted")

	// ErrInUse is wrapped, beside the code locked, where a process works in the
	// working copy at that moment: it may be gone in the next.
	ErrInUse = errors.New("a process works in it")

	// ErrStale is wrapped, beside the code in_progress, when a guarded change
	// found another status or attempt than the one it compared with. Nothing
	// was written.
	ErrStale = errors.New("the workspace was changed by somebody else")
)

// Error is a refusal or a failure as it is told to a person.
type Error struct {
	// Code is the stable name of the kind.
	Code Code
	// Op is the operation that failed, a single word such as "create".
	Op string
	// ThreadID is the thread that it was about, if any.
	ThreadID string
	// Message says what happened and what was left as it was, in one or two
	// plain sentences without a final full stop.
	Message string
	// Hint says what to do next. It may be empty.
	Hint string
	// Option is what the hint says that the call can ask for when it is tried
	// again, "" for nothing.
	Option Option
	// Files are the paths that the refusal is about, relative to the top of
	// the working copy.
	Files []string
	// Workspace is the workspace that stood in the way, for already_exists.
	Workspace *Workspace
	// Err is the cause, if there is one.
	Err error
}

// Option names something that a call can ask for, where a hint speaks of it:
// that is told in words, which hold for a person in a chat too; a command line
// shows its flag beside them.
type Option string

// The options.
const (
	OptionForce          Option = "force"
	OptionForceWithLease Option = "force-with-lease"
	OptionResolve        Option = "resolve"
	OptionStrategyMerge  Option = "strategy merge"
	// OptionTarget may have a branch behind it, as in "target main".
	OptionTarget Option = "target"
)

// Error returns the operation and the message, and the cause where the message
// is empty.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op)
		b.WriteString(": ")
	}
	switch {
	case e.Message != "":
		b.WriteString(e.Message)
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	default:
		b.WriteString(string(e.Code))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the error's code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// CodeOf returns the code of err: that of the outermost [Error] in its chain,
// or else the one that a well-known cause stands for. It returns "" for nil
// and [ErrInternal] for an error that says nothing of itself.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code != "" {
		return e.Code
	}
	if c, ok := errors.AsType[Code](err); ok {
		return c
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return ErrTimeout
	case errors.Is(err, fs.ErrPermission):
		return ErrPermissionDenied
	}
	return ErrInternal
}

// HintOf returns the hint of the outermost [Error] in err's chain that has
// one, or "".
func HintOf(err error) string {
	if e := hinted(err); e != nil {
		return e.Hint
	}
	return ""
}

// OptionOf returns the option that the hint speaks of, or "".
func OptionOf(err error) Option {
	if e := hinted(err); e != nil {
		return e.Option
	}
	return ""
}

// hinted returns the outermost error with a hint, nil for none.
func hinted(err error) *Error {
	for err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return nil
		}
		if e.Hint != "" {
			return e
		}
		err = e.Err
	}
	return nil
}
