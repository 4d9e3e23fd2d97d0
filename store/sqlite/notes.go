package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

const selectNote = "SELECT namespace, key, value, version, updated_at FROM threadtree_notes WHERE namespace = ?"

func scanNote(rows *sql.Rows) (workspace.Note, error) {
	var n workspace.Note
	var updated string
	err := rows.Scan(&n.Namespace, &n.Key, &n.Value, &n.Version, &updated)
	n.UpdatedAt = readClock(updated)
	return n, err
}

// Note implements [workspace.Notes].
func (s *Store) Note(ctx context.Context, namespace, key string) (n workspace.Note, err error) {
	err = s.read(ctx, "reading a note", func(ctx context.Context) error {
		found, err := collect(ctx, s.db, scanNote, selectNote+" AND key = ?", namespace, key)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return rules.NoNote(namespace, key)
		}
		n = found[0]
		return nil
	})
	return n, err
}

// PutNote implements [workspace.Notes].
func (s *Store) PutNote(ctx context.Context, namespace, key string, value []byte, version int64) (next int64, err error) {
	err = s.write(ctx, "writing a note", func(ctx context.Context, conn *sql.Conn) error {
		present, err := noteVersion(ctx, conn, namespace, key)
		if err != nil {
			return err
		}
		if present != version {
			return rules.StaleNote(namespace, key, present, version)
		}
		// One counter for all notes, so that a note which is made anew is newer
		// than the one that was deleted.
		err = conn.QueryRowContext(ctx,
			"UPDATE threadtree_counters SET value = value + 1 WHERE name = 'note' RETURNING value").Scan(&next)
		if err != nil {
			return err
		}
		_, err = conn.ExecContext(ctx, `INSERT OR REPLACE INTO threadtree_notes (namespace, key, value, version, updated_at)
			VALUES (?, ?, ?, ?, ?)`, namespace, key, append([]byte{}, value...), next, clockText(s.now()))
		return err
	})
	if err != nil {
		return 0, err
	}
	return next, nil
}

// DeleteNote implements [workspace.Notes]. Where the note's version is another
// the error has the code in_progress and wraps [workspace.ErrStale].
func (s *Store) DeleteNote(ctx context.Context, namespace, key string, version int64) error {
	return s.write(ctx, "deleting a note", func(ctx context.Context, conn *sql.Conn) error {
		present, err := noteVersion(ctx, conn, namespace, key)
		if err != nil || present == 0 {
			return err
		}
		if present != version {
			return rules.StaleNote(namespace, key, present, version)
		}
		_, err = conn.ExecContext(ctx, "DELETE FROM threadtree_notes WHERE namespace = ? AND key = ?", namespace, key)
		return err
	})
}

// ListNotes implements [workspace.Notes].
func (s *Store) ListNotes(ctx context.Context, namespace string) (notes []workspace.Note, err error) {
	err = s.read(ctx, "listing the notes", func(ctx context.Context) (err error) {
		notes, err = collect(ctx, s.db, scanNote, selectNote+" ORDER BY key", namespace)
		return err
	})
	return notes, err
}

// noteVersion returns the version of a note, 0 if there is none.
func noteVersion(ctx context.Context, conn *sql.Conn, namespace, key string) (version int64, err error) {
	err = conn.QueryRowContext(ctx, "SELECT version FROM threadtree_notes WHERE namespace = ? AND key = ?", namespace, key).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return version, err
}
