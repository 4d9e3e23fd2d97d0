package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/threadtree/threadtree/workspace"
)

// A pragma by one statement would hold for one connection of the pool only.
func TestEveryConnectionHasThePragmas(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), WithBusyTimeout(1234*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range connections {
		conn, err := s.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for pragma, want := range map[string]string{
			"busy_timeout": "1234", "foreign_keys": "1", "journal_mode": "wal", "synchronous": "2",
		} {
			var got string
			if err := conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("connection %d: %s is %q, %v, want %q", i, pragma, got, err, want)
			}
		}
		// A transaction of the driver takes the write lock at its beginning.
		tx, err := conn.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.db.Stats(); err.OpenConnections > connections {
			t.Errorf("%d connections are open", err.OpenConnections)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	said := map[string]sqlite3.ErrNo{}
	for _, c := range []sqlite3.ErrNo{
		sqlite3.ErrBusy, sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrNotADB, sqlite3.ErrCorrupt,
		sqlite3.ErrCantOpen, sqlite3.ErrFull, sqlite3.ErrIoErr,
	} {
		for _, err := range []error{c, sqlite3.Error{Code: c, ExtendedCode: c.Extend(3)}, fmt.Errorf("wrapped: %w", sqlite3.Error{Code: c})} {
			e, ok := errors.AsType[*workspace.Error](fault(t.Context(), "reading", err))
			if !ok || e.Code != workspace.ErrStoreFailed || e.Hint == "" || !errors.Is(e, err) {
				t.Errorf("fault(%v) is %#v", err, e)
				continue
			}
			if other, ok := said[e.Message]; ok && other != c {
				t.Errorf("codes %d and %d are told alike: %s", other, c, e.Message)
			}
			said[e.Message] = c
		}
	}
	if err := fault(t.Context(), "reading", errors.New("something else")); !errors.Is(err, workspace.ErrStoreFailed) {
		t.Errorf("another error is %v, want store_failed", err)
	}
	if err := fault(t.Context(), "reading", nil); err != nil {
		t.Errorf("no error is %v", err)
	}
	refusal := &workspace.Error{Code: workspace.ErrNotFound}
	if err := fault(t.Context(), "reading", fmt.Errorf("wrapped: %w", refusal)); err != error(refusal) {
		t.Errorf("a refusal is %v, want it as it is", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("shutting down")
	cancel(cause)
	if err := fault(ctx, "reading", ctx.Err()); !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || !errors.Is(err, workspace.ErrTimeout) {
		t.Errorf("an ended context is %v", err)
	}
}

func TestReadClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 2, 29, 13, 14, 15, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2024-02-29 13:14:15":         at,
		"2024-02-29 13:14:15.25":      at.Add(250 * time.Millisecond),
		"2024-02-29T13:14:15Z":        at,
		"2024-02-29T13:14:15":         at,
		"2024-02-29T15:14:15.5+02:00": at.Add(500 * time.Millisecond),
		"2024-02-29 13:14:15+00:00":   at,
		"1709212455":                  at,
		"1709212455000":               at,
		"":                            {},
		"yesterday":                   {},
	} {
		if got := readClock(text); !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("readClock(%q) is %v, want %v", text, got, want)
		}
	}
	if got := clockText(at.In(time.FixedZone("", 3600))); got != "2024-02-29 13:14:15" {
		t.Errorf("clockText is %q", got)
	}
}

// A read transaction that wants to write when another has written in between
// can't wait: its snapshot is old. Ours take the write lock first.
func TestWritersDoNotOvertakeEachOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	var stores [4]*Store
	for i := range stores {
		s, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores[i] = s
	}
	if _, err := stores[0].PutNote(t.Context(), "n", "k", nil, 0); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for _, s := range stores {
		go func() {
			done <- func() error {
				for range 25 {
					err := s.write(t.Context(), "counting", func(ctx context.Context, conn *sql.Conn) error {
						var n int
						if err := conn.QueryRowContext(ctx, "SELECT version FROM threadtree_notes").Scan(&n); err != nil {
							return err
						}
						_, err := conn.ExecContext(ctx, "UPDATE threadtree_notes SET version = ?", n+1)
						return err
					})
					if err != nil {
						return err
					}
				}
				return nil
			}()
		}()
	}
	for range stores {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n, err := stores[0].Note(t.Context(), "n", "k"); err != nil || n.Version != 101 {
		t.Errorf("counted to %d, %v, want 101", n.Version, err)
	}
}
