package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

func Example() {
	if err := remember(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ready /worktrees/fix-login
	// deleted: true
}

func remember() error {
	ctx := context.Background()
	directory, err := os.MkdirTemp("", "store")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)

	store, err := sqlite.Open(ctx, filepath.Join(directory, "threadtree.db"))
	if err != nil {
		return err
	}
	defer store.Close()

	w, err := store.BeginWorkspace(ctx, workspace.Workspace{
		ThreadID:  "42",
		Branch:    "threadtree/fix-login",
		ProjectID: "/src/shop/.git",
		Status:    workspace.StatusPending,
		Attempt:   workspace.Attempt{ID: "first"},
	}, workspace.Guard{})
	if err != nil {
		return err
	}
	ready, tree := workspace.StatusReady, "/worktrees/fix-login"
	if _, err := store.UpdateWorkspace(ctx, "42", workspace.GuardOf(w), workspace.Change{Status: &ready, Directory: &tree}); err != nil {
		return err
	}

	rows, err := store.ListWorkspaces(ctx, workspace.Query{ProjectID: "/src/shop/.git"})
	if err != nil {
		return err
	}
	for _, w := range rows {
		fmt.Println(w.Status, w.Directory)
		if err := store.DeleteWorkspace(ctx, w.ThreadID, workspace.GuardOf(w)); err != nil {
			return err
		}
	}
	rows, err = store.ListWorkspaces(ctx, workspace.Query{All: true})
	fmt.Println("deleted:", len(rows) == 0)
	return err
}
