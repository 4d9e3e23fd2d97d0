package memory_test

import (
	"context"
	"fmt"
	"time"

	"github.com/threadtree/threadtree/store/memory"
	"github.com/threadtree/threadtree/workspace"
)

func Example() {
	ctx := context.Background()
	store := memory.New()
	store.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

	w, err := store.BeginWorkspace(ctx, workspace.Workspace{
		ThreadID: "42",
		Branch:   "threadtree/fix-login",
		Status:   workspace.StatusPending,
		Attempt:  workspace.Attempt{ID: "first"},
	}, workspace.Guard{})
	if err != nil {
		fmt.Println(err)
		return
	}

	ready, directory := workspace.StatusReady, "/worktrees/fix-login"
	w, err = store.UpdateWorkspace(ctx, "42", workspace.GuardOf(w), workspace.Change{
		Status: &ready, Directory: &directory,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w.Status, w.Directory, w.CreatedAt.Format(time.DateTime))

	// Whoever still thinks that it is pending changes nothing.
	_, err = store.UpdateWorkspace(ctx, "42", workspace.Guard{Status: workspace.StatusPending, Attempt: "first"}, workspace.Change{})
	fmt.Println(workspace.CodeOf(err))
	// Output:
	// ready /worktrees/fix-login 2026-01-02 03:04:05
	// in_progress
}
