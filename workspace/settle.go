package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// takeOver seizes the attempt of a row that is pending or failed, so that its
// remains may be cleared. The lock is nil where the attempt has none any more.
// Where its maker lives, or can't be told dead, the code is in_progress. A
// process that a dead maker left behind is waited for.
func (m *Manager) takeOver(ctx context.Context, w Workspace, tell func(Event)) (Lock, error) {
	if w.Attempt.ID == "" {
		if w.Status != StatusPending {
			return nil, nil
		}
		return nil, &Error{
			Code: ErrInProgress, ThreadID: w.ThreadID, Workspace: &w,
			Message: fmt.Sprintf("another program (%s) recorded that it is making the workspace of thread %s, and whether it still does can't be told; nothing was changed",
				shown(w.Provider, "unknown"), w.ThreadID),
			Hint: "let that program finish or delete it there",
		}
	}
	lock, err := m.seize(ctx, w, tell)
	if err != nil {
		return nil, err
	}
	// Between the look at the row and the seizure somebody else may have
	// settled it.
	now, err := m.cfg.Store.Workspace(ctx, w.ThreadID)
	if err == nil && GuardOf(now) == GuardOf(w) {
		return lock, nil
	}
	if lock != nil {
		// The file goes only with the attempt that it belongs to; here that
		// attempt is over.
		release(lock, m)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	return nil, errLookAgain
}

// seize waits until the attempt is dead and takes its lock.
func (m *Manager) seize(ctx context.Context, w Workspace, tell func(Event)) (Lock, error) {
	deadline := m.cfg.Now().Add(m.cfg.OrphanWait)
	for told := false; ; {
		lock, live, err := m.cfg.Locker.Seize(ctx, w.Attempt)
		switch {
		case err != nil:
			return nil, err
		case live == Dead:
			return lock, nil
		case live == Unknown && (w.Status != StatusPending || m.cfg.Now().After(w.Attempt.Lease)):
			return nil, nil
		case live != Orphaned || m.cfg.Now().After(deadline):
			return nil, m.inProgress(w, live)
		}
		if !told {
			tell(Event{Phase: PhaseWait, Message: "Waiting for a process that an interrupted attempt left behind"})
			told = true
		}
		if err := m.pause(ctx); err != nil {
			return nil, err
		}
	}
}

func (m *Manager) inProgress(w Workspace, live Liveness) error {
	e := &Error{
		Code: ErrInProgress, ThreadID: w.ThreadID, Workspace: &w,
		Message: fmt.Sprintf("the workspace of thread %s is being made, since %s", w.ThreadID, since(m.cfg.Now().Sub(w.Attempt.StartedAt))),
		Hint:    "wait for it",
	}
	switch live {
	case Orphaned:
		e.Message = fmt.Sprintf("an interrupted attempt to make the workspace of thread %s left a process behind that still runs; nothing was changed", w.ThreadID)
		e.Hint = "end that process, or try again later"
	case Unknown:
		e.Message = fmt.Sprintf("the workspace of thread %s is being made on the machine %s; nothing was changed", w.ThreadID, w.Attempt.Host)
		e.Hint = fmt.Sprintf("wait for it; if that machine is gone, try again after %s", w.Attempt.Lease.UTC().Format(time.RFC3339))
	}
	return e
}

func since(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return d.Truncate(time.Second).String() + " ago"
}

// settle brings a row whose attempt is over, and whose lock the caller holds,
// to ready or error, clearing what the attempt left. It changes nothing on a
// row that is settled. The returned row is the new one.
func (m *Manager) settle(ctx context.Context, project Project, w Workspace, tell func(Event)) (Workspace, error) {
	remains := remains(w)
	if w.Status == StatusError && !remains {
		return w, nil
	}
	if w.Status == StatusPending && remains {
		provider, err := m.providerOf(w)
		if err != nil {
			return w, err
		}
		if provider.Complete(ctx, project, w) == nil {
			w, err = m.cfg.Store.UpdateWorkspace(ctx, w.ThreadID, GuardOf(w), Change{Status: new(StatusReady)})
			return w, lookAgain(err)
		}
	}
	if remains {
		tell(Event{Phase: PhaseClear, Message: "Clearing what an interrupted attempt left"})
	}
	cause := error(&Error{Code: ErrInternal, Message: "the process that made the workspace ended before it was ready"})
	if w.Status == StatusError {
		cause = &Error{Code: w.ErrorCode, Message: w.Error}
	}
	w, err := m.fail(ctx, project, w, cause)
	return w, lookAgain(err)
}

func lookAgain(err error) error {
	if errors.Is(err, ErrStale) {
		return errLookAgain
	}
	return err
}

// fail clears what the attempt of w made and writes the error row. What could
// not be cleared stays recorded, so that the next one can try again.
func (m *Manager) fail(ctx context.Context, project Project, w Workspace, cause error) (Workspace, error) {
	message := messageOf(cause)
	change := Change{Status: new(StatusError), ErrorCode: new(CodeOf(cause))}
	if left, err := m.clear(ctx, project, w); err != nil {
		message += "; clearing it failed: " + messageOf(err)
	} else {
		if w.Directory != "" {
			message += "; what had been made was cleared"
		}
		change.Directory, change.ProviderID = new(""), new("")
		change.BranchCreated = new(false)
		if len(left) > 0 {
			message += "; left in place: " + strings.Join(left, "; ")
		}
	}
	change.Error = &message
	next, err := m.cfg.Store.UpdateWorkspace(ctx, w.ThreadID, GuardOf(w), change)
	if err != nil {
		return w, err
	}
	return next, nil
}

// remains reports whether the attempt of w may have made something. It has not
// where it claimed neither a directory nor an id of the provider's own: that is
// claimed first where the provider doesn't choose the directory itself.
func remains(w Workspace) bool {
	return w.Attempt.ID != "" && (w.Directory != "" || w.ProviderID != "")
}

// clear removes what the attempt of w made, if it can have made anything.
func (m *Manager) clear(ctx context.Context, project Project, w Workspace) ([]string, error) {
	if !remains(w) || w.Provider == ProviderAdopted {
		return nil, nil
	}
	provider, err := m.providerOf(w)
	if err != nil {
		return nil, err
	}
	return provider.Clear(ctx, project, w)
}

// messageOf returns what an error says to a person, without the operation.
func messageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Message != "" {
		return e.Message
	}
	return err.Error()
}

// pause waits for one polling interval.
func (m *Manager) pause(ctx context.Context) error {
	select {
	case <-time.After(m.cfg.Poll):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
