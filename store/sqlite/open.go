package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mattn/go-sqlite3"
)

// connections is how many connections a pool has at most. One writes at a
// time; the others read.
const connections = 8

// openFile readies the file and returns the pool to use it with.
//
// Nothing but SQLite itself may open a database file: closing it would drop the
// locks that this process holds on it.
func (s *Store) openFile(ctx context.Context, path string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := ready(path); err != nil {
		return nil, err
	}
	// The write-ahead log is switched on last: that writes to the file, and
	// until all checks are done nothing may.
	if err := s.setUpFile(ctx, path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite3", s.dsn(path, true))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	// Switching needs the file for itself, and reports it as busy at once.
	if err := s.whileBusy(ctx, func() error { return db.PingContext(ctx) }); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// setUpFile brings the file up to date over a connection of its own.
func (s *Store) setUpFile(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite3", s.dsn(path, false))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	// The first look at the file tells what is no database at all.
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_master").Scan(&tables); err != nil {
		return err
	}
	if err := whole(path); err != nil {
		return err
	}
	s.db = db
	return s.setUp(ctx, "opening the database "+path)
}

// dsn returns the driver's name of the database, with all settings, so that
// each connection of a pool has them.
func (s *Store) dsn(path string, wal bool) string {
	settings := url.Values{
		"mode":          {"rw"}, // a file that vanished is an error, not an empty database
		"_busy_timeout": {strconv.FormatInt(s.busyTimeout.Milliseconds(), 10)},
		"_foreign_keys": {"1"},
		"_txlock":       {"immediate"},
		// A row is written before its worktree is made, so that a crash leaves
		// no worktree that nobody knows. With less than FULL the row could be
		// lost in a power cut, and the worktree not.
		"_synchronous":     {"FULL"},
		"_stmt_cache_size": {"32"},
	}
	if wal {
		settings.Set("_journal_mode", "WAL")
	}
	// In a URI all characters of a path that SQLite takes for its own are
	// escaped.
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: settings.Encode()}
	return name.String()
}

// ready makes sure that there is a regular file which may be written to, and
// makes an empty one, for this user alone, where there is none.
func ready(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil {
			return errors.Join(sqlite3.ErrCantOpen, err)
		}
		return nil
	}
	if err != nil {
		return errors.Join(sqlite3.ErrCantOpen, err)
	}
	if !info.Mode().IsRegular() {
		return sqlite3.ErrCantOpen
	}
	// SQLite would open a file that can't be written to nevertheless, and leave
	// files beside it.
	if err := writable(path); err != nil {
		return errors.Join(sqlite3.ErrReadonly, err)
	}
	return nil
}

// whole returns what is wrong with the size of a file, which SQLite itself
// isn't particular about: it takes a page that is cut short for one with zeros
// at its end, and a single byte for an empty file.
func whole(path string) error {
	const smallestPage = 512
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return errors.Join(sqlite3.ErrCantOpen, err)
	case info.Size()%smallestPage == 0:
		return nil
	case info.Size() < smallestPage:
		return sqlite3.ErrNotADB
	}
	// After a crash the rest of the page is in a journal.
	for _, journal := range []string{"-journal", "-wal"} {
		if info, err := os.Stat(path + journal); err == nil && info.Size() > 0 {
			return nil
		}
	}
	return sqlite3.ErrCorrupt
}

// create makes an empty file at path unless there is one by now. The file is
// made under another name and linked into place, so that it is complete and
// closed before anybody can open it.
func create(path string) error {
	directory := filepath.Dir(path)
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(directory, ".threadtree-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
