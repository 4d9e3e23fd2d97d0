package sqlite

import (
	"context"
	"database/sql"
	"io/fs"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"github.com/threadtree/threadtree/workspace"
)

var (
	_ workspace.Store = (*Store)(nil)
	_ workspace.Notes = (*Store)(nil)
	_ workspace.Trash = (*Store)(nil)
)

// Store keeps workspaces, sessions, channels, notes and trash in an SQLite
// database. It may be used concurrently, and several processes may have one
// each on the same file.
type Store struct {
	db          *sql.DB
	owned       bool // db is closed with the store
	now         func() time.Time
	judge       Judge
	migrations  fs.FS // those of ours, as this program knows them
	busyTimeout time.Duration

	// writer is held while a transaction of this store writes: waiting for it
	// is cheaper than for SQLite's lock, and fair.
	writer chan struct{}
}

// Open opens the database at path and brings it up to date; a file that isn't
// there is made, for this user alone, and its directory as well. The error has
// the code store_failed where the file can't be used: it is read-only, locked
// by another process for longer than the busy time-out, damaged, or no
// database. The file then is as it was, byte for byte. Where the context ends
// before the database is up to date, it is as it was too.
func Open(ctx context.Context, path string, opts ...Option) (*Store, error) {
	s, err := newStore(opts)
	if err != nil {
		return nil, err
	}
	if s.db, err = s.openFile(ctx, path); err != nil {
		return nil, fault(ctx, "opening the database "+path, err)
	}
	s.owned = true
	return s, nil
}

// New returns a store on a handle of the caller's own, made with the driver of
// github.com/mattn/go-sqlite3, and brings the database up to date. Close
// leaves the handle open, and the journal mode and all other settings are as
// the caller chose them; "_busy_timeout", "_foreign_keys" and
// "_journal_mode=WAL" in its data source name are a good choice. Errors are
// those of [Open]. The handle needs one connection at a time for writing;
// others may use it beside the store.
func New(ctx context.Context, db *sql.DB, opts ...Option) (*Store, error) {
	s, err := newStore(opts)
	if err != nil {
		return nil, err
	}
	s.db = db
	if err := s.setUp(ctx, "setting up the database"); err != nil {
		return nil, err
	}
	return s, nil
}

func newStore(opts []Option) (*Store, error) {
	s := &Store{now: time.Now, judge: gitHas, migrations: migrations, busyTimeout: 5 * time.Second, writer: make(chan struct{}, 1)}
	for _, opt := range opts {
		if err := opt(s); err != nil {
			return nil, &workspace.Error{
				Code: workspace.ErrInternal, Message: "the store can't be set up like this: " + err.Error(), Err: err,
			}
		}
	}
	return s, nil
}

// Close ends the use of the store, and closes the database if it was opened by
// [Open].
func (s *Store) Close() error {
	if !s.owned {
		return nil
	}
	return fault(context.Background(), "closing the database", s.db.Close())
}
