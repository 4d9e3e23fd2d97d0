package gitops

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// lockForgotten is after how long an entry whose attempt has no lock here is
// taken for abandoned: on another machine it may have one.
const lockForgotten = 24 * time.Hour

// Repairer is a [workspace.Recoverer] for the entries of worktrees that a
// crash left so damaged that git can't work in the whole repository. Only
// entries that threadtree made are mended; others are named. It is safe for
// concurrent use.
type Repairer struct {
	r     *Repository
	locks *AttemptLocks
}

var _ workspace.Recoverer = (*Repairer)(nil)

// NewRepairer returns a Repairer that takes an attempt for alive while locks
// has its lock held.
func NewRepairer(r *Repository, locks *AttemptLocks) *Repairer { return &Repairer{r: r, locks: locks} }

// Recover mends the project's damaged entries and returns a line for each, and
// for those that it left. Cancelled, it has mended some.
func (x *Repairer) Recover(ctx context.Context, p workspace.Project) ([]string, error) {
	lines, err := x.r.repairEntries(ctx, p, func(attempt string) bool { return x.alive(ctx, p, attempt) })
	return lines, withOp("repair", err)
}

// alive reports whether somebody may be at work on an attempt.
func (x *Repairer) alive(ctx context.Context, p workspace.Project, attempt string) bool {
	live, err := x.locks.Probe(ctx, workspace.Attempt{ID: attempt, Host: x.locks.host, Lock: x.locks.path(attempt)})
	if err != nil || live != workspace.Unknown {
		return live != workspace.Dead
	}
	entries, err := readEntries(p.ID)
	if err != nil {
		return true
	}
	for _, e := range entries {
		if e.attempt != attempt {
			continue
		}
		info, err := os.Stat(filepath.Join(e.path, "locked"))
		if isAbsent(err) {
			continue // it is locked from its first moment until it is whole
		}
		if err != nil || x.r.now().Sub(info.ModTime()) < lockForgotten {
			return true
		}
	}
	return false
}
