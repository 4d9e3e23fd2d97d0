package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "github.com/mattn/go-sqlite3"
	"github.com/rogpeppe/go-internal/testscript"
)

// snapshots are the states that stories remember, by story and name.
var snapshots sync.Map

// cmdSnapshot remembers all that is on disk, refs included, and all rows of
// the database: snapshot NAME.
func cmdSnapshot(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: snapshot NAME")
	}
	snapshots.Store(ts.MkAbs(args[0]), snapshot(ts))
}

// cmdUnchanged checks that nothing has changed since: unchanged NAME.
func cmdUnchanged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: unchanged NAME")
	}
	before, ok := snapshots.Load(ts.MkAbs(args[0]))
	if !ok {
		ts.Fatalf("there is no snapshot %s", args[0])
	}
	if diff := cmp.Diff(before, any(snapshot(ts))); diff != "" {
		ts.Fatalf("something changed (-before +now):\n%s", diff)
	}
}

func snapshot(ts *testscript.TestScript) map[string]string {
	state := make(map[string]string)
	work, db := ts.Getenv("WORK"), ts.Getenv("THREADTREE_DB")
	err := filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == filepath.Join(work, ".tmp"):
			return fs.SkipDir
		case strings.HasPrefix(path, db):
			return nil
		}
		state[path], err = describe(path, d)
		return err
	})
	ts.Check(err)
	ts.Check(dump(db, state))
	return state
}

// describe says what a file is, its time left out.
func describe(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return os.Readlink(path)
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		return fmt.Sprintf("%v %x", info.Mode(), sha256.Sum256(content)), err
	}
	return info.Mode().String(), nil
}

// dump adds each row of each table of the database.
func dump(path string, state map[string]string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ctx := context.Background()
	db, err := sql.Open("sqlite3", "file:"+path+"?_busy_timeout=5000")
	if err != nil {
		return err
	}
	defer db.Close()
	tables, err := texts(ctx, db, "SELECT name FROM sqlite_schema WHERE type = 'table'")
	if err != nil {
		return err
	}
	for _, table := range tables {
		rows, err := texts(ctx, db, fmt.Sprintf("SELECT * FROM %q", table))
		if err != nil {
			return err
		}
		state["table "+table] = strings.Join(rows, "\n")
	}
	return nil
}

// texts returns each row of a query as text.
func texts(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var all []string
	for rows.Next() {
		cells := make([]any, len(names))
		for i := range cells {
			cells[i] = new(sql.NullString)
		}
		if err := rows.Scan(cells...); err != nil {
			return nil, err
		}
		var line []string
		for _, cell := range cells {
			line = append(line, cell.(*sql.NullString).String)
		}
		all = append(all, strings.Join(line, "|"))
	}
	return all, rows.Err()
}

// cmdWaitFor waits until a file is there: waitfor FILE.
func cmdWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor FILE")
	}
	path := ts.MkAbs(args[0])
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not come", path)
		}
	}
}
