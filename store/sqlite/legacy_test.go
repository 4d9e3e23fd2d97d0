package sqlite_test

import (
	"testing"
	"time"

	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// kimakis returns a row as Kimaki's rows read.
func kimakis(threadID, sessionID, name, project, directory string, status workspace.Status, created string) workspace.Workspace {
	at, err := time.Parse(time.DateTime, created)
	if err != nil {
		panic(err)
	}
	return workspace.Workspace{
		ThreadID: threadID, SessionID: sessionID, Provider: workspace.ProviderKimaki,
		Name: name, Branch: "opencode/kimaki-" + name, BranchCreated: true,
		ProjectDirectory: project, Directory: directory, Status: status, CreatedAt: at,
	}
}

func all(t *testing.T, s *sqlite.Store) []workspace.Workspace {
	t.Helper()
	rows, err := s.ListWorkspaces(t.Context(), workspace.Query{All: true})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestOpenKimaki017(t *testing.T) {
	t.Parallel()
	path := fixture(t, "kimaki-0.17.sql")
	failed := kimakis("failed", "ses_failed", "broken", "/src/other", "", workspace.StatusError, "2025-01-02 03:04:07")
	failed.Error = "git said no"
	want := []workspace.Workspace{
		kimakis("ready", "ses_ready", "fix-login", "/src//project/", "/data/worktrees/0123abcd/fix-login", workspace.StatusReady, "2025-01-02 03:04:05"),
		kimakis("pending", "", "slow", "/src//project/", "", workspace.StatusPending, "2025-01-02 03:04:06"),
		failed,
	}
	for range 2 { // once migrated nothing changes any more
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		check(t, "rows", all(t, s), want)
		directories, err := s.ProjectDirectories(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, "project directories", directories, []string{"/src//project/", "/src/other"})
		channels, err := s.ListChannels(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		check(t, "channels", channels, []workspace.Channel{
			{ID: "c1", GuildID: "g1", Type: "text", Directory: "/src//project/", Automatic: true, CreatedAt: time.Date(2024, 12, 31, 23, 59, 59, 0, time.UTC)},
			{ID: "c2", Type: "voice", Directory: "/src/other", CreatedAt: time.Date(2024, 12, 31, 23, 59, 58, 0, time.UTC)},
		})
		session, err := s.Session(t.Context(), "ready")
		if err != nil {
			t.Fatal(err)
		}
		check(t, "session", session, workspace.Session{
			ThreadID: "ready", ID: "ses_ready", Source: "kimaki",
			CreatedAt: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC), UpdatedAt: time.Date(2025, 1, 2, 4, 0, 0, 0, time.UTC),
		})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	check(t, "another program's table", query(t, path, "SELECT * FROM bot_tokens"), []string{"app|not for us"})
	check(t, "the older table", query(t, path, "SELECT count(*) FROM thread_worktrees"), []string{"3"})
}

func TestOpenKimaki019(t *testing.T) {
	t.Parallel()
	path := fixture(t, "kimaki-0.19.sql")
	s := open(t, path)
	both := kimakis("both", "ses_both", "both", "/src/project", "", workspace.StatusError, "2025-06-02 03:04:05")
	both.Error = "later failed"
	made := kimakis("new", "ses_new", "new", "/src/project", "/data/worktrees/0123abcd/new", workspace.StatusReady, "2025-06-03 03:04:05")
	made.ProviderID = "wrk_1"
	check(t, "rows", all(t, s), []workspace.Workspace{
		kimakis("old", "ses_old", "old", "/src/project", "/data/worktrees/0123abcd/old", workspace.StatusReady, "2025-01-02 03:04:05"),
		both, // the row that was there wins over the older table's
		made,
	})
	check(t, "copied row", query(t, path, "SELECT workspace_id, workspace_type FROM thread_workspaces WHERE thread_id = 'old'"),
		[]string{"<nil>|kimaki-worktree"})
}

func TestOpenOldKimakiWithoutStatus(t *testing.T) {
	t.Parallel()
	path := fixture(t, "kimaki-null-status.sql")
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	s := open(t, path,
		sqlite.WithClock(func() time.Time { return now }),
		sqlite.WithJudge(func(project, directory, branch string) bool {
			return project == "/src/project" && directory == "/known" && branch == "opencode/kimaki-known"
		}))
	unknown := kimakis("unknown", "ses_unknown", "unknown", "/src/project", "/unknown", workspace.StatusError, "2024-05-06 07:08:10")
	unknown.Error = "the record says nothing of how it ended, and git has no worktree there"
	nowhere := kimakis("nowhere", "", "nowhere", "/src/project", "", workspace.StatusError, "2026-01-02 03:04:05")
	nowhere.Error = "went wrong"
	odd := kimakis("odd", "", "odd", "/src/project", "/odd", workspace.StatusError, "2024-05-06 07:08:13")
	odd.Error = `the record has the unknown status "merged"`
	check(t, "rows", all(t, s), []workspace.Workspace{
		kimakis("known", "ses_known", "known", "/src/project", "/known", workspace.StatusReady, "2024-05-06 07:08:09"),
		unknown,
		kimakis("orphan", "", "orphan", "/src/project", "/known", workspace.StatusReady, "2024-05-06 07:08:12"),
		odd,
		nowhere,
	})
	session, err := s.Session(t.Context(), "known")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	check(t, "session", session, workspace.Session{ThreadID: "known", ID: "ses_known", Source: "kimaki", CreatedAt: at, UpdatedAt: at})
	channel, err := s.Channel(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	check(t, "channel", channel, workspace.Channel{ID: "c1", Type: "text", Directory: "/src/project", CreatedAt: at})
	// The columns that were added can be written.
	if err := s.PutSession(t.Context(), workspace.Session{ThreadID: "known", ID: "s", ParentID: "p", LastSyncedName: "n"}); err != nil {
		t.Fatal(err)
	}
	if err := s.PutChannel(t.Context(), workspace.Channel{ID: "c1", GuildID: "g", Automatic: true}); err != nil {
		t.Fatal(err)
	}
	check(t, "broken references", query(t, path, "PRAGMA foreign_key_check"), nil)
}
