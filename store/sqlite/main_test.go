package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// childTask names what the test binary has to do instead of testing, in a
// process of its own; the database's path is its argument.
const childTask = "STORE_SQLITE_CHILD"

func TestMain(m *testing.M) {
	tasks := map[string]func(path string) error{"open": childOpens, "lock": childLocks, "write": childWrites}
	task, ok := tasks[os.Getenv(childTask)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := task(os.Args[1]); err != nil {
		fmt.Println(workspace.CodeOf(err), err)
		os.Exit(1)
	}
	fmt.Println("done")
}

// child returns the command for a task in a process of its own.
func child(t *testing.T, task, path string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), binary, path)
	command.Env = append(os.Environ(), childTask+"="+task)
	return command
}

// childOpens opens the database and closes it again.
func childOpens(path string) error {
	s, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return err
	}
	return s.Close()
}

// childLocks locks the database, says so, and holds the lock until its input
// ends.
func childLocks(path string) error {
	db, err := sql.Open("sqlite3", "file:"+path+"?_txlock=exclusive")
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	fmt.Println("locked")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return tx.Rollback()
}

// childWrites opens the database, and makes and counts workspaces in it.
func childWrites(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer s.Close()
	for i := range 20 {
		id := fmt.Sprintf("%d-%d", os.Getpid(), i)
		w, err := s.BeginWorkspace(ctx, workspace.Workspace{ThreadID: id, Status: workspace.StatusPending}, workspace.Guard{})
		if err != nil {
			return err
		}
		if _, err := s.UpdateWorkspace(ctx, id, workspace.GuardOf(w), workspace.Change{Status: ptr(workspace.StatusReady)}); err != nil {
			return err
		}
		// The same thread in all processes: all but one find it begun.
		shared := fmt.Sprint(i)
		_, err = s.BeginWorkspace(ctx, workspace.Workspace{
			ThreadID: shared, Status: workspace.StatusReady, Attempt: workspace.Attempt{ID: fmt.Sprint(os.Getpid())},
		}, workspace.Guard{})
		if err == nil {
			fmt.Println("won", shared)
		} else if workspace.CodeOf(err) != workspace.ErrAlreadyExists {
			return err
		}
	}
	return nil
}
