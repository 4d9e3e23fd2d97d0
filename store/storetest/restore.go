package storetest

import (
	"cmp"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// restored brings a row back from a record that is there.
func restored(t *testing.T, s trashStore, id string, w workspace.Workspace) workspace.Workspace {
	t.Helper()
	got, err := s.RestoreWorkspace(t.Context(), id, w)
	if err != nil {
		t.Fatalf("RestoreWorkspace(%s, %s): %v", id, w.ThreadID, err)
	}
	return got
}

// notRestored checks that a refused restore changed nothing.
func notRestored(t *testing.T, s trashStore, want workspace.Trashed, revisionBefore int64) {
	t.Helper()
	check(t, "record", inTrash(t, s, want.ID), want)
	if now := revision(t, s); now != revisionBefore {
		t.Errorf("the revision is %d, was %d before", now, revisionBefore)
	}
}

var restoreTests = map[string]func(*testing.T, trashStore){
	"WritesTheRowAndForgetsTheRecord": func(t *testing.T, s trashStore) {
		w := begin(t, s, full("1"))
		trash(t, s, "x", w)
		other := trash(t, s, "y", begin(t, s, pending("1", "b")))
		w.Directory, w.Branch, w.Warnings = "/trees/again", "threadtree/again", []string{"the name was taken"}
		w.Status, w.Attempt = workspace.StatusReady, workspace.Attempt{ID: "r", StartedAt: created.Add(time.Nanosecond)}
		w.SessionID = "not written here"
		before := revision(t, s)
		got := restored(t, s, "x", w)
		if after := revision(t, s); after <= before {
			t.Errorf("the revision is %d, was %d before", after, before)
		}
		w.SessionID = ""
		check(t, "returned row", got, w)
		check(t, "stored row", get(t, s, "1"), w)
		check(t, "the other record", inTrash(t, s, "y"), other)
		check(t, "records", trashIDs(t, s, workspace.Query{All: true}), []string{"y"})
	},
	"CreatedAtIsThatOfTheFirstRow": func(t *testing.T, s trashStore) {
		w := begin(t, s, pending("1", "a"))
		for _, at := range []time.Time{{}, created.AddDate(1, 0, 0)} {
			trash(t, s, "x", w)
			w.CreatedAt = at
			got := restored(t, s, "x", w)
			w.CreatedAt = created
			check(t, "returned row", got, w)
			check(t, "stored row", get(t, s, "1"), w)
		}
	},
	"CreatedAtThatIsNotKnown": func(t *testing.T, s trashStore) {
		w := begin(t, s, pending("1", "a"))
		unknown := w
		unknown.CreatedAt = time.Time{}
		trash(t, s, "x", w)
		if err := s.UpdateTrash(t.Context(), trashedOf("x", unknown)); err != nil {
			t.Fatal(err)
		}
		check(t, "returned row", restored(t, s, "x", w), w)
	},
	"ARestoredWorkspaceIsNotDeleted": func(t *testing.T, s trashStore) {
		w := begin(t, s, pending("1", "a"))
		trash(t, s, "x", w)
		restored(t, s, "x", w)
		get(t, s, "1")
		trash(t, s, "x", w) // and may be deleted again
		_, err := s.Workspace(t.Context(), "1")
		refused(t, err, workspace.ErrNotFound, workspace.ErrDeleted)
	},
	"LinksTheSessionAgain": func(t *testing.T, s trashStore) {
		for _, c := range []struct {
			name, then, now, want string
			forget                bool
		}{
			{name: "still there", then: "ses_1", want: "ses_1"},
			{name: "forgotten", then: "ses_1", forget: true, want: "ses_1"},
			{name: "another by now", then: "ses_1", now: "ses_2", want: "ses_2"},
			{name: "first one by now", now: "ses_2", want: "ses_2"},
			{name: "never one", want: ""},
			{name: "never one, forgotten", forget: true, want: ""},
		} {
			w := begin(t, s, pending(c.name, "a"))
			putSession(t, s, workspace.Session{ThreadID: c.name, ID: c.then, Source: "bot", ParentID: "ses_0", CreatedAt: created})
			w = get(t, s, c.name)
			trash(t, s, c.name, w)
			if c.forget {
				if err := s.DeleteSession(t.Context(), c.name); err != nil {
					t.Fatal(err)
				}
			}
			if c.now != "" {
				putSession(t, s, workspace.Session{ThreadID: c.name, ID: c.now, Source: "bot"})
			}
			w.SessionID = "not written here"
			got := restored(t, s, c.name, w)
			w.SessionID = c.want
			check(t, c.name+": returned row", got, w)
			check(t, c.name+": stored row", get(t, s, c.name), w)
			if got := session(t, s, c.name); got.ID != c.want || got.CreatedAt.IsZero() || !c.forget && got.Source != "bot" {
				t.Errorf("%s: session is %+v, want %q", c.name, got, c.want)
			}
		}
	},
	"FillsAnEmptySessionRow": func(t *testing.T, s trashStore) {
		putSession(t, s, workspace.Session{ThreadID: "1", ID: "ses_1", Source: "bot", CreatedAt: created})
		w := begin(t, s, pending("1", "a"))
		w.SessionID = "ses_1"
		if err := s.DeleteSession(t.Context(), "1"); err != nil { // leaves an empty row
			t.Fatal(err)
		}
		empty := session(t, s, "1")
		trash(t, s, "x", w)
		check(t, "returned row", restored(t, s, "x", w), w)
		got := session(t, s, "1")
		empty.ID, empty.UpdatedAt = "ses_1", got.UpdatedAt
		check(t, "session", got, empty)
		found, err := s.FindSession(t.Context(), "ses_1")
		if err != nil {
			t.Fatal(err)
		}
		check(t, "found session", found, got)
	},
	"AThreadThatHasARow": func(t *testing.T, s trashStore) {
		w := begin(t, s, pending("1", "a"))
		w.SessionID = "ses_1"
		record := trash(t, s, "x", w)
		present := begin(t, s, full("1"))
		before := revision(t, s)
		for _, id := range []string{"x", "none"} {
			_, err := s.RestoreWorkspace(t.Context(), id, w)
			refused(t, err, workspace.ErrAlreadyExists, workspace.ErrStale)
			check(t, "workspace in the way", inTheWay(t, err), present)
		}
		check(t, "stored row", get(t, s, "1"), present)
		notRestored(t, s, record, before)
	},
	"ClaimsBesideAnotherRow": func(t *testing.T, s trashStore) {
		for name, c := range claimCases {
			other, mine := c.rows(name)
			mine.SessionID = "ses_1"
			begin(t, s, mine)
			record := trash(t, s, name, mine)
			if err := s.DeleteSession(t.Context(), mine.ThreadID); err != nil {
				t.Fatal(err)
			}
			other = begin(t, s, other)
			before := revision(t, s)
			mine.Branch = *cmp.Or(c.change.Branch, &mine.Branch)
			mine.Directory = *cmp.Or(c.change.Directory, &mine.Directory)
			got, err := s.RestoreWorkspace(t.Context(), name, mine)
			// Unlike a change, a restore always claims.
			if !c.taken && c.change.Claim {
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				check(t, name+": returned row", got, mine)
				continue
			}
			if err == nil {
				t.Errorf("%s: the claim was written", name)
				continue
			}
			refused(t, err, workspace.ErrAlreadyExists, nil)
			check(t, name+": workspace in the way", inTheWay(t, err), other)
			notRestored(t, s, record, before)
			_, err = s.Workspace(t.Context(), mine.ThreadID)
			refused(t, err, workspace.ErrNotFound, workspace.ErrDeleted)
			_, err = s.Session(t.Context(), mine.ThreadID)
			refused(t, err, workspace.ErrNotFound, nil)
		}
	},
	"ARecordIsInNobodysWay": func(t *testing.T, s trashStore) {
		first, second := pending("1", "a"), pending("2", "a")
		claimed(&first)
		claimed(&second)
		begin(t, s, first)
		trash(t, s, "x", first)
		begin(t, s, second)
		trash(t, s, "y", second)
		restored(t, s, "x", first)
		_, err := s.RestoreWorkspace(t.Context(), "y", second)
		refused(t, err, workspace.ErrAlreadyExists, nil)
	},
	"UnknownStatusIsRefused": func(t *testing.T, s trashStore) {
		w := begin(t, s, pending("1", "a"))
		record := trash(t, s, "x", w)
		before := revision(t, s)
		w.Status = "deleted"
		_, err := s.RestoreWorkspace(t.Context(), "x", w)
		refused(t, err, workspace.ErrInternal, nil)
		notRestored(t, s, record, before)
	},
}
