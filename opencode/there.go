package opencode

import (
	"context"

	"github.com/threadtree/threadtree/workspace"
)

func (p *Provider) createThere(ctx context.Context, req workspace.CreateRequest, client *Client, adapter string) (workspace.Created, error) {
	panic("todo")
}

func (p *Provider) located(ctx context.Context, project workspace.Project, w workspace.Workspace) (workspace.Workspace, error) {
	return w, nil
}
