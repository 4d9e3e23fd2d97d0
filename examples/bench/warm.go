package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/workspace"
)

// warmCreates measures a create that is handed a spare, from a base so many
// commits away from where the spare is, against "git worktree add".
func warmCreates(away int) func(context.Context, *lab) ([]samples, error) {
	return func(ctx context.Context, l *lab) ([]samples, error) {
		r, err := l.repo(ctx, l.files)
		if err != nil {
			return nil, err
		}
		if err := r.later(away); err != nil {
			return nil, err
		}
		pool := gitops.NewPool(r.repository, gitops.PoolOptions{Spares: 1})
		provider := gitops.NewProvider(r.repository, gitops.ProviderOptions{Pool: pool})
		if err := r.manage(provider); err != nil {
			return nil, err
		}
		var s samples
		for round := range l.rounds {
			project, err := r.repository.Open(ctx, r.dir)
			if err != nil {
				return nil, err
			}
			if _, err := pool.Fill(ctx, project); err != nil {
				return nil, err
			}
			if err := r.handedOut(ctx, &s, round); err != nil {
				return nil, err
			}
		}
		return []samples{s}, r.remove()
	}
}

// later makes a branch so many commits ahead of main, each of which changes a
// file.
func (r *repo) later(away int) error {
	if err := r.l.git(r.dir, "switch", "-q", "-c", "later"); err != nil {
		return err
	}
	for i := range away {
		if err := r.commit(r.dir, fmt.Sprintf("d00/e%02d/f%05d.go", i%20, i), fmt.Sprintf("changed %d\n", i)); err != nil {
			return err
		}
	}
	return r.l.git(r.dir, "switch", "-q", "main")
}

// handedOut measures one create of a spare and one "git worktree add", and
// takes both away again.
func (r *repo) handedOut(ctx context.Context, s *samples, round int) error {
	spares := func() (n int, err error) {
		rows, err := r.List(ctx, workspace.ListOptions{Project: r.dir, WithoutState: true})
		for _, row := range rows {
			if row.Worktree != nil && row.Worktree.Spare {
				n++
			}
		}
		return n, err
	}
	before, err := spares()
	if err == nil && before == 0 {
		err = errors.New("there is no spare")
	}
	if err != nil {
		return err
	}
	if err := r.createInTurns(ctx, s, round, "later"); err != nil {
		return err
	}
	if after, err := spares(); err != nil || after != before-1 {
		return errors.Join(err, fmt.Errorf("%d spares of %d after a create", after, before))
	}
	return nil
}
