package storetest

import (
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func putSession(t *testing.T, s workspace.Store, session workspace.Session) {
	t.Helper()
	if err := s.PutSession(t.Context(), session); err != nil {
		t.Fatalf("PutSession(%s): %v", session.ThreadID, err)
	}
}

func session(t *testing.T, s workspace.Store, threadID string) workspace.Session {
	t.Helper()
	got, err := s.Session(t.Context(), threadID)
	if err != nil {
		t.Fatalf("Session(%s): %v", threadID, err)
	}
	return got
}

var sessionTests = map[string]func(*testing.T, workspace.Store){
	"EveryFieldComesBack": func(t *testing.T, s workspace.Store) {
		want := workspace.Session{
			ThreadID: "1", ID: "ses_1", Source: "bot", ParentID: "ses_0", LastSyncedName: "größe 'x'", CreatedAt: created,
		}
		putSession(t, s, want)
		got := session(t, s, "1")
		if !got.UpdatedAt.After(created) {
			t.Errorf("UpdatedAt is %v, want the present", got.UpdatedAt)
		}
		want.UpdatedAt = got.UpdatedAt
		check(t, "session", got, want)
		found, err := s.FindSession(t.Context(), "ses_1")
		if err != nil {
			t.Fatal(err)
		}
		check(t, "found session", found, want)
	},
	"Defaults": func(t *testing.T, s workspace.Store) {
		putSession(t, s, workspace.Session{ThreadID: "1", UpdatedAt: created})
		got := session(t, s, "1")
		if got.Source != "threadtree" {
			t.Errorf("Source is %q, want threadtree", got.Source)
		}
		if got.CreatedAt.IsZero() || !got.UpdatedAt.After(created) {
			t.Errorf("times are %v and %v, want the present", got.CreatedAt, got.UpdatedAt)
		}
	},
	"ReplacingKeepsCreatedAt": func(t *testing.T, s workspace.Store) {
		putSession(t, s, workspace.Session{ThreadID: "1", ID: "ses_1", ParentID: "p", LastSyncedName: "n", Source: "x", CreatedAt: created})
		putSession(t, s, workspace.Session{ThreadID: "1", ID: "ses_2", CreatedAt: created.Add(time.Hour)})
		got := session(t, s, "1")
		check(t, "session", got, workspace.Session{
			ThreadID: "1", ID: "ses_2", Source: "threadtree", CreatedAt: created, UpdatedAt: got.UpdatedAt,
		})
		_, err := s.FindSession(t.Context(), "ses_1")
		refused(t, err, workspace.ErrNotFound, nil)
	},
	"NotFound": func(t *testing.T, s workspace.Store) {
		begin(t, s, pending("1", "a")) // has a session without an id
		_, err := s.Session(t.Context(), "2")
		refused(t, err, workspace.ErrNotFound, nil)
		for _, id := range []string{"", "ses_1"} {
			_, err = s.FindSession(t.Context(), id)
			refused(t, err, workspace.ErrNotFound, nil)
		}
	},
	"FindsTheNewestOfSeveral": func(t *testing.T, s workspace.Store) {
		for i, thread := range []string{"b", "c", "a"} {
			putSession(t, s, workspace.Session{ThreadID: thread, ID: "ses_1", CreatedAt: created.Add(time.Duration(i) * time.Hour)})
		}
		got, err := s.FindSession(t.Context(), "ses_1")
		if err != nil || got.ThreadID != "a" {
			t.Errorf("found that of thread %q, %v, want a", got.ThreadID, err)
		}
	},
	"DeleteForgets": func(t *testing.T, s workspace.Store) {
		putSession(t, s, workspace.Session{ThreadID: "1", ID: "ses_1"})
		for range 2 { // the second time there is none, which is no error
			if err := s.DeleteSession(t.Context(), "1"); err != nil {
				t.Fatal(err)
			}
			_, err := s.Session(t.Context(), "1")
			refused(t, err, workspace.ErrNotFound, nil)
		}
	},
	"DeleteLeavesAnEmptyRowForAWorkspace": func(t *testing.T, s workspace.Store) {
		putSession(t, s, workspace.Session{ThreadID: "1", ID: "ses_1", ParentID: "p", LastSyncedName: "n", CreatedAt: created})
		w := begin(t, s, pending("1", "a"))
		if err := s.DeleteSession(t.Context(), "1"); err != nil {
			t.Fatal(err)
		}
		got := session(t, s, "1")
		check(t, "session", got, workspace.Session{
			ThreadID: "1", Source: "threadtree", CreatedAt: created, UpdatedAt: got.UpdatedAt,
		})
		w.SessionID = ""
		check(t, "workspace", get(t, s, "1"), w)
		_, err := s.FindSession(t.Context(), "ses_1")
		refused(t, err, workspace.ErrNotFound, nil)
	},
}
