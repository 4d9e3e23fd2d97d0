package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

// Session implements [workspace.Sessions].
func (s *Store) Session(ctx context.Context, threadID string) (workspace.Session, error) {
	if err := s.enter(ctx); err != nil {
		return workspace.Session{}, err
	}
	defer s.mu.Unlock()
	session, ok := s.sessions[threadID]
	if !ok {
		return workspace.Session{}, rules.NoSession(threadID, "")
	}
	return session, nil
}

// PutSession implements [workspace.Sessions].
func (s *Store) PutSession(ctx context.Context, session workspace.Session) error {
	if err := workspace.CheckThreadID(session.ThreadID); err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if present, ok := s.sessions[session.ThreadID]; ok {
		session.CreatedAt = present.CreatedAt
	}
	s.sessions[session.ThreadID] = newSession(session, s.Now())
	s.revision++
	return nil
}

// FindSession implements [workspace.Sessions].
func (s *Store) FindSession(ctx context.Context, sessionID string) (workspace.Session, error) {
	if err := s.enter(ctx); err != nil {
		return workspace.Session{}, err
	}
	defer s.mu.Unlock()
	var found []workspace.Session
	for _, session := range s.sessions {
		if sessionID != "" && session.ID == sessionID {
			found = append(found, session)
		}
	}
	if len(found) == 0 {
		return workspace.Session{}, rules.NoSession("", sessionID)
	}
	return slices.MinFunc(found, rules.Newer), nil
}

// DeleteSession implements [workspace.Sessions].
func (s *Store) DeleteSession(ctx context.Context, threadID string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	session, ok := s.sessions[threadID]
	if !ok {
		return nil
	}
	s.revision++
	if _, needed := s.workspaces[threadID]; !needed {
		delete(s.sessions, threadID)
		return nil
	}
	s.sessions[threadID] = newSession(workspace.Session{
		ThreadID: threadID, Source: session.Source, CreatedAt: session.CreatedAt,
	}, s.Now())
	return nil
}

// newSession returns a session as it is stored at the time now.
func newSession(session workspace.Session, now time.Time) workspace.Session {
	session.Source = cmp.Or(session.Source, "threadtree")
	if session.CreatedAt.IsZero() {
		session.CreatedAt = now
	}
	session.CreatedAt = rules.Second(session.CreatedAt)
	session.UpdatedAt = rules.Second(now)
	return session
}
