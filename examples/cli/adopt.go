package main

import (
	"context"

	"github.com/threadtree/threadtree/workspace"
)

type adoptCommand struct {
	Repo      string `name:"repo" required:"" placeholder:"DIR" help:"A directory of the repository."`
	Thread    string `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
	Directory string `name:"directory" required:"" placeholder:"DIR" help:"An existing linked worktree of that repository."`
}

// Run binds the thread.
func (c *adoptCommand) Run(ctx context.Context, a *app) error {
	o := workspace.AdoptOptions{ThreadID: c.Thread}
	var err error
	if o.Project, err = directory("repo", c.Repo); err != nil {
		return err
	}
	if o.Directory, err = directory("directory", c.Directory); err != nil {
		return err
	}
	return a.with(ctx, func(m *workspace.Manager) error {
		w, err := m.Adopt(ctx, o)
		if err != nil {
			return err
		}
		return a.showWorkspace(w)
	})
}
