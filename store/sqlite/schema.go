package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/threadtree/threadtree/workspace"
)

// versionTable is where goose remembers which migrations of ours have run.
const versionTable = "threadtree_migrations"

var (
	//go:embed schema/migrations/*.sql
	migrations embed.FS
	//go:embed schema/kimaki.sql
	kimakiTables string
	//go:embed schema/attached.sql
	attached string
)

// setUp brings the database up to date: Kimaki's tables, our own, what hangs
// on both, and the rows of Kimaki's older table. All of it is one transaction
// that holds the write lock from its beginning, so two programs may do it at
// once, and where something fails the file stays as it was.
func (s *Store) setUp(ctx context.Context) error {
	fsys, err := fs.Sub(migrations, "schema/migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, s.db, fsys,
		goose.WithTableName(versionTable),
		goose.WithDisableGlobalRegistry(true),
		goose.WithSessionLocker(&setUpLock{store: s}),
		// Without transactions of goose's own all runs in that of the locker.
		goose.WithIsolateDDL(true),
	)
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	s.latest = sources[len(sources)-1].Version
	_, err = provider.Up(ctx)
	return err
}

// setUpLock is the transaction around goose, in the shape of a lock.
type setUpLock struct{ store *Store }

// SessionLock begins the transaction and readies Kimaki's tables.
func (u *setUpLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if err := u.store.beginImmediate(ctx, conn); err != nil {
		return err
	}
	err := u.prepare(ctx, conn)
	if err != nil {
		rollback(ctx, conn)
	}
	return err
}

// SessionUnlock finishes and commits the transaction, or rolls it back where
// not all migrations have run.
func (u *setUpLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	version, err := version(ctx, conn)
	done := err == nil && version == u.store.latest
	if done {
		if err = u.finish(ctx, conn); err == nil {
			err = u.store.commit(ctx, conn)
		}
	}
	if !done || err != nil {
		rollback(ctx, conn)
	}
	return err
}

func (u *setUpLock) prepare(ctx context.Context, conn *sql.Conn) error {
	present, err := version(ctx, conn)
	if err != nil {
		return err
	}
	if present > u.store.latest {
		return &workspace.Error{
			Code: workspace.ErrStoreFailed,
			Message: fmt.Sprintf("the database was made by a newer threadtree (schema %d, this one knows %d); it was left as it was",
				present, u.store.latest),
			Hint: "update threadtree",
		}
	}
	if _, err := conn.ExecContext(ctx, kimakiTables); err != nil {
		return err
	}
	// A database that can't be written to says so at the first statement that
	// would write, even if that one finds nothing to do.
	if _, err := conn.ExecContext(ctx, "DELETE FROM thread_sessions WHERE 0"); err != nil {
		return err
	}
	return addMissingColumns(ctx, conn)
}

func (u *setUpLock) finish(ctx context.Context, conn *sql.Conn) error {
	if err := attach(ctx, conn); err != nil {
		return err
	}
	return u.store.copyLegacyRows(ctx, conn)
}

// version returns the newest migration of ours that the database has, 0 for
// none.
func version(ctx context.Context, conn *sql.Conn) (int64, error) {
	var known bool
	err := conn.QueryRowContext(ctx,
		"SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?)", versionTable).Scan(&known)
	if err != nil || !known {
		return 0, err
	}
	var version int64
	err = conn.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM "+versionTable).Scan(&version)
	return version, err
}

// attach makes the triggers and indexes on Kimaki's tables, and catches up on
// what the triggers would have done where they were missing.
func attach(ctx context.Context, conn *sql.Conn) error {
	var before, after int
	const count = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'threadtree@_%' ESCAPE '@'"
	if err := conn.QueryRowContext(ctx, count).Scan(&before); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, attached); err != nil {
		return err
	}
	if err := conn.QueryRowContext(ctx, count).Scan(&after); err != nil || after == before {
		return err
	}
	_, err := conn.ExecContext(ctx, `
		UPDATE threadtree_counters SET value = value + 1 WHERE name = 'revision';
		DELETE FROM threadtree_workspaces WHERE thread_id NOT IN (SELECT thread_id FROM thread_workspaces);
		DELETE FROM threadtree_unidentified;
		INSERT INTO threadtree_unidentified (thread_id, project_directory)
			SELECT w.thread_id, w.project_directory FROM thread_workspaces w LEFT JOIN `+validRecord+`
			WHERE COALESCE(r.project_id, '') = '';`)
	return err
}
