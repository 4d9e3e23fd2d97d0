package sqlite_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestSchemaIsGolden(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	open(t, path)
	got := strings.Join(query(t, path, "SELECT sql || ';' FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, name"), "\n\n") + "\n"
	golden := filepath.Join("testdata", "schema.golden.sql")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("schema (-want +got), -update accepts it:\n%s", diff)
	}
}

// Whatever the database was before, the tables have the same columns, and the
// same things hang on them.
func TestEveryFixtureGetsTheSameSchema(t *testing.T) {
	t.Parallel()
	const columns = `SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name IN ('thread_sessions', 'thread_workspaces', 'thread_worktrees', 'channel_directories', 'channel_worktrees')
		ORDER BY 1, 2`
	const attached = `SELECT type, name, tbl_name FROM sqlite_master WHERE name LIKE 'threadtree%' ORDER BY 1, 2`
	fresh := filepath.Join(t.TempDir(), "store.db")
	open(t, fresh)
	for _, name := range []string{"kimaki-0.17.sql", "kimaki-0.19.sql", "kimaki-null-status.sql"} {
		path := fixture(t, name)
		open(t, path)
		check(t, name+": columns", query(t, path, columns), query(t, fresh, columns))
		check(t, name+": attached", query(t, path, attached), query(t, fresh, attached))
	}
}

// Tables that the file had already are not made anew.
func TestKimakisTablesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	const theirs = `SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'threadtree%' AND name NOT LIKE 'sqlite%' ORDER BY 1`
	path := fixture(t, "kimaki-0.19.sql")
	before := query(t, path, theirs)
	open(t, path)
	check(t, "tables", query(t, path, theirs), before)
}
