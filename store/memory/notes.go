package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

type noteKey struct{ namespace, key string }

// Note implements [workspace.Notes].
func (s *Store) Note(ctx context.Context, namespace, key string) (workspace.Note, error) {
	if err := s.enter(ctx); err != nil {
		return workspace.Note{}, err
	}
	defer s.mu.Unlock()
	n, ok := s.notes[noteKey{namespace, key}]
	if !ok {
		return workspace.Note{}, rules.NoNote(namespace, key)
	}
	n.Value = bytes.Clone(n.Value)
	return n, nil
}

// PutNote implements [workspace.Notes].
func (s *Store) PutNote(ctx context.Context, namespace, key string, value []byte, version int64) (int64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	at := noteKey{namespace, key}
	if present := s.notes[at].Version; present != version {
		return 0, rules.StaleNote(namespace, key, present, version)
	}
	// One counter for all notes, so that a note which is made anew is newer
	// than the one that was deleted.
	s.version++
	s.notes[at] = workspace.Note{
		Namespace: namespace, Key: key, Value: append([]byte{}, value...),
		Version: s.version, UpdatedAt: rules.Second(s.Now()),
	}
	return s.version, nil
}

// DeleteNote implements [workspace.Notes]. Where the note's version is another
// the error has the code in_progress and wraps [workspace.ErrStale].
func (s *Store) DeleteNote(ctx context.Context, namespace, key string, version int64) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	at := noteKey{namespace, key}
	n, ok := s.notes[at]
	if ok && n.Version != version {
		return rules.StaleNote(namespace, key, n.Version, version)
	}
	delete(s.notes, at)
	return nil
}

// ListNotes implements [workspace.Notes].
func (s *Store) ListNotes(ctx context.Context, namespace string) ([]workspace.Note, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var notes []workspace.Note
	for at, n := range s.notes {
		if at.namespace == namespace {
			n.Value = bytes.Clone(n.Value)
			notes = append(notes, n)
		}
	}
	slices.SortFunc(notes, func(a, b workspace.Note) int { return cmp.Compare(a.Key, b.Key) })
	return notes, nil
}
