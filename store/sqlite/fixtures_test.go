package sqlite_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/store/sqlite"
)

// plain opens a database as another program would.
func plain(t *testing.T, path string) *sql.DB {
	t.Helper()
	return plainWith(t, path, "_foreign_keys=1")
}

// plainWith opens a database with an option of the driver.
func plainWith(t *testing.T, path, option string) *sql.DB {
	t.Helper()
	name := url.URL{Scheme: "file", Path: path, RawQuery: option}
	db, err := sql.Open("sqlite3", name.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// run executes statements as another program would.
func run(t *testing.T, path, statements string, args ...any) {
	t.Helper()
	db := plain(t, path)
	db.SetMaxOpenConns(1) // so that a pragma holds for the rest
	if _, err := db.ExecContext(t.Context(), statements, args...); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// fixture makes a database of the statements in a file of testdata.
func fixture(t *testing.T, name string) string {
	t.Helper()
	statements, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "discord-sessions.db")
	run(t, path, string(statements))
	return path
}

// open opens a database for the time of the test.
func open(t *testing.T, path string, opts ...sqlite.Option) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// query returns what a query selects, a text for each row.
func query(t *testing.T, path, statement string, args ...any) []string {
	t.Helper()
	db := plain(t, path)
	rows, err := db.QueryContext(t.Context(), statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		line := ""
		for i, v := range values {
			if b, ok := v.([]byte); ok {
				v = string(b)
			}
			if i > 0 {
				line += "|"
			}
			line += fmt.Sprint(v)
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// check compares by value.
func check[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func ptr[T any](v T) *T { return &v }
