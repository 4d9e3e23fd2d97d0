package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
