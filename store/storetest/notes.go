package storetest

import (
	"bytes"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

func putNote(t *testing.T, s workspace.Notes, namespace, key, value string, version int64) int64 {
	t.Helper()
	next, err := s.PutNote(t.Context(), namespace, key, []byte(value), version)
	if err != nil {
		t.Fatalf("PutNote(%s, %s, %d): %v", namespace, key, version, err)
	}
	if next == 0 || next <= version {
		t.Errorf("version %d follows %d", next, version)
	}
	return next
}

func note(t *testing.T, s workspace.Notes, namespace, key string) workspace.Note {
	t.Helper()
	n, err := s.Note(t.Context(), namespace, key)
	if err != nil {
		t.Fatalf("Note(%s, %s): %v", namespace, key, err)
	}
	return n
}

var noteTests = map[string]func(*testing.T, workspace.Notes){
	"EveryFieldComesBack": func(t *testing.T, s workspace.Notes) {
		for key, value := range map[string][]byte{
			"text": []byte("größe"), "bytes": {0, 255, 0, 1}, "empty": {}, "none": nil,
		} {
			version, err := s.PutNote(t.Context(), "a/b", key, value, 0)
			if err != nil {
				t.Fatal(err)
			}
			got := note(t, s, "a/b", key)
			if !bytes.Equal(got.Value, value) || got.Namespace != "a/b" || got.Key != key || got.Version != version || got.UpdatedAt.IsZero() {
				t.Errorf("note %s is %+v, want %q at version %d", key, got, value, version)
			}
		}
	},
	"NotFound": func(t *testing.T, s workspace.Notes) {
		putNote(t, s, "n", "k", "v", 0)
		_, err := s.Note(t.Context(), "n", "other")
		refused(t, err, workspace.ErrNotFound, nil)
		_, err = s.Note(t.Context(), "other", "k")
		refused(t, err, workspace.ErrNotFound, nil)
	},
	"ComparesAndSets": func(t *testing.T, s workspace.Notes) {
		_, err := s.PutNote(t.Context(), "n", "k", []byte("x"), 7)
		refused(t, err, workspace.ErrInProgress, workspace.ErrStale)
		first := putNote(t, s, "n", "k", "1", 0)
		for _, version := range []int64{0, first + 1, first - 1} {
			_, err := s.PutNote(t.Context(), "n", "k", []byte("x"), version)
			refused(t, err, workspace.ErrInProgress, workspace.ErrStale)
		}
		second := putNote(t, s, "n", "k", "2", first)
		if got := note(t, s, "n", "k"); string(got.Value) != "2" || got.Version != second {
			t.Errorf("note is %q at version %d, want 2 at %d", got.Value, got.Version, second)
		}
	},
	"VersionsGrowAcrossDeletion": func(t *testing.T, s workspace.Notes) {
		version := putNote(t, s, "n", "k", "2", putNote(t, s, "n", "k", "1", 0))
		if err := s.DeleteNote(t.Context(), "n", "k", version); err != nil {
			t.Fatal(err)
		}
		_, err := s.PutNote(t.Context(), "n", "k", []byte("x"), version)
		refused(t, err, workspace.ErrInProgress, workspace.ErrStale)
		if next := putNote(t, s, "n", "k", "3", 0); next <= version {
			t.Errorf("version %d after deletion, was %d before", next, version)
		}
	},
	"DeleteComparesToo": func(t *testing.T, s workspace.Notes) {
		first := putNote(t, s, "n", "k", "1", 0)
		second := putNote(t, s, "n", "k", "2", first)
		refused(t, s.DeleteNote(t.Context(), "n", "k", first), workspace.ErrInProgress, workspace.ErrStale)
		for range 2 { // the second time there is none, which is no error
			if err := s.DeleteNote(t.Context(), "n", "k", second); err != nil {
				t.Fatal(err)
			}
			_, err := s.Note(t.Context(), "n", "k")
			refused(t, err, workspace.ErrNotFound, nil)
		}
	},
	"ListsByKey": func(t *testing.T, s workspace.Notes) {
		for _, key := range []string{"c", "a", "b"} {
			putNote(t, s, "n", key, "value of "+key, 0)
		}
		putNote(t, s, "n/sub", "d", "x", 0)
		notes, err := s.ListNotes(t.Context(), "n")
		if err != nil {
			t.Fatal(err)
		}
		var want []workspace.Note
		for _, key := range []string{"a", "b", "c"} {
			want = append(want, note(t, s, "n", key))
		}
		check(t, "notes", notes, want)
		notes, err = s.ListNotes(t.Context(), "other")
		if err != nil || len(notes) != 0 {
			t.Errorf("notes are %v, %v, want none", notes, err)
		}
	},
	"SharesNoMemory": func(t *testing.T, s workspace.Notes) {
		value := []byte("mine")
		if _, err := s.PutNote(t.Context(), "n", "k", value, 0); err != nil {
			t.Fatal(err)
		}
		value[0] = 'X'
		note(t, s, "n", "k").Value[1] = 'X'
		notes, err := s.ListNotes(t.Context(), "n")
		if err != nil || len(notes) != 1 {
			t.Fatalf("ListNotes: %v, %v", notes, err)
		}
		notes[0].Value[2] = 'X'
		if got := note(t, s, "n", "k").Value; string(got) != "mine" {
			t.Errorf("value is %q, want mine", got)
		}
	},
	"RaceHasOneWinnerAVersion": func(t *testing.T, s workspace.Notes) {
		version := putNote(t, s, "n", "k", "0", 0)
		won := race(func(int) bool {
			_, err := s.PutNote(t.Context(), "n", "k", []byte("x"), version)
			if err != nil {
				refusedInRace(t, err, workspace.ErrInProgress)
			}
			return err == nil
		})
		if won != 1 {
			t.Errorf("%d writers of one version won, want 1", won)
		}
	},
}
