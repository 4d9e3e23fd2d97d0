package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/workspace"
)

type previewCommand struct {
	Thread   string `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
	Target   string `name:"target" placeholder:"B" help:"The branch to merge into. Default: the workspace's base, or the default branch"`
	Strategy string `name:"strategy" placeholder:"HOW" enum:"rebase,squash,merge" default:"rebase" help:"How it would be merged: rebase, squash or merge. Default: rebase"`
}

// Run says what a merge would do.
func (c *previewCommand) Run(ctx context.Context, a *app) error {
	return a.merging(ctx, c.Thread, false, func(g *workspace.Merger) error {
		p, err := g.Preview(ctx, workspace.MergeOptions{ThreadID: c.Thread, Target: c.Target, Strategy: workspace.Strategy(c.Strategy)})
		if err != nil {
			return err
		}
		if a.opts.JSON {
			return a.printJSON(previewOf(p))
		}
		return a.print(a.preview(p))
	})
}

type mergeCommand struct {
	Thread     string `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
	Target     string `name:"target" placeholder:"B" help:"The branch to merge into. Default: the workspace's base, or the default branch"`
	Strategy   string `name:"strategy" placeholder:"HOW" enum:"rebase,squash,merge" default:"rebase" help:"rebase keeps every commit, squash makes one of them, merge makes a merge commit. Default: rebase"`
	Message    string `name:"message" placeholder:"M" help:"The message of the commit that a squash or a merge makes."`
	Resolve    bool   `name:"resolve" help:"Leave a conflict paused in the workspace, to be resolved there."`
	KeepBranch bool   `name:"keep-branch" help:"Keep the workspace's branch."`
	Setup      bool   `name:"setup" help:"Run also the hooks that lie in the repository itself (core.hooksPath). This is code of the repository's."`
}

// Run brings the commits home.
func (c *mergeCommand) Run(ctx context.Context, a *app) error {
	if c.Message != "" && c.Strategy == string(workspace.StrategyRebase) {
		return &usageError{"--message is for --strategy squash or merge: a rebase keeps the messages of the commits"}
	}
	return a.merging(ctx, c.Thread, c.Setup, func(g *workspace.Merger) error {
		merged, err := g.Merge(ctx, workspace.MergeOptions{
			ThreadID: c.Thread, Target: c.Target, Strategy: workspace.Strategy(c.Strategy), Message: c.Message,
			Resolve: c.Resolve, KeepBranch: c.KeepBranch, Progress: a.progress(),
		})
		return a.showMerged(merged, err)
	})
}

type continueCommand struct {
	Thread string `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
	Setup  bool   `name:"setup" help:"Run also the hooks that lie in the repository itself (core.hooksPath). This is code of the repository's."`
}

// Run finishes a paused merge.
func (c *continueCommand) Run(ctx context.Context, a *app) error {
	return a.merging(ctx, c.Thread, c.Setup, func(g *workspace.Merger) error {
		merged, err := g.Continue(ctx, workspace.MergeOptions{ThreadID: c.Thread, Progress: a.progress()})
		return a.showMerged(merged, err)
	})
}

type abortCommand struct {
	Thread string `name:"thread" required:"" placeholder:"ID" help:"The chat thread."`
}

// Run undoes a paused merge.
func (c *abortCommand) Run(ctx context.Context, a *app) error {
	return a.merging(ctx, c.Thread, false, func(g *workspace.Merger) error {
		w, err := g.Abort(ctx, workspace.MergeOptions{ThreadID: c.Thread, Progress: a.progress()})
		if err != nil {
			return err
		}
		return a.showWorkspace(w)
	})
}

func (a *app) merging(ctx context.Context, thread string, setup bool, f func(*workspace.Merger) error) error {
	if err := workspace.CheckThreadID(thread); err != nil {
		return err
	}
	return a.withGit(ctx, func(m *workspace.Manager, r *gitops.Repository) error {
		return f(workspace.NewMerger(m, gitops.NewMerger(r, gitops.MergeOptions{RepositoryHooks: setup})))
	})
}

type mergedJSON struct {
	Branch  string `json:"branch"`
	Target  string `json:"target"`
	Commits int    `json:"commits"`
	SHA     string `json:"sha"`
	// Warnings is absent where there are none.
	Warnings []string `json:"warnings,omitempty"`
}

type previewJSON struct {
	Clean     bool     `json:"clean"`
	Commits   int      `json:"commits"`
	Conflicts []string `json:"conflicts"`
	// Refusals say what besides a conflict stands in the way.
	Refusals []refusalJSON `json:"refusals"`
	// Conflict is absent where there is none.
	Conflict *conflictJSON `json:"conflict,omitempty"`
	// Warnings is absent where there are none.
	Warnings []string `json:"warnings,omitempty"`
}

func previewOf(p workspace.Preview) previewJSON {
	j := previewJSON{Clean: p.Clean, Commits: gains(p), Conflicts: []string{}, Refusals: []refusalJSON{}, Warnings: p.Warnings}
	if p.Conflict != nil {
		j.Conflicts = append(j.Conflicts, p.Conflict.Files...)
		j.Conflict = conflictOf(p.Conflict)
	}
	for _, refusal := range p.Refusals {
		j.Refusals = append(j.Refusals, errorOf(refusal).Error.refusalJSON)
	}
	return j
}

// gains is how many commits the target would gain, or, where that isn't known
// because something stands in the way, how many would be merged.
func gains(p workspace.Preview) int {
	if p.Conflict != nil || p.Gains == 0 {
		return len(p.Commits)
	}
	return p.Gains
}

// showMerged prints a merge that was done, or for people what a conflict is
// about before the error itself.
func (a *app) showMerged(merged workspace.Merged, err error) error {
	if err != nil {
		if c, ok := errors.AsType[*workspace.Conflict](err); ok && !a.opts.JSON && !a.opts.Quiet {
			_ = a.print(a.conflict(c))
		}
		return err
	}
	if a.opts.JSON {
		return a.printJSON(mergedJSON{Branch: merged.Branch, Target: merged.Target, Commits: merged.Commits, SHA: merged.SHA, Warnings: merged.Warnings})
	}
	if a.opts.Quiet {
		return a.print(merged.SHA + "\n")
	}
	return a.print(a.merged(merged))
}

// merged says what a merge did.
func (a *app) merged(m workspace.Merged) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Merged %s into %s at %s (%s)\n", visible(shownBranch(m.Branch)), visible(m.Target), short(m.SHA), counted(m.Commits, "commit"))
	if m.Dropped > 0 {
		b.WriteString(a.hang("  ", counted(m.Dropped, "commit")+" dropped: on the target already, or empty there"))
	}
	if m.BranchKept {
		fmt.Fprintf(&b, "  the branch %s is kept; the workspace is detached at %s\n", visible(m.Branch), visible(m.Target))
	} else {
		fmt.Fprintf(&b, "  the workspace is detached at %s now\n", visible(m.Target))
	}
	for _, warning := range m.Warnings {
		b.WriteString(a.hang("  ! ", warning))
	}
	if len(m.SkippedHooks) > 0 {
		b.WriteString(a.hang("  → ", "merge and continue run these hooks with --setup"))
	}
	return b.String()
}

func shownBranch(branch string) string {
	if branch == "" {
		return "the detached commits"
	}
	return branch
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// preview says what a merge would do.
func (a *app) preview(p workspace.Preview) string {
	var b strings.Builder
	verdict := "merges cleanly"
	switch {
	case p.Conflict != nil:
		verdict = "conflicts"
	case !p.Clean:
		verdict = "can't be merged now"
	case p.FastForward:
		verdict = "fast-forwards"
	}
	fmt.Fprintf(&b, "%s into %s: %s%s\n", visible(shownBranch(p.Branch)), visible(p.Target), verdict, bracketed("", amountOf(p)))
	for _, c := range p.Commits {
		fmt.Fprintf(&b, "  %s %s\n", short(c.SHA), visible(c.Subject))
	}
	b.WriteString(a.changes(p.Files))
	if p.Conflict != nil {
		b.WriteString(a.conflict(p.Conflict))
	}
	for _, refusal := range p.Refusals {
		b.WriteString(a.hang("  ! ", errorOf(refusal).Error.Message))
	}
	for _, warning := range p.Warnings {
		b.WriteString(a.hang("  ! ", warning))
	}
	return b.String()
}

// amountOf says how much would be merged, as far as that is known.
func amountOf(p workspace.Preview) string {
	nothing := slices.ContainsFunc(p.Refusals, func(err error) bool { return errors.Is(err, workspace.ErrNothingToMerge) })
	switch {
	case gains(p) == 0 && !nothing && !p.Clean:
		return ""
	case len(p.Files) == 0 && !nothing && !p.Clean:
		return counted(gains(p), "commit")
	}
	return counted(gains(p), "commit") + ", " + counted(len(p.Files), "file")
}

// changes lists changed files with their lines.
func (a *app) changes(files []workspace.FileChange) string {
	t := table{}
	for _, f := range files {
		lines := fmt.Sprintf("  +%d -%d", f.Added, f.Deleted)
		if f.Added < 0 {
			lines = "  binary"
		}
		name := visible(f.Path)
		if f.From != "" {
			name = visible(f.From) + " → " + name
		}
		t = append(t, []string{lines, name})
	}
	if len(t) == 0 {
		return ""
	}
	return strings.Join(t.lines(0), "")
}

// conflict says what conflicts and who changed it.
func (a *app) conflict(c *workspace.Conflict) string {
	var b strings.Builder
	b.WriteString("In conflict:\n")
	for _, file := range c.Files {
		fmt.Fprintf(&b, "  %s\n", visible(file))
	}
	side := func(name string, commits []workspace.CommitInfo) {
		if len(commits) == 0 {
			return
		}
		fmt.Fprintf(&b, "Changed on %s by:\n", visible(shownBranch(name)))
		for _, commit := range commits {
			fmt.Fprintf(&b, "  %s %s (%s)\n", short(commit.SHA), visible(commit.Subject), visible(commit.Author))
		}
	}
	side(c.Branch, c.Ours)
	side(c.Target, c.Theirs)
	if c.Paused {
		fmt.Fprintf(&b, "Paused in %s\n", a.path(c.Directory))
	}
	if c.Instructions != "" {
		b.WriteString(a.hang("→ ", "instructions for an agent, with both sides: the same command with --json has them"))
	}
	return b.String()
}
