package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

type deleteCommand struct {
	Thread string `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
	Force  bool   `name:"force" help:"Also with uncommitted work, unmerged commits, a lock, an operation or a process in it. It can be restored all the same."`
}

// Run deletes the workspace.
func (c *deleteCommand) Run(ctx context.Context, a *app) error {
	if err := workspace.CheckThreadID(c.Thread); err != nil {
		return err
	}
	return a.with(ctx, func(m *workspace.Manager) error {
		d, err := m.Delete(ctx, workspace.DeleteOptions{ThreadID: c.Thread, Force: c.Force, Progress: a.progress()})
		if err != nil {
			return err
		}
		if a.opts.JSON {
			return a.printJSON(deletedOf(d))
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
		fmt.Fprintf(&b, "  branch     %s%s\n", visible(d.Removed.Branch), bracketed("was ", short(d.Removed.BranchTip)))
	}
	for _, warning := range d.Removed.Warnings {
		b.WriteString(a.hang("  ! ", warning))
	}
	for _, left := range d.Removed.Left {
		b.WriteString(a.hang("  left       ", left))
	}
	if t := d.Trashed; t != nil {
		fmt.Fprintf(&b, "  undo       threadtree restore --thread %s until %s\n", visible(w.ThreadID), t.RestorableUntil.Local().Format(time.DateTime))
		if !t.DirectoryUntil.IsZero() {
			fmt.Fprintf(&b, "             with ignored files until %s\n", t.DirectoryUntil.Local().Format(time.DateTime))
		}
		for _, missing := range t.Kept.Missing {
			b.WriteString(a.hang("  ! ", "not in the snapshot, and restored no longer than the ignored files: "+missing))
		}
	}
	return b.String()
}
