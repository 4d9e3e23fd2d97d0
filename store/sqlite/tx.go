package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/threadtree/threadtree/store/internal/rules"
)

// queryer is a connection or a pool.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// write runs fn in a transaction that holds the write lock from its beginning,
// so that what fn read is still so when it writes. The context ends the
// waiting for the lock; once fn has begun it runs to its end, which is soon.
func (s *Store) write(ctx context.Context, what string, fn func(ctx context.Context, conn *sql.Conn) error) error {
	if err := rules.Stopped(ctx); err != nil {
		return err
	}
	conn, err := s.begin(ctx)
	if err != nil {
		return fault(ctx, what, err)
	}
	defer s.release(conn)
	whole := context.WithoutCancel(ctx)
	if err = fn(whole, conn); err == nil {
		err = s.commit(whole, conn)
	}
	if err != nil {
		rollback(whole, conn)
	}
	return fault(ctx, what, err)
}

// begin returns a connection with a transaction open, which the caller gives
// to release. SQLite waits for another process's lock with no regard to a
// context, so that waiting is left behind where the context ends.
func (s *Store) begin(ctx context.Context) (*sql.Conn, error) {
	select {
	case s.writer <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	type begun struct {
		conn *sql.Conn
		err  error
	}
	result := make(chan begun, 1)
	go func() {
		whole := context.WithoutCancel(ctx)
		conn, err := s.db.Conn(ctx)
		if err == nil {
			if err = s.beginImmediate(whole, conn); err != nil {
				_ = conn.Close()
			}
		}
		if err != nil {
			<-s.writer
		}
		result <- begun{conn, err}
	}()
	select {
	case b := <-result:
		return b.conn, b.err
	case <-ctx.Done():
		go func() {
			if b := <-result; b.err == nil {
				rollback(context.WithoutCancel(ctx), b.conn)
				s.release(b.conn)
			}
		}()
		return nil, ctx.Err()
	}
}

func (s *Store) release(conn *sql.Conn) {
	_ = conn.Close()
	<-s.writer
}

// beginImmediate begins a transaction with the write lock held. SQLite waits
// for the lock by itself, but in some cases reports it as busy at once.
func (s *Store) beginImmediate(ctx context.Context, conn *sql.Conn) error {
	return s.whileBusy(ctx, func() error {
		_, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		return err
	})
}

// commit ends a transaction. It can be busy too: without a write-ahead log the
// readers have to be gone.
func (s *Store) commit(ctx context.Context, conn *sql.Conn) error {
	return s.whileBusy(ctx, func() error {
		_, err := conn.ExecContext(ctx, "COMMIT")
		return err
	})
}

// whileBusy repeats fn while it is busy and the busy time-out isn't over.
func (s *Store) whileBusy(ctx context.Context, fn func() error) error {
	const pause = 10 * time.Millisecond
	deadline := time.Now().Add(s.busyTimeout)
	for {
		err := fn()
		if !busy(err) || time.Now().Add(pause).After(deadline) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// rollback ends a transaction without a trace. Where that can't be done the
// connection is given up, and SQLite rolls back as it closes it.
func rollback(ctx context.Context, conn *sql.Conn) {
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// read runs fn unless the context has ended. What fn reads in more than one
// statement may be of different moments.
func (s *Store) read(ctx context.Context, what string, fn func(ctx context.Context) error) error {
	if err := rules.Stopped(ctx); err != nil {
		return err
	}
	// The driver starts a goroutine for each statement whose context can end,
	// which costs more than these statements do.
	whole := context.WithoutCancel(ctx)
	return fault(ctx, what, s.whileBusy(ctx, func() error { return fn(whole) }))
}

// collect returns what scan makes of each row of a query.
func collect[T any](ctx context.Context, q queryer, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}
