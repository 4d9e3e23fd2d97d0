package gitops

import (
	"context"
	"testing"
	"time"
)

// TestPoolRunsInTheBackground has a pool keep a project that it wasn't told of,
// while creates go on, and refill it.
func TestPoolRunsInTheBackground(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p, pool := l.pooled()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pool.Run(ctx)
	}()
	ready := func(not string) string {
		t.Helper()
		for range 3000 {
			records, err := pool.r.spareRecords(pool.r.sparesDir(l.project()))
			if err != nil {
				t.Fatal(err)
			}
			if len(records) == 1 && records[0].Phase == spareReady && records[0].ID != not {
				return records[0].ID
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal("no spare was made")
		return ""
	}
	req := l.request(titled("one"))
	if _, err := p.Create(ctx, req); err != nil {
		t.Fatal(detail(err))
	}
	first := ready("")
	// While somebody is at work it waits.
	over := pool.r.busy()
	req = l.request(titled("two"))
	req.Attempt = "attempt-2"
	if _, err := p.Create(ctx, req); err != nil {
		t.Fatal(detail(err))
	}
	time.Sleep(50 * time.Millisecond)
	if spares := l.spares(); len(spares) > 0 {
		t.Errorf("made meanwhile: %q", spares)
	}
	over()
	ready(first)
	stop()
	<-ended
}
