package storetest

import (
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

var beginTests = map[string]func(*testing.T, workspace.Store){
	"EveryFieldComesBack": func(t *testing.T, s workspace.Store) {
		want := full("1")
		check(t, "returned row", begin(t, s, want), want)
		check(t, "stored row", get(t, s, "1"), want)
	},
	"EmptyFieldsComeBackEmpty": func(t *testing.T, s workspace.Store) {
		want := workspace.Workspace{ThreadID: "1", Status: workspace.StatusReady, CreatedAt: created}
		check(t, "returned row", begin(t, s, want), want)
		check(t, "stored row", get(t, s, "1"), want)
	},
	"EveryProviderAndStatusComesBack": func(t *testing.T, s workspace.Store) {
		for _, provider := range []string{"git", "opencode", "kimaki", "adopted", "mine"} {
			for _, status := range []workspace.Status{"pending", "ready", "error"} {
				w := pending(provider+string(status), "a")
				w.Provider, w.Status = provider, status
				begin(t, s, w)
				check(t, "stored row", get(t, s, w.ThreadID), w)
			}
		}
	},
	"UnknownStatusIsRefused": func(t *testing.T, s workspace.Store) {
		w := pending("1", "a")
		w.Status = "deleted"
		if _, err := s.BeginWorkspace(t.Context(), w, workspace.Guard{}); err == nil {
			t.Error("a status that isn't one was stored")
		}
		_, err := s.Workspace(t.Context(), "1")
		refused(t, err, workspace.ErrNotFound, nil)
	},
	"TimesAreUTCAndCreatedAtWholeSeconds": func(t *testing.T, s workspace.Store) {
		w := pending("1", "a")
		w.CreatedAt = created.Add(987 * time.Millisecond).In(time.FixedZone("", 3600))
		w.Attempt.StartedAt = w.CreatedAt
		got := begin(t, s, w)
		if !got.CreatedAt.Equal(created) || got.CreatedAt.Location() != time.UTC {
			t.Errorf("CreatedAt is %v, want %v", got.CreatedAt, created)
		}
		if at := got.Attempt.StartedAt; !at.Equal(w.Attempt.StartedAt) || at.Location() != time.UTC {
			t.Errorf("StartedAt is %v, want %v", at, w.Attempt.StartedAt)
		}
		w = pending("2", "a")
		w.CreatedAt = time.Time{}
		got = begin(t, s, w)
		if got.CreatedAt.IsZero() || got.CreatedAt.Nanosecond() != 0 || got.CreatedAt.Location() != time.UTC {
			t.Errorf("CreatedAt is %v, want the present second in UTC", got.CreatedAt)
		}
		check(t, "stored row", get(t, s, "2"), got)
	},
	"MakesAnEmptySession": func(t *testing.T, s workspace.Store) {
		_, err := s.Session(t.Context(), "1")
		refused(t, err, workspace.ErrNotFound, nil)
		begin(t, s, pending("1", "a"))
		session, err := s.Session(t.Context(), "1")
		if err != nil {
			t.Fatal(err)
		}
		if session.ThreadID != "1" || session.ID != "" || session.CreatedAt.IsZero() {
			t.Errorf("session is %+v, want an empty one of thread 1", session)
		}
	},
	"KeepsTheSessionThatIsThere": func(t *testing.T, s workspace.Store) {
		putSession(t, s, workspace.Session{ThreadID: "1", ID: "ses_1", Source: "bot", ParentID: "ses_0"})
		w := pending("1", "a")
		w.SessionID = "not written here"
		if got := begin(t, s, w).SessionID; got != "ses_1" {
			t.Errorf("SessionID is %q, want ses_1", got)
		}
		session, err := s.Session(t.Context(), "1")
		if err != nil || session.ID != "ses_1" || session.Source != "bot" || session.ParentID != "ses_0" {
			t.Errorf("session is %+v, %v, want it as it was", session, err)
		}
	},
	"RowAlthoughNoneWasExpected": func(t *testing.T, s workspace.Store) {
		want := begin(t, s, pending("1", "a"))
		_, err := s.BeginWorkspace(t.Context(), pending("1", "b"), workspace.Guard{})
		refused(t, err, workspace.ErrAlreadyExists, workspace.ErrStale)
		check(t, "workspace in the way", inTheWay(t, err), want)
		check(t, "stored row", get(t, s, "1"), want)
	},
	"NoRowAlthoughOneWasExpected": func(t *testing.T, s workspace.Store) {
		_, err := s.BeginWorkspace(t.Context(), pending("1", "b"), workspace.Guard{Status: workspace.StatusError, Attempt: "a"})
		refused(t, err, workspace.ErrInProgress, workspace.ErrStale)
		_, err = s.Workspace(t.Context(), "1")
		refused(t, err, workspace.ErrNotFound, nil)
		_, err = s.Session(t.Context(), "1")
		refused(t, err, workspace.ErrNotFound, nil)
	},
	"ReplacesAMatchingRow": func(t *testing.T, s workspace.Store) {
		old := full("1")
		begin(t, s, old)
		want := pending("1", "b")
		want.CreatedAt = created.Add(time.Hour)
		got, err := s.BeginWorkspace(t.Context(), want, workspace.GuardOf(old))
		if err != nil {
			t.Fatal(err)
		}
		want.CreatedAt = created // of the first row
		check(t, "returned row", got, want)
		check(t, "stored row", get(t, s, "1"), want)
	},
	"RefusesARowOfAnotherStatusOrAttempt": func(t *testing.T, s workspace.Store) {
		want := begin(t, s, full("1"))
		for _, guard := range []workspace.Guard{
			{Status: workspace.StatusReady, Attempt: "a-1"},
			{Status: workspace.StatusError, Attempt: "a-2"},
			{Status: workspace.StatusError},
			{Attempt: "a-1"},
		} {
			_, err := s.BeginWorkspace(t.Context(), pending("1", "b"), guard)
			refused(t, err, workspace.ErrInProgress, workspace.ErrStale)
		}
		check(t, "stored row", get(t, s, "1"), want)
	},
	"SharesNoMemory": func(t *testing.T, s workspace.Store) {
		w := full("1")
		w.Warnings = []string{"mine"}
		got := begin(t, s, w)
		w.Warnings[0] = "changed by the caller"
		got.Warnings[0] = "changed by the caller"
		get(t, s, "1").Warnings[0] = "changed by a reader"
		rows, err := s.ListWorkspaces(t.Context(), workspace.Query{All: true})
		if err != nil || len(rows) != 1 {
			t.Fatalf("ListWorkspaces: %v, %v", rows, err)
		}
		rows[0].Warnings[0] = "changed by a lister"
		check(t, "warnings", get(t, s, "1").Warnings, []string{"mine"})
	},
}
