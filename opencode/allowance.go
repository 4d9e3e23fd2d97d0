package opencode

import (
	"context"
	"sync"
	"time"
)

// allowance is how long one call of the provider's may wait for OpenCode in
// all: git's own work in between is not counted. It is safe for concurrent use,
// but for one wait at a time.
type allowance struct {
	mu sync.Mutex
	// left is what remains for what is asked for, spare for clearing away what
	// came of it.
	left, spare time.Duration
	// made is when it was given.
	made time.Time
}

// maxSpare bounds what a call may wait besides, to clear away.
const maxSpare = 10 * time.Second

func newAllowance(limit time.Duration) *allowance {
	return &allowance{left: limit, spare: min(limit/2, maxSpare), made: time.Now()}
}

// wait returns ctx with what is left as its limit. done takes off what it took.
func (a *allowance) wait(ctx context.Context) (_ context.Context, done func()) {
	return a.spend(ctx, &a.left)
}

// tidy is wait for clearing away: it goes on where ctx is cancelled, and has
// the spare time besides.
func (a *allowance) tidy(ctx context.Context) (_ context.Context, done func()) {
	a.mu.Lock()
	a.spare, a.left = a.spare+a.left, 0
	a.mu.Unlock()
	return a.spend(context.WithoutCancel(ctx), &a.spare)
}

func (a *allowance) spend(ctx context.Context, from *time.Duration) (context.Context, func()) {
	a.mu.Lock()
	limit := *from
	a.mu.Unlock()
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrTimeout)
	return ctx, sync.OnceFunc(func() {
		cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		*from = max(0, *from-time.Since(began))
	})
}

// keepAllowances is how long it is remembered what a create has used up, for
// the clearing that follows where it failed.
const keepAllowances = 10 * time.Minute

// allow gives the create of an attempt its allowance.
func (p *Provider) allow(attempt string) *allowance {
	a := newAllowance(p.cfg.Timeout)
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, old := range p.allowed {
		if time.Since(old.made) > keepAllowances {
			delete(p.allowed, id)
		}
	}
	p.allowed[attempt] = a
	return a
}

// allowedFor takes what the create of an attempt has left over, for its
// clearing. The clearing of one that is long over has half as much as a create:
// one may wait for it.
func (p *Provider) allowedFor(attempt string) *allowance {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, ok := p.allowed[attempt]
	delete(p.allowed, attempt)
	if !ok || time.Since(a.made) > keepAllowances {
		return newAllowance(p.cfg.Timeout / 2)
	}
	return a
}
