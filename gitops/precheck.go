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
// refused only where no remote would be asked for it.
func (p *Provider) Precheck(ctx context.Context, req workspace.CreateRequest) error {
	req.Progress = func(workspace.Event) {}
	m := &making{p: p, r: p.r, req: req}
	return withOp("create", m.precheck(ctx))
}

func (m *making) precheck(ctx context.Context) error {
	c, bases, err := m.look(ctx)
	if err != nil {
		return err
	}
	m.p.checked.keep(m.req, m.set)
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

// checkedFor is how long what a precheck read is good for the create that it
// was made for, which follows at once.
const checkedFor = 5 * time.Second

// checked hands the settings that a precheck has read on to its create.
type checked struct {
	mu    sync.Mutex
	found map[[2]string]checkedSettings
}

type checkedSettings struct {
	set *settings
	at  time.Time
}

func (c *checked) keep(req workspace.CreateRequest, set *settings) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found = make(map[[2]string]checkedSettings)
	}
	for key, old := range c.found {
		if time.Since(old.at) > checkedFor {
			delete(c.found, key)
		}
	}
	c.found[[2]string{req.Project.ID, req.ThreadID}] = checkedSettings{set: set, at: time.Now()}
}

// take returns what was kept for the request, once, nil if there is nothing.
func (c *checked) take(req workspace.CreateRequest) *settings {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]string{req.Project.ID, req.ThreadID}
	found, ok := c.found[key]
	delete(c.found, key)
	if !ok || !req.Prechecked || time.Since(found.at) > checkedFor {
		return nil
	}
	return found.set
}
