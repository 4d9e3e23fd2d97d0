package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

const racers = 32

// race runs try at once in many goroutines and returns how many won.
func race(try func(i int) bool) int {
	var won atomic.Int32
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range racers {
		wg.Go(func() {
			<-start
			if try(i) {
				won.Add(1)
			}
		})
	}
	close(start)
	wg.Wait()
	return int(won.Load())
}

// refusedInRace is what goroutines may call.
func refusedInRace(t *testing.T, err error, code workspace.Code) {
	t.Helper()
	if !errors.Is(err, code) || !errors.Is(err, workspace.ErrStale) {
		t.Errorf("a loser got %v (code %q), want code %q and ErrStale", err, workspace.CodeOf(err), code)
	}
}

var raceTests = map[string]func(*testing.T, workspace.Store){
	"OneBeginsTheRow": func(t *testing.T, s workspace.Store) {
		won := race(func(i int) bool {
			_, err := s.BeginWorkspace(t.Context(), pending("1", fmt.Sprint(i)), workspace.Guard{})
			if err != nil {
				refusedInRace(t, err, workspace.ErrAlreadyExists)
			}
			return err == nil
		})
		if won != 1 {
			t.Errorf("%d began the row, want 1", won)
		}
	},
	"OneBeginsItAgain": func(t *testing.T, s workspace.Store) {
		w := begin(t, s, full("1"))
		won := race(func(i int) bool {
			_, err := s.BeginWorkspace(t.Context(), pending("1", fmt.Sprint(i)), workspace.GuardOf(w))
			if err != nil {
				refusedInRace(t, err, workspace.ErrInProgress)
			}
			return err == nil
		})
		if won != 1 {
			t.Errorf("%d began the row again, want 1", won)
		}
	},
	"OneTransitionWins": func(t *testing.T, s workspace.Store) {
		w := begin(t, s, pending("1", "a"))
		won := race(func(i int) bool {
			status := workspace.StatusReady
			if i%2 == 0 {
				status = workspace.StatusError
			}
			_, err := s.UpdateWorkspace(t.Context(), "1", workspace.GuardOf(w), workspace.Change{Status: &status})
			if err != nil {
				refusedInRace(t, err, workspace.ErrInProgress)
			}
			return err == nil
		})
		if won != 1 {
			t.Errorf("%d transitions were made, want 1", won)
		}
	},
	"OneClaimWins": func(t *testing.T, s workspace.Store) {
		for i := range racers {
			begin(t, s, pending(fmt.Sprint(i), "a"))
		}
		won := race(func(i int) bool {
			_, err := s.UpdateWorkspace(t.Context(), fmt.Sprint(i),
				workspace.Guard{Status: workspace.StatusPending, Attempt: "a"},
				claimOf("threadtree/fix", fmt.Sprintf("/trees/%d", i)))
			if err != nil && !errors.Is(err, workspace.ErrAlreadyExists) {
				t.Errorf("a loser got %v, want already_exists", err)
			}
			return err == nil
		})
		if won != 1 {
			t.Errorf("%d claimed the branch, want 1", won)
		}
	},
	"ThreadsDoNotDisturbEachOther": func(t *testing.T, s workspace.Store) {
		won := race(func(i int) bool {
			id := fmt.Sprint(i)
			if err := lifeOf(t.Context(), s, id); err != nil {
				t.Errorf("thread %s: %v", id, err)
				return false
			}
			return true
		})
		rows, err := s.ListWorkspaces(t.Context(), workspace.Query{All: true})
		if err != nil || won != racers || len(rows) != racers/2 {
			t.Errorf("%d of %d lived, %d rows are left of %d, %v", won, racers, len(rows), racers/2, err)
		}
	},
}

// lifeOf takes a thread through its life; every second one ends deleted.
func lifeOf(ctx context.Context, s workspace.Store, id string) error {
	w, err := s.BeginWorkspace(ctx, pending(id, "a"), workspace.Guard{})
	if err != nil {
		return err
	}
	if err := s.PutSession(ctx, workspace.Session{ThreadID: id, ID: "ses_" + id}); err != nil {
		return err
	}
	w, err = s.UpdateWorkspace(ctx, id, workspace.GuardOf(w), claimOf("branch-"+id, "/trees/"+id))
	if err != nil {
		return err
	}
	w, err = s.UpdateWorkspace(ctx, id, workspace.GuardOf(w), workspace.Change{Status: ptr(workspace.StatusReady)})
	if err != nil {
		return err
	}
	if w.SessionID != "ses_"+id || w.Directory != "/trees/"+id {
		return fmt.Errorf("row is %+v", w)
	}
	if id[len(id)-1]%2 == 0 {
		return s.DeleteWorkspace(ctx, id, workspace.GuardOf(w))
	}
	_, err = s.Workspace(ctx, id)
	return err
}

var contextTests = map[string]func(*testing.T, workspace.Store){
	"EndedLeavesEverythingAsItWas": func(t *testing.T, s workspace.Store) {
		ctx := ended(t)
		want := begin(t, s, pending("1", "a"))
		guard := workspace.GuardOf(want)
		calls := map[string]func() error{
			"BeginWorkspace": func() error { _, err := s.BeginWorkspace(ctx, pending("2", "a"), workspace.Guard{}); return err },
			"UpdateWorkspace": func() error {
				_, err := s.UpdateWorkspace(ctx, "1", guard, workspace.Change{Status: ptr(workspace.StatusReady)})
				return err
			},
			"DeleteWorkspace":    func() error { return s.DeleteWorkspace(ctx, "1", guard) },
			"Workspace":          func() error { _, err := s.Workspace(ctx, "1"); return err },
			"ListWorkspaces":     func() error { _, err := s.ListWorkspaces(ctx, workspace.Query{All: true}); return err },
			"ProjectDirectories": func() error { _, err := s.ProjectDirectories(ctx); return err },
			"Revision":           func() error { _, err := s.Revision(ctx); return err },
			"PutSession":         func() error { return s.PutSession(ctx, workspace.Session{ThreadID: "1", ID: "ses_1"}) },
			"PutChannel":         func() error { return s.PutChannel(ctx, workspace.Channel{ID: "1"}) },
		}
		for name, call := range calls {
			if err := call(); !errors.Is(err, context.Canceled) {
				t.Errorf("%s with an ended context: %v, want context.Canceled", name, err)
			}
		}
		check(t, "stored row", get(t, s, "1"), want)
		_, err := s.Workspace(t.Context(), "2")
		refused(t, err, workspace.ErrNotFound, nil)
		_, err = s.Channel(t.Context(), "1")
		refused(t, err, workspace.ErrNotFound, nil)
	},
	"CancelledMidwayIsWhollyOrNotAtAll": func(t *testing.T, s workspace.Store) {
		race(func(i int) bool {
			id := fmt.Sprint(i)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); cancel() }()
			_, err := s.BeginWorkspace(ctx, pending(id, "a"), workspace.Guard{})
			<-done
			w, errRow := s.Workspace(t.Context(), id)
			_, errSession := s.Session(t.Context(), id)
			switch {
			case (errRow == nil) != (errSession == nil):
				t.Errorf("thread %s: row %v, session %v: half of it was written", id, errRow, errSession)
			case errRow == nil && w.Attempt.ID != "a":
				t.Errorf("thread %s: the row is %+v", id, w)
			case err == nil && errRow != nil:
				t.Errorf("thread %s: begun, but its row: %v", id, errRow)
			}
			return err == nil
		})
	},
}
