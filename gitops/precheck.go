package gitops

import (
	"context"
	"errors"

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
