package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	_ "github.com/mattn/go-sqlite3" // the driver of the queries by hand

	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// perProject is how many workspaces a project has in the database.
const perProject = 50

// gets is how many rows are read for one measurement, lists how many projects.
const gets, projects = 200, 5

// fill writes n rows, perProject for each project.
func fill(ctx context.Context, db *sql.DB, n int) error {
	for _, statement := range []string{
		"BEGIN",
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
		INSERT INTO thread_sessions (thread_id, session_id) SELECT printf('%019d', i), 'ses_' || i FROM n`,
		`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
		INSERT INTO thread_workspaces (thread_id, workspace_type, status, project_directory, workspace_directory, workspace_name)
			SELECT printf('%019d', i), 'git', 'ready', '/src/project-' || (i / ?2), '/trees/' || i, 'threadtree/' || i FROM n`,
		`INSERT INTO threadtree_workspaces
			SELECT thread_id, created_at, workspace_id, workspace_type, project_directory, workspace_directory, workspace_name,
				status, error_message, 'name', 1, 'main', '0123456789', project_directory || '/.git', '', '', '', 'a', 'host', '/run/a', '', ''
			FROM thread_workspaces`,
		"DELETE FROM threadtree_unidentified",
		"COMMIT",
		"ANALYZE",
	} {
		if _, err := db.ExecContext(ctx, statement, n, perProject); err != nil {
			return err
		}
	}
	return nil
}

const byHand = `SELECT w.*, r.*, s.session_id FROM threadtree_workspaces r
	JOIN thread_workspaces w ON w.thread_id = r.thread_id
	JOIN thread_sessions s ON s.thread_id = r.thread_id WHERE `

// records measures one row, and those of one project, among all rows of a
// database, against a query for the same by hand.
func records(ctx context.Context, l *lab) (measured []samples, err error) {
	path := filepath.Join(l.path("store"), "threadtree.db")
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	db, err := sql.Open("sqlite3", "file:"+path+"?_stmt_cache_size=32")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if err := fill(ctx, db, l.rows); err != nil {
		return nil, err
	}
	query := func(want int, where string, arg string) error {
		rows, err := db.QueryContext(ctx, byHand+where, arg)
		if err != nil {
			return err
		}
		n, err := readAll(rows)
		if err == nil && n != want {
			err = fmt.Errorf("%d rows of %d by hand", n, want)
		}
		return err
	}
	measured = make([]samples, 2)
	for round := range l.rounds {
		err := measured[0].inTurns(round, func() error {
			for i := range gets {
				if _, err := store.Workspace(ctx, threadAt(i, l.rows)); err != nil {
					return err
				}
			}
			return nil
		}, func() error {
			for i := range gets {
				if err := query(1, "r.thread_id = ?", threadAt(i, l.rows)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		err = measured[1].inTurns(round, func() error {
			for i := range projects {
				dir := fmt.Sprintf("/src/project-%d", i*7%(l.rows/perProject))
				rows, err := store.ListWorkspaces(ctx, workspace.Query{ProjectID: dir + "/.git", ProjectDirectories: []string{dir}})
				if err == nil && len(rows) != perProject {
					err = fmt.Errorf("%d rows of a project", len(rows))
				}
				if err != nil {
					return err
				}
			}
			return nil
		}, func() error {
			for i := range projects {
				dir := fmt.Sprintf("/src/project-%d", i*7%(l.rows/perProject))
				if err := query(perProject, "r.project_id = ? ORDER BY w.created_at, w.thread_id", dir+"/.git"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return measured, nil
}

func threadAt(i, rows int) string { return fmt.Sprintf("%019d", i*7919%rows) }

// readAll reads all columns of all rows and counts the rows.
func readAll(rows *sql.Rows) (n int, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	values, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for ; rows.Next(); n++ {
		if err := rows.Scan(targets...); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}
