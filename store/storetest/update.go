package storetest

import (
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

var updateTests = map[string]func(*testing.T, workspace.Store){
	"NothingChangesNothing": func(t *testing.T, s workspace.Store) {
		want := begin(t, s, full("1"))
		got, err := s.UpdateWorkspace(t.Context(), "1", workspace.GuardOf(want), workspace.Change{})
		if err != nil {
			t.Fatal(err)
		}
		check(t, "returned row", got, want)
		check(t, "stored row", get(t, s, "1"), want)
	},
	"EachFieldAlone": func(t *testing.T, s workspace.Store) {
		lease := time.Date(2031, 5, 6, 7, 8, 9, 10, time.UTC)
		changes := map[string]struct {
			change workspace.Change
			apply  func(*workspace.Workspace)
		}{
			"Status": {workspace.Change{Status: ptr(workspace.StatusReady)}, func(w *workspace.Workspace) { w.Status = workspace.StatusReady }},
			"Error":  {workspace.Change{Error: ptr("other")}, func(w *workspace.Workspace) { w.Error = "other" }},
			"ErrorCode": {workspace.Change{ErrorCode: ptr(workspace.ErrTimeout)}, func(w *workspace.Workspace) {
				w.ErrorCode = workspace.ErrTimeout
			}},
			"Provider":      {workspace.Change{Provider: ptr("other")}, func(w *workspace.Workspace) { w.Provider = "other" }},
			"ProviderID":    {workspace.Change{ProviderID: ptr("")}, func(w *workspace.Workspace) { w.ProviderID = "" }},
			"Name":          {workspace.Change{Name: ptr("other")}, func(w *workspace.Workspace) { w.Name = "other" }},
			"Branch":        {workspace.Change{Branch: ptr("other")}, func(w *workspace.Workspace) { w.Branch = "other" }},
			"BranchCreated": {workspace.Change{BranchCreated: ptr(false)}, func(w *workspace.Workspace) { w.BranchCreated = false }},
			"Base":          {workspace.Change{Base: ptr("other")}, func(w *workspace.Workspace) { w.Base = "other" }},
			"BaseCommit":    {workspace.Change{BaseCommit: ptr("")}, func(w *workspace.Workspace) { w.BaseCommit = "" }},
			"ProjectID":     {workspace.Change{ProjectID: ptr("/o/.git")}, func(w *workspace.Workspace) { w.ProjectID = "/o/.git" }},
			"Directory":     {workspace.Change{Directory: ptr("")}, func(w *workspace.Workspace) { w.Directory = "" }},
			"Warnings":      {workspace.Change{Warnings: ptr([]string{"w"})}, func(w *workspace.Workspace) { w.Warnings = []string{"w"} }},
			"NoWarnings":    {workspace.Change{Warnings: ptr([]string(nil))}, func(w *workspace.Workspace) { w.Warnings = nil }},
			"Lease":         {workspace.Change{Lease: &lease}, func(w *workspace.Workspace) { w.Attempt.Lease = lease }},
			"NoLease":       {workspace.Change{Lease: &time.Time{}}, func(w *workspace.Workspace) { w.Attempt.Lease = time.Time{} }},
		}
		for name, c := range changes {
			want := begin(t, s, full(name))
			got, err := s.UpdateWorkspace(t.Context(), name, workspace.GuardOf(want), c.change)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			c.apply(&want)
			check(t, name+": returned row", got, want)
			check(t, name+": stored row", get(t, s, name), want)
		}
	},
	"ReturnsTheSessionOfTheThread": func(t *testing.T, s workspace.Store) {
		w := begin(t, s, pending("1", "a"))
		putSession(t, s, workspace.Session{ThreadID: "1", ID: "ses_1"})
		got, err := s.UpdateWorkspace(t.Context(), "1", workspace.GuardOf(w), workspace.Change{Status: ptr(workspace.StatusReady)})
		if err != nil || got.SessionID != "ses_1" {
			t.Errorf("SessionID is %q, %v, want ses_1", got.SessionID, err)
		}
		if got := get(t, s, "1").SessionID; got != "ses_1" {
			t.Errorf("SessionID is %q, want ses_1", got)
		}
	},
	"WithoutARow": func(t *testing.T, s workspace.Store) {
		for _, guard := range []workspace.Guard{{}, {Status: workspace.StatusPending, Attempt: "a"}} {
			_, err := s.UpdateWorkspace(t.Context(), "1", guard, workspace.Change{Status: ptr(workspace.StatusReady)})
			refused(t, err, workspace.ErrNotFound, nil)
		}
	},
	"RefusesARowOfAnotherStatusOrAttempt": func(t *testing.T, s workspace.Store) {
		want := begin(t, s, pending("1", "a"))
		for _, guard := range []workspace.Guard{
			{},
			{Status: workspace.StatusReady, Attempt: "a"},
			{Status: workspace.StatusPending, Attempt: "b"},
			{Status: workspace.StatusPending},
		} {
			_, err := s.UpdateWorkspace(t.Context(), "1", guard, workspace.Change{Status: ptr(workspace.StatusReady)})
			refused(t, err, workspace.ErrInProgress, workspace.ErrStale)
			check(t, "stored row", get(t, s, "1"), want)
		}
	},
	"UnknownStatusIsRefused": func(t *testing.T, s workspace.Store) {
		want := begin(t, s, pending("1", "a"))
		if _, err := s.UpdateWorkspace(t.Context(), "1", workspace.GuardOf(want), workspace.Change{Status: ptr(workspace.Status("gone"))}); err == nil {
			t.Error("a status that isn't one was stored")
		}
		check(t, "stored row", get(t, s, "1"), want)
	},
	"ALateFinisherChangesNothing": func(t *testing.T, s workspace.Store) {
		first := begin(t, s, pending("1", "a"))
		failed, err := s.UpdateWorkspace(t.Context(), "1", workspace.GuardOf(first), workspace.Change{Status: ptr(workspace.StatusError)})
		if err != nil {
			t.Fatal(err)
		}
		second, err := s.BeginWorkspace(t.Context(), pending("1", "b"), workspace.GuardOf(failed))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.UpdateWorkspace(t.Context(), "1", workspace.GuardOf(first), workspace.Change{
			Status: ptr(workspace.StatusReady), Directory: ptr("/late"),
		})
		refused(t, err, workspace.ErrInProgress, workspace.ErrStale)
		check(t, "stored row", get(t, s, "1"), second)
	},
}
