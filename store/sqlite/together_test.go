package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// Several handles of one process open a database at once, and so set it up.
func TestManyHandlesOpenAtOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "kimaki-0.17.sql", "kimaki-0.19.sql"} {
		path := filepath.Join(t.TempDir(), "deep", "new.db")
		if name != "" {
			path = fixture(t, name)
		}
		var wg sync.WaitGroup
		stores := make([]*sqlite.Store, 8)
		for i := range stores {
			wg.Go(func() {
				var err error
				if stores[i], err = sqlite.Open(t.Context(), path); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		wg.Wait()
		for _, s := range stores {
			if s == nil {
				continue
			}
			if _, err := s.ListWorkspaces(t.Context(), workspace.Query{All: true}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		checkSetUpOnce(t, path)
	}
}

// Several handles of the caller's own are set up at once.
func TestManyCallersHandlesAtOnce(t *testing.T) {
	t.Parallel()
	path := fixture(t, "kimaki-0.17.sql")
	var wg sync.WaitGroup
	for range 8 {
		db := plain(t, path)
		wg.Go(func() {
			if _, err := sqlite.New(t.Context(), db); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	checkSetUpOnce(t, path)
}

func TestManyProcessesOpenAtOnce(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "kimaki-0.17.sql"} {
		path := filepath.Join(t.TempDir(), "new.db")
		if name != "" {
			path = fixture(t, name)
		}
		var wg sync.WaitGroup
		for range 4 {
			command := child(t, "open", path)
			wg.Go(func() {
				if out, err := command.CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", name, err, out)
				}
			})
		}
		wg.Wait()
		checkSetUpOnce(t, path)
	}
}

func checkSetUpOnce(t *testing.T, path string) {
	t.Helper()
	check(t, "migrations that ran", query(t, path, "SELECT version_id FROM threadtree_migrations ORDER BY id"), []string{"0", "1", "2"})
	check(t, "integrity", query(t, path, "PRAGMA integrity_check"), []string{"ok"})
}

// Processes write to one database, and each row of all is begun by one.
func TestManyProcessesWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	const processes = 4
	var wg sync.WaitGroup
	outs := make([]bytes.Buffer, processes)
	for i := range processes {
		command := child(t, "write", path)
		command.Stdout = &outs[i]
		wg.Go(func() {
			if err := command.Run(); err != nil {
				t.Errorf("process %d: %v: %s", i, err, outs[i].String())
			}
		})
	}
	wg.Wait()
	var won []string
	for i := range outs {
		for line := range strings.Lines(outs[i].String()) {
			if thread, ok := strings.CutPrefix(line, "won "); ok {
				won = append(won, strings.TrimSpace(thread))
			}
		}
	}
	slices.Sort(won)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
	}
	slices.Sort(want)
	check(t, "threads that one process began", won, want)
	s := open(t, path)
	if n := len(all(t, s)); n != processes*20+20 {
		t.Errorf("%d rows, want %d", n, processes*20+20)
	}
}

func TestNewLeavesTheHandleToItsOwner(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would be a database of its own
	s, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.BeginWorkspace(t.Context(), ours(), workspace.Guard{}); err != nil {
		t.Fatal(err)
	}
	check(t, "row", read(t, s), ours())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM thread_workspaces").Scan(&n); err != nil || n != 1 {
		t.Errorf("the caller's handle finds %d rows, %v, want 1", n, err)
	}
}
