package workspace_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// inTurn is a repository that tells states in an order of the test's own.
type inTurn struct {
	workspace.Repository
	order []int
	// told is called after each.
	told func(i int)
}

func (r *inTurn) States(ctx context.Context, p workspace.Project, queries []workspace.StateQuery, each func(int, workspace.State)) error {
	states := make([]workspace.State, len(queries))
	err := r.Repository.States(ctx, p, queries, func(i int, s workspace.State) { states[i] = s })
	if err != nil {
		return err
	}
	for _, i := range r.order {
		if err := ctx.Err(); err != nil {
			return err
		}
		each(i, states[i])
		r.told(i)
	}
	return nil
}

// TestRowsComeBeforeTheLastIsKnown lists four worktrees, the first of which is
// known second, and sees each row as soon as it and those before it are known.
func TestRowsComeBeforeTheLastIsKnown(t *testing.T) {
	t.Parallel()
	turn := &inTurn{order: []int{1, 0, 3, 2}, told: func(int) {}}
	p := build(t, settings{tune: func(c *workspace.Config) {
		turn.Repository = c.Repository
		c.Repository = turn
	}})
	for _, thread := range []string{"1", "2", "3", "4"} {
		p.create(t, thread)
	}
	p.failed(t, "failed")
	o := workspace.ListOptions{Project: p.project}
	want := list(t, p)
	if len(want) != 5 {
		t.Fatalf("%d rows", len(want))
	}
	var rows []workspace.Row
	var seen []int
	turn.told = func(int) { seen = append(seen, len(rows)) }
	for row, err := range p.Rows(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if !slices.Equal(seen, []int{0, 2, 2, 5}) {
		t.Errorf("rows seen after each state: %v", seen)
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("List (-) and Rows (+) differ:\n%s", diff)
	}

	// A caller who has seen enough ends it, and hears of no error.
	seen = nil
	for _, err := range p.Rows(t.Context(), o) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if len(seen) > 2 {
		t.Errorf("%d states were told after the end", len(seen))
	}

	o.Project = filepath.Join(t.TempDir(), "nothing")
	n := 0
	for _, err := range p.Rows(t.Context(), o) {
		n++
		wantCode(t, err, workspace.ErrNotFound)
	}
	if n != 1 {
		t.Errorf("%d rows of nothing", n)
	}
}
