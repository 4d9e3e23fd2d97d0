package gitops

import (
	"context"

	"github.com/threadtree/threadtree/workspace"
)

// Removable returns the refusal that Remove would answer req with at this
// moment, nil for none. It changes nothing, and Remove judges again.
func (p *Provider) Removable(ctx context.Context, req workspace.RemoveRequest) error {
	if req.Workspace.Directory == "" {
		return nil
	}
	_, err := p.r.judge(ctx, req)
	return withOp("remove", err)
}
