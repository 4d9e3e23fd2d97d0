package storetest

import (
	"reflect"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// trashStore is a store that is a [workspace.Trash] as well.
type trashStore interface {
	workspace.Store
	workspace.Trash
}

// trashedOf returns a record of w in which no field is empty, beside those
// of w.
func trashedOf(id string, w workspace.Workspace) workspace.Trashed {
	at := time.Date(2029, 12, 31, 23, 59, 59, 987654321, time.UTC)
	return workspace.Trashed{
		ID: id, Workspace: w, DeletedAt: at,
		Kept: workspace.Kept{
			Ref: "refs/threadtree/trash/größe", Snapshot: "89abcdef", Tip: "01234567",
			Branch: "threadtree/caf\xe9", Directory: "/home/worktrees/.trash/\xff'\"\n\\n",
			Missing: []string{"vendor/lib is a repository", "", "line\nbreak, \"quotes\", \xfe and \\"},
		},
		DirectoryUntil: at.Add(time.Nanosecond), RestorableUntil: at.Add(time.Hour),
		Size: 1 << 40, MeasuredAt: at.Add(-time.Microsecond),
	}
}

// trash deletes a row that is there, and returns the record of it.
func trash(t *testing.T, s trashStore, id string, w workspace.Workspace) workspace.Trashed {
	t.Helper()
	record := trashedOf(id, w)
	if err := s.TrashWorkspace(t.Context(), w.ThreadID, workspace.GuardOf(w), record); err != nil {
		t.Fatalf("TrashWorkspace(%s, %s): %v", w.ThreadID, id, err)
	}
	return record
}

// inTrash reads a record that must be there.
func inTrash(t *testing.T, s trashStore, id string) workspace.Trashed {
	t.Helper()
	record, err := s.Trashed(t.Context(), id)
	if err != nil {
		t.Fatalf("Trashed(%s): %v", id, err)
	}
	return record
}

func trashIDs(t *testing.T, s trashStore, q workspace.Query) (ids []string) {
	t.Helper()
	records, err := s.ListTrash(t.Context(), q)
	if err != nil {
		t.Fatalf("ListTrash(%+v): %v", q, err)
	}
	for _, record := range records {
		ids = append(ids, record.ID)
	}
	return ids
}

// emptyFields returns the names of the fields that hold nothing.
func emptyFields(v reflect.Value) (names []string) {
	for i := range v.NumField() {
		switch field, name := v.Field(i), v.Type().Field(i).Name; {
		case field.IsZero():
			names = append(names, name)
		case field.Kind() == reflect.Struct && field.Type() != reflect.TypeFor[time.Time]():
			names = append(names, emptyFields(field)...)
		}
	}
	return names
}

var trashTests = map[string]func(*testing.T, trashStore){
	"EveryFieldComesBack": func(t *testing.T, s trashStore) {
		w := full("1")
		begin(t, s, w)
		w.SessionID, w.Directory, w.Warnings = "ses_1", "/home/caf\xe9", []string{"", "\xff\nof \"git\""}
		want := trash(t, s, "x", w)
		check(t, "fields that this test forgets", emptyFields(reflect.ValueOf(want)), nil)
		check(t, "record", inTrash(t, s, "x"), want)
		records, err := s.ListTrash(t.Context(), workspace.Query{All: true})
		if err != nil {
			t.Fatal(err)
		}
		check(t, "listed records", records, []workspace.Trashed{want})
	},
	"EmptyFieldsComeBackEmpty": func(t *testing.T, s trashStore) {
		w := begin(t, s, pending("1", "a"))
		want := workspace.Trashed{ID: "x", Workspace: workspace.Workspace{ThreadID: "1"}, Size: -1}
		if err := s.TrashWorkspace(t.Context(), "1", workspace.GuardOf(w), want); err != nil {
			t.Fatal(err)
		}
		check(t, "record", inTrash(t, s, "x"), want)
	},
	"TimesAreUTC": func(t *testing.T, s trashStore) {
		w := begin(t, s, pending("1", "a"))
		record := trashedOf("x", w)
		want := record.DeletedAt
		record.DeletedAt = want.In(time.FixedZone("", -7200))
		record.Workspace.CreatedAt = w.CreatedAt.Add(time.Millisecond).In(time.FixedZone("", 3600))
		if err := s.TrashWorkspace(t.Context(), "1", workspace.GuardOf(w), record); err != nil {
			t.Fatal(err)
		}
		got := inTrash(t, s, "x")
		for _, at := range []struct{ got, want time.Time }{{got.DeletedAt, want}, {got.Workspace.CreatedAt, w.CreatedAt}} {
			if !at.got.Equal(at.want) || at.got.Location() != time.UTC {
				t.Errorf("time is %v, want %v in UTC", at.got, at.want)
			}
		}
	},
	"RemovesTheRowAndRemembers": func(t *testing.T, s trashStore) {
		putSession(t, s, workspace.Session{ThreadID: "1", ID: "ses_1"})
		w := begin(t, s, pending("1", "a"))
		other := begin(t, s, pending("2", "a"))
		before := revision(t, s)
		trash(t, s, "x", w)
		if after := revision(t, s); after <= before {
			t.Errorf("the revision is %d, was %d before", after, before)
		}
		_, err := s.Workspace(t.Context(), "1")
		refused(t, err, workspace.ErrNotFound, workspace.ErrDeleted)
		check(t, "the other row", get(t, s, "2"), other)
		if got := session(t, s, "1"); got.ID != "ses_1" {
			t.Errorf("session is %+v, want ses_1", got)
		}
	},
	"RefusesWhatDeleteRefuses": func(t *testing.T, s trashStore) {
		err := s.TrashWorkspace(t.Context(), "1", workspace.Guard{}, trashedOf("x", pending("1", "a")))
		refused(t, err, workspace.ErrNotFound, nil)
		want := begin(t, s, pending("1", "a"))
		for _, guard := range []workspace.Guard{
			{},
			{Status: workspace.StatusError, Attempt: "a"},
			{Status: workspace.StatusPending, Attempt: "b"},
		} {
			err := s.TrashWorkspace(t.Context(), "1", guard, trashedOf("x", want))
			refused(t, err, workspace.ErrInProgress, workspace.ErrStale)
		}
		check(t, "stored row", get(t, s, "1"), want)
		check(t, "records", trashIDs(t, s, workspace.Query{All: true}), nil)
	},
	"RefusesARecordThatNobodyWouldFind": func(t *testing.T, s trashStore) {
		want := begin(t, s, pending("1", "a"))
		for _, record := range []workspace.Trashed{trashedOf("", want), trashedOf("x", pending("2", "a"))} {
			refused(t, s.TrashWorkspace(t.Context(), "1", workspace.GuardOf(want), record), workspace.ErrInternal, nil)
		}
		check(t, "stored row", get(t, s, "1"), want)
		check(t, "records", trashIDs(t, s, workspace.Query{All: true}), nil)
	},
	"AThreadMayHaveSeveral": func(t *testing.T, s trashStore) {
		first := trash(t, s, "x", begin(t, s, pending("1", "a")))
		second := trash(t, s, "y", begin(t, s, pending("1", "b")))
		check(t, "first record", inTrash(t, s, "x"), first)
		check(t, "second record", inTrash(t, s, "y"), second)
		check(t, "records", trashIDs(t, s, workspace.Query{ThreadID: "1"}), []string{"x", "y"})
	},
	"TheSameIDReplaces": func(t *testing.T, s trashStore) {
		trash(t, s, "x", begin(t, s, full("1")))
		want := trash(t, s, "x", begin(t, s, pending("2", "b")))
		check(t, "record", inTrash(t, s, "x"), want)
		check(t, "records", trashIDs(t, s, workspace.Query{All: true}), []string{"x"})
	},
	"ListSelectsAndOrders": func(t *testing.T, s trashStore) {
		for _, w := range listedRows() {
			begin(t, s, w)
			record := trashedOf(w.ThreadID, w)
			// The oldest rows were deleted last.
			record.DeletedAt = created.Add(created.Sub(w.CreatedAt))
			if err := s.TrashWorkspace(t.Context(), w.ThreadID, workspace.GuardOf(w), record); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range listQueries {
			check(t, c.name, trashIDs(t, s, c.q), c.want)
		}
	},
	"OrdersBySplitSeconds": func(t *testing.T, s trashStore) {
		for id, nanoseconds := range map[string]time.Duration{"a": 0, "b": 1, "c": 500_000_000, "d": 50_000_000, "e": 1_000_000_000} {
			w := begin(t, s, pending(id, "a"))
			record := trashedOf(id, w)
			record.DeletedAt = created.Add(nanoseconds)
			if err := s.TrashWorkspace(t.Context(), id, workspace.GuardOf(w), record); err != nil {
				t.Fatal(err)
			}
		}
		check(t, "records", trashIDs(t, s, workspace.Query{All: true}), []string{"e", "c", "d", "b", "a"})
	},
	"NotFound": func(t *testing.T, s trashStore) {
		trash(t, s, "x", begin(t, s, pending("1", "a")))
		for _, id := range []string{"", "1", "X"} {
			_, err := s.Trashed(t.Context(), id)
			refused(t, err, workspace.ErrNotFound, nil)
			refused(t, s.UpdateTrash(t.Context(), trashedOf(id, full("1"))), workspace.ErrNotFound, nil)
			_, err = s.RestoreWorkspace(t.Context(), id, pending("1", "b"))
			refused(t, err, workspace.ErrNotFound, nil)
		}
		check(t, "records", trashIDs(t, s, workspace.Query{All: true}), []string{"x"})
		_, err := s.Workspace(t.Context(), "1")
		refused(t, err, workspace.ErrNotFound, workspace.ErrDeleted)
	},
	"UpdateReplaces": func(t *testing.T, s trashStore) {
		other := trash(t, s, "y", begin(t, s, pending("2", "a")))
		trash(t, s, "x", begin(t, s, pending("1", "a")))
		want := trashedOf("x", full("1"))
		want.Kept.Directory, want.DirectoryUntil, want.Size = "", time.Time{}, -1
		if err := s.UpdateTrash(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		check(t, "record", inTrash(t, s, "x"), want)
		check(t, "the other record", inTrash(t, s, "y"), other)
	},
	"ForgottenButStillDeleted": func(t *testing.T, s trashStore) {
		other := trash(t, s, "y", begin(t, s, pending("2", "a")))
		trash(t, s, "x", begin(t, s, pending("1", "a")))
		for range 2 { // the second time there is none, which is no error
			if err := s.ForgetTrash(t.Context(), "x"); err != nil {
				t.Fatal(err)
			}
			_, err := s.Trashed(t.Context(), "x")
			refused(t, err, workspace.ErrNotFound, nil)
			_, err = s.Workspace(t.Context(), "1")
			refused(t, err, workspace.ErrNotFound, workspace.ErrDeleted)
		}
		check(t, "the other record", inTrash(t, s, "y"), other)
	},
	"SharesNoMemory": func(t *testing.T, s trashStore) {
		w := begin(t, s, pending("1", "a"))
		w.Warnings = []string{"mine"}
		record := trash(t, s, "x", w)
		want := trashedOf("x", w)
		want.Workspace.Warnings = []string{"mine"}
		for range 2 {
			spoil(record)
			spoil(inTrash(t, s, "x"))
			records, err := s.ListTrash(t.Context(), workspace.Query{All: true})
			if err != nil || len(records) != 1 {
				t.Fatalf("ListTrash: %v, %v", records, err)
			}
			spoil(records[0])
			check(t, "record", inTrash(t, s, "x"), want)
			record = inTrash(t, s, "x")
			if err := s.UpdateTrash(t.Context(), record); err != nil {
				t.Fatal(err)
			}
		}
	},
}

// spoil writes to what a caller might share with the store.
func spoil(record workspace.Trashed) {
	record.Workspace.Warnings[0], record.Kept.Missing[0] = "spoilt", "spoilt"
}
