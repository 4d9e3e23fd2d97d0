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
		plan, err := collect(t.Context(), s.db, func(rows *sql.Rows) (step string, err error) {
			var id, parent, unused int
			err = rows.Scan(&id, &parent, &unused, &step)
			return step, err
		}, "EXPLAIN QUERY PLAN "+selectTrash+where, args...)
		if err != nil {
			t.Fatal(err)
		}
		found := strings.Join(plan, "; ")
		if strings.Contains(found, "SCAN threadtree_trash") && where != "FALSE" || !strings.Contains(found, "threadtree_trash") {
			t.Errorf("%+v is found by: %s", q, found)
		}
	}
}
