package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/workspace"
)

type branchesCommand struct {
	Repo  string `name:"repo" required:"" placeholder:"DIR" help:"A directory of the repository."`
	Query string `name:"query" placeholder:"Q" help:"Only those with this in their name, in either case."`
	Local bool   `name:"local" help:"Leave the branches of remotes out."`
	Limit int    `name:"limit" placeholder:"N" help:"At most so many. Default: all"`
}

// Run lists the branches of a project.
func (c *branchesCommand) Run(ctx context.Context, a *app) error {
	if c.Limit < 0 {
		return &usageError{"--limit is a number of branches, 0 for all"}
	}
	project, err := directory("repo", c.Repo)
	if err != nil {
		return err
	}
	return a.reviewing(ctx, func(r *workspace.Reviewer) error {
		names, err := r.Branches(ctx, project, workspace.BranchQuery{Text: c.Query, Local: c.Local, Limit: c.Limit})
		if err != nil {
			return err
		}
		if a.opts.JSON {
			return a.printJSON(branchesJSON{Branches: append([]string{}, names...)})
		}
		var b strings.Builder
		for _, name := range names {
			b.WriteString(a.plain(name) + "\n")
		}
		return a.print(b.String())
	})
}

type diffCommand struct {
	Thread string `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
	Patch  bool   `name:"patch" help:"Print the patch as well, at most 1 MB of it."`
}

// Run compares a workspace with its base.
func (c *diffCommand) Run(ctx context.Context, a *app) error {
	return a.reviewingThread(ctx, c.Thread, func(r *workspace.Reviewer) error {
		d, err := r.Diff(ctx, c.Thread, c.Patch, 0)
		if err != nil {
			return err
		}
		if a.opts.JSON {
			return a.printJSON(diffOf(d, c.Patch))
		}
		if d.Truncated {
			_, _ = io.WriteString(a.err, a.hang("! ", "the patch is cut; all of it is shown in the workspace by: git diff "+short(d.BaseCommit)))
		}
		return a.print(a.diff(d, c.Patch))
	})
}

// diff is what a workspace changes, and the patch below; with --quiet it is
// the one that was asked for alone.
func (a *app) diff(d workspace.Diff, patch bool) string {
	var b strings.Builder
	if !a.opts.Quiet {
		b.WriteString(a.sentence(fmt.Sprintf("Against %s (%s): %s", d.Base, short(d.BaseCommit), sumOf(d.Files))) + "\n")
	}
	if !a.opts.Quiet || !patch {
		b.WriteString(a.changes(d.Files))
	}
	if patch && d.Patch != "" {
		if !a.opts.Quiet {
			b.WriteByte('\n')
		}
		for line := range strings.Lines(d.Patch) {
			text, end := strings.CutSuffix(line, "\n")
			b.WriteString(a.code(text))
			if end {
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

func sumOf(files []workspace.FileChange) string {
	added, deleted := 0, 0
	for _, f := range files {
		added, deleted = added+max(f.Added, 0), deleted+max(f.Deleted, 0)
	}
	if len(files) == 0 {
		return "nothing is changed"
	}
	return fmt.Sprintf("%s, +%d -%d", counted(len(files), "file"), added, deleted)
}

// code is a line of a file, as it is for a program, and so that nothing in it
// steers the terminal.
func (a *app) code(line string) string {
	if !a.outTTY {
		return line
	}
	parts := strings.Split(strings.TrimSuffix(line, "\r"), "\t")
	for i, part := range parts {
		parts[i] = visible(part)
	}
	return strings.Join(parts, "\t")
}

// plain is text as it is for a program, and visible on a terminal.
func (a *app) plain(text string) string {
	if a.outTTY {
		return visible(text)
	}
	return text
}

type overlapCommand struct {
	Repo string `name:"repo" required:"" placeholder:"DIR" help:"A directory of the repository."`
}

// Run finds the workspaces that change the same files.
func (c *overlapCommand) Run(ctx context.Context, a *app) error {
	project, err := directory("repo", c.Repo)
	if err != nil {
		return err
	}
	return a.reviewing(ctx, func(r *workspace.Reviewer) error {
		found, err := r.Overlap(ctx, project)
		if err != nil {
			return err
		}
		if a.opts.JSON {
			return a.printJSON(overlapsOf(found))
		}
		return a.print(a.overlaps(found))
	})
}

// overlaps draws which workspaces change the same files.
func (a *app) overlaps(found []workspace.Overlap) string {
	if len(found) == 0 {
		if a.opts.Quiet {
			return ""
		}
		return "No two workspaces change the same files.\n"
	}
	t := table{{"THREADS", "TOGETHER", "FILES"}}
	for _, o := range found {
		verdict := "merge"
		if o.Conflict {
			verdict = "conflict"
		}
		const most = 5
		files := visible(strings.Join(o.Files[:min(most, len(o.Files))], ", "))
		if more := len(o.Files) - most; more > 0 {
			files += fmt.Sprintf(", and %d more", more)
		}
		t = append(t, []string{visible(strings.Join(o.Threads, ", ")), verdict, files})
	}
	return strings.Join(t.lines(a.width), "")
}

type pushCommand struct {
	Thread         string `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
	ForceWithLease bool   `name:"force-with-lease" help:"Replace what the remote has, if that is still what was last fetched."`
}

// Run publishes the workspace's branch.
func (c *pushCommand) Run(ctx context.Context, a *app) error {
	return a.reviewingThread(ctx, c.Thread, func(r *workspace.Reviewer) error {
		p, err := r.Push(ctx, c.Thread, c.ForceWithLease, a.progress())
		if err != nil {
			return err
		}
		switch {
		case a.opts.JSON:
			return a.printJSON(pushedJSON{Remote: p.Remote, Branch: p.Branch, URL: p.URL, UpToDate: p.UpToDate, Warnings: p.Warnings})
		case !a.opts.Quiet:
			text := fmt.Sprintf("Pushed %s to %s\n", visible(p.Branch), visible(p.Remote))
			if p.UpToDate {
				text = fmt.Sprintf("Nothing new: %s has all of %s already\n", visible(p.Remote), visible(p.Branch))
			}
			for _, warning := range p.Warnings {
				text += a.hang("  ! ", warning)
			}
			err = a.print(text)
		}
		if err == nil && p.URL != "" {
			err = a.print(p.URL + "\n")
		}
		return err
	})
}

func (a *app) reviewing(ctx context.Context, f func(*workspace.Reviewer) error) error {
	return a.withGit(ctx, func(m *workspace.Manager, r *gitops.Repository) error {
		return f(workspace.NewReviewer(m, gitops.NewReviewer(r, gitops.ReviewOptions{})))
	})
}

func (a *app) reviewingThread(ctx context.Context, thread string, f func(*workspace.Reviewer) error) error {
	if err := workspace.CheckThreadID(thread); err != nil {
		return err
	}
	return a.reviewing(ctx, f)
}
