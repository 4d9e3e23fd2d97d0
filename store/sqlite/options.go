package sqlite

import (
	"errors"
	"time"
)

// Option is a setting of a [Store] that has a good default.
type Option func(*Store) error

// Judge says whether git has directory as a worktree of the project, with
// branch as the branch that it was made with.
type Judge func(projectDirectory, directory, branch string) bool

// WithClock sets the clock that moments are taken from, [time.Now] by default.
func WithClock(now func() time.Time) Option {
	return func(s *Store) error {
		if now == nil {
			return errors.New("the clock must not be nil")
		}
		s.now = now
		return nil
	}
}

// WithBusyTimeout sets how long to wait for a lock that another process holds,
// 5 seconds by default; 0 gives up at once. With [New] it bounds how often a
// busy statement is repeated, while each try waits as long as the caller's
// handle says.
func WithBusyTimeout(d time.Duration) Option {
	return func(s *Store) error {
		if d < 0 {
			return errors.New("the busy time-out must not be negative")
		}
		s.busyTimeout = d
		return nil
	}
}

// WithJudge sets how a row is judged that an old version of Kimaki wrote
// without a status: it becomes ready where judge returns true, and error where
// not. The default looks at the disk: the directory's .git file names an entry
// of a repository, and that entry names the directory.
func WithJudge(judge Judge) Option {
	return func(s *Store) error {
		if judge == nil {
			return errors.New("the judge must not be nil")
		}
		s.judge = judge
		return nil
	}
}
