package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// snapshot returns every file of a directory with its content. Nobody may have
// the database open.
func snapshot(t *testing.T, directory string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// same checks that a directory holds what it held.
func same(t *testing.T, directory string, before map[string]string) {
	t.Helper()
	after := snapshot(t, directory)
	for path, content := range after {
		if was, ok := before[path]; !ok {
			t.Errorf("%s is new", path)
		} else if was != content {
			t.Errorf("%s was changed", path)
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			t.Errorf("%s is gone", path)
		}
	}
}

// fails checks that an error tells what is the matter, and what to do.
func fails(t *testing.T, err error, about string) {
	t.Helper()
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok || e.Code != workspace.ErrStoreFailed || !strings.Contains(e.Message, about) || e.Hint == "" {
		t.Errorf("error is %#v, want store_failed about %q, with a hint", err, about)
	}
}

// inLogMode brings a fixture into the journal mode that Kimaki uses.
func inLogMode(t *testing.T, path string) {
	t.Helper()
	run(t, path, "PRAGMA journal_mode = WAL")
}

func TestOpenWhatIsNoDatabase(t *testing.T) {
	t.Parallel()
	for name, content := range map[string][]byte{
		"a word":    []byte("hello"),
		"text":      bytes.Repeat([]byte("this is not a database\n"), 1000),
		"zeros":     make([]byte, 8192),
		"a newline": []byte("\n"),
		"half page": bytes.Repeat([]byte("no database\n"), 20),
		"odd text":  bytes.Repeat([]byte("no database\n"), 1001),
		"one byte":  {0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			path := filepath.Join(directory, "file.db")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, directory)
			_, err := sqlite.Open(t.Context(), path)
			fails(t, err, "not an SQLite database")
			same(t, directory, before)
		})
	}
}

func TestOpenADamagedDatabase(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"rollback journal", "write-ahead log"} {
		for name, damage := range map[string]func(content []byte) []byte{
			"cut by a page": func(content []byte) []byte { return content[:len(content)-4096] },
			"cut by a byte": func(content []byte) []byte { return content[:len(content)-1] },
			"cut in half":   func(content []byte) []byte { return content[:len(content)/2] },
			"header alone":  func(content []byte) []byte { return content[:100] },
			"schema overrun": func(content []byte) []byte {
				return append(content[:100:100], bytes.Repeat([]byte{0xff}, len(content)-100)...)
			},
			"everything else": func(content []byte) []byte { return append(content[:4096:4096], make([]byte, len(content)-4096)...) },
		} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				t.Parallel()
				path := fixture(t, "kimaki-0.17.sql")
				if mode == "write-ahead log" {
					inLogMode(t, path)
				}
				content, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, damage(content), 0o600); err != nil {
					t.Fatal(err)
				}
				before := snapshot(t, filepath.Dir(path))
				_, err = sqlite.Open(t.Context(), path)
				fails(t, err, "damaged")
				same(t, filepath.Dir(path), before)
			})
		}
	}
}

func TestOpenWhatIsNoFile(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{directory, filepath.Join(directory, "file", "store.db"), os.DevNull, ""} {
		_, err := sqlite.Open(t.Context(), path)
		fails(t, err, "can't be opened")
	}
}

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
	if err := os.WriteFile(copied, content, 0o755); err != nil {
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

func TestOpenADatabaseOfANewerThreadtree(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	run(t, path, "INSERT INTO threadtree_migrations (version_id, is_applied) VALUES (99, 1)")
	before := snapshot(t, filepath.Dir(path))
	_, err := sqlite.Open(t.Context(), path)
	fails(t, err, "newer threadtree")
	same(t, filepath.Dir(path), before)
}

func TestOpenWithAnEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := fixture(t, "kimaki-0.17.sql")
	before := snapshot(t, filepath.Dir(path))
	if _, err := sqlite.Open(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	same(t, filepath.Dir(path), before)
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	for name, option := range map[string]sqlite.Option{
		"clock": sqlite.WithClock(nil), "time-out": sqlite.WithBusyTimeout(-1), "judge": sqlite.WithJudge(nil),
	} {
		if _, err := sqlite.Open(t.Context(), path, option); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the file was made", name)
		}
	}
}

func TestOpenMakesAPrivateFile(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	path := filepath.Join(base, "a", "b", "store.db")
	s := open(t, path)
	if err := s.PutSession(t.Context(), workspace.Session{ThreadID: "t"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + "-wal", filepath.Dir(path)} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode(); mode.Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v, want one for its owner alone", p, mode)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files := snapshot(t, base)
	delete(files, path)
	check(t, "other files", files, map[string]string{})
}
