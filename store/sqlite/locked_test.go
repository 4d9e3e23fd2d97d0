package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

func TestOpenALockedDatabase(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"rollback journal", "write-ahead log"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			path := fixture(t, "kimaki-0.17.sql")
			if mode == "write-ahead log" {
				inLogMode(t, path)
			}
			before := snapshot(t, filepath.Dir(path))
			unlock := lock(t, path)
			_, err := sqlite.Open(t.Context(), path, sqlite.WithBusyTimeout(20*time.Millisecond))
			fails(t, err, "another process")
			unlock()
			same(t, filepath.Dir(path), before)
			open(t, path)
		})
	}
}

// lock has another process lock the database, and returns what ends that.
func lock(t *testing.T, path string) (unlock func()) {
	t.Helper()
	command := child(t, "lock", path)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, len("locked\n"))
	if _, err := out.Read(said); err != nil || string(said) != "locked\n" {
		t.Fatalf("the other process said %q, %v", said, err)
	}
	return func() {
		t.Helper()
		_ = in.Close()
		if err := command.Wait(); err != nil {
			t.Error(err)
		}
	}
}

func TestADatabaseThatIsLockedLater(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, sqlite.WithBusyTimeout(20*time.Millisecond))
	patient := open(t, path, sqlite.WithBusyTimeout(time.Minute))
	unlock := lock(t, path)
	_, err := s.BeginWorkspace(t.Context(), ours(), workspace.Guard{})
	fails(t, err, "another process")
	if _, err := s.ListWorkspaces(t.Context(), workspace.Query{All: true}); err != nil {
		t.Errorf("readers wait for nobody: %v", err)
	}

	// A context ends the waiting, long before the time-out does.
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := patient.BeginWorkspace(ctx, ours(), workspace.Guard{})
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || !errors.Is(err, workspace.ErrTimeout) {
		t.Errorf("error is %v, want that of the context", err)
	}
	unlock()
	for _, s := range []*sqlite.Store{patient, s} {
		w := ours()
		w.ThreadID += time.Now().String()
		if _, err := s.BeginWorkspace(t.Context(), w, workspace.Guard{}); err != nil {
			t.Error(err)
		}
	}
	_, err = s.Workspace(t.Context(), "t")
	if !errors.Is(err, workspace.ErrNotFound) {
		t.Errorf("what was cancelled: %v, want not_found", err)
	}
}
