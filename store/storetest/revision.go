package storetest

import (
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

var revisionTests = map[string]func(*testing.T, workspace.Store){
	"GrowsWithEachWrite": func(t *testing.T, s workspace.Store) {
		ctx := t.Context()
		w := pending("1", "a")
		steps := []struct {
			name string
			do   func() error
		}{
			{"begin", func() error { _, err := s.BeginWorkspace(ctx, w, workspace.Guard{}); return err }},
			{"begin again", func() error { _, err := s.BeginWorkspace(ctx, w, workspace.GuardOf(w)); return err }},
			{"lease", func() error {
				_, err := s.UpdateWorkspace(ctx, "1", workspace.GuardOf(w), workspace.Change{Lease: &created})
				return err
			}},
			{"base", func() error {
				_, err := s.UpdateWorkspace(ctx, "1", workspace.GuardOf(w), workspace.Change{Base: ptr("main")})
				return err
			}},
			{"session", func() error { return s.PutSession(ctx, workspace.Session{ThreadID: "1", ID: "ses_1"}) }},
			{"session again", func() error { return s.PutSession(ctx, workspace.Session{ThreadID: "1", ID: "ses_2"}) }},
			{"session emptied", func() error { return s.DeleteSession(ctx, "1") }},
			{"delete", func() error { return s.DeleteWorkspace(ctx, "1", workspace.GuardOf(w)) }},
			{"session removed", func() error { return s.DeleteSession(ctx, "1") }},
		}
		last := revision(t, s)
		for _, step := range steps {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			now := revision(t, s)
			if now <= last {
				t.Errorf("after %s the revision is %d, was %d before", step.name, now, last)
			}
			last = now
		}
	},
	"StaysWhileNothingIsWritten": func(t *testing.T, s workspace.Store) {
		w := begin(t, s, pending("1", "a"))
		before := revision(t, s)
		get(t, s, "1")
		if _, err := s.ListWorkspaces(t.Context(), workspace.Query{All: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.BeginWorkspace(t.Context(), w, workspace.Guard{}); err == nil {
			t.Fatal("a second row was begun")
		}
		if after := revision(t, s); after != before {
			t.Errorf("the revision is %d, was %d before reading", after, before)
		}
	},
}

func revision(t *testing.T, s workspace.Store) int64 {
	t.Helper()
	r, err := s.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}
