package gitops

import (
	"context"
	"sync"
)

// work counts what is done at a person's request, so that what can wait does.
type work struct {
	mu    sync.Mutex
	count int
	over  chan struct{} // closed once there is none; nil while there is none
}

// busy notes that work has begun, until the returned function is called.
func (r *Repository) busy() func() {
	r.work.mu.Lock()
	defer r.work.mu.Unlock()
	if r.work.count++; r.work.count == 1 {
		r.work.over = make(chan struct{})
	}
	return func() {
		r.work.mu.Lock()
		defer r.work.mu.Unlock()
		if r.work.count--; r.work.count == 0 {
			close(r.work.over)
			r.work.over = nil
		}
	}
}

// idle waits until no work is under way, or ctx ends.
func (r *Repository) idle(ctx context.Context) error {
	for {
		r.work.mu.Lock()
		over := r.work.over
		r.work.mu.Unlock()
		if over == nil {
			return ctx.Err()
		}
		select {
		case <-over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
