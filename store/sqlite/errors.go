package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

// fault returns err as the caller is told: refusals and failures of ours as
// they are, those of SQLite by their code. What is what was to be done, such
// as "reading a workspace". It is the one place that knows the driver's errors.
func fault(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if told, ok := errors.AsType[*workspace.Error](err); ok {
		return told
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		if stopped := rules.Stopped(ctx); stopped != nil {
			return stopped
		}
	}
	text, hint := describe(err)
	return &workspace.Error{
		Code:    workspace.ErrStoreFailed,
		Message: fmt.Sprintf("%s failed: %s; nothing was changed", what, text),
		Hint:    hint,
		Err:     err,
	}
}

// code returns SQLite's code of an error, 0 if it is of another kind.
func code(err error) sqlite3.ErrNo {
	if e, ok := errors.AsType[sqlite3.Error](err); ok {
		return e.Code
	}
	if e, ok := errors.AsType[sqlite3.ErrNo](err); ok {
		return e
	}
	return 0
}

// busy reports whether err says that somebody else holds a lock.
func busy(err error) bool {
	c := code(err)
	return c == sqlite3.ErrBusy || c == sqlite3.ErrLocked
}

// referred reports whether err says that other rows refer to a removed one.
func referred(err error) bool {
	e, ok := errors.AsType[sqlite3.Error](err)
	return ok && e.ExtendedCode == sqlite3.ErrConstraintForeignKey
}

// describe says in words what happened, and what to do.
func describe(err error) (text, hint string) {
	switch code(err) {
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrProtocol:
		return "another process holds the database locked",
			"wait until that process is done, or end it, and try again"
	case sqlite3.ErrReadonly:
		return "the database is read-only",
			"make the file and its directory writable for this user, or choose another file"
	case sqlite3.ErrPerm, sqlite3.ErrAuth:
		return "access to the database was denied",
			"make the file and its directory accessible for this user"
	case sqlite3.ErrNotADB:
		return "the file is not an SQLite database",
			"check the path, or choose another file"
	case sqlite3.ErrCorrupt:
		return "the database file is damaged or cut short",
			"restore it from a copy, or recover it with the sqlite3 program's .recover"
	case sqlite3.ErrCantOpen:
		return "the database file, or a file beside it, can't be opened",
			"check that the path is a file and that its directory is writable for this user"
	case sqlite3.ErrFull:
		return "the disk is full", "make room and try again"
	case sqlite3.ErrIoErr:
		return "the disk reported an error", "check the disk that holds the database"
	}
	return err.Error(), "try again; if it stays so, open the store anew"
}
