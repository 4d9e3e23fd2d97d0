package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/workspace"
)

type poolCommand struct {
	Repo   string `name:"repo" required:"" placeholder:"DIR" help:"A directory of the repository."`
	Spares int    `name:"spares" placeholder:"N" default:"2" help:"How many there are to be; 0 removes them. Default: 2"`
}

// Run fills the project's pool once.
func (c *poolCommand) Run(ctx context.Context, a *app) error {
	project, err := directory("repo", c.Repo)
	if err != nil {
		return err
	}
	if c.Spares < 0 {
		return &usageError{"--spares: there can't be fewer than none"}
	}
	return a.withGit(ctx, func(_ *workspace.Manager, r *gitops.Repository) error {
		p, err := r.Open(ctx, project)
		if err != nil {
			return err
		}
		spares := c.Spares
		if spares == 0 {
			spares = gitops.NoSpares
		}
		filled, err := gitops.NewPool(r, gitops.PoolOptions{Spares: spares}).Fill(ctx, p)
		if err != nil {
			return err
		}
		if a.opts.JSON {
			return a.printJSON(filledOf(filled))
		}
		return a.print(a.filled(filled))
	})
}

type filledJSON struct {
	Ready   int      `json:"ready"`
	Made    int      `json:"made"`
	Moved   int      `json:"moved"`
	Removed int      `json:"removed"`
	Kept    []string `json:"kept"`
	// Without is absent where the repository can have spares.
	Without string `json:"without,omitempty"`
}

func filledOf(f gitops.Filled) filledJSON {
	return filledJSON{Ready: f.Ready, Made: f.Made, Moved: f.Moved, Removed: f.Removed, Kept: append([]string{}, f.Kept...), Without: f.Without}
}

// filled says what became of the pool.
func (a *app) filled(f gitops.Filled) string {
	if a.opts.Quiet {
		return ""
	}
	if f.Without != "" {
		return "This repository has no spares: " + visible(f.Without) + ".\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s ready: %d made, %d brought to the base, %d removed.\n", counted(f.Ready, "spare"), f.Made, f.Moved, f.Removed)
	for _, line := range f.Kept {
		b.WriteString(a.sentence(line) + "\n")
	}
	return b.String()
}
