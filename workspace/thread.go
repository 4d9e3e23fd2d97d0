package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// ThreadState says how a thread stands in its chat system, as an adapter has
// told the library.
type ThreadState string

// The states of threads. One that nothing was said of is open.
const (
	ThreadOpen     ThreadState = ""
	ThreadArchived ThreadState = "archived"
	ThreadDeleted  ThreadState = "deleted"
)

// threadNotes is where the threads that aren't open are remembered.
const threadNotes = "threadtree/thread"

// threadNote is how a thread stands, since when.
type threadNote struct {
	State ThreadState `json:"state"`
	Since time.Time   `json:"since"`
}

// noteTries bounds how often a note is written that others change meanwhile.
const noteTries = 20

// NoteThread remembers that a thread which has a workspace was archived or
// deleted in its chat system, or is open again; of any other thread nothing is
// remembered, nor where the store has no [Notes]. The workspace stays as it is:
// the state is in the thread's [Row], and [CollectOptions].Closed may offer the
// workspace then. A thread that was deleted doesn't become archived any more.
// The code is store_failed, or internal for a state that is none.
func (m *Manager) NoteThread(ctx context.Context, threadID string, state ThreadState) error {
	notes, ok := m.cfg.Store.(Notes)
	switch {
	case state != ThreadOpen && state != ThreadArchived && state != ThreadDeleted:
		return &Error{Code: ErrInternal, ThreadID: threadID, Message: "a thread can't be " + string(state)}
	case !ok:
		return nil
	}
	if state != ThreadOpen {
		if _, err := m.cfg.Store.Workspace(ctx, threadID); errors.Is(err, ErrNotFound) {
			return nil
		} else if err != nil {
			return within("note a thread", threadID, err)
		}
	}
	for range noteTries {
		err := m.noteThread(ctx, notes, threadID, state)
		if !errors.Is(err, ErrStale) {
			return within("note a thread", threadID, err)
		}
	}
	return busy(threadID)
}

func (m *Manager) noteThread(ctx context.Context, notes Notes, threadID string, state ThreadState) error {
	note, err := notes.Note(ctx, threadNotes, threadID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	known, _ := readThread(note)
	switch {
	case known.State == state, known.State == ThreadDeleted && state == ThreadArchived:
		return nil
	case state == ThreadOpen:
		return notes.DeleteNote(ctx, threadNotes, threadID, note.Version)
	}
	value, err := json.Marshal(threadNote{State: state, Since: m.cfg.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	_, err = notes.PutNote(ctx, threadNotes, threadID, value, note.Version)
	return err
}

// readThread reads a note; ok is false where there is none, or none of ours.
func readThread(note Note) (t threadNote, ok bool) {
	ok = json.Unmarshal(note.Value, &t) == nil && (t.State == ThreadArchived || t.State == ThreadDeleted)
	if !ok {
		t = threadNote{}
	}
	return t, ok
}

// threads fills in how the threads of the rows stand.
func (m *Manager) threads(ctx context.Context, rows []Row) error {
	notes, ok := m.cfg.Store.(Notes)
	if !ok {
		return nil
	}
	all, err := notes.ListNotes(ctx, threadNotes)
	if err != nil || len(all) == 0 {
		return err
	}
	known := make(map[string]threadNote, len(all))
	for _, note := range all {
		if t, ok := readThread(note); ok {
			known[note.Key] = t
		}
	}
	for i := range rows {
		if w := rows[i].Workspace; w != nil {
			t := known[w.ThreadID]
			rows[i].Thread, rows[i].ThreadSince = t.State, t.Since
		}
	}
	return nil
}

// threadGone forgets how a thread stands of which nothing is left: neither a
// workspace nor one that can be restored.
func (m *Manager) threadGone(ctx context.Context, threadID string) {
	if _, ok := m.cfg.Store.(Notes); !ok {
		return
	}
	if _, err := m.cfg.Store.Workspace(ctx, threadID); !errors.Is(err, ErrNotFound) {
		return
	}
	if trash, err := m.cfg.Store.ListTrash(ctx, Query{ThreadID: threadID}); err != nil || len(trash) > 0 {
		return
	}
	if err := m.NoteThread(ctx, threadID, ThreadOpen); err != nil {
		m.cfg.Logger.WarnContext(ctx, "how a thread stands could not be forgotten", "thread", threadID, "error", err)
	}
}

// stillClosed refuses where a thread is open again.
func (m *Manager) stillClosed(ctx context.Context, threadID string) error {
	notes, ok := m.cfg.Store.(Notes)
	if !ok {
		return nil
	}
	note, err := notes.Note(ctx, threadNotes, threadID)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if _, closed := readThread(note); !closed {
		return &Error{Code: ErrInProgress, ThreadID: threadID, Err: ErrStale, Message: "its thread is open again; it stays", Hint: "plan again"}
	}
	return nil
}

// closedWords says that a row's thread isn't open any more, "" where it is.
func closedWords(row *Row) string {
	if row.Thread == ThreadOpen {
		return ""
	}
	return "its thread was " + string(row.Thread) + " on " + row.ThreadSince.Format(time.DateOnly)
}
