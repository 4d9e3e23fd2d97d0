package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// discard moves a thread's workspace to the trash and returns the record.
func discard(t *testing.T, s *sqlite.Store, threadID string) workspace.Trashed {
	t.Helper()
	w, err := s.Workspace(t.Context(), threadID)
	if err != nil {
		t.Fatal(err)
	}
	record := workspace.Trashed{ID: "of " + threadID, Workspace: w, DeletedAt: created, Size: -1}
	if err := s.TrashWorkspace(t.Context(), threadID, workspace.GuardOf(w), record); err != nil {
		t.Fatal(err)
	}
	return record
}

// content returns all that the tables hold which a change of a workspace may
// touch.
func content(t *testing.T, path string) []string {
	t.Helper()
	var all []string
	for _, table := range []string{
		"thread_sessions", "thread_workspaces", "thread_worktrees", "threadtree_workspaces",
		"threadtree_unidentified", "threadtree_deleted", "threadtree_trash", "threadtree_counters",
	} {
		for _, line := range query(t, path, "SELECT * FROM "+table+" ORDER BY 1") {
			all = append(all, table+": "+line)
		}
	}
	return all
}

// breaking are the statements of a change that are made to fail, one a time.
func breaking(t *testing.T, path string, events []string, change func() error) {
	t.Helper()
	before := content(t, path)
	for _, event := range events {
		run(t, path, "CREATE TRIGGER breaks BEFORE "+event+" BEGIN SELECT RAISE(ABORT, 'broken'); END")
		if err := change(); !errors.Is(err, workspace.ErrStoreFailed) {
			t.Errorf("where %s fails: %v, want store_failed", event, err)
		}
		check(t, "content after "+event+" failed", content(t, path), before)
		run(t, path, "DROP TRIGGER breaks")
	}
	if err := change(); err != nil {
		t.Errorf("where nothing fails: %v", err)
	}
}

func TestTrashIsOneTransaction(t *testing.T) {
	t.Parallel()
	path := fixture(t, "kimaki-0.19.sql")
	s := open(t, path)
	w, err := s.Workspace(t.Context(), "both")
	if err != nil {
		t.Fatal(err)
	}
	breaking(t, path, []string{
		"DELETE ON thread_workspaces", "DELETE ON thread_worktrees",
		"INSERT ON threadtree_deleted", "INSERT ON threadtree_trash",
	}, func() error {
		return s.TrashWorkspace(t.Context(), "both", workspace.GuardOf(w), workspace.Trashed{ID: "x", Workspace: w})
	})
	for table, want := range map[string]string{"thread_workspaces": "0", "thread_worktrees": "0", "threadtree_trash": "1"} {
		check(t, "rows of "+table, query(t, path, "SELECT count(*) FROM "+table+" WHERE thread_id = 'both'"), []string{want})
	}
}

func TestRestoreIsOneTransaction(t *testing.T) {
	t.Parallel()
	path := fixture(t, "kimaki-0.19.sql")
	s := open(t, path)
	w := discard(t, s, "both").Workspace
	run(t, path, "UPDATE thread_sessions SET session_id = '' WHERE thread_id = 'both'")
	w.Attempt.ID = "r"
	breaking(t, path, []string{
		"UPDATE ON thread_sessions", "DELETE ON threadtree_trash", "DELETE ON threadtree_deleted",
		"INSERT ON thread_workspaces", "INSERT ON threadtree_workspaces",
	}, func() error {
		_, err := s.RestoreWorkspace(t.Context(), "of both", w)
		return err
	})
	got, err := s.Workspace(t.Context(), "both")
	if err != nil {
		t.Fatal(err)
	}
	check(t, "restored row", got, w)
	check(t, "session", query(t, path, "SELECT session_id, source FROM thread_sessions WHERE thread_id = 'both'"), []string{"ses_both|kimaki"})
}

func TestTrashedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kimaki-0.17.sql", "kimaki-0.19.sql"} {
		path := fixture(t, name)
		s := open(t, path)
		var want []workspace.Trashed
		for _, w := range all(t, s) {
			want = append(want, discard(t, s, w.ThreadID))
		}
		run(t, path, kimakiStart)
		again := open(t, path)
		check(t, name+": rows", all(t, again), nil)
		for _, record := range want {
			got, err := again.Trashed(t.Context(), record.ID)
			if err != nil {
				t.Fatal(err)
			}
			check(t, name+": record", got, record)
			if err := again.ForgetTrash(t.Context(), record.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := open(t, path).Workspace(t.Context(), record.Workspace.ThreadID); !errors.Is(err, workspace.ErrDeleted) {
				t.Errorf("%s: error is %v, want ErrDeleted", name, err)
			}
		}
	}
}

// Kimaki reads a restored workspace as it read it before.
func TestKimakiReadsARestoredRow(t *testing.T) {
	t.Parallel()
	const theirs = "SELECT * FROM thread_workspaces WHERE thread_id = 'new'"
	path := fixture(t, "kimaki-0.19.sql")
	s := open(t, path)
	before := query(t, path, theirs)
	record := discard(t, s, "new")
	w, err := s.RestoreWorkspace(t.Context(), record.ID, record.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "row", query(t, path, theirs), before)
	check(t, "returned row", w, record.Workspace)
	check(t, "broken references", query(t, path, "PRAGMA foreign_key_check"), nil)
	// A row that Kimaki removes was not deleted by us, whatever was before.
	run(t, path, "DELETE FROM thread_workspaces WHERE thread_id = 'new'")
	if _, err := s.Workspace(t.Context(), "new"); !errors.Is(err, workspace.ErrNotFound) || errors.Is(err, workspace.ErrDeleted) {
		t.Errorf("error is %v, want not_found alone", err)
	}
}

// Kimaki may give a thread a workspace while its last one is in the trash.
func TestKimakiBeginsWhatIsInTheTrash(t *testing.T) {
	t.Parallel()
	s, path := withRow(t, ours())
	record := discard(t, s, "t")
	run(t, path, kimakiPending)
	_, err := s.RestoreWorkspace(t.Context(), record.ID, record.Workspace)
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok || e.Code != workspace.ErrAlreadyExists || e.Workspace == nil {
		t.Fatalf("error is %v, want already_exists with a workspace", err)
	}
	check(t, "workspace in the way", *e.Workspace,
		kimakis("t", "", "again", "/src/project", "", workspace.StatusPending, e.Workspace.CreatedAt.Format(time.DateTime)))
	got, err := s.Trashed(t.Context(), record.ID)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "record", got, record)
}

// A database that a program with the first migration alone has set up and
// used is migrated on, with all that is in it.
func TestMigrateOnFromTheFirstSchema(t *testing.T) {
	t.Parallel()
	const version, attached = "SELECT MAX(version_id) FROM threadtree_migrations",
		"SELECT type, name, tbl_name FROM sqlite_master WHERE name LIKE 'threadtree%' ORDER BY 1, 2"
	fresh := filepath.Join(t.TempDir(), "store.db")
	open(t, fresh)
	for _, name := range []string{"", "kimaki-0.17.sql", "kimaki-0.19.sql", "kimaki-null-status.sql"} {
		path := filepath.Join(t.TempDir(), "store.db")
		if name != "" {
			path = fixture(t, name)
		}
		old := open(t, path, sqlite.WithFirstMigration())
		if _, err := old.BeginWorkspace(t.Context(), ours(), workspace.Guard{}); err != nil {
			t.Fatal(err)
		}
		if _, err := old.PutNote(t.Context(), "n", "k", []byte("v"), 0); err != nil {
			t.Fatal(err)
		}
		gone := ours()
		gone.ThreadID = "gone"
		if _, err := old.BeginWorkspace(t.Context(), gone, workspace.Guard{}); err != nil {
			t.Fatal(err)
		}
		if err := old.DeleteWorkspace(t.Context(), "gone", workspace.GuardOf(gone)); err != nil {
			t.Fatal(err)
		}
		rows := all(t, old)
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		check(t, name+": version before", query(t, path, version), []string{"1"})

		s := open(t, path)
		check(t, name+": version", query(t, path, version), []string{"2"})
		check(t, name+": attached", query(t, path, attached), query(t, fresh, attached))
		check(t, name+": rows", all(t, s), rows)
		if n, err := s.Note(t.Context(), "n", "k"); err != nil || string(n.Value) != "v" {
			t.Errorf("%s: note is %+v, %v, want v", name, n, err)
		}
		if _, err := s.Workspace(t.Context(), "gone"); !errors.Is(err, workspace.ErrDeleted) {
			t.Errorf("%s: error is %v, want ErrDeleted", name, err)
		}
		record := discard(t, s, "t")
		got, err := s.RestoreWorkspace(t.Context(), record.ID, record.Workspace)
		if err != nil {
			t.Fatal(err)
		}
		check(t, name+": restored row", got, ours())
		checkSetUpOnce(t, path)
	}
}

// A program with the first migration alone leaves the newer database alone.
func TestTheFirstSchemaDoesNotOpenTheSecond(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, filepath.Dir(path))
	_, err := sqlite.Open(t.Context(), path, sqlite.WithFirstMigration())
	fails(t, err, "newer threadtree")
	same(t, filepath.Dir(path), before)
}
