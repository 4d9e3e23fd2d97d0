//go:build unix

package sqlite_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// Whoever may not write to the file, or to its directory, gets an error, and
// everything stays as it is.
func TestOpenAReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"rollback journal", "write-ahead log"} {
		for name, c := range map[string]struct {
			file, directory os.FileMode
			about           string
		}{
			"file":               {0o444, 0o777, "read-only"},
			"file and directory": {0o444, 0o555, "read-only"},
			"directory":          {0o666, 0o555, "read-only"},
			"unreadable":         {0o000, 0o777, "read-only"},
		} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				t.Parallel()
				path := fixture(t, "kimaki-0.17.sql")
				if mode == "write-ahead log" {
					inLogMode(t, path)
				}
				before := snapshot(t, filepath.Dir(path))
				chmod(t, path, c.file)
				chmod(t, filepath.Dir(path), c.directory)
				err := openAsNobodySpecial(t, path)
				chmod(t, filepath.Dir(path), 0o777)
				chmod(t, path, 0o666)
				if !strings.Contains(err, string(workspace.ErrStoreFailed)) || !strings.Contains(err, c.about) {
					t.Errorf("error is %q, want store_failed about %q", err, c.about)
				}
				same(t, filepath.Dir(path), before)
			})
		}
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// openAsNobodySpecial opens the database as a user whom permissions bind, and
// returns what went wrong.
func openAsNobodySpecial(t *testing.T, path string) string {
	t.Helper()
	command := child(t, "open", path)
	if os.Geteuid() == 0 {
		// The directories of tests are for their owner alone.
		chmod(t, filepath.Dir(filepath.Dir(path)), 0o755)
		command.Path = publicBinary(t, command.Path)
		command.Dir = "/"
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}}
	}
	out, err := command.Output()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatal(err)
	}
	return string(out)
}

// publicBinary copies a program to where everybody may run it.
func publicBinary(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	chmod(t, filepath.Dir(directory), 0o755)
	copied := filepath.Join(directory, "child")
	// No process may be started while the file is open for writing: that one
	// would hold it open, and it could not be run.
	syscall.ForkLock.RLock()
	err = os.WriteFile(copied, content, 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// A handle of the caller's own that can't write says so as well.
func TestNewOnAReadOnlyHandle(t *testing.T) {
	t.Parallel()
	migrated := fixture(t, "kimaki-0.17.sql")
	db := plain(t, migrated)
	if _, err := sqlite.New(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fixture(t, "kimaki-0.17.sql"), fixture(t, "kimaki-null-status.sql"), migrated} {
		before := snapshot(t, filepath.Dir(path))
		for _, option := range []string{"mode=ro", "immutable=1", "_query_only=1"} {
			_, err := sqlite.New(t.Context(), plainWith(t, path, option))
			fails(t, err, "read-only")
		}
		same(t, filepath.Dir(path), before)
	}
}
