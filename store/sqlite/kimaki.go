package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// kimakiType is what Kimaki writes to workspace_type.
const kimakiType = "kimaki-worktree"

// kimakiPrefix is what the names of Kimaki's branches begin with.
const kimakiPrefix = "opencode/kimaki-"

// lateColumns are those that older files of Kimaki lack. SQLite adds no column
// whose default is the current time, so these have none in such a file.
var lateColumns = []struct{ table, column, definition string }{
	{"thread_sessions", "source", "TEXT NOT NULL DEFAULT 'kimaki'"},
	{"thread_sessions", "last_synced_name", "TEXT"},
	{"thread_sessions", "parent_session_id", "TEXT"},
	{"thread_sessions", "created_at", "TEXT"},
	{"thread_sessions", "updated_at", "TEXT"},
	{"thread_workspaces", "created_at", "TEXT"},
	{"thread_worktrees", "error_message", "TEXT"},
	{"thread_worktrees", "created_at", "TEXT"},
	{"channel_directories", "guild_id", "TEXT"},
	{"channel_directories", "created_at", "TEXT"},
	{"channel_worktrees", "created_at", "TEXT"},
	{"channel_worktrees", "updated_at", "TEXT"},
}

// addMissingColumns adds to Kimaki's tables what an older file lacks.
func addMissingColumns(ctx context.Context, conn *sql.Conn) error {
	for _, c := range lateColumns {
		var there bool
		err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pragma_table_info(?) WHERE name = ?)",
			c.table, c.column).Scan(&there)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		if _, err := conn.ExecContext(ctx, fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", c.table, c.column, c.definition)); err != nil {
			return err
		}
	}
	return nil
}

// legacyRow is a row of thread_worktrees.
type legacyRow struct {
	threadID, branch, project    string
	directory, status, errorText sql.NullString
}

// copyLegacyRows copies the rows of thread_worktrees whose thread is not in
// thread_workspaces there, as Kimaki does at each of its starts.
func (s *Store) copyLegacyRows(ctx context.Context, conn *sql.Conn) error {
	rows, err := legacyRows(ctx, conn)
	if err != nil {
		return err
	}
	for _, r := range rows {
		status, text := s.judgeLegacy(r)
		_, err := conn.ExecContext(ctx, `INSERT INTO thread_sessions (thread_id, session_id, source, created_at, updated_at)
			SELECT ?1, '', 'kimaki', ?2, ?2 WHERE NOT EXISTS (SELECT 1 FROM thread_sessions WHERE thread_id = ?1)`,
			r.threadID, clockText(s.now()))
		if err != nil {
			return err
		}
		_, err = conn.ExecContext(ctx, `INSERT INTO thread_workspaces
			(thread_id, workspace_type, status, error_message, project_directory, workspace_directory, workspace_name, created_at)
			SELECT thread_id, ?, ?, ?, project_directory, worktree_directory, worktree_name, COALESCE(created_at, ?)
			FROM thread_worktrees WHERE thread_id = ?`,
			kimakiType, string(status), null(text), clockText(s.now()), r.threadID)
		if err != nil {
			return err
		}
	}
	return nil
}

func legacyRows(ctx context.Context, conn *sql.Conn) ([]legacyRow, error) {
	return collect(ctx, conn, func(rows *sql.Rows) (r legacyRow, err error) {
		return r, rows.Scan(&r.threadID, &r.branch, &r.project, &r.directory, &r.status, &r.errorText)
	}, `SELECT l.thread_id, l.worktree_name, l.project_directory, l.worktree_directory, l.status, l.error_message
		FROM thread_worktrees l
		WHERE NOT EXISTS (SELECT 1 FROM thread_workspaces w WHERE w.thread_id = l.thread_id)`)
}

// judgeLegacy returns the status of a legacy row, and the error to go with it.
// Older files of Kimaki have rows without one: those are ready where git has
// the directory.
func (s *Store) judgeLegacy(r legacyRow) (workspace.Status, string) {
	switch status := workspace.Status(r.status.String); {
	case !r.status.Valid && r.directory.String != "" && s.judge(r.project, r.directory.String, r.branch):
		return workspace.StatusReady, r.errorText.String
	case !r.status.Valid:
		return workspace.StatusError, cmp.Or(r.errorText.String, "the record says nothing of how it ended, and git has no worktree there")
	case status == workspace.StatusPending, status == workspace.StatusReady, status == workspace.StatusError:
		return status, r.errorText.String
	default:
		return workspace.StatusError, cmp.Or(r.errorText.String, fmt.Sprintf("the record has the unknown status %q", status))
	}
}

// kimakiName returns the name that Kimaki made a branch's name from.
func kimakiName(branch string) string { return strings.TrimPrefix(branch, kimakiPrefix) }

// providerOf and typeOf translate between workspace_type and the provider.
func providerOf(workspaceType string) string {
	if workspaceType == kimakiType {
		return workspace.ProviderKimaki
	}
	return workspaceType
}

func typeOf(provider string) string {
	if provider == workspace.ProviderKimaki {
		return kimakiType
	}
	return provider
}
