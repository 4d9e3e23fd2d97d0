package memory

import (
	"context"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

// TrashWorkspace implements [workspace.Trash].
func (s *Store) TrashWorkspace(ctx context.Context, threadID string, guard workspace.Guard, t workspace.Trashed) error {
	t, err := rules.Trash(threadID, t)
	if err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := s.remove(threadID, guard); err != nil {
		return err
	}
	s.trash[t.ID] = t
	return nil
}

// Trashed implements [workspace.Trash].
func (s *Store) Trashed(ctx context.Context, id string) (workspace.Trashed, error) {
	if err := s.enter(ctx); err != nil {
		return workspace.Trashed{}, err
	}
	defer s.mu.Unlock()
	t, ok := s.trash[id]
	if !ok {
		return workspace.Trashed{}, rules.NoTrash(id)
	}
	return rules.NormalTrashed(t), nil
}

// ListTrash implements [workspace.Trash].
func (s *Store) ListTrash(ctx context.Context, q workspace.Query) ([]workspace.Trashed, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var found []workspace.Trashed
	for _, t := range s.trash {
		if rules.Selects(q, t.Workspace) {
			found = append(found, rules.NormalTrashed(t))
		}
	}
	rules.SortTrash(found)
	return found, nil
}

// UpdateTrash implements [workspace.Trash].
func (s *Store) UpdateTrash(ctx context.Context, t workspace.Trashed) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, ok := s.trash[t.ID]; !ok {
		return rules.NoTrash(t.ID)
	}
	s.trash[t.ID] = rules.NormalTrashed(t)
	return nil
}

// RestoreWorkspace implements [workspace.Trash].
func (s *Store) RestoreWorkspace(ctx context.Context, id string, w workspace.Workspace) (workspace.Workspace, error) {
	if err := s.enter(ctx); err != nil {
		return workspace.Workspace{}, err
	}
	defer s.mu.Unlock()
	var record *workspace.Trashed
	if t, ok := s.trash[id]; ok {
		record = &t
	}
	now := s.Now()
	row, err := rules.Restore(id, w, record, s.present(w.ThreadID), now)
	if err == nil {
		err = s.checkClaim(row)
	}
	if err != nil {
		return workspace.Workspace{}, err
	}
	session := s.sessions[row.ThreadID]
	if old := record.Workspace.SessionID; session.ThreadID == "" || (session.ID == "" && old != "") {
		session.ThreadID, session.ID = row.ThreadID, old
		s.sessions[row.ThreadID] = newSession(session, now)
	}
	delete(s.trash, id)
	return s.begin(row), nil
}

// ForgetTrash implements [workspace.Trash].
func (s *Store) ForgetTrash(ctx context.Context, id string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	delete(s.trash, id)
	return nil
}
