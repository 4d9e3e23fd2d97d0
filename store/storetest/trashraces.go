package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

var trashRaceTests = map[string]func(*testing.T, trashStore){
	"OneTrashesTheRow": func(t *testing.T, s trashStore) {
		w := begin(t, s, pending("1", "a"))
		won := race(func(i int) bool {
			err := s.TrashWorkspace(t.Context(), "1", workspace.GuardOf(w), trashedOf(fmt.Sprint(i), w))
			if err != nil && !errors.Is(err, workspace.ErrNotFound) {
				t.Errorf("a loser got %v, want not_found", err)
			}
			return err == nil
		})
		if records := trashIDs(t, s, workspace.Query{All: true}); won != 1 || len(records) != 1 {
			t.Errorf("%d trashed the row, the records are %v, want 1", won, records)
		}
	},
	"OneRestoresTheRow": func(t *testing.T, s trashStore) {
		w := begin(t, s, pending("1", "a"))
		trash(t, s, "x", w)
		won := race(func(i int) bool {
			mine := w
			mine.Attempt.ID = fmt.Sprint(i)
			_, err := s.RestoreWorkspace(t.Context(), "x", mine)
			if err != nil {
				refusedInRace(t, err, workspace.ErrAlreadyExists)
			}
			return err == nil
		})
		if won != 1 {
			t.Errorf("%d restored the row, want 1", won)
		}
		check(t, "records", trashIDs(t, s, workspace.Query{All: true}), nil)
	},
	"OneOfSeveralRecordsIsRestored": func(t *testing.T, s trashStore) {
		for i := range racers {
			w := pending(fmt.Sprint(i), "a")
			claimed(&w)
			begin(t, s, w)
			trash(t, s, w.ThreadID, w)
		}
		won := race(func(i int) bool {
			w := pending(fmt.Sprint(i), "r")
			claimed(&w)
			_, err := s.RestoreWorkspace(t.Context(), w.ThreadID, w)
			if err != nil && !errors.Is(err, workspace.ErrAlreadyExists) {
				t.Errorf("a loser got %v, want already_exists", err)
			}
			return err == nil
		})
		records := trashIDs(t, s, workspace.Query{All: true})
		if won != 1 || len(records) != racers-1 {
			t.Errorf("%d were restored and %d records are left, want 1 and %d", won, len(records), racers-1)
		}
	},
	"RestoredOrBegunAnew": func(t *testing.T, s trashStore) {
		w := begin(t, s, pending("1", "a"))
		trash(t, s, "x", w)
		won := race(func(i int) (won bool) {
			var err error
			if i%2 == 0 {
				_, err = s.RestoreWorkspace(t.Context(), "x", w)
			} else {
				_, err = s.BeginWorkspace(t.Context(), pending("1", "b"), workspace.Guard{})
			}
			if err != nil {
				refusedInRace(t, err, workspace.ErrAlreadyExists)
			}
			return err == nil
		})
		if won != 1 {
			t.Errorf("%d got the thread, want 1", won)
		}
		kept := len(trashIDs(t, s, workspace.Query{All: true})) == 1
		if begun := get(t, s, "1").Attempt.ID == "b"; begun != kept {
			t.Errorf("begun anew: %v, and the record is kept: %v", begun, kept)
		}
	},
	"RestoredOrForgotten": func(t *testing.T, s trashStore) {
		race(func(i int) bool {
			id := fmt.Sprint(i)
			w := begin(t, s, pending(id, "a"))
			trash(t, s, id, w)
			forgotten := make(chan error)
			go func() { forgotten <- s.ForgetTrash(t.Context(), id) }()
			_, err := s.RestoreWorkspace(t.Context(), id, w)
			if err := <-forgotten; err != nil {
				t.Errorf("thread %s: ForgetTrash: %v", id, err)
			}
			_, errRow := s.Workspace(t.Context(), id)
			if (err == nil) != (errRow == nil) || err != nil && !errors.Is(err, workspace.ErrNotFound) {
				t.Errorf("thread %s: restoring: %v, the row: %v", id, err, errRow)
			}
			return err == nil
		})
		check(t, "records", trashIDs(t, s, workspace.Query{All: true}), nil)
	},
	"UpdatedOrRestoredNeverBoth": func(t *testing.T, s trashStore) {
		race(func(i int) bool {
			id := fmt.Sprint(i)
			w := begin(t, s, pending(id, "a"))
			record := trash(t, s, id, w)
			updated := make(chan error)
			go func() { updated <- s.UpdateTrash(t.Context(), record) }()
			if _, err := s.RestoreWorkspace(t.Context(), id, w); err != nil {
				t.Errorf("thread %s: %v", id, err)
			}
			if err := <-updated; err != nil && !errors.Is(err, workspace.ErrNotFound) {
				t.Errorf("thread %s: UpdateTrash: %v", id, err)
			}
			return true
		})
		check(t, "records", trashIDs(t, s, workspace.Query{All: true}), nil)
	},
	"EndedContextLeavesEverythingAsItWas": func(t *testing.T, s trashStore) {
		ctx := ended(t)
		w := begin(t, s, pending("1", "a"))
		gone := begin(t, s, pending("2", "a"))
		record := trash(t, s, "x", gone)
		before := revision(t, s)
		changed := record
		changed.Size = 7
		for name, call := range map[string]func() error{
			"TrashWorkspace":   func() error { return s.TrashWorkspace(ctx, "1", workspace.GuardOf(w), trashedOf("y", w)) },
			"Trashed":          func() error { _, err := s.Trashed(ctx, "x"); return err },
			"ListTrash":        func() error { _, err := s.ListTrash(ctx, workspace.Query{All: true}); return err },
			"UpdateTrash":      func() error { return s.UpdateTrash(ctx, changed) },
			"RestoreWorkspace": func() error { _, err := s.RestoreWorkspace(ctx, "x", gone); return err },
			"ForgetTrash":      func() error { return s.ForgetTrash(ctx, "x") },
		} {
			if err := call(); !errors.Is(err, context.Canceled) {
				t.Errorf("%s with an ended context: %v, want context.Canceled", name, err)
			}
		}
		check(t, "stored row", get(t, s, "1"), w)
		notRestored(t, s, record, before)
		check(t, "records", trashIDs(t, s, workspace.Query{All: true}), []string{"x"})
	},
	"CancelledMidwayIsWhollyOrNotAtAll": func(t *testing.T, s trashStore) {
		race(func(i int) bool {
			id := fmt.Sprint(i)
			w := begin(t, s, pending(id, "a"))
			there := true
			for range 4 {
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); cancel() }()
				var err error
				if there {
					err = s.TrashWorkspace(ctx, id, workspace.GuardOf(w), trashedOf(id, w))
				} else {
					_, err = s.RestoreWorkspace(ctx, id, w)
				}
				<-done
				_, errRow := s.Workspace(t.Context(), id)
				_, errRecord := s.Trashed(t.Context(), id)
				if (errRow == nil) == (errRecord == nil) || err == nil && (errRow == nil) == there {
					t.Errorf("thread %s: was there: %v, the call: %v, the row: %v, the record: %v", id, there, err, errRow, errRecord)
				}
				there = errRow == nil
			}
			return true
		})
	},
}
