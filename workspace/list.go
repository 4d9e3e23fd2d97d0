package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
)

// ListOptions say what a list is to contain.
type ListOptions struct {
	// Project is a directory of the repository.
	Project string
	// WithoutState leaves out what costs a look at each working copy.
	WithoutState bool
}

// List returns all linked worktrees of the project, those of people included,
// and all records, whoever wrote them: first the worktrees by directory, then
// the records without one by thread. The main checkout is not among them. What
// could not be found out of a row is absent in it, with a reason; an error is
// returned only where the project or the store can't be read, or ctx ends.
// Nothing is written.
func (m *Manager) List(ctx context.Context, o ListOptions) ([]Row, error) {
	rows, _, err := m.list(ctx, o)
	return rows, within("list", "", err)
}

// Rows is List that yields each row as soon as it and those before it are
// known, in the same order. The error comes last, with an empty row; what was
// yielded before it stands. A caller that has seen enough ends it.
func (m *Manager) Rows(ctx context.Context, o ListOptions) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ended := false
		_, _, err := m.stream(ctx, o, func(row Row) {
			if !ended && !yield(row, nil) {
				ended = true
				cancel()
			}
		})
		if err != nil && !ended {
			yield(Row{}, within("list", "", err))
		}
	}
}

func (m *Manager) list(ctx context.Context, o ListOptions) ([]Row, Project, error) {
	return m.stream(ctx, o, func(Row) {})
}

// stream lists, and calls each with the rows in their order while the last are
// yet to be found out.
func (m *Manager) stream(ctx context.Context, o ListOptions, each func(Row)) ([]Row, Project, error) {
	project, err := m.cfg.Repository.Open(ctx, o.Project)
	if err != nil {
		return nil, Project{}, err
	}
	worktrees, err := m.cfg.Repository.Worktrees(ctx, project)
	if err != nil {
		return nil, project, err
	}
	records, err := m.rowsOf(ctx, project)
	if err != nil {
		return nil, project, err
	}
	rows := m.match(worktrees, records)
	if err := m.threads(ctx, rows); err != nil {
		return nil, project, err
	}
	for i := range rows {
		if err := m.liveness(ctx, &rows[i]); err != nil {
			return nil, project, err
		}
	}
	next := 0
	// upTo tells the rows before one that isn't known yet.
	upTo := func(end int) {
		for ; next < end; next++ {
			judge(&rows[next], !o.WithoutState)
			each(rows[next])
		}
	}
	if !o.WithoutState {
		if err := m.states(ctx, project, rows, upTo); err != nil {
			return nil, project, err
		}
	}
	upTo(len(rows))
	return rows, project, nil
}

// match puts worktrees and records together by directory.
func (m *Manager) match(worktrees []Worktree, records []Workspace) []Row {
	slices.SortFunc(records, func(a, b Workspace) int { return strings.Compare(a.ThreadID, b.ThreadID) })
	owners := make(map[string][]*Workspace)
	for i := range records {
		if dir := records[i].Directory; dir != "" {
			dir = canonical(dir)
			owners[dir] = append(owners[dir], &records[i])
		}
	}
	var rows []Row
	placed := make(map[*Workspace]bool)
	for i := range worktrees {
		wt := &worktrees[i]
		managed := m.cfg.Repository.Managed(wt.Directory)
		threads := owners[canonical(wt.Directory)]
		if len(threads) == 0 {
			row := Row{Worktree: wt, Source: sourceOf(nil, wt.Directory, managed), Missing: wt.Missing}
			if wt.Spare {
				row.Source = SourceSpare
			}
			rows = append(rows, row)
			continue
		}
		for _, w := range threads {
			placed[w] = true
			row := Row{Workspace: w, Worktree: wt, Source: sourceOf(w, wt.Directory, managed), Missing: wt.Missing}
			row.SharedWith = sharers(w, threads)
			rows = append(rows, row)
		}
	}
	for i := range records {
		w := &records[i]
		if placed[w] {
			continue
		}
		row := Row{Workspace: w, Source: sourceOf(w, w.Directory, w.Directory != "" && m.cfg.Repository.Managed(w.Directory))}
		if w.Directory != "" {
			row.SharedWith = sharers(w, owners[canonical(w.Directory)])
		}
		// What is there without being a worktree isn't missing: it is
		// something else, and no delete would take it.
		row.Missing = w.Status == StatusReady && absent(w.Directory)
		rows = append(rows, row)
	}
	return rows
}

// absent reports whether nothing is at a path.
func absent(path string) bool {
	_, err := os.Lstat(path)
	return path == "" || errors.Is(err, fs.ErrNotExist)
}

func sharers(w *Workspace, threads []*Workspace) []string {
	var others []string
	for _, o := range threads {
		if o.ThreadID != w.ThreadID {
			others = append(others, o.ThreadID)
		}
	}
	return others
}

// liveness looks whether somebody is at work on a pending record. It takes no
// lock that it doesn't give back as it was.
func (m *Manager) liveness(ctx context.Context, row *Row) error {
	w := row.Workspace
	if w == nil || w.Status != StatusPending {
		return nil
	}
	if w.Attempt.ID == "" {
		row.Liveness = Unknown
		return nil
	}
	live, err := m.cfg.Locker.Probe(ctx, w.Attempt)
	if err != nil {
		return err
	}
	if live == Unknown && m.cfg.Now().After(w.Attempt.Lease) {
		live = Dead
	}
	row.Liveness = live
	return nil
}

// states asks git for the state of each row's working copy. It calls upTo with
// the index of the first row that isn't known yet, as that rises.
func (m *Manager) states(ctx context.Context, project Project, rows []Row, upTo func(end int)) error {
	var queries []StateQuery
	var of []int
	for i, row := range rows {
		if row.Worktree == nil || row.Missing || row.Worktree.Spare {
			continue
		}
		q := StateQuery{Worktree: *row.Worktree}
		if w := row.Workspace; w != nil {
			// A branch that is its own base has nothing of its own to compare.
			if q.Base = w.Base; strings.TrimPrefix(w.Base, "refs/heads/") == w.Branch {
				q.Base = ""
			}
			if w.BranchCreated {
				q.Own = w.Branch
			}
		}
		queries, of = append(queries, q), append(of, i)
	}
	if len(queries) == 0 {
		return nil
	}
	upTo(of[0])
	known, first := make([]bool, len(queries)), 0
	return m.cfg.Repository.States(ctx, project, queries, func(i int, s State) {
		rows[of[i]].State = s
		known[i] = true
		for first < len(known) && known[first] {
			first++
		}
		if first < len(of) {
			upTo(of[first])
		} else {
			upTo(len(rows))
		}
	})
}

// judge says whether a delete of the row would be accepted, and why not.
func judge(row *Row, looked bool) {
	row.Reasons = append(row.Reasons, row.State.Unknown...)
	w := row.Workspace
	var against []string
	no := func(format string, args ...any) { against = append(against, fmt.Sprintf(format, args...)) }
	if len(row.SharedWith) > 0 {
		no("thread %s works in the same directory", strings.Join(row.SharedWith, ", "))
	}
	switch {
	case w == nil && row.Worktree != nil && row.Worktree.Spare:
		no("it is a spare that waits to be handed out; gc removes those that are of no use")
	case w == nil:
		no("no thread owns it")
	case w.Status == StatusPending && w.Attempt.ID == "":
		no("another program recorded that it is being made, and whether it still is can't be told")
	case w.Status == StatusPending && row.Liveness != Dead:
		no("it is being made")
	case w.Status != StatusReady, row.Missing:
		// Only the record goes, and what an attempt left.
	case w.Provider == ProviderAdopted:
		// The thread is unbound; the worktree stays.
	case row.Worktree == nil:
		no("git has no worktree there")
	default:
		against = append(against, againstWorktree(row, looked)...)
	}
	row.Deletable = len(against) == 0
	row.Reasons = append(against, row.Reasons...)
}

// againstWorktree says what is against removing a row's working copy.
func againstWorktree(row *Row, looked bool) []string {
	var against []string
	no := func(format string, args ...any) { against = append(against, fmt.Sprintf(format, args...)) }
	wt, s := row.Worktree, row.State
	if wt.Broken != "" {
		no("git's entry for it is damaged: %s", wt.Broken)
	}
	if wt.Locked {
		no("it is locked: %s", shown(wt.LockReason, "no reason given"))
	}
	if s.Operation != "" {
		no("a %s is under way in it", s.Operation)
	}
	if s.Unfinished != "" {
		no("%s isn't finished", s.Unfinished)
	}
	if s.Process != "" {
		no("%s works in it", s.Process)
	}
	if s.Default {
		no("it has the default branch or its own base checked out")
	}
	switch {
	case !looked || s.Dirty == nil || s.Elsewhere == nil:
		no("its state is not known")
	case *s.Dirty:
		no("it has uncommitted changes")
	}
	if s.Elsewhere != nil && !*s.Elsewhere {
		switch {
		case s.Ahead == nil || *s.Ahead == 0:
			no("it has commits that are not merged")
		case *s.Ahead == 1:
			no("1 commit is not merged")
		default:
			no("%d commits are not merged", *s.Ahead)
		}
	}
	return against
}
