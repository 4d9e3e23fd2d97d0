package main

import (
	"context"

	"github.com/threadtree/threadtree/workspace"
)

type createCommand struct {
	Repo    string  `name:"repo" required:"" placeholder:"DIR" help:"A directory of the repository; a subdirectory gives the thread the same one of its worktree."`
	Thread  string  `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
	Name    *string `name:"name" xor:"name" placeholder:"TYPED" help:"Name of the workspace; its branch gets the prefix threadtree/."`
	Title   *string `name:"title" xor:"name" placeholder:"AUTO" help:"Title to derive a free name from."`
	Branch  *string `name:"branch" xor:"name" placeholder:"EXACT" help:"The branch, literally."`
	Base    *string `name:"base" placeholder:"REF" help:"Branch, tag or commit that a new branch starts from."`
	NoFetch bool    `name:"no-fetch" help:"Stay off the network."`
	Setup   bool    `name:"setup" help:"Set the worktree up: copy the ignored files named in .worktreeinclude and install dependencies. This may run code of the repository's."`
}

// Run makes the workspace.
func (c *createCommand) Run(ctx context.Context, a *app) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	o.Progress = a.progress()
	return a.with(ctx, func(m *workspace.Manager) error {
		w, err := m.Create(ctx, o)
		if err != nil {
			return err
		}
		return a.showWorkspace(w)
	})
}

func (c *createCommand) options() (workspace.CreateOptions, error) {
	o := workspace.CreateOptions{ThreadID: c.Thread, NoFetch: c.NoFetch, Setup: c.Setup}
	var err error
	if o.Project, err = directory("repo", c.Repo); err != nil {
		return o, err
	}
	// To the library an empty string is one that was not given.
	if c.Name != nil {
		if o.Name = *c.Name; o.Name == "" {
			_, err = workspace.NameFromTyped(workspace.DefaultPrefix, "")
		}
	}
	if c.Branch != nil {
		if o.Branch = *c.Branch; o.Branch == "" {
			_, err = workspace.NameFromBranch("")
		}
	}
	if c.Base != nil {
		if o.Base = *c.Base; o.Base == "" {
			err = workspace.CheckRef("")
		}
	}
	if c.Title != nil {
		o.Title = *c.Title
	}
	return o, err
}
