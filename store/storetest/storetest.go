package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/threadtree/threadtree/workspace"
)

// Run tests everything that the doc comments of [workspace.Workspaces],
// [workspace.Sessions] and [workspace.Channels] promise, and those of
// [workspace.Notes] and [workspace.Trash] where the store has them. Open is called once for each
// test and returns a store with nothing in it; it closes the store by
// t.Cleanup. The tests run in parallel.
func Run(t *testing.T, open func(t *testing.T) workspace.Store) {
	t.Helper()
	groups := map[string]map[string]func(*testing.T, workspace.Store){
		"Begin":    beginTests,
		"Update":   updateTests,
		"Claim":    claimTests,
		"Delete":   deleteTests,
		"List":     listTests,
		"Revision": revisionTests,
		"Sessions": sessionTests,
		"Channels": channelTests,
		"Races":    raceTests,
		"Context":  contextTests,
	}
	for group, tests := range groups {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			for name, test := range tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, open(t))
				})
			}
		})
	}
	extra(t, "Notes", noteTests, open)
	extra(t, "Trash", trashTests, open)
	extra(t, "Restore", restoreTests, open)
	extra(t, "TrashRaces", trashRaceTests, open)
}

// extra tests an optional extra, where the store has it.
func extra[Extra any](t *testing.T, group string, tests map[string]func(*testing.T, Extra), open func(t *testing.T) workspace.Store) {
	t.Run(group, func(t *testing.T) {
		t.Parallel()
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s, ok := open(t).(Extra)
				if !ok {
					t.Skip("the store doesn't have that")
				}
				test(t, s)
			})
		}
	})
}

// created is before any clock, so that no store can have made it up.
var created = time.Date(2024, 2, 29, 13, 14, 15, 0, time.UTC)

// pending returns a row as the life cycle begins it.
func pending(threadID, attempt string) workspace.Workspace {
	return workspace.Workspace{
		ThreadID:         threadID,
		Provider:         workspace.ProviderGit,
		Name:             "name-" + threadID,
		Branch:           "threadtree/name-" + threadID,
		BranchCreated:    true,
		ProjectID:        "/src/project/.git",
		ProjectDirectory: "/src/project",
		Status:           workspace.StatusPending,
		CreatedAt:        created,
		Attempt:          workspace.Attempt{ID: attempt, Host: "host", Lock: "/run/" + attempt},
	}
}

// full returns a row in which no field is empty; its SessionID is that of a
// thread without a conversation.
func full(threadID string) workspace.Workspace {
	return workspace.Workspace{
		ThreadID:         threadID,
		Provider:         "provider of my own",
		ProviderID:       "wrk_1",
		Name:             "größe",
		Branch:           "threadtree/größe",
		BranchCreated:    true,
		Base:             "origin/main",
		BaseCommit:       "0123456789abcdef0123456789abcdef01234567",
		ProjectID:        "/src/a b/.git",
		ProjectDirectory: "/link/to/a b?%#/",
		Subdirectory:     "services/api",
		Directory:        "/home/worktrees/a b-01234567/größe\nline",
		Status:           workspace.StatusError,
		Error:            "git couldn't: \"quoted\"\nsecond line 'it''s'",
		ErrorCode:        workspace.ErrGitFailed,
		Warnings:         []string{"first", "", "third, with \"quotes\" and <tags>"},
		CreatedAt:        created,
		Attempt: workspace.Attempt{
			ID: "a-1", Host: "host.example", Lock: "/run/lock/a-1",
			Lease:     time.Date(2030, 1, 2, 3, 4, 5, 678901234, time.UTC),
			StartedAt: time.Date(2030, 1, 2, 3, 4, 1, 1, time.UTC),
		},
	}
}

// begin begins a row in an empty place.
func begin(t *testing.T, s workspace.Store, w workspace.Workspace) workspace.Workspace {
	t.Helper()
	row, err := s.BeginWorkspace(t.Context(), w, workspace.Guard{})
	if err != nil {
		t.Fatalf("BeginWorkspace(%s): %v", w.ThreadID, err)
	}
	return row
}

// get reads a row that must be there.
func get(t *testing.T, s workspace.Store, threadID string) workspace.Workspace {
	t.Helper()
	w, err := s.Workspace(t.Context(), threadID)
	if err != nil {
		t.Fatalf("Workspace(%s): %v", threadID, err)
	}
	return w
}

// check compares by value; an empty slice is as good as none.
func check[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// refused checks the code of a refusal, and that it wraps cause, if given.
func refused(t *testing.T, err error, code workspace.Code, cause error) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("error is %v (code %q), want code %q", err, workspace.CodeOf(err), code)
	}
	if cause != nil && !errors.Is(err, cause) {
		t.Errorf("error %v doesn't wrap %v", err, cause)
	}
	for _, other := range []error{workspace.ErrStale, workspace.ErrDeleted} {
		if !errors.Is(cause, other) && errors.Is(err, other) {
			t.Errorf("error %v wraps %v, which isn't so", err, other)
		}
	}
}

// inTheWay returns the workspace that an error carries.
func inTheWay(t *testing.T, err error) workspace.Workspace {
	t.Helper()
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok || e.Workspace == nil {
		t.Fatalf("error %v carries no workspace", err)
	}
	return *e.Workspace
}

func ptr[T any](v T) *T { return &v }

// ended returns a context that is cancelled.
func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
