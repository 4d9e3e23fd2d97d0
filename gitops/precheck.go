package gitops

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

var _ workspace.Prechecker = (*Provider)(nil)

// Precheck refuses what Create would refuse, as far as that can be read here:
// see [workspace.Prechecker]. A base or branch that a remote may have is
// refused only where no remote would be asked for it. For a create that follows
// a spare is kept meanwhile.
func (p *Provider) Precheck(ctx context.Context, req workspace.CreateRequest) error {
	req.Progress = func(workspace.Event) {}
	m := &making{p: p, r: p.r, req: req}
	if req.Attempt == "" {
		return withOp("create", m.precheck(ctx))
	}
	// The longest part of a create from a spare is to look at its files.
	reserved := m.reserve()
	if err := m.precheck(ctx); err != nil {
		reserved.drop()
		return withOp("create", err)
	}
	p.checked.keep(ctx, m, reserved)
	return nil
}

func (m *making) precheck(ctx context.Context) error {
	c, bases, err := m.look(ctx)
	if err != nil {
		return err
	}
	// Whatever the base turns out to be, the name is as free or taken.
	if _, err := c.choose(ctx); err != nil {
		return err
	}
	bases.dry = true
	if err := m.resolve(ctx, c, bases); !errors.Is(err, errNetwork) {
		return err
	}
	return nil
}

const (
	// checkedFor is how long what a precheck read is good for the create that
	// it was made for, which follows at once.
	checkedFor = 5 * time.Second
	// reservedFor is how long a spare is kept for it.
	reservedFor = time.Minute
)

// checked hands what a precheck has found on to its create, by the attempt.
type checked struct {
	mu    sync.Mutex
	found map[string]*checkedBefore
}

type checkedBefore struct {
	set      *settings
	reserved *reservation
	at       time.Time
}

// keep keeps what was found until it is taken or ctx ends.
func (c *checked) keep(ctx context.Context, m *making, reserved *reservation) {
	id := m.req.Project.ID + "\x00" + m.req.Attempt
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = make(map[string]*checkedBefore)
	}
	if before := c.found[id]; before != nil {
		before.reserved.drop()
	}
	kept := &checkedBefore{set: m.set, reserved: reserved, at: time.Now()}
	c.found[id] = kept
	ctx, cancel := context.WithTimeout(ctx, reservedFor)
	context.AfterFunc(ctx, func() {
		defer cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.found[id] == kept {
			delete(c.found, id)
			reserved.drop()
		}
	})
}

// takeChecked takes what a precheck has found for the create, once, or begins to
// look for a spare.
func (m *making) takeChecked() *reservation {
	id := m.req.Project.ID + "\x00" + m.req.Attempt
	c := &m.p.checked
	c.mu.Lock()
	kept := c.found[id]
	delete(c.found, id)
	c.mu.Unlock()
	if kept == nil {
		return m.reserve()
	}
	if m.req.Prechecked && time.Since(kept.at) <= checkedFor {
		m.set = kept.set
	}
	return kept.reserved
}
