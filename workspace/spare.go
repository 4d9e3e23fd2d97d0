package workspace

import (
	"context"
	"errors"
	"time"
)

// Spare is a working copy that waits to be handed out, or what is left of one.
type Spare struct {
	// ID names it to its provider.
	ID        string
	Directory string
	// Size is its disk use in bytes, 0 where it isn't known.
	Size int64
	Made time.Time
	// Reason says why it should go, "" if it shouldn't.
	Reason string
}

// Sparer is an optional extra of a [Provider] that has spares. What isn't theirs
// any more, because somebody worked in it, is none.
type Sparer interface {
	// Spares returns the project's spares, and those of projects that are
	// gone. It writes nothing.
	Spares(ctx context.Context, project Project) ([]Spare, error)
	// DiscardSpare removes a spare. It is no error where it is gone, or is
	// somebody's by now; one that somebody has worked in is left there, with
	// the code dirty_worktree.
	DiscardSpare(ctx context.Context, project Project, id string) error
}

// spares plans the spares that should go.
func (p *planning) spares(ctx context.Context) error {
	sparers := p.m.sparers()
	if len(sparers) == 0 {
		return nil
	}
	project, err := p.m.cfg.Repository.Open(ctx, p.o.Project)
	if err != nil {
		return err
	}
	for _, s := range sparers {
		list, err := s.Spares(ctx, project)
		if err != nil {
			return err
		}
		for _, spare := range list {
			if spare.Reason != "" {
				p.plan = append(p.plan, Collected{
					Kind: CollectSpare, SpareID: spare.ID, project: project, Directory: spare.Directory, Size: spare.Size, Reason: spare.Reason,
				})
			}
		}
	}
	return nil
}

// sparers returns the providers that have spares.
func (m *Manager) sparers() []Sparer {
	var list []Sparer
	seen := make(map[string]bool)
	for _, p := range append([]Provider{m.cfg.Provider}, m.cfg.Removers...) {
		if s, ok := p.(Sparer); ok && !seen[p.Name()] {
			list, seen[p.Name()] = append(list, s), true
		}
	}
	return list
}

// spare lets a spare go.
func (c *Collector) spare(ctx context.Context, item Collected) error {
	var all error
	for _, s := range c.m.sparers() {
		all = errors.Join(all, s.DiscardSpare(ctx, item.project, item.SpareID))
	}
	return all
}
