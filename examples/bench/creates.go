package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/threadtree/threadtree/workspace"
)

// coldCreates measures a create against "git worktree add", in a repository of
// so many files with so many worktrees.
func coldCreates(files, worktrees func(*lab) int) func(context.Context, *lab) ([]samples, error) {
	return func(ctx context.Context, l *lab) ([]samples, error) {
		r, err := l.repo(ctx, files(l))
		if err != nil {
			return nil, err
		}
		for range worktrees(l) {
			if _, err := r.worktree("main"); err != nil {
				return nil, err
			}
		}
		var s samples
		for round := range l.rounds {
			if err := r.createInTurns(ctx, &s, round, "main"); err != nil {
				return nil, err
			}
		}
		return []samples{s}, r.remove()
	}
}

// createInTurns measures one create and one "git worktree add" from a base, and
// takes both away again.
func (r *repo) createInTurns(ctx context.Context, s *samples, round int, base string) error {
	var w workspace.Workspace
	var plain string
	err := s.inTurns(round, func() (err error) {
		w, err = r.create(ctx, base)
		return err
	}, func() (err error) {
		plain, err = r.worktree(base)
		return err
	})
	if err != nil {
		return err
	}
	if err := r.l.git(r.dir, "worktree", "remove", "--force", plain); err != nil {
		return err
	}
	return r.drop(ctx, w)
}

// createsAtOnce measures many creates at once against as many "git worktree
// add" one at a time: at once, some of those fail.
func createsAtOnce(ctx context.Context, l *lab) ([]samples, error) {
	var s samples
	for round := range l.rounds {
		r, err := l.repo(ctx, 20)
		if err != nil {
			return nil, err
		}
		err = s.inTurns(round, func() error {
			var group sync.WaitGroup
			errs := make([]error, l.together)
			for i := range l.together {
				group.Go(func() { _, errs[i] = r.createFor(ctx, 1_000+i, "main") })
			}
			group.Wait()
			return errors.Join(errs...)
		}, func() error {
			for range l.together {
				if _, err := r.worktree("main"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		rows, err := r.List(ctx, workspace.ListOptions{Project: r.dir, WithoutState: true})
		if err == nil && len(rows) != 2*l.together {
			err = fmt.Errorf("%d worktrees of %d", len(rows), 2*l.together)
		}
		if err := errors.Join(err, r.remove()); err != nil {
			return nil, err
		}
	}
	return []samples{s}, nil
}
