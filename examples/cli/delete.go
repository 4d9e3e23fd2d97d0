package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

type deleteCommand struct {
	Thread string `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
}

// Run deletes the workspace.
func (c *deleteCommand) Run(ctx context.Context, a *app) error {
	if err := workspace.CheckThreadID(c.Thread); err != nil {
		return err
	}
	return a.with(ctx, func(m *workspace.Manager) error {
		d, err := m.Delete(ctx, workspace.DeleteOptions{ThreadID: c.Thread, Progress: a.progress()})
		if err != nil {
			return err
		}
		if a.opts.JSON {
			return a.printJSON(deletedJSON{Deleted: true})
		}
		if a.opts.Quiet {
			return nil
		}
		return a.print(a.deleted(d))
	})
}

// deleted says what became of a workspace.
func (a *app) deleted(d workspace.Deleted) string {
	w := d.Workspace
	var b strings.Builder
	switch {
	case d.Unbound:
		fmt.Fprintf(&b, "Unbound thread %s; the worktree stays at %s\n", visible(w.ThreadID), a.path(w.Directory))
	case w.Status != workspace.StatusReady:
		fmt.Fprintf(&b, "Deleted the record of thread %s, whose workspace could not be made\n", visible(w.ThreadID))
	default:
		fmt.Fprintf(&b, "Deleted the workspace of thread %s\n", visible(w.ThreadID))
		if w.Directory != "" {
			fmt.Fprintf(&b, "  directory  %s\n", a.path(w.Directory))
		}
	}
	if d.Removed.Branch != "" {
		fmt.Fprintf(&b, "  branch     %s%s\n", visible(d.Removed.Branch), bracketed("was ", short(d.Removed.Tip)))
	}
	for _, left := range d.Removed.Left {
		b.WriteString(a.hang("  left       ", left))
	}
	return b.String()
}
