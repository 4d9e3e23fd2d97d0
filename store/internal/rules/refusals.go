package rules

import (
	"context"
	"errors"
	"fmt"

	"github.com/threadtree/threadtree/workspace"
)

// NoWorkspace is the refusal for a thread without a row. Deleted says that the
// last one was deleted.
func NoWorkspace(threadID string, deleted bool) error {
	e := &workspace.Error{
		Code:     workspace.ErrNotFound,
		ThreadID: threadID,
		Message:  fmt.Sprintf("thread %s has no workspace", threadID),
		Hint:     "create one for it first",
	}
	if deleted {
		e.Message = fmt.Sprintf("the workspace of thread %s was deleted", threadID)
		e.Hint = "restore it, or create a new one"
		e.Err = workspace.ErrDeleted
	}
	return e
}

// NoSession is the refusal for a thread or an id without a session.
func NoSession(threadID, sessionID string) error {
	e := &workspace.Error{
		Code:     workspace.ErrNotFound,
		ThreadID: threadID,
		Message:  fmt.Sprintf("thread %s has no session", threadID),
		Hint:     "send a message in the thread to start one",
	}
	if threadID == "" {
		e.Message = fmt.Sprintf("no thread has the session %q", sessionID)
		e.Hint = "check the id"
	}
	return e
}

// NoChannel is the refusal for a channel without settings.
func NoChannel(channelID string) error {
	return &workspace.Error{
		Code:    workspace.ErrNotFound,
		Message: fmt.Sprintf("nothing is set for channel %s", channelID),
		Hint:    "say which project the channel works on first",
	}
}

// NoNote is the refusal for a note that isn't there.
func NoNote(namespace, key string) error {
	return &workspace.Error{
		Code:    workspace.ErrNotFound,
		Message: fmt.Sprintf("there is no note %q in %q", key, namespace),
	}
}

// StaleNote is the refusal for a note of another version than expected.
func StaleNote(namespace, key string, present, expected int64) error {
	return &workspace.Error{
		Code: workspace.ErrInProgress,
		Message: fmt.Sprintf("the note %q in %q has version %d, not %d; nothing was written",
			key, namespace, present, expected),
		Hint: "read it again and decide anew",
		Err:  workspace.ErrStale,
	}
}

// Taken is the refusal of a claim that other stands in the way of.
func Taken(threadID string, other workspace.Workspace) error {
	return &workspace.Error{
		Code:     workspace.ErrAlreadyExists,
		ThreadID: threadID,
		Message: fmt.Sprintf("thread %s already has the branch %q or the directory %q; nothing was written",
			other.ThreadID, other.Branch, other.Directory),
		Hint:      "choose another name",
		Workspace: &other,
	}
}

// Stopped is the failure of a call whose context has ended, nil if it hasn't.
func Stopped(ctx context.Context) error {
	cause := context.Cause(ctx)
	if cause == nil {
		return nil
	}
	if !errors.Is(cause, ctx.Err()) {
		cause = errors.Join(ctx.Err(), cause)
	}
	return &workspace.Error{
		Code:    workspace.ErrTimeout,
		Message: "the call was stopped before it was done; the store is as it was",
		Hint:    "try again",
		Err:     cause,
	}
}

func exists(present workspace.Workspace) error {
	return &workspace.Error{
		Code:      workspace.ErrAlreadyExists,
		ThreadID:  present.ThreadID,
		Message:   fmt.Sprintf("thread %s already has a workspace, which is %s; nothing was written", present.ThreadID, present.Status),
		Hint:      "use that one, or delete it first",
		Workspace: &present,
		Err:       workspace.ErrStale,
	}
}

func stale(present workspace.Workspace, guard workspace.Guard) error {
	return &workspace.Error{
		Code:     workspace.ErrInProgress,
		ThreadID: present.ThreadID,
		Message: fmt.Sprintf("the workspace of thread %s is %s by attempt %q now, not %s by attempt %q; nothing was written",
			present.ThreadID, present.Status, present.Attempt.ID, guard.Status, guard.Attempt),
		Hint: "look at it again and decide anew",
		Err:  workspace.ErrStale,
	}
}

func gone(threadID string) error {
	return &workspace.Error{
		Code:     workspace.ErrInProgress,
		ThreadID: threadID,
		Message:  fmt.Sprintf("the workspace of thread %s was removed meanwhile; nothing was written", threadID),
		Hint:     "look at it again and decide anew",
		Err:      workspace.ErrStale,
	}
}

func checkStatus(w workspace.Workspace) error {
	switch w.Status {
	case workspace.StatusPending, workspace.StatusReady, workspace.StatusError:
		return nil
	}
	return &workspace.Error{
		Code:     workspace.ErrInternal,
		ThreadID: w.ThreadID,
		Message:  fmt.Sprintf("%q is no status of a workspace; nothing was written", w.Status),
	}
}
