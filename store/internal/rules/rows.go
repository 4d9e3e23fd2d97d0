package rules

import (
	"cmp"
	"slices"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// Begin returns the row to store when w is begun, CreatedAt included. The
// present row is nil where the thread has none. The error is the refusal of a
// guard that doesn't hold, or of a row that can't be stored.
func Begin(w workspace.Workspace, guard workspace.Guard, present *workspace.Workspace, now time.Time) (workspace.Workspace, error) {
	if err := workspace.CheckThreadID(w.ThreadID); err != nil {
		return workspace.Workspace{}, err
	}
	if err := checkStatus(w); err != nil {
		return workspace.Workspace{}, err
	}
	expected := guard != workspace.Guard{}
	switch {
	case present == nil && expected:
		return workspace.Workspace{}, gone(w.ThreadID)
	case present != nil && !expected:
		return workspace.Workspace{}, exists(*present)
	case present != nil && guard != workspace.GuardOf(*present):
		return workspace.Workspace{}, stale(*present, guard)
	}
	switch {
	case present != nil:
		w.CreatedAt = present.CreatedAt
	case w.CreatedAt.IsZero():
		w.CreatedAt = now
	}
	return Normal(w), nil
}

// Update returns what change makes of the present row, which is nil where the
// thread has none. The error is the refusal of a guard that doesn't hold, or
// of a row that can't be stored.
func Update(threadID string, present *workspace.Workspace, guard workspace.Guard, change workspace.Change) (workspace.Workspace, error) {
	if err := Matches(threadID, present, guard); err != nil {
		return workspace.Workspace{}, err
	}
	w := Apply(*present, change)
	return Normal(w), checkStatus(w)
}

// Matches returns nil where there is a present row and guard holds for it.
func Matches(threadID string, present *workspace.Workspace, guard workspace.Guard) error {
	switch {
	case present == nil:
		return NoWorkspace(threadID, false)
	case guard != workspace.GuardOf(*present):
		return stale(*present, guard)
	}
	return nil
}

// Apply returns w with the fields that change sets.
func Apply(w workspace.Workspace, c workspace.Change) workspace.Workspace {
	set(&w.Status, c.Status)
	set(&w.Error, c.Error)
	set(&w.ErrorCode, c.ErrorCode)
	set(&w.Provider, c.Provider)
	set(&w.ProviderID, c.ProviderID)
	set(&w.Name, c.Name)
	set(&w.Branch, c.Branch)
	set(&w.BranchCreated, c.BranchCreated)
	set(&w.Base, c.Base)
	set(&w.BaseCommit, c.BaseCommit)
	set(&w.ProjectID, c.ProjectID)
	set(&w.Directory, c.Directory)
	set(&w.Warnings, c.Warnings)
	set(&w.Attempt.Lease, c.Lease)
	return w
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// Normal returns w as every store gives it back: times in UTC, CreatedAt in
// whole seconds, no empty slice, and nothing shared with w.
func Normal(w workspace.Workspace) workspace.Workspace {
	w.CreatedAt = Second(w.CreatedAt)
	w.Attempt.Lease = instant(w.Attempt.Lease)
	w.Attempt.StartedAt = instant(w.Attempt.StartedAt)
	w.Warnings = append([]string(nil), w.Warnings...)
	return w
}

// Second returns t in UTC and whole seconds.
func Second(t time.Time) time.Time { return instant(t).Truncate(time.Second) }

// instant drops the zone and the monotonic clock, which no store can keep.
func instant(t time.Time) time.Time { return t.UTC().Round(0) }

// Selects reports whether q selects w.
func Selects(q workspace.Query, w workspace.Workspace) bool {
	switch {
	case q.All:
		return true
	case q.ProjectID != "" && w.ProjectID == q.ProjectID:
		return true
	case w.ProjectID == "" && slices.Contains(q.ProjectDirectories, w.ProjectDirectory):
		return true
	case q.ThreadID != "" && w.ThreadID == q.ThreadID:
		return true
	}
	return q.Directory != "" && w.Directory == q.Directory
}

// Sort orders rows oldest first, then by thread id.
func Sort(rows []workspace.Workspace) {
	slices.SortFunc(rows, func(a, b workspace.Workspace) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ThreadID, b.ThreadID))
	})
}

// Newer orders sessions newest first: by when they were last written, then by
// when they were first written, then by thread id.
func Newer(a, b workspace.Session) int {
	return cmp.Or(
		b.UpdatedAt.Compare(a.UpdatedAt),
		b.CreatedAt.Compare(a.CreatedAt),
		cmp.Compare(b.ThreadID, a.ThreadID),
	)
}
