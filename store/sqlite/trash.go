package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

// TrashWorkspace implements [workspace.Trash].
func (s *Store) TrashWorkspace(ctx context.Context, threadID string, guard workspace.Guard, t workspace.Trashed) error {
	t, err := rules.Trash(threadID, t)
	if err != nil {
		return err
	}
	return s.write(ctx, "moving a workspace to the trash", func(ctx context.Context, conn *sql.Conn) error {
		if err := s.deleteRow(ctx, conn, threadID, guard); err != nil {
			return err
		}
		return putTrash(ctx, conn, t)
	})
}

// Trashed implements [workspace.Trash].
func (s *Store) Trashed(ctx context.Context, id string) (t workspace.Trashed, err error) {
	err = s.read(ctx, "reading the trash", func(ctx context.Context) error {
		found, err := trashed(ctx, s.db, id)
		if err != nil {
			return err
		}
		if found == nil {
			return rules.NoTrash(id)
		}
		t = *found
		return nil
	})
	return t, err
}

// ListTrash implements [workspace.Trash].
func (s *Store) ListTrash(ctx context.Context, q workspace.Query) (found []workspace.Trashed, err error) {
	where, args := trashQuery(q)
	err = s.read(ctx, "listing the trash", func(ctx context.Context) (err error) {
		found, err = collect(ctx, s.db, scanTrash, selectTrash+where, args...)
		return err
	})
	rules.SortTrash(found)
	return found, err
}

// trashQuery returns the condition for what [rules.Selects] selects.
func trashQuery(q workspace.Query) (string, []any) {
	if q.All {
		return "TRUE", nil
	}
	picks, args := picksOf(q, [4]string{"project_id", "project_id = '' AND project_directory", "directory", "thread_id"})
	if len(picks) == 0 {
		return "FALSE", nil
	}
	return strings.Join(picks, " OR "), args
}

// UpdateTrash implements [workspace.Trash].
func (s *Store) UpdateTrash(ctx context.Context, t workspace.Trashed) error {
	return s.write(ctx, "writing the trash", func(ctx context.Context, conn *sql.Conn) error {
		present, err := trashed(ctx, conn, t.ID)
		if err != nil {
			return err
		}
		if present == nil {
			return rules.NoTrash(t.ID)
		}
		return putTrash(ctx, conn, rules.NormalTrashed(t))
	})
}

// RestoreWorkspace implements [workspace.Trash].
func (s *Store) RestoreWorkspace(ctx context.Context, id string, w workspace.Workspace) (stored workspace.Workspace, err error) {
	err = s.write(ctx, "restoring a workspace", func(ctx context.Context, conn *sql.Conn) error {
		record, err := trashed(ctx, conn, id)
		if err != nil {
			return err
		}
		present, err := row(ctx, conn, w.ThreadID)
		if err != nil {
			return err
		}
		next, err := rules.Restore(id, w, record, present, s.now())
		if err != nil {
			return err
		}
		if err := checkClaim(ctx, conn, next); err != nil {
			return err
		}
		if err := s.linkAgain(ctx, conn, next.ThreadID, record.Workspace.SessionID); err != nil {
			return err
		}
		if err := forgetTrash(ctx, conn, id); err != nil {
			return err
		}
		stored, err = s.beginRow(ctx, conn, next)
		return err
	})
	return only(stored, err)
}

// linkAgain gives the thread the session that it had, unless it has one now.
func (s *Store) linkAgain(ctx context.Context, conn *sql.Conn, threadID, sessionID string) error {
	if sessionID == "" {
		return nil
	}
	_, err := conn.ExecContext(ctx, `INSERT INTO thread_sessions (thread_id, session_id, source, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?4)
		ON CONFLICT (thread_id) DO UPDATE SET session_id = excluded.session_id, updated_at = excluded.updated_at
			WHERE session_id = ''`,
		threadID, sessionID, defaultSource, clockText(s.now()))
	return err
}

// ForgetTrash implements [workspace.Trash].
func (s *Store) ForgetTrash(ctx context.Context, id string) error {
	return s.write(ctx, "forgetting a deleted workspace", func(ctx context.Context, conn *sql.Conn) error {
		return forgetTrash(ctx, conn, id)
	})
}

func forgetTrash(ctx context.Context, conn *sql.Conn, id string) error {
	_, err := conn.ExecContext(ctx, "DELETE FROM threadtree_trash WHERE id = ?", id)
	return err
}
