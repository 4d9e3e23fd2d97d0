package storetest

import (
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

var deleteTests = map[string]func(*testing.T, workspace.Store){
	"RemovesTheRowAndRemembers": func(t *testing.T, s workspace.Store) {
		w := begin(t, s, pending("1", "a"))
		other := begin(t, s, pending("2", "a"))
		if err := s.DeleteWorkspace(t.Context(), "1", workspace.GuardOf(w)); err != nil {
			t.Fatal(err)
		}
		_, err := s.Workspace(t.Context(), "1")
		refused(t, err, workspace.ErrNotFound, workspace.ErrDeleted)
		check(t, "the other row", get(t, s, "2"), other)
		rows, err := s.ListWorkspaces(t.Context(), workspace.Query{All: true})
		if err != nil {
			t.Fatal(err)
		}
		check(t, "all rows", rows, []workspace.Workspace{other})
	},
	"NeverHadOneIsAnotherThing": func(t *testing.T, s workspace.Store) {
		_, err := s.Workspace(t.Context(), "1")
		refused(t, err, workspace.ErrNotFound, nil)
	},
	"TheSessionStays": func(t *testing.T, s workspace.Store) {
		putSession(t, s, workspace.Session{ThreadID: "1", ID: "ses_1"})
		w := begin(t, s, pending("1", "a"))
		if err := s.DeleteWorkspace(t.Context(), "1", workspace.GuardOf(w)); err != nil {
			t.Fatal(err)
		}
		if session, err := s.Session(t.Context(), "1"); err != nil || session.ID != "ses_1" {
			t.Errorf("session is %+v, %v, want ses_1", session, err)
		}
	},
	"WithoutARow": func(t *testing.T, s workspace.Store) {
		refused(t, s.DeleteWorkspace(t.Context(), "1", workspace.Guard{}), workspace.ErrNotFound, nil)
		w := begin(t, s, pending("1", "a"))
		if err := s.DeleteWorkspace(t.Context(), "1", workspace.GuardOf(w)); err != nil {
			t.Fatal(err)
		}
		refused(t, s.DeleteWorkspace(t.Context(), "1", workspace.GuardOf(w)), workspace.ErrNotFound, nil)
	},
	"RefusesARowOfAnotherStatusOrAttempt": func(t *testing.T, s workspace.Store) {
		want := begin(t, s, pending("1", "a"))
		for _, guard := range []workspace.Guard{
			{},
			{Status: workspace.StatusError, Attempt: "a"},
			{Status: workspace.StatusPending, Attempt: "b"},
		} {
			refused(t, s.DeleteWorkspace(t.Context(), "1", guard), workspace.ErrInProgress, workspace.ErrStale)
		}
		check(t, "stored row", get(t, s, "1"), want)
	},
	"ANewRowIsANewBeginning": func(t *testing.T, s workspace.Store) {
		w := begin(t, s, pending("1", "a"))
		if err := s.DeleteWorkspace(t.Context(), "1", workspace.GuardOf(w)); err != nil {
			t.Fatal(err)
		}
		next := pending("1", "b")
		next.CreatedAt = created.AddDate(1, 0, 0)
		check(t, "new row", begin(t, s, next), next)
		check(t, "stored row", get(t, s, "1"), next)
		if err := s.DeleteWorkspace(t.Context(), "1", workspace.GuardOf(next)); err != nil {
			t.Fatal(err)
		}
		_, err := s.Workspace(t.Context(), "1")
		refused(t, err, workspace.ErrNotFound, workspace.ErrDeleted)
	},
}
