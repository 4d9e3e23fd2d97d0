package gitops

import (
	"os"
	"path/filepath"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// Options are the settings of a [Repository]. The zero value is usable except
// for Home.
type Options struct {
	// Home is the directory below which worktrees and locks are kept. It is
	// made when it is needed.
	Home string
	// Git is the git program, "" for the one on PATH.
	Git string
	// Env is the environment that git starts from, nil for the process's own.
	// Variables that tie git to a repository are dropped from it.
	Env []string
	// StateTimeout bounds the look at one worktree's files, and apart from it
	// the comparison of its commits, 10 s if 0.
	StateTimeout time.Duration
	// LockTimeout bounds the wait for a repository's lock, 60 s if 0.
	LockTimeout time.Duration
	// Now is the clock, time.Now if nil.
	Now func() time.Time
}

// Repository reads git repositories, any number of them. It is safe for
// concurrent use, and keeps nothing but the locks it holds and a bounded number
// of answers that can't change, as how two commits stand to each other.
type Repository struct {
	git          *git
	home         string
	stateTimeout time.Duration
	lockTimeout  time.Duration
	now          func() time.Time
	locks        repoLocks
	work         work
	relations    relationCache
	kept         memo[keptIn, bool]
	seen         memo[string, seen]
	configured   memo[string, configured]
	readers      readers
	// reached is told of each step that a crash may come after. Tests set it.
	reached func(step string)
}

var _ workspace.Repository = (*Repository)(nil)

// New returns a Repository. The error has the code git_failed where there is
// no git program, and internal where Home is empty.
func New(o Options) (*Repository, error) {
	if o.Home == "" {
		return nil, &workspace.Error{
			Code:    workspace.ErrInternal,
			Message: "no home directory for worktrees was given",
			Hint:    "set Options.Home",
		}
	}
	home, err := filepath.Abs(o.Home)
	if err != nil {
		return nil, &workspace.Error{Code: workspace.ErrInternal, Message: "the home directory can't be found", Err: err}
	}
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	g, err := newGit(o.Git, env)
	if err != nil {
		return nil, err
	}
	r := &Repository{git: g, home: home, stateTimeout: o.StateTimeout, lockTimeout: o.LockTimeout, now: o.Now}
	if r.stateTimeout == 0 {
		r.stateTimeout = 10 * time.Second
	}
	if r.lockTimeout == 0 {
		r.lockTimeout = time.Minute
	}
	if r.now == nil {
		r.now = time.Now
	}
	return r, nil
}
