package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

// validRecord joins the record of ours to the row w, where it is about the row
// as it is now. Kimaki resets a row by writing its columns, knowing nothing of
// the record; it then speaks of another workspace than the row.
const validRecord = `threadtree_workspaces r ON r.thread_id = w.thread_id
	AND r.created_at IS CAST(w.created_at AS TEXT)
	AND r.workspace_id IS w.workspace_id
	AND r.workspace_type IS w.workspace_type
	AND r.project_directory IS w.project_directory
	AND r.workspace_directory IS w.workspace_directory
	AND r.workspace_name IS w.workspace_name`

// rowColumns are what scanRow reads. The time is cast because the driver would
// otherwise read it by the type that the column was declared with, which
// differs from file to file.
const rowColumns = `w.thread_id, COALESCE(s.session_id, ''),
	w.workspace_type, COALESCE(w.workspace_id, ''), w.status, COALESCE(w.error_message, ''),
	w.project_directory, COALESCE(w.workspace_directory, ''), w.workspace_name,
	COALESCE(CAST(w.created_at AS TEXT), ''),
	r.thread_id IS NOT NULL,
	CASE WHEN r.status IS w.status AND r.error_message IS w.error_message THEN r.error_code ELSE '' END,
	r.name, r.branch_created, r.base, r.base_commit, r.project_id, r.subdirectory, r.warnings,
	r.attempt_id, r.attempt_host, r.attempt_lock, r.attempt_lease, r.attempt_started_at`

// joins complete a query that selects from thread_workspaces w.
const joins = ` LEFT JOIN ` + validRecord + ` LEFT JOIN thread_sessions s ON s.thread_id = w.thread_id`

// selectRow selects one thread's row.
const selectRow = `SELECT ` + rowColumns + ` FROM thread_workspaces w` + joins + ` WHERE w.thread_id = ?`

// record is what a row has beyond Kimaki's columns. All is NULL where there is
// no valid record.
type record struct {
	name, base, baseCommit, projectID, subdirectory, warnings sql.NullString
	branchCreated                                             sql.NullBool
	attemptID, attemptHost, attemptLock, lease, startedAt     sql.NullString
}

// scanRow reads a row that was selected by rowColumns.
func scanRow(rows *sql.Rows) (workspace.Workspace, error) {
	var (
		w             workspace.Workspace
		r             record
		kind, created string
		ours          bool
	)
	err := rows.Scan(&w.ThreadID, &w.SessionID,
		&kind, &w.ProviderID, &w.Status, &w.Error,
		&w.ProjectDirectory, &w.Directory, &w.Branch, &created,
		&ours, &w.ErrorCode,
		&r.name, &r.branchCreated, &r.base, &r.baseCommit, &r.projectID, &r.subdirectory, &r.warnings,
		&r.attemptID, &r.attemptHost, &r.attemptLock, &r.lease, &r.startedAt)
	if err != nil {
		return w, err
	}
	w.Provider = providerOf(kind)
	w.CreatedAt = rules.Second(readClock(created))
	switch w.Status {
	case workspace.StatusPending, workspace.StatusReady, workspace.StatusError:
	default:
		w.Error = fmt.Sprintf("the record has the unknown status %q", w.Status)
		w.Status = workspace.StatusError
	}
	if !ours {
		w.Name = kimakiName(w.Branch)
		w.BranchCreated = w.Provider == workspace.ProviderKimaki
		return w, nil
	}
	return w, r.fill(&w)
}

// fill gives w what the record says.
func (r record) fill(w *workspace.Workspace) error {
	w.Name, w.BranchCreated = r.name.String, r.branchCreated.Bool
	w.Base, w.BaseCommit = r.base.String, r.baseCommit.String
	w.ProjectID, w.Subdirectory = r.projectID.String, r.subdirectory.String
	w.Attempt = workspace.Attempt{
		ID: r.attemptID.String, Host: r.attemptHost.String, Lock: r.attemptLock.String,
		Lease: readExact(r.lease.String), StartedAt: readExact(r.startedAt.String),
	}
	if r.warnings.String == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(r.warnings.String), &w.Warnings); err != nil {
		return fmt.Errorf("the warnings of thread %s: %w", w.ThreadID, err)
	}
	return nil
}

// row returns the thread's row, nil if there is none.
func row(ctx context.Context, q queryer, threadID string) (*workspace.Workspace, error) {
	rows, err := collect(ctx, q, scanRow, selectRow, threadID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// putRow writes a row, its record, and where there is none an empty session,
// and returns the row as it reads now. The created_at of a row that is there
// stays as it is.
func (s *Store) putRow(ctx context.Context, conn *sql.Conn, w workspace.Workspace) (workspace.Workspace, error) {
	_, err := conn.ExecContext(ctx, `INSERT INTO thread_sessions (thread_id, session_id, source, created_at, updated_at)
		SELECT ?1, '', ?2, ?3, ?3 WHERE NOT EXISTS (SELECT 1 FROM thread_sessions WHERE thread_id = ?1)`,
		w.ThreadID, defaultSource, clockText(s.now()))
	if err != nil {
		return workspace.Workspace{}, err
	}
	_, err = conn.ExecContext(ctx, `INSERT INTO thread_workspaces
			(thread_id, workspace_id, workspace_type, status, error_message,
			project_directory, workspace_directory, workspace_name, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (thread_id) DO UPDATE SET
			workspace_id = excluded.workspace_id, workspace_type = excluded.workspace_type,
			status = excluded.status, error_message = excluded.error_message,
			project_directory = excluded.project_directory,
			workspace_directory = excluded.workspace_directory, workspace_name = excluded.workspace_name`,
		w.ThreadID, null(w.ProviderID), typeOf(w.Provider), string(w.Status), null(w.Error),
		w.ProjectDirectory, null(w.Directory), w.Branch, clockText(w.CreatedAt))
	if err != nil {
		return workspace.Workspace{}, err
	}
	if err := putRecord(ctx, conn, w); err != nil {
		return workspace.Workspace{}, err
	}
	stored, err := row(ctx, conn, w.ThreadID)
	if err != nil {
		return workspace.Workspace{}, err
	}
	return *stored, nil
}

// putRecord writes what the row that was just written has beyond its columns.
func putRecord(ctx context.Context, conn *sql.Conn, w workspace.Workspace) error {
	warnings := ""
	if len(w.Warnings) > 0 {
		text, err := json.Marshal(w.Warnings)
		if err != nil {
			return err
		}
		warnings = string(text)
	}
	_, err := conn.ExecContext(ctx, `INSERT OR REPLACE INTO threadtree_workspaces (thread_id, created_at,
			workspace_id, workspace_type, project_directory, workspace_directory, workspace_name, status, error_message,
			name, branch_created, base, base_commit, project_id, subdirectory, error_code, warnings,
			attempt_id, attempt_host, attempt_lock, attempt_lease, attempt_started_at)
		SELECT w.thread_id, CAST(w.created_at AS TEXT), w.workspace_id, w.workspace_type, w.project_directory,
			w.workspace_directory, w.workspace_name, w.status, w.error_message,
			?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
		FROM thread_workspaces w WHERE w.thread_id = ?`,
		w.Name, w.BranchCreated, w.Base, w.BaseCommit, w.ProjectID, w.Subdirectory, string(w.ErrorCode), warnings,
		w.Attempt.ID, w.Attempt.Host, w.Attempt.Lock, exactText(w.Attempt.Lease), exactText(w.Attempt.StartedAt),
		w.ThreadID)
	if err != nil || w.ProjectID == "" {
		return err
	}
	_, err = conn.ExecContext(ctx, "DELETE FROM threadtree_unidentified WHERE thread_id = ?", w.ThreadID)
	return err
}

// null returns NULL for an empty text, as Kimaki has it.
func null(text string) sql.NullString { return sql.NullString{String: text, Valid: text != ""} }
