package storetest

import (
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// listed begins the rows of two projects.
func listed(t *testing.T, s workspace.Store) {
	t.Helper()
	for _, w := range listedRows() {
		begin(t, s, w)
	}
}

// listedRows returns rows of two projects: a, b and c have the identity
// /p/.git, other one of another project, and foreign1 and foreign2 none.
func listedRows() (rows []workspace.Workspace) {
	for _, r := range []struct {
		thread, id, spelling, directory string
		age                             time.Duration
	}{
		{"c", "/p/.git", "/p", "/trees/c", 0},
		{"b", "/p/.git", "/link/p", "/trees/b", time.Hour},
		{"a", "/p/.git", "/p", "/trees/shared", 0},
		{"other", "/q/.git", "/p", "/trees/shared", 2 * time.Hour},
		{"foreign1", "", "/p", "/trees/f1", 3 * time.Hour},
		{"foreign2", "", "/link/p", "", 4 * time.Hour},
	} {
		w := pending(r.thread, "attempt")
		w.ProjectID, w.ProjectDirectory, w.Directory = r.id, r.spelling, r.directory
		w.CreatedAt = created.Add(-r.age)
		rows = append(rows, w)
	}
	return rows
}

// listQueries select from [listedRows], in order.
var listQueries = []struct {
	name string
	q    workspace.Query
	want []string
}{
	{"nothing", workspace.Query{}, nil},
	{"all", workspace.Query{All: true}, []string{"foreign2", "foreign1", "other", "b", "a", "c"}},
	{"identity", workspace.Query{ProjectID: "/p/.git"}, []string{"b", "a", "c"}},
	{"unknown identity", workspace.Query{ProjectID: "/P/.git"}, nil},
	{"spelling", workspace.Query{ProjectDirectories: []string{"/p"}}, []string{"foreign1"}},
	{"spellings", workspace.Query{ProjectDirectories: []string{"/link/p", "/p", "/p"}}, []string{"foreign2", "foreign1"}},
	{"other spelling", workspace.Query{ProjectDirectories: []string{"/p/", ""}}, nil},
	{"directory", workspace.Query{Directory: "/trees/shared"}, []string{"other", "a"}},
	{"thread", workspace.Query{ThreadID: "b"}, []string{"b"}},
	{"other thread", workspace.Query{ThreadID: "d"}, nil},
	{"thread and directory", workspace.Query{ThreadID: "foreign2", Directory: "/trees/shared"}, []string{"foreign2", "other", "a"}},
	{"other directory", workspace.Query{Directory: "/trees"}, nil},
	{
		"together",
		workspace.Query{ProjectID: "/p/.git", ProjectDirectories: []string{"/p"}, Directory: "/trees/shared"},
		[]string{"foreign1", "other", "b", "a", "c"},
	},
}

var listTests = map[string]func(*testing.T, workspace.Store){
	"SelectsAndOrders": func(t *testing.T, s workspace.Store) {
		listed(t, s)
		for _, c := range listQueries {
			rows, err := s.ListWorkspaces(t.Context(), c.q)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			var got []string
			for _, w := range rows {
				got = append(got, w.ThreadID)
			}
			check(t, c.name, got, c.want)
		}
	},
	"RowsAreWhole": func(t *testing.T, s workspace.Store) {
		want := full("1")
		begin(t, s, want)
		putSession(t, s, workspace.Session{ThreadID: "1", ID: "ses_1"})
		want.SessionID = "ses_1"
		for _, q := range []workspace.Query{{All: true}, {ProjectID: want.ProjectID}, {Directory: want.Directory}} {
			rows, err := s.ListWorkspaces(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			check(t, "rows", rows, []workspace.Workspace{want})
		}
	},
	"EmptyStore": func(t *testing.T, s workspace.Store) {
		rows, err := s.ListWorkspaces(t.Context(), workspace.Query{All: true})
		if err != nil || len(rows) != 0 {
			t.Errorf("ListWorkspaces is %v, %v, want none", rows, err)
		}
		directories, err := s.ProjectDirectories(t.Context())
		if err != nil || len(directories) != 0 {
			t.Errorf("ProjectDirectories is %v, %v, want none", directories, err)
		}
	},
	"ProjectDirectories": func(t *testing.T, s workspace.Store) {
		listed(t, s)
		again := pending("foreign3", "a")
		again.ProjectID = ""
		again.ProjectDirectory = "/p"
		begin(t, s, again)
		for range 2 { // the second time with one row less of two, which changes nothing
			got, err := s.ProjectDirectories(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			check(t, "directories", got, []string{"/link/p", "/p"})
			_ = s.DeleteWorkspace(t.Context(), "foreign3", workspace.GuardOf(again))
		}
		w := get(t, s, "foreign2")
		if _, err := s.UpdateWorkspace(t.Context(), "foreign2", workspace.GuardOf(w), workspace.Change{ProjectID: ptr("/p/.git")}); err != nil {
			t.Fatal(err)
		}
		got, err := s.ProjectDirectories(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check(t, "directories after a row got its identity", got, []string{"/p"})
	},
}
