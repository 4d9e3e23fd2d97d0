package workspace

import (
	"context"
	"reflect"
	"slices"
	"strings"
)

// ChangeKind says what a watch saw.
type ChangeKind string

// The kinds of changes.
const (
	// ChangeCurrent is a record as it was when the watch began.
	ChangeCurrent ChangeKind = "current"
	// ChangeSynced comes once, after the last current record.
	ChangeSynced ChangeKind = "synced"
	// ChangeUpdated is a record that is new or has changed.
	ChangeUpdated ChangeKind = "updated"
	// ChangeDeleted is a record that is gone, as it was last seen.
	ChangeDeleted ChangeKind = "deleted"
	// ChangeFailed says that the store could not be read; the watch goes on.
	ChangeFailed ChangeKind = "failed"
)

// Seen is what a watch tells.
type Seen struct {
	Kind      ChangeKind
	Workspace Workspace
	// Err is set for ChangeFailed alone.
	Err error
}

// Watch tells of the records of a project, or of all projects where projectDir
// is empty: first each as it is, then each change, made by whichever process
// and program. The channel is closed when ctx ends; cancel it to stop.
//
// A watch never holds up the life cycle, and it keeps no more than the records
// themselves: who reads slowly is told of the latest state of each record and
// not of what it was in between. The error is that of opening the project.
func (m *Manager) Watch(ctx context.Context, projectDir string) (<-chan Seen, error) {
	read := func() ([]Workspace, error) { return m.cfg.Store.ListWorkspaces(ctx, Query{All: true}) }
	if projectDir != "" {
		project, err := m.cfg.Repository.Open(ctx, projectDir)
		if err != nil {
			return nil, within("watch", "", err)
		}
		read = func() ([]Workspace, error) { return m.rowsOf(ctx, project) }
	}
	out := make(chan Seen)
	go (&watch{m: m, read: read, out: out, known: make(map[string]Workspace)}).run(ctx)
	return out, nil
}

// watch is one running watch.
type watch struct {
	m     *Manager
	read  func() ([]Workspace, error)
	out   chan<- Seen
	known map[string]Workspace
}

func (w *watch) run(ctx context.Context) {
	defer close(w.out)
	kind := ChangeCurrent
	seen := int64(-1)
	failing := false
	for ctx.Err() == nil {
		// The revision is read before the rows: a write in between is seen
		// again by the next look.
		revision, err := w.m.cfg.Store.Revision(ctx)
		if err == nil && (revision != seen || kind == ChangeCurrent) {
			var rows []Workspace
			if rows, err = w.read(); err == nil {
				if !w.tell(ctx, rows, kind) {
					return
				}
				seen, kind = revision, ChangeUpdated
			}
		}
		if err != nil && !failing && !w.send(ctx, Seen{Kind: ChangeFailed, Err: within("watch", "", err)}) {
			return
		}
		failing = err != nil
		if w.m.pause(ctx) != nil {
			return
		}
	}
}

// tell sends what differs between rows and what is known.
func (w *watch) tell(ctx context.Context, rows []Workspace, kind ChangeKind) bool {
	gone := make(map[string]Workspace, len(w.known))
	for id, row := range w.known {
		gone[id] = row
	}
	for _, row := range rows {
		before, ok := w.known[row.ThreadID]
		delete(gone, row.ThreadID)
		w.known[row.ThreadID] = row
		if ok && same(before, row) {
			continue
		}
		if !w.send(ctx, Seen{Kind: kind, Workspace: row}) {
			return false
		}
	}
	left := make([]Workspace, 0, len(gone))
	for id, row := range gone {
		delete(w.known, id)
		left = append(left, row)
	}
	slices.SortFunc(left, func(a, b Workspace) int { return strings.Compare(a.ThreadID, b.ThreadID) })
	for _, row := range left {
		if !w.send(ctx, Seen{Kind: ChangeDeleted, Workspace: row}) {
			return false
		}
	}
	return kind != ChangeCurrent || w.send(ctx, Seen{Kind: ChangeSynced})
}

func (w *watch) send(ctx context.Context, s Seen) bool {
	select {
	case w.out <- s:
		return true
	case <-ctx.Done():
		return false
	}
}

// same compares two states of a record, signs of life of its attempt aside.
func same(a, b Workspace) bool {
	a.Attempt.Lease = b.Attempt.Lease
	if a.CreatedAt.Equal(b.CreatedAt) {
		a.CreatedAt = b.CreatedAt
	}
	if a.Attempt.StartedAt.Equal(b.Attempt.StartedAt) {
		a.Attempt.StartedAt = b.Attempt.StartedAt
	}
	if len(a.Warnings) == 0 && len(b.Warnings) == 0 {
		a.Warnings, b.Warnings = nil, nil
	}
	return reflect.DeepEqual(a, b)
}
