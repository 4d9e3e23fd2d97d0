package main

import (
	"context"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

type reconcileCommand struct {
	Repo string `name:"repo" required:"" placeholder:"DIR" help:"A directory of the repository."`
}

// Run repairs the records.
func (c *reconcileCommand) Run(ctx context.Context, a *app) error {
	project, err := directory("repo", c.Repo)
	if err != nil {
		return err
	}
	return a.with(ctx, func(m *workspace.Manager) error {
		actions, err := m.Reconcile(ctx, project)
		if err != nil {
			return err
		}
		if a.opts.JSON {
			return a.printJSON(actionsOf(actions))
		}
		if a.opts.Quiet {
			return nil
		}
		return a.print(a.actions(actions))
	})
}

// actions says what a reconcile found.
func (a *app) actions(actions []workspace.Action) string {
	if len(actions) == 0 {
		return "All records agree with git and the disk.\n"
	}
	var b strings.Builder
	for _, action := range actions {
		var about []string
		if action.ThreadID != "" {
			about = append(about, "thread "+action.ThreadID)
		}
		if action.Directory != "" {
			about = append(about, a.path(action.Directory))
		}
		b.WriteString(a.hang(pad(string(action.Kind), 9), strings.Join(about, ", ")))
		b.WriteString(a.hang(pad("", 9), action.Detail))
	}
	return b.String()
}
