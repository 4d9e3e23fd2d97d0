package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

// BeginWorkspace implements [workspace.Workspaces].
func (s *Store) BeginWorkspace(ctx context.Context, w workspace.Workspace, guard workspace.Guard) (workspace.Workspace, error) {
	if err := s.enter(ctx); err != nil {
		return workspace.Workspace{}, err
	}
	defer s.mu.Unlock()
	now := s.Now()
	row, err := rules.Begin(w, guard, s.present(w.ThreadID), now)
	if err != nil {
		return workspace.Workspace{}, err
	}
	if _, ok := s.sessions[w.ThreadID]; !ok {
		s.sessions[w.ThreadID] = newSession(workspace.Session{ThreadID: w.ThreadID}, now)
	}
	return s.begin(row), nil
}

// UpdateWorkspace implements [workspace.Workspaces].
func (s *Store) UpdateWorkspace(ctx context.Context, threadID string, guard workspace.Guard, change workspace.Change) (workspace.Workspace, error) {
	if err := s.enter(ctx); err != nil {
		return workspace.Workspace{}, err
	}
	defer s.mu.Unlock()
	row, err := rules.Update(threadID, s.present(threadID), guard, change)
	if err != nil {
		return workspace.Workspace{}, err
	}
	if change.Claim {
		if err := s.checkClaim(row); err != nil {
			return workspace.Workspace{}, err
		}
	}
	return s.put(row), nil
}

// DeleteWorkspace implements [workspace.Workspaces].
func (s *Store) DeleteWorkspace(ctx context.Context, threadID string, guard workspace.Guard) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.remove(threadID, guard)
}

// Workspace implements [workspace.Workspaces].
func (s *Store) Workspace(ctx context.Context, threadID string) (workspace.Workspace, error) {
	if err := s.enter(ctx); err != nil {
		return workspace.Workspace{}, err
	}
	defer s.mu.Unlock()
	if w := s.present(threadID); w != nil {
		return *w, nil
	}
	return workspace.Workspace{}, rules.NoWorkspace(threadID, s.deleted[threadID])
}

// ListWorkspaces implements [workspace.Workspaces].
func (s *Store) ListWorkspaces(ctx context.Context, q workspace.Query) ([]workspace.Workspace, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var rows []workspace.Workspace
	for _, w := range s.workspaces {
		if rules.Selects(q, w) {
			rows = append(rows, s.view(w))
		}
	}
	rules.Sort(rows)
	return rows, nil
}

// ProjectDirectories implements [workspace.Workspaces].
func (s *Store) ProjectDirectories(ctx context.Context) ([]string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	found := map[string]bool{}
	for _, w := range s.workspaces {
		if w.ProjectID == "" {
			found[w.ProjectDirectory] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Revision implements [workspace.Workspaces].
func (s *Store) Revision(ctx context.Context) (int64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.revision, nil
}

// present returns the thread's row, nil if there is none.
func (s *Store) present(threadID string) *workspace.Workspace {
	w, ok := s.workspaces[threadID]
	if !ok {
		return nil
	}
	w = s.view(w)
	return &w
}

// checkClaim returns the refusal of what w claims, if another row has it.
func (s *Store) checkClaim(w workspace.Workspace) error {
	claim := rules.ClaimOf(w)
	for _, id := range slices.Sorted(maps.Keys(s.workspaces)) {
		if other := s.workspaces[id]; claim.Clashes(other) {
			return rules.Taken(w.ThreadID, s.view(other))
		}
	}
	return nil
}

// remove removes the thread's row if it matches guard, and remembers that.
func (s *Store) remove(threadID string, guard workspace.Guard) error {
	if err := rules.Matches(threadID, s.present(threadID), guard); err != nil {
		return err
	}
	delete(s.workspaces, threadID)
	s.deleted[threadID] = true
	s.revision++
	return nil
}

// begin stores the row of a thread whose last one may have been deleted.
func (s *Store) begin(w workspace.Workspace) workspace.Workspace {
	delete(s.deleted, w.ThreadID)
	return s.put(w)
}

// put stores a row and returns it as a reader sees it.
func (s *Store) put(w workspace.Workspace) workspace.Workspace {
	s.workspaces[w.ThreadID] = w
	s.revision++
	return s.view(w)
}

// view returns a copy of a stored row, with the session's id.
func (s *Store) view(w workspace.Workspace) workspace.Workspace {
	w = rules.Normal(w)
	w.SessionID = s.sessions[w.ThreadID].ID
	return w
}
