package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

const benchRows = `
	WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
	INSERT INTO thread_sessions (thread_id, session_id) SELECT printf('%019d', i), 'ses_' || i FROM n;
	WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
	INSERT INTO thread_workspaces (thread_id, workspace_type, status, project_directory, workspace_directory, workspace_name)
		SELECT printf('%019d', i), 'git', 'ready', '/src/project-' || (i / 50), '/trees/' || i, 'threadtree/' || i FROM n;
	INSERT INTO threadtree_workspaces
		SELECT thread_id, created_at, workspace_id, workspace_type, project_directory, workspace_directory, workspace_name,
			status, error_message, 'name', 1, 'main', '0123456789', project_directory || '/.git', '', '', '', 'a', 'host', '/run/a', '', ''
		FROM thread_workspaces;`

// BenchmarkListWorkspaces lists the 50 rows of one project among 100,000, and
// reports how many times as long that takes as a query by hand for the same.
func BenchmarkListWorkspaces(b *testing.B) {
	s, path := benchStore(b, benchRows+`DELETE FROM threadtree_unidentified;`)
	q := workspace.Query{ProjectID: "/src/project-777/.git", ProjectDirectories: []string{"/src/project-777", "/link/777"}}
	db := benchHandle(b, path)
	bare := func() int {
		rows, err := db.QueryContext(b.Context(), `SELECT w.*, r.*, s.session_id
			FROM threadtree_workspaces r
			JOIN thread_workspaces w ON w.thread_id = r.thread_id
			JOIN thread_sessions s ON s.thread_id = r.thread_id
			WHERE r.project_id = ? ORDER BY w.created_at, w.thread_id`, q.ProjectID)
		if err != nil {
			b.Fatal(err)
		}
		defer rows.Close()
		return benchScan(b, rows)
	}
	var ours, byHand time.Duration
	for b.Loop() {
		start := time.Now()
		rows, err := s.ListWorkspaces(b.Context(), q)
		ours += time.Since(start)
		if err != nil || len(rows) != 50 {
			b.Fatalf("%d rows, %v", len(rows), err)
		}
		start = time.Now()
		if n := bare(); n != 50 {
			b.Fatalf("%d rows by hand", n)
		}
		byHand += time.Since(start)
	}
	b.ReportMetric(float64(ours)/float64(byHand), "x-by-hand")
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "µs/list")
}

// BenchmarkWorkspace gets one row of 100,000, and reports how many times as long
// that takes as a query by hand for the same.
func BenchmarkWorkspace(b *testing.B) {
	s, path := benchStore(b, benchRows+`DELETE FROM threadtree_unidentified;`)
	db := benchHandle(b, path)
	var ours, byHand time.Duration
	for i := 0; b.Loop(); i++ {
		thread := fmt.Sprintf("%019d", i*7919%100_000)
		start := time.Now()
		w, err := s.Workspace(b.Context(), thread)
		ours += time.Since(start)
		if err != nil || w.ThreadID != thread || w.SessionID == "" {
			b.Fatalf("%+v, %v", w, err)
		}
		start = time.Now()
		rows, err := db.QueryContext(b.Context(), `SELECT w.*, r.*, s.session_id
			FROM thread_workspaces w
			LEFT JOIN threadtree_workspaces r ON r.thread_id = w.thread_id
			LEFT JOIN thread_sessions s ON s.thread_id = w.thread_id
			WHERE w.thread_id = ?`, thread)
		if err != nil {
			b.Fatal(err)
		}
		n := benchScan(b, rows)
		_ = rows.Close()
		byHand += time.Since(start)
		if n != 1 {
			b.Fatalf("%d rows by hand", n)
		}
	}
	b.ReportMetric(float64(ours)/float64(byHand), "x-by-hand")
}

// BenchmarkProjectDirectories finds 2,000 spellings of 100,000 rows without an
// identity, and none where all have one.
func BenchmarkProjectDirectories(b *testing.B) {
	for name, c := range map[string]struct {
		statements string
		want       int
	}{
		"identified":   {benchRows + `DELETE FROM threadtree_unidentified;`, 0},
		"unidentified": {benchRows + `DELETE FROM threadtree_workspaces;`, 2000},
	} {
		b.Run(name, func(b *testing.B) {
			s, _ := benchStore(b, c.statements)
			for b.Loop() {
				if directories, err := s.ProjectDirectories(b.Context()); err != nil || len(directories) != c.want {
					b.Fatalf("%d directories, %v", len(directories), err)
				}
			}
		})
	}
}

func benchStore(b *testing.B, statements string) (*sqlite.Store, string) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "store.db")
	s, err := sqlite.Open(b.Context(), path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	db := benchHandle(b, path)
	for _, statement := range []string{"BEGIN", statements, "COMMIT", "ANALYZE"} {
		if _, err := db.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	return s, path
}

func benchHandle(b *testing.B, path string) *sql.DB {
	b.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?_stmt_cache_size=32")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	return db
}

// benchScan reads all columns of all rows and counts the rows.
func benchScan(b *testing.B, rows *sql.Rows) int {
	b.Helper()
	columns, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	values, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	n := 0
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return n
}
