package workspace

import (
	"context"
	"errors"
	"fmt"
)

// Await waits until the thread's workspace is ready or failed and returns it.
// Where its maker died it is settled first: it becomes ready if it was made to
// the end, and error, with its remains cleared, if not. For one that failed
// the error has the code and the message that were recorded. When ctx ends
// first the code is timeout, and the workspace is returned as it was last
// seen.
func (m *Manager) Await(ctx context.Context, threadID string) (Workspace, error) {
	for {
		w, err := m.Get(ctx, threadID)
		if err != nil {
			return w, err
		}
		if w.Status == StatusPending {
			w, err = m.settleIfDead(ctx, w)
			if err != nil && !errors.Is(err, errLookAgain) {
				return w, within("await", threadID, err)
			}
		}
		switch w.Status {
		case StatusReady:
			return w, nil
		case StatusError:
			return w, failed("await", w)
		}
		if err := m.pause(ctx); err != nil {
			return w, &Error{
				Code: ErrTimeout, Op: "await", ThreadID: threadID, Err: err,
				Message: fmt.Sprintf("the workspace of thread %s is still being made", threadID),
				Hint:    "wait longer",
			}
		}
	}
}

// settleIfDead settles a pending row whose attempt is over, and returns a row
// that is still being made as it is.
func (m *Manager) settleIfDead(ctx context.Context, w Workspace) (Workspace, error) {
	if w.Attempt.ID == "" {
		return w, nil
	}
	lock, live, err := m.cfg.Locker.Seize(ctx, w.Attempt)
	if err != nil {
		return w, err
	}
	defer func() { release(lock, m) }()
	if live != Dead && (live != Unknown || !m.cfg.Now().After(w.Attempt.Lease)) {
		return w, nil
	}
	now, err := m.cfg.Store.Workspace(ctx, w.ThreadID)
	if err != nil || GuardOf(now) != GuardOf(w) {
		return w, errLookAgain
	}
	project, err := m.projectOf(ctx, now)
	if err != nil {
		return now, err
	}
	return m.settle(ctx, project, now, progress(nil))
}

// failed is the error of a workspace that is in the status error.
func failed(op string, w Workspace) error {
	code := w.ErrorCode
	if code == "" {
		code = ErrInternal
	}
	return &Error{
		Code: code, Op: op, ThreadID: w.ThreadID, Workspace: &w,
		Message: fmt.Sprintf("the workspace of thread %s could not be made: %s", w.ThreadID, shown(w.Error, "no reason was recorded")),
		Hint:    "create it again, or delete the record",
	}
}
