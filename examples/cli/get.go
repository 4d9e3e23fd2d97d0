package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/workspace"
)

type getCommand struct {
	Thread string `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
}

// Run shows the workspace.
func (c *getCommand) Run(ctx context.Context, a *app) error {
	if err := workspace.CheckThreadID(c.Thread); err != nil {
		return err
	}
	return a.with(ctx, func(m *workspace.Manager) error {
		w, err := m.Get(ctx, c.Thread)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(w.Directory); w.Status == workspace.StatusReady && errors.Is(err, fs.ErrNotExist) && !a.opts.JSON {
			_, _ = io.WriteString(a.err, a.hang("! ", "its directory is gone; if a delete was interrupted, restore brings it back, and reconcile finishes it"))
		}
		return a.showWorkspace(w)
	})
}

type awaitCommand struct {
	Thread  string        `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
	Timeout time.Duration `name:"timeout" placeholder:"TIME" help:"How long to wait at most, such as 90s or 5m. Default: as long as it takes"`
}

// Run waits for the workspace and shows it.
func (c *awaitCommand) Run(ctx context.Context, a *app) error {
	if err := workspace.CheckThreadID(c.Thread); err != nil {
		return err
	}
	if c.Timeout < 0 {
		return &usageError{"--timeout can't be negative"}
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	return a.with(ctx, func(m *workspace.Manager) error {
		w, err := m.Await(ctx, c.Thread)
		if err != nil {
			return err
		}
		return a.showWorkspace(w)
	})
}

type resolveCommand struct {
	Thread string  `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
	Repo   *string `name:"repo" placeholder:"DIR" help:"The project of a thread that never had a workspace."`
}

// Run prints where the thread works.
func (c *resolveCommand) Run(ctx context.Context, a *app) error {
	if err := workspace.CheckThreadID(c.Thread); err != nil {
		return err
	}
	project := ""
	if c.Repo != nil {
		var err error
		if project, err = directory("repo", *c.Repo); err != nil {
			return err
		}
	}
	return a.withGit(ctx, func(m *workspace.Manager, r *gitops.Repository) error {
		place, err := m.Resolve(ctx, c.Thread, project)
		if err == nil && place.Workspace == nil {
			// --repo names a repository here, as everywhere.
			_, err = r.Open(ctx, project)
		}
		if err != nil {
			return err
		}
		if a.opts.JSON {
			return a.printJSON(locationOf(place))
		}
		return a.printPath(place.Directory)
	})
}
