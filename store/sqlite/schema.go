package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
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
func (s *Store) setUp(ctx context.Context, what string) error {
	return s.write(ctx, what, func(ctx context.Context, conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, kimakiTables); err != nil {
			return err
		}
		// A database that can't be written to says so at the first statement
		// that would write, even if that one finds nothing to do.
		if _, err := conn.ExecContext(ctx, "DELETE FROM thread_sessions WHERE 0"); err != nil {
			return err
		}
		if err := addMissingColumns(ctx, conn); err != nil {
			return err
		}
		if err := migrate(ctx, conn, s.migrations); err != nil {
			return err
		}
		if err := attach(ctx, conn); err != nil {
			return err
		}
		return s.copyLegacyRows(ctx, conn)
	})
}

// migrate runs the migrations that the database lacks, within the transaction
// that is open on conn.
func migrate(ctx context.Context, conn *sql.Conn, migrations fs.FS) error {
	fsys, err := fs.Sub(migrations, "schema/migrations")
	if err != nil {
		return err
	}
	return conn.Raw(func(raw any) error {
		// Goose wants a pool: it gets one that has this connection only.
		pool := sql.OpenDB(borrowed{raw.(driver.Conn)})
		defer pool.Close()
		pool.SetMaxOpenConns(1)
		provider, err := goose.NewProvider(goose.DialectSQLite3, pool, fsys,
			goose.WithTableName(versionTable),
			goose.WithDisableGlobalRegistry(true),
			goose.WithIsolateDDL(true), // begins no transactions of its own
		)
		if err != nil {
			return err
		}
		if _, err := provider.Up(ctx); err != nil {
			return err
		}
		sources := provider.ListSources()
		latest := sources[len(sources)-1].Version
		if present, err := provider.GetDBVersion(ctx); err != nil || present <= latest {
			return err
		}
		return &workspace.Error{
			Code:    workspace.ErrStoreFailed,
			Message: "the database was made by a newer threadtree than this one; it was left as it was",
			Hint:    "update threadtree",
		}
	})
}

// borrowed is a connection in the shape of a driver that opens nothing else
// and, as it isn't ours, never closes it.
type borrowed struct{ driver.Conn }

func (b borrowed) Connect(context.Context) (driver.Conn, error) { return b, nil }
func (b borrowed) Driver() driver.Driver                        { return b }
func (b borrowed) Open(string) (driver.Conn, error)             { return b, nil }
func (b borrowed) Close() error                                 { return nil }

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
