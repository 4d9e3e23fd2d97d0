package sqlite

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

func TestTheTrashIsFoundByIndexes(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, q := range []workspace.Query{
		{},
		{ProjectID: "p"},
		{ProjectDirectories: []string{"a", "b"}},
		{Directory: "d"},
		{ThreadID: "t"},
		{ProjectID: "p", ProjectDirectories: []string{"a", "b"}, Directory: "d", ThreadID: "t"},
	} {
		where, args := trashQuery(q)
		found := planOf(t, s, selectTrash+where, args...)
		if strings.Contains(found, "SCAN threadtree_trash") && where != "FALSE" || !strings.Contains(found, "threadtree_trash") {
			t.Errorf("%+v is found by: %s", q, found)
		}
	}
}

// planOf returns how SQLite finds what a query selects.
func planOf(t *testing.T, s *Store, query string, args ...any) string {
	t.Helper()
	plan, err := collect(t.Context(), s.db, func(rows *sql.Rows) (step string, err error) {
		var id, parent, unused int
		err = rows.Scan(&id, &parent, &unused, &step)
		return step, err
	}, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "; ")
}

// TestWorkspacesAreFoundByIndexes has SQLite say how it finds one row, and the
// rows of a project, among any number: no table is read through but the rows
// that were picked.
func TestWorkspacesAreFoundByIndexes(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	queries := map[string][]any{selectRow: {"t"}}
	for _, q := range []workspace.Query{
		{ProjectID: "p"},
		{ProjectDirectories: []string{"a", "b"}},
		{Directory: "d"},
		{ThreadID: "t"},
		{ProjectID: "p", ProjectDirectories: []string{"a", "b"}, Directory: "d", ThreadID: "t"},
	} {
		query, args := listQuery(q)
		queries[query] = args
	}
	for query, args := range queries {
		found := planOf(t, s, query, args...)
		for step := range strings.SplitSeq(found, "; ") {
			if table, ok := strings.CutPrefix(step, "SCAN "); ok && !strings.HasPrefix(table, "p") && table != "CONSTANT ROW" {
				t.Errorf("%s\nis found by: %s", query, found)
			}
		}
		for _, table := range []string{"SEARCH w ", "SEARCH r ", "SEARCH s "} {
			if !strings.Contains(found, table) {
				t.Errorf("%s\nis found without %q: %s", query, table, found)
			}
		}
	}
}
