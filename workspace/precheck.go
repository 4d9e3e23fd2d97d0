package workspace

import (
	"context"
	"errors"
)

// Precheck returns the refusal that Create would answer o with, as far as
// reading alone can tell: nil where there is none, where the provider can't look
// ahead, and where the thread has a workspace. It writes nothing, asks no
// network, and promises nothing, as Create judges again.
func (m *Manager) Precheck(ctx context.Context, o CreateOptions) error {
	name, err := m.nameOf(o)
	if err != nil {
		return within("create", o.ThreadID, err)
	}
	project, err := m.cfg.Repository.Open(ctx, o.Project)
	if err != nil {
		return within("create", o.ThreadID, err)
	}
	_, err = m.precheck(ctx, project, name, "", o)
	if errors.Is(err, errLookAgain) {
		return nil
	}
	return within("create", o.ThreadID, err)
}

// NameOf returns the name that Create would begin with, and looks at nothing:
// one that is derived from a title may get a suffix. The codes are those of
// Create for bad input.
func (m *Manager) NameOf(o CreateOptions) (Name, error) {
	name, err := m.nameOf(o)
	return name, within("name", o.ThreadID, err)
}

// precheck has the provider refuse what it can before a row is written, for the
// attempt that follows, "" for none. It reports whether there was such a look.
func (m *Manager) precheck(ctx context.Context, project Project, name Name, attempt string, o CreateOptions) (bool, error) {
	p, ok := m.cfg.Provider.(Prechecker)
	if !ok {
		return false, nil
	}
	err := p.Precheck(ctx, CreateRequest{
		Project: project, ThreadID: o.ThreadID, Attempt: attempt, Name: name, Base: o.Base, NoFetch: o.NoFetch, Setup: o.Setup,
		Claim: func(context.Context, Plan) error { return nil }, Progress: func(Event) {},
	})
	if err == nil {
		return true, nil
	}
	if _, rowErr := m.cfg.Store.Workspace(ctx, o.ThreadID); rowErr == nil {
		// What stands in the way may be what another create for this very
		// thread has just made.
		return true, errLookAgain
	}
	return true, m.whose(ctx, project, err)
}
