package rules

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// Trash returns the record to store when the workspace of a thread is deleted.
// The error is the refusal of one that nobody could find again.
func Trash(threadID string, t workspace.Trashed) (workspace.Trashed, error) {
	message := ""
	switch {
	case t.ID == "":
		message = "a record of the trash needs an id"
	case t.Workspace.ThreadID != threadID:
		message = fmt.Sprintf("the record is about thread %q, not %q", t.Workspace.ThreadID, threadID)
	default:
		return NormalTrashed(t), nil
	}
	return workspace.Trashed{}, &workspace.Error{
		Code:     workspace.ErrInternal,
		ThreadID: threadID,
		Message:  message + "; nothing was deleted",
	}
}

// Restore returns the row to store when w comes back from the record t. That
// and the present row are nil where there is none. A present row comes first:
// whoever restores again what is restored already gets it in the refusal.
func Restore(id string, w workspace.Workspace, t *workspace.Trashed, present *workspace.Workspace, now time.Time) (workspace.Workspace, error) {
	if t != nil && !t.Workspace.CreatedAt.IsZero() {
		w.CreatedAt = t.Workspace.CreatedAt
	}
	w, err := Begin(w, workspace.Guard{}, present, now)
	if err == nil && t == nil {
		err = NoTrash(id)
	}
	return w, err
}

// NoTrash is the refusal for a record of the trash that isn't there.
func NoTrash(id string) error {
	return &workspace.Error{
		Code:    workspace.ErrNotFound,
		Message: fmt.Sprintf("the trash has no record %q: it was restored or let go", id),
		Hint:    "list the trash to see what can be restored",
	}
}

// NormalTrashed returns t as every store gives it back: times in UTC, the
// workspace as [Normal] has it, no empty slice, and nothing shared with t.
func NormalTrashed(t workspace.Trashed) workspace.Trashed {
	t.Workspace = Normal(t.Workspace)
	t.Kept.Missing = append([]string(nil), t.Kept.Missing...)
	for _, at := range []*time.Time{&t.DeletedAt, &t.DirectoryUntil, &t.RestorableUntil, &t.MeasuredAt} {
		*at = instant(*at)
	}
	return t
}

// SortTrash orders records newest first, then by id.
func SortTrash(records []workspace.Trashed) {
	slices.SortFunc(records, func(a, b workspace.Trashed) int {
		return cmp.Or(b.DeletedAt.Compare(a.DeletedAt), cmp.Compare(a.ID, b.ID))
	})
}
