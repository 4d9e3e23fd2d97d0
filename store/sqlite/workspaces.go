package sqlite

import (
	"context"
	"database/sql"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

// BeginWorkspace implements [workspace.Workspaces].
func (s *Store) BeginWorkspace(ctx context.Context, w workspace.Workspace, guard workspace.Guard) (stored workspace.Workspace, err error) {
	err = s.write(ctx, "beginning a workspace", func(ctx context.Context, conn *sql.Conn) error {
		present, err := row(ctx, conn, w.ThreadID)
		if err != nil {
			return err
		}
		next, err := rules.Begin(w, guard, present, s.now())
		if err != nil {
			return err
		}
		stored, err = s.beginRow(ctx, conn, next)
		return err
	})
	return only(stored, err)
}

// beginRow writes the row of a thread whose last one may have been deleted.
func (s *Store) beginRow(ctx context.Context, conn *sql.Conn, w workspace.Workspace) (workspace.Workspace, error) {
	if _, err := conn.ExecContext(ctx, "DELETE FROM threadtree_deleted WHERE thread_id = ?", w.ThreadID); err != nil {
		return workspace.Workspace{}, err
	}
	return s.putRow(ctx, conn, w)
}

// UpdateWorkspace implements [workspace.Workspaces].
func (s *Store) UpdateWorkspace(ctx context.Context, threadID string, guard workspace.Guard, change workspace.Change) (stored workspace.Workspace, err error) {
	err = s.write(ctx, "changing a workspace", func(ctx context.Context, conn *sql.Conn) error {
		present, err := row(ctx, conn, threadID)
		if err != nil {
			return err
		}
		next, err := rules.Update(threadID, present, guard, change)
		if err != nil {
			return err
		}
		if change.Claim {
			if err := checkClaim(ctx, conn, next); err != nil {
				return err
			}
		}
		stored, err = s.putRow(ctx, conn, next)
		return err
	})
	return only(stored, err)
}

// only returns nothing beside an error: what was read back isn't so after a
// commit that failed.
func only(w workspace.Workspace, err error) (workspace.Workspace, error) {
	if err != nil {
		return workspace.Workspace{}, err
	}
	return w, nil
}

// checkClaim returns the refusal of what w claims, if another row has it.
func checkClaim(ctx context.Context, conn *sql.Conn, w workspace.Workspace) error {
	// A row of the project has its identity, or else no identity and its
	// spelling; where w has no identity any row with the spelling is one.
	query := `SELECT ` + rowColumns + ` FROM (
			SELECT thread_id FROM threadtree_workspaces WHERE project_id = ?
			UNION SELECT thread_id FROM threadtree_unidentified WHERE project_directory = ?
		) p JOIN thread_workspaces w ON w.thread_id = p.thread_id` + joins
	args := []any{w.ProjectID, w.ProjectDirectory}
	if w.ProjectID == "" {
		query = `SELECT ` + rowColumns + ` FROM thread_workspaces w` + joins + ` WHERE w.project_directory = ?`
		args = args[1:]
	}
	others, err := collect(ctx, conn, scanRow, query+` ORDER BY w.thread_id`, args...)
	if err != nil {
		return err
	}
	claim := rules.ClaimOf(w)
	for _, other := range others {
		if claim.Clashes(other) {
			return rules.Taken(w.ThreadID, other)
		}
	}
	return nil
}

// DeleteWorkspace implements [workspace.Workspaces].
func (s *Store) DeleteWorkspace(ctx context.Context, threadID string, guard workspace.Guard) error {
	return s.write(ctx, "deleting a workspace", func(ctx context.Context, conn *sql.Conn) error {
		return s.deleteRow(ctx, conn, threadID, guard)
	})
}

// deleteRow removes the thread's row if it matches guard, and remembers that.
// The thread's row in Kimaki's older table goes with it: Kimaki would make a
// workspace of it again at its next start.
func (s *Store) deleteRow(ctx context.Context, conn *sql.Conn, threadID string, guard workspace.Guard) error {
	present, err := row(ctx, conn, threadID)
	if err != nil {
		return err
	}
	if err := rules.Matches(threadID, present, guard); err != nil {
		return err
	}
	for _, table := range []string{"thread_workspaces", "thread_worktrees"} {
		if _, err := conn.ExecContext(ctx, "DELETE FROM "+table+" WHERE thread_id = ?", threadID); err != nil {
			return err
		}
	}
	_, err = conn.ExecContext(ctx, "INSERT OR REPLACE INTO threadtree_deleted (thread_id, deleted_at) VALUES (?, ?)",
		threadID, clockText(s.now()))
	return err
}

// Workspace implements [workspace.Workspaces].
func (s *Store) Workspace(ctx context.Context, threadID string) (w workspace.Workspace, err error) {
	err = s.read(ctx, "reading a workspace", func(ctx context.Context) error {
		for {
			present, err := row(ctx, s.db, threadID)
			if err != nil {
				return err
			}
			if present != nil {
				w = *present
				return nil
			}
			// That there is no row and why is read in one statement: a row may
			// have been begun since, which is no reason to say "never".
			var begun, deleted bool
			err = s.db.QueryRowContext(ctx, `SELECT
				EXISTS (SELECT 1 FROM thread_workspaces WHERE thread_id = ?1),
				EXISTS (SELECT 1 FROM threadtree_deleted WHERE thread_id = ?1)`, threadID).Scan(&begun, &deleted)
			if err != nil {
				return err
			}
			if !begun {
				return rules.NoWorkspace(threadID, deleted)
			}
		}
	})
	return w, err
}

// Revision implements [workspace.Workspaces]. Triggers count, so that the
// writes of other programs count as well.
func (s *Store) Revision(ctx context.Context) (revision int64, err error) {
	err = s.read(ctx, "reading the revision", func(ctx context.Context) error {
		return s.db.QueryRowContext(ctx, "SELECT value FROM threadtree_counters WHERE name = 'revision'").Scan(&revision)
	})
	return revision, err
}
