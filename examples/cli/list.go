package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

type listCommand struct {
	Repo string `name:"repo" required:"" placeholder:"DIR" help:"A directory of the repository."`
}

// Run shows the rows of a project.
func (c *listCommand) Run(ctx context.Context, a *app) error {
	project, err := directory("repo", c.Repo)
	if err != nil {
		return err
	}
	return a.with(ctx, func(m *workspace.Manager) error {
		if a.opts.JSON {
			rows, err := m.List(ctx, workspace.ListOptions{Project: project})
			if err != nil {
				return err
			}
			return a.printJSON(rowsOf(rows))
		}
		return a.showRows(ctx, m, project)
	})
}

// showRows prints the list, each row once it is known: to look at many large
// working copies takes a while. What a row is called is known at once.
func (a *app) showRows(ctx context.Context, m *workspace.Manager, project string) error {
	rows, err := m.List(ctx, workspace.ListOptions{Project: project, WithoutState: true})
	switch {
	case err != nil:
		return err
	case len(rows) == 0 && a.opts.Quiet:
		return nil
	case len(rows) == 0:
		return a.print(fmt.Sprintf("%s has no linked worktrees, and no thread has a workspace of it.\n", a.path(project)))
	}
	l := a.newList(rows)
	if err := a.print(l.line("THREAD", "BRANCH", "ACTIVE", "STATE")); err != nil {
		return err
	}
	for row, err := range m.Rows(ctx, workspace.ListOptions{Project: project}) {
		if err == nil {
			err = a.print(l.row(row))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rowList draws the rows of a list: one line each with what fits in columns, and
// below it the directory and what else there is to say.
type rowList struct {
	*app
	wide []int
}

// newList makes room for rows of which the state isn't known yet.
func (a *app) newList(rows []workspace.Row) *rowList {
	t := table{{"THREAD", "BRANCH", "29d 23h ago", ""}}
	for _, row := range rows {
		t = append(t, []string{threadOf(row), branchOf(row), "", ""})
		if w := row.Workspace; w != nil {
			t = append(t, []string{"", visible(w.Branch), "", ""}) // a rebase of it may be under way
		}
	}
	if a.width > 0 {
		t.limit(1, a.width-24)
	}
	return &rowList{app: a, wide: t.widths()}
}

func (l *rowList) line(cells ...string) string {
	if l.width > 0 {
		cells[1] = cut(cells[1], l.wide[1])
	}
	return aligned(cells, l.wide, l.width)
}

func (l *rowList) row(row workspace.Row) string {
	var b strings.Builder
	b.WriteString(l.line(threadOf(row), branchOf(row), activityOf(row, l.now()), strings.Join(append(stateOf(row), closedOf(row)...), ", ")))
	if dir := row.Directory(); dir != "" {
		b.WriteString("  " + l.path(dir) + "\n")
	}
	for _, note := range notesOf(row) {
		b.WriteString(l.hang("  ! ", note))
	}
	return b.String()
}

func threadOf(row workspace.Row) string {
	if row.Workspace == nil {
		return "-"
	}
	return visible(row.Workspace.ThreadID)
}

// branchOf is what is checked out now; where that is not known, or is a rebase
// of it, what the record says.
func branchOf(row workspace.Row) string {
	switch {
	case row.Workspace != nil && row.State.Operation == "rebase" && row.Workspace.Branch != "":
		return visible(row.Workspace.Branch)
	case row.Worktree != nil && row.Worktree.Detached && row.Worktree.Head != "":
		return "(at " + short(row.Worktree.Head) + ")"
	case row.Worktree != nil && row.Worktree.Branch != "":
		return visible(row.Worktree.Branch)
	case row.Workspace != nil && row.Workspace.Branch != "":
		return visible(row.Workspace.Branch)
	}
	return "-"
}

func activityOf(row workspace.Row, now time.Time) string {
	switch {
	case row.State.LastActivity != nil:
		return ago(*row.State.LastActivity, now)
	case row.Workspace != nil && !row.Workspace.CreatedAt.IsZero():
		return ago(row.Workspace.CreatedAt, now)
	}
	return "-"
}

// stateOf says in a few words each how a row stands.
func stateOf(row workspace.Row) []string {
	var words []string
	switch w := row.Workspace; {
	case w == nil:
		words = append(words, string(row.Source))
	case w.Status == workspace.StatusError:
		return append(words, "failed")
	case w.Status == workspace.StatusPending:
		return append(words, pendingOf(row))
	case w.Provider == workspace.ProviderAdopted:
		words = append(words, "adopted")
	}
	if row.Missing {
		return append(words, "missing")
	}
	if row.Worktree == nil {
		return append(words, "no worktree")
	}
	if wt := row.Worktree; wt != nil {
		words = append(words, placeOf(*wt)...)
	}
	words = append(words, workOf(row.State)...)
	if row.Deletable {
		words = append(words, "can be deleted")
	}
	return words
}

// closedOf says that a row's thread isn't open any more.
func closedOf(row workspace.Row) []string {
	if row.Thread == workspace.ThreadOpen {
		return nil
	}
	return []string{"thread " + string(row.Thread)}
}

func pendingOf(row workspace.Row) string {
	switch row.Liveness {
	case workspace.Alive:
		return "being made"
	case workspace.Orphaned:
		return "interrupted, a process of it still runs"
	case workspace.Dead:
		return "interrupted"
	}
	if row.Workspace.Attempt.ID == "" {
		return "stale"
	}
	return "being made on " + visible(row.Workspace.Attempt.Host)
}

// placeOf says what git has noted about a worktree.
func placeOf(wt workspace.Worktree) []string {
	var words []string
	switch {
	case wt.Broken != "":
		words = append(words, "damaged")
	case wt.Prunable != "":
		words = append(words, "prunable")
	}
	if wt.Locked && !wt.Spare { // a spare always is
		words = append(words, "locked"+bracketed("", visible(wt.LockReason)))
	}
	return words
}

// workOf says how the work in a worktree stands.
func workOf(s workspace.State) []string {
	var words []string
	if s.Operation != "" {
		words = append(words, s.Operation+" under way")
	}
	switch {
	case s.Dirty == nil:
	case *s.Dirty:
		words = append(words, "dirty"+bracketed("", countsOf(s)))
	default:
		words = append(words, "clean")
	}
	if s.Default {
		return words
	}
	merged := s.Merged != nil && *s.Merged
	if s.Ahead != nil && *s.Ahead > 0 && !merged {
		words = append(words, fmt.Sprintf("%d ahead", *s.Ahead))
	}
	if s.Behind != nil && *s.Behind > 0 {
		words = append(words, fmt.Sprintf("%d behind", *s.Behind))
	}
	if merged && s.Ahead != nil && *s.Ahead > 0 {
		words = append(words, "merged")
	}
	return words
}

func countsOf(s workspace.State) string {
	var counts []string
	for _, c := range []struct {
		n    *int
		what string
	}{{s.Conflicted, "conflicted"}, {s.Staged, "staged"}, {s.Modified, "modified"}, {s.Untracked, "untracked"}} {
		if c.n != nil && *c.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", *c.n, c.what))
		}
	}
	return strings.Join(counts, ", ")
}

// notesOf are sentences about a row that don't fit into a column.
func notesOf(row workspace.Row) []string {
	var notes []string
	if w := row.Workspace; w != nil {
		if w.Status == workspace.StatusError {
			notes = append(notes, w.Error)
		}
		if row.Liveness == workspace.Dead {
			notes = append(notes, "its maker died; reconcile, or create it again")
		}
		if w.Status == workspace.StatusPending && w.Attempt.ID == "" {
			notes = append(notes, "another program recorded that it is being made, and whether it still is can't be told")
		}
	}
	if row.Worktree != nil && row.Worktree.Broken != "" {
		notes = append(notes, row.Worktree.Broken)
	}
	for _, other := range row.SharedWith {
		notes = append(notes, "thread "+other+" works in the same directory")
	}
	for _, unknown := range row.State.Unknown {
		notes = append(notes, "not known: "+unknown)
	}
	return notes
}
