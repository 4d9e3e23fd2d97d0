package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// trashColumns are the columns of threadtree_trash in the order of
// trashFields.
const trashColumns = `id, deleted_at,
	thread_id, session_id, provider, provider_id, name,
	branch, branch_created, base, base_commit,
	project_id, project_directory, subdirectory, directory,
	status, error, error_code, warnings, created_at,
	attempt_id, attempt_host, attempt_lock, attempt_lease, attempt_started_at,
	kept_ref, kept_snapshot, kept_tip, kept_branch, kept_directory, kept_missing,
	directory_until, restorable_until, size, measured_at`

// selectTrash selects records for scanTrash.
const selectTrash = `SELECT ` + trashColumns + ` FROM threadtree_trash WHERE `

// trashFields returns a pointer to each field of t, to read it into or to
// write it from.
func trashFields(t *workspace.Trashed) []any {
	w, a, k := &t.Workspace, &t.Workspace.Attempt, &t.Kept
	return []any{
		&t.ID, (*exactTime)(&t.DeletedAt),
		&w.ThreadID, &w.SessionID, &w.Provider, &w.ProviderID, &w.Name,
		&w.Branch, &w.BranchCreated, &w.Base, &w.BaseCommit,
		&w.ProjectID, &w.ProjectDirectory, &w.Subdirectory, &w.Directory,
		&w.Status, &w.Error, &w.ErrorCode, (*quotedLines)(&w.Warnings), (*exactTime)(&w.CreatedAt),
		&a.ID, &a.Host, &a.Lock, (*exactTime)(&a.Lease), (*exactTime)(&a.StartedAt),
		&k.Ref, &k.Snapshot, &k.Tip, &k.Branch, &k.Directory, (*quotedLines)(&k.Missing),
		(*exactTime)(&t.DirectoryUntil), (*exactTime)(&t.RestorableUntil), &t.Size, (*exactTime)(&t.MeasuredAt),
	}
}

// scanTrash reads a record that was selected by selectTrash.
func scanTrash(rows *sql.Rows) (workspace.Trashed, error) {
	var t workspace.Trashed
	err := rows.Scan(trashFields(&t)...)
	return t, err
}

// trashed returns a record, nil if there is none.
func trashed(ctx context.Context, q queryer, id string) (*workspace.Trashed, error) {
	found, err := collect(ctx, q, scanTrash, selectTrash+"id = ?", id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// putTrash writes a record, in place of the one with its id.
func putTrash(ctx context.Context, conn *sql.Conn, t workspace.Trashed) error {
	fields := trashFields(&t)
	_, err := conn.ExecContext(ctx, `INSERT OR REPLACE INTO threadtree_trash (`+trashColumns+`)
		VALUES (?`+strings.Repeat(", ?", len(fields)-1)+`)`, fields...)
	return err
}

// exactTime is a moment in a column, with all its nanoseconds.
type exactTime time.Time

// Value implements [driver.Valuer].
func (t exactTime) Value() (driver.Value, error) { return exactText(time.Time(t)), nil }

// Scan implements [sql.Scanner].
func (t *exactTime) Scan(column any) error {
	text, err := columnText(column)
	*t = exactTime(readExact(text))
	return err
}

// quotedLines is a list in a column. Unlike JSON it keeps what is no Unicode.
type quotedLines []string

// Value implements [driver.Valuer].
func (l quotedLines) Value() (driver.Value, error) {
	lines := make([]string, len(l))
	for i, item := range l {
		lines[i] = strconv.Quote(item)
	}
	return strings.Join(lines, "\n"), nil
}

// Scan implements [sql.Scanner].
func (l *quotedLines) Scan(column any) error {
	*l = nil
	text, err := columnText(column)
	if err != nil || text == "" {
		return err
	}
	for line := range strings.SplitSeq(text, "\n") {
		item, err := strconv.Unquote(line)
		if err != nil {
			return fmt.Errorf("the line %s of a list: %w", line, err)
		}
		*l = append(*l, item)
	}
	return nil
}

func columnText(column any) (string, error) {
	var text sql.NullString
	err := text.Scan(column)
	return text.String, err
}
