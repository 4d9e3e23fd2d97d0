package gitops

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/threadtree/threadtree/workspace"
)

// stateLooks finds out the states of many worktrees.
type stateLooks struct {
	r        *Repository
	c        *comparer
	queries  []workspace.StateQuery
	surveyed chan struct{} // closed once the commits have been compared
	results  chan stateResult
	group    sync.WaitGroup
	next     atomic.Int64

	mu     sync.Mutex
	parked []parked
}

// parked is a look that waits for the commits to be compared.
type parked struct {
	i int
	l *looker
}

type stateResult struct {
	i     int
	state workspace.State
}

// work looks at one worktree after another until none is left.
func (o *stateLooks) work(ctx context.Context) {
	for ctx.Err() == nil {
		// What is only waiting for the comparison comes first.
		if o.compared() {
			if p, ok := o.unpark(); ok {
				o.finish(ctx, p)
				continue
			}
		}
		if i := int(o.next.Add(1)) - 1; i < len(o.queries) {
			o.begin(ctx, i)
			continue
		}
		select {
		case <-o.surveyed:
		case <-ctx.Done():
			return
		}
		p, ok := o.unpark()
		if !ok {
			return
		}
		o.finish(ctx, p)
	}
}

// begin looks at what the comparison isn't needed for.
func (o *stateLooks) begin(ctx context.Context, i int) {
	l := o.r.newLooker(o.c, o.queries[i])
	if l.nowhere() {
		o.tell(ctx, stateResult{i, l.state})
		return
	}
	l.files(ctx)
	o.mu.Lock()
	o.parked = append(o.parked, parked{i, l})
	o.mu.Unlock()
}

// finish compares the commits, and tells the state.
func (o *stateLooks) finish(ctx context.Context, p parked) {
	p.l.commits(ctx)
	o.tell(ctx, stateResult{p.i, p.l.state})
}

func (o *stateLooks) tell(ctx context.Context, res stateResult) {
	select {
	case o.results <- res:
	case <-ctx.Done():
	}
}

func (o *stateLooks) compared() bool {
	select {
	case <-o.surveyed:
		return true
	default:
		return false
	}
}

func (o *stateLooks) unpark() (p parked, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.parked) == 0 {
		return p, false
	}
	p, o.parked = o.parked[0], o.parked[1:]
	return p, true
}
