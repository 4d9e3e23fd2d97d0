package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// What Kimaki runs, by what is known of it.
const (
	kimakiPending = `BEGIN;
		INSERT OR IGNORE INTO thread_sessions (thread_id, session_id) VALUES ('t', '');
		INSERT INTO thread_workspaces (thread_id, workspace_type, workspace_name, project_directory, status)
			VALUES ('t', 'kimaki-worktree', 'opencode/kimaki-again', '/src/project', 'pending')
			ON CONFLICT (thread_id) DO UPDATE SET workspace_type = 'kimaki-worktree',
				workspace_name = 'opencode/kimaki-again', project_directory = '/src/project', status = 'pending',
				workspace_id = NULL, workspace_directory = NULL, error_message = NULL;
		COMMIT;`
	kimakiReady = `UPDATE thread_workspaces SET workspace_directory = '/data/worktrees/0123abcd/again',
		workspace_id = 'wrk_9', status = 'ready' WHERE thread_id = 't';`
	kimakiError = `UPDATE thread_workspaces SET status = 'error', error_message = 'kimaki gave up' WHERE thread_id = 't';`
	kimakiStart = `INSERT OR IGNORE INTO thread_workspaces
			(thread_id, workspace_id, workspace_type, status, error_message, project_directory, workspace_directory, workspace_name, created_at)
		SELECT thread_id, NULL, 'kimaki-worktree', status, error_message, project_directory, worktree_directory, worktree_name, created_at
		FROM thread_worktrees WHERE thread_id NOT IN (SELECT thread_id FROM thread_workspaces);`
	kimakiSession = `INSERT INTO thread_sessions (thread_id, session_id) VALUES ('t', 'ses_k')
		ON CONFLICT (thread_id) DO UPDATE SET session_id = 'ses_k';`
	kimakiDelete = `DELETE FROM thread_workspaces WHERE thread_id = 't';`
)

var created = time.Date(2024, 2, 29, 13, 14, 15, 0, time.UTC)

// ours is a row as we write it, with something in each field.
func ours() workspace.Workspace {
	return workspace.Workspace{
		ThreadID: "t", Provider: workspace.ProviderGit, Name: "fix", Branch: "threadtree/fix", BranchCreated: true,
		Base: "main", BaseCommit: "0123", ProjectID: "/src/project/.git", ProjectDirectory: "/src/project",
		Subdirectory: "sub", Directory: "/trees/fix", Status: workspace.StatusError, Error: "git failed",
		ErrorCode: workspace.ErrGitFailed, Warnings: []string{"w"}, CreatedAt: created,
		Attempt: workspace.Attempt{ID: "a", Host: "h", Lock: "/l", Lease: created, StartedAt: created},
	}
}

// withRow opens a new database with one row in it.
func withRow(t *testing.T, w workspace.Workspace) (*sqlite.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	if _, err := s.BeginWorkspace(t.Context(), w, workspace.Guard{}); err != nil {
		t.Fatal(err)
	}
	return s, path
}

func read(t *testing.T, s *sqlite.Store) workspace.Workspace {
	t.Helper()
	w, err := s.Workspace(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestKimakiReadsOurRows(t *testing.T) {
	t.Parallel()
	_, path := withRow(t, ours())
	check(t, "row", query(t, path, "SELECT * FROM thread_workspaces"), []string{
		"t|<nil>|git|error|git failed|/src/project|/trees/fix|threadtree/fix|2024-02-29 13:14:15",
	})
	w := ours()
	w.Status, w.Error, w.ErrorCode, w.Directory, w.ThreadID = workspace.StatusPending, "", "", "", "u"
	w.Provider = workspace.ProviderKimaki
	s := open(t, path)
	if _, err := s.BeginWorkspace(t.Context(), w, workspace.Guard{}); err != nil {
		t.Fatal(err)
	}
	check(t, "row", query(t, path, "SELECT * FROM thread_workspaces WHERE thread_id = 'u'"), []string{
		"u|<nil>|kimaki-worktree|pending|<nil>|/src/project|<nil>|threadtree/fix|2024-02-29 13:14:15",
	})
	check(t, "session", query(t, path, "SELECT session_id, source, last_synced_name, parent_session_id FROM thread_sessions WHERE thread_id = 'u'"),
		[]string{"|threadtree|<nil>|<nil>"})
}

func TestKimakiResetsOurRow(t *testing.T) {
	t.Parallel()
	reset := kimakis("t", "", "again", "/src/project", "", workspace.StatusPending, created.Format(time.DateTime))
	ready := reset
	ready.Status, ready.Directory, ready.ProviderID = workspace.StatusReady, "/data/worktrees/0123abcd/again", "wrk_9"
	failed := reset
	failed.Status, failed.Error = workspace.StatusError, "kimaki gave up"
	for name, c := range map[string]struct {
		statements string
		want       workspace.Workspace
	}{
		"pending":            {kimakiPending, reset},
		"pending then ready": {kimakiPending + kimakiReady, ready},
		"pending then error": {kimakiPending + kimakiError, failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := withRow(t, ours())
			before, err := s.Revision(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			run(t, path, c.statements)
			check(t, "row", read(t, s), c.want)
			if after, err := s.Revision(t.Context()); err != nil || after <= before {
				t.Errorf("revision is %d, %v, was %d before Kimaki wrote", after, err, before)
			}
			for what, q := range map[string]workspace.Query{
				"by spelling":  {ProjectDirectories: []string{"/src/project"}},
				"with another": {ProjectID: "/src/project/.git", ProjectDirectories: []string{"/src/project"}},
			} {
				rows, err := s.ListWorkspaces(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				check(t, "list "+what, rows, []workspace.Workspace{c.want})
			}
			rows, err := s.ListWorkspaces(t.Context(), workspace.Query{ProjectID: "/src/project/.git"})
			if err != nil || len(rows) != 0 {
				t.Errorf("by an identity that the row has no longer: %v, %v", rows, err)
			}
			directories, err := s.ProjectDirectories(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			check(t, "project directories", directories, []string{"/src/project"})
			// Our late finisher is refused, and we can take the row over.
			_, err = s.UpdateWorkspace(t.Context(), "t", workspace.GuardOf(ours()), workspace.Change{Status: ptr(workspace.StatusReady)})
			if !errors.Is(err, workspace.ErrStale) {
				t.Errorf("a late change of ours: %v, want ErrStale", err)
			}
			next := ours()
			next.Attempt.ID = "b"
			if _, err := s.BeginWorkspace(t.Context(), next, workspace.GuardOf(c.want)); err != nil {
				t.Fatal(err)
			}
			check(t, "row begun again", read(t, s), next)
		})
	}
}

func TestKimakiFinishesOurRow(t *testing.T) {
	t.Parallel()
	s, path := withRow(t, ours())
	run(t, path, kimakiError)
	w := ours()
	w.Error, w.ErrorCode = "kimaki gave up", "" // the code went with another error
	check(t, "row after Kimaki's error", read(t, s), w)
	run(t, path, kimakiReady)
	got := read(t, s)
	if got.Status != workspace.StatusReady || got.Directory != "/data/worktrees/0123abcd/again" || got.Attempt.ID != "" || got.ProjectID != "" {
		t.Errorf("row after Kimaki's ready is %+v, want one without a record", got)
	}
}

func TestKimakiDeletesOurRow(t *testing.T) {
	t.Parallel()
	s, path := withRow(t, ours())
	run(t, path, kimakiDelete)
	if _, err := s.Workspace(t.Context(), "t"); !errors.Is(err, workspace.ErrNotFound) {
		t.Errorf("error is %v, want not_found", err)
	}
	// A row that happens to be the same again has no record any more.
	run(t, path, `INSERT INTO thread_workspaces VALUES ('t', NULL, 'git', 'error', 'git failed', '/src/project', '/trees/fix', 'threadtree/fix', '2024-02-29 13:14:15')`)
	if got := read(t, s); got.Attempt.ID != "" || got.Name != "threadtree/fix" || got.BranchCreated {
		t.Errorf("row is %+v, want one without a record", got)
	}
}

func TestKimakiWritesASession(t *testing.T) {
	t.Parallel()
	s, path := withRow(t, ours())
	before, err := s.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(t, path, kimakiSession)
	if got := read(t, s).SessionID; got != "ses_k" {
		t.Errorf("SessionID is %q, want ses_k", got)
	}
	if after, err := s.Revision(t.Context()); err != nil || after <= before {
		t.Errorf("revision is %d, %v, was %d before", after, err, before)
	}
}

func TestDeletedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	path := fixture(t, "kimaki-0.19.sql")
	s := open(t, path)
	for _, thread := range []string{"old", "both", "new"} {
		w, err := s.Workspace(t.Context(), thread)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteWorkspace(t.Context(), thread, workspace.GuardOf(w)); err != nil {
			t.Fatal(err)
		}
	}
	run(t, path, kimakiStart)
	again := open(t, path)
	check(t, "rows", all(t, again), nil)
	_, err := again.Workspace(t.Context(), "old")
	if !errors.Is(err, workspace.ErrDeleted) {
		t.Errorf("error is %v, want ErrDeleted", err)
	}
}

func TestKimakiStartsOnOurFile(t *testing.T) {
	t.Parallel()
	s, path := withRow(t, ours())
	run(t, path, `INSERT INTO thread_sessions (thread_id, session_id) VALUES ('k', 'ses_k');
		INSERT INTO thread_worktrees (thread_id, worktree_name, project_directory, status)
		VALUES ('k', 'opencode/kimaki-k', '/src/project', 'pending');`+kimakiStart)
	check(t, "our row", read(t, s), ours())
	k, err := s.Workspace(t.Context(), "k")
	if err != nil || k.Provider != workspace.ProviderKimaki || k.Attempt != (workspace.Attempt{}) {
		t.Errorf("Kimaki's row is %+v, %v", k, err)
	}
}

// Kimaki makes a table anew when its columns change; what hung on it is lost.
func TestKimakiRebuildsItsTable(t *testing.T) {
	t.Parallel()
	s, path := withRow(t, ours())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	run(t, path, `PRAGMA foreign_keys = OFF;
		CREATE TABLE anew (thread_id TEXT PRIMARY KEY REFERENCES thread_sessions (thread_id) ON UPDATE CASCADE,
			workspace_id TEXT, workspace_type TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'pending', error_message TEXT,
			project_directory TEXT NOT NULL, workspace_directory TEXT, workspace_name TEXT NOT NULL,
			created_at DATETIME DEFAULT CURRENT_TIMESTAMP, colour TEXT);
		INSERT INTO anew SELECT *, NULL FROM thread_workspaces;
		DROP TABLE thread_workspaces;
		ALTER TABLE anew RENAME TO thread_workspaces;
		INSERT INTO thread_sessions (thread_id, session_id) VALUES ('k', '');
		INSERT INTO thread_workspaces (thread_id, workspace_type, workspace_name, project_directory)
			VALUES ('k', 'kimaki-worktree', 'opencode/kimaki-k', '/src/k');`)
	s = open(t, path)
	check(t, "our row", read(t, s), ours())
	directories, err := s.ProjectDirectories(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "project directories", directories, []string{"/src/k"})
	before, err := s.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(t, path, kimakiPending)
	if after, err := s.Revision(t.Context()); err != nil || after <= before {
		t.Errorf("revision is %d, %v, was %d before Kimaki wrote", after, err, before)
	}
}

func TestOtherTablesReferToASession(t *testing.T) {
	t.Parallel()
	s := open(t, fixture(t, "kimaki-0.17.sql"))
	if err := s.DeleteSession(t.Context(), "plain"); err != nil {
		t.Fatal(err)
	}
	session, err := s.Session(t.Context(), "plain")
	if err != nil || session.ID != "" {
		t.Errorf("session is %+v, %v, want an empty one", session, err)
	}
}

func TestUnknownStatusReadsAsError(t *testing.T) {
	t.Parallel()
	s, path := withRow(t, ours())
	run(t, path, `UPDATE thread_workspaces SET status = 'merged' WHERE thread_id = 't'`)
	w := read(t, s)
	if w.Status != workspace.StatusError || w.Error == "" || w.ErrorCode != "" {
		t.Errorf("row is %+v, want an error that names the status", w)
	}
	if err := s.DeleteWorkspace(t.Context(), "t", workspace.GuardOf(w)); err != nil {
		t.Error(err)
	}
}

// Only the type tells Kimaki's new beginning from our own pending row.
func TestKimakiResetsARowThatLooksAlike(t *testing.T) {
	t.Parallel()
	w := ours()
	w.Branch, w.Directory, w.Status, w.Error, w.ErrorCode = "opencode/kimaki-again", "", workspace.StatusPending, "", ""
	s, path := withRow(t, w)
	run(t, path, kimakiPending)
	check(t, "row", read(t, s),
		kimakis("t", "", "again", "/src/project", "", workspace.StatusPending, created.Format(time.DateTime)))
}
