package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

// defaultSource is the source of a session that names none.
const defaultSource = "threadtree"

const selectSession = `SELECT thread_id, session_id, COALESCE(source, ''), COALESCE(parent_session_id, ''),
	COALESCE(last_synced_name, ''), COALESCE(CAST(created_at AS TEXT), ''),
	COALESCE(CAST(updated_at AS TEXT), CAST(created_at AS TEXT), '')
	FROM thread_sessions WHERE `

func scanSession(rows *sql.Rows) (workspace.Session, error) {
	var session workspace.Session
	var created, updated string
	err := rows.Scan(&session.ThreadID, &session.ID, &session.Source, &session.ParentID,
		&session.LastSyncedName, &created, &updated)
	session.CreatedAt, session.UpdatedAt = rules.Second(readClock(created)), rules.Second(readClock(updated))
	return session, err
}

// Session implements [workspace.Sessions].
func (s *Store) Session(ctx context.Context, threadID string) (session workspace.Session, err error) {
	err = s.read(ctx, "reading a session", func(ctx context.Context) error {
		found, err := collect(ctx, s.db, scanSession, selectSession+"thread_id = ?", threadID)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return rules.NoSession(threadID, "")
		}
		session = found[0]
		return nil
	})
	return session, err
}

// PutSession implements [workspace.Sessions].
func (s *Store) PutSession(ctx context.Context, session workspace.Session) error {
	if err := workspace.CheckThreadID(session.ThreadID); err != nil {
		return err
	}
	return s.write(ctx, "writing a session", func(ctx context.Context, conn *sql.Conn) error {
		now := s.now()
		created := session.CreatedAt
		if created.IsZero() {
			created = now
		}
		_, err := conn.ExecContext(ctx, `INSERT INTO thread_sessions
				(thread_id, session_id, source, last_synced_name, parent_session_id, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (thread_id) DO UPDATE SET
				session_id = excluded.session_id, source = excluded.source,
				last_synced_name = excluded.last_synced_name, parent_session_id = excluded.parent_session_id,
				updated_at = excluded.updated_at`,
			session.ThreadID, session.ID, cmp.Or(session.Source, defaultSource), null(session.LastSyncedName),
			null(session.ParentID), clockText(created), clockText(now))
		return err
	})
}

// FindSession implements [workspace.Sessions].
func (s *Store) FindSession(ctx context.Context, sessionID string) (session workspace.Session, err error) {
	err = s.read(ctx, "finding a session", func(ctx context.Context) error {
		if sessionID == "" {
			return rules.NoSession("", sessionID)
		}
		found, err := collect(ctx, s.db, scanSession, selectSession+"session_id = ?", sessionID)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return rules.NoSession("", sessionID)
		}
		session = slices.MinFunc(found, rules.Newer)
		return nil
	})
	return session, err
}

// DeleteSession implements [workspace.Sessions]. Rows of other tables of Kimaki
// may refer to the session as well; then its row stays too, with an empty id.
func (s *Store) DeleteSession(ctx context.Context, threadID string) error {
	return s.write(ctx, "deleting a session", func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, `DELETE FROM thread_sessions WHERE thread_id = ?1
			AND NOT EXISTS (SELECT 1 FROM thread_workspaces WHERE thread_id = ?1)
			AND NOT EXISTS (SELECT 1 FROM thread_worktrees WHERE thread_id = ?1)`, threadID)
		if err != nil && !referred(err) {
			return err
		}
		_, err = conn.ExecContext(ctx, `UPDATE thread_sessions
			SET session_id = '', last_synced_name = NULL, parent_session_id = NULL, updated_at = ?
			WHERE thread_id = ?`, clockText(s.now()), threadID)
		return err
	})
}
