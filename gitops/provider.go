package gitops

import (
	"context"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// ProviderOptions are the settings of a [Provider]. The zero value is usable.
type ProviderOptions struct {
	// FetchTimeout bounds the fetch of a base or a branch, 15 s if 0.
	FetchTimeout time.Duration
	// HookTimeout bounds the post-checkout hook, 1 min if 0.
	HookTimeout time.Duration
	// SubmoduleTimeout bounds the initialising of all submodules, 20 min if 0.
	SubmoduleTimeout time.Duration
	// Setup is what is done in a fresh worktree where the request allows it.
	Setup SetupOptions
	// Pool, if set, has spare worktrees, which creates are made of where there
	// are some: see [Pool].
	Pool *Pool
}

// Provider makes and removes worktrees with git alone. It is safe for
// concurrent use.
type Provider struct {
	r       *Repository
	o       ProviderOptions
	checked checked
}

var _ workspace.Provider = (*Provider)(nil)

// NewProvider returns a Provider over the repositories that r reads.
func NewProvider(r *Repository, o ProviderOptions) *Provider {
	if o.FetchTimeout <= 0 {
		o.FetchTimeout = 15 * time.Second
	}
	if o.HookTimeout <= 0 {
		o.HookTimeout = time.Minute
	}
	if o.SubmoduleTimeout <= 0 {
		o.SubmoduleTimeout = 20 * time.Minute
	}
	return &Provider{r: r, o: o}
}

// Name returns [workspace.ProviderGit].
func (p *Provider) Name() string { return workspace.ProviderGit }

// lock takes the project's lock, within the time that the options allow.
func (r *Repository) lock(ctx context.Context, p workspace.Project) (*repoLock, error) {
	ctx, cancel := context.WithTimeout(ctx, r.lockTimeout)
	defer cancel()
	return r.locks.acquire(ctx, p.ID)
}
