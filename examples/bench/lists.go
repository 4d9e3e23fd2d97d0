package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// lists measures a list with all that is known of the worktrees, by a program
// that has just begun, against "git status" of each, as many at once; and a
// second list against the first.
func lists(size int) func(context.Context, *lab) ([]samples, error) {
	return func(ctx context.Context, l *lab) ([]samples, error) {
		r, err := l.repo(ctx, l.lists[size].files)
		if err != nil {
			return nil, err
		}
		dirs, err := r.busyThreads(ctx, l.lists[size].worktrees)
		if err != nil {
			return nil, err
		}
		// As they are a moment after the last of them was worked in.
		time.Sleep(200 * time.Millisecond)
		var first, second samples
		for round := range l.rounds {
			if err := r.open(ctx); err != nil {
				return nil, err
			}
			list := func() error { return r.listAll(ctx, len(dirs)) }
			if err := first.inTurns(round, list, func() error { return r.statuses(dirs) }); err != nil {
				return nil, err
			}
			took, err := timed(list)
			if err != nil {
				return nil, err
			}
			second.ours = append(second.ours, took)
		}
		second.theirs = first.ours
		return []samples{first, second}, r.remove()
	}
}

// busyThreads makes workspaces as threads leave them: all behind main, of each
// four one without a commit of its own, one ahead, one whose commits were
// squashed into main, and one ahead with changes.
func (r *repo) busyThreads(ctx context.Context, n int) (dirs []string, err error) {
	for i := range n {
		w, err := r.create(ctx, "main")
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, w.Directory)
		file := fmt.Sprintf("own/%d", i)
		for commit := range 2 {
			if i%4 == 0 {
				break
			}
			if err := r.commit(w.Directory, file, fmt.Sprintf("thread %d\ncommit %d\n", i, commit)); err != nil {
				return nil, err
			}
		}
		switch i % 4 {
		case 2:
			if err := r.l.git(r.dir, "merge", "-q", "--squash", w.Branch); err != nil {
				return nil, err
			}
			if err := r.l.git(r.dir, "commit", "-q", "-m", "Squash "+w.Branch); err != nil {
				return nil, err
			}
		case 3:
			if err := r.write(w.Directory, file, "changed\n"); err != nil {
				return nil, err
			}
			if err := r.write(w.Directory, "new", "untracked\n"); err != nil {
				return nil, err
			}
		}
		if err := r.commit(r.dir, "main", fmt.Sprintf("after thread %d\n", i)); err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

// listAll lists, and sees that nothing is unknown.
func (r *repo) listAll(ctx context.Context, want int) error {
	rows, err := r.List(ctx, workspace.ListOptions{Project: r.dir})
	if err != nil {
		return err
	}
	if len(rows) != want {
		return fmt.Errorf("%d rows of %d", len(rows), want)
	}
	for i, row := range rows {
		s := row.State
		if s.Dirty == nil || s.Ahead == nil || s.Behind == nil || s.Merged == nil || len(s.Unknown) > 0 {
			return fmt.Errorf("row %d is not wholly known: %v", i, s.Unknown)
		}
	}
	return nil
}

// statuses runs one "git status" in each directory, as many at once as a list
// does.
func (r *repo) statuses(dirs []string) error {
	next := make(chan string)
	var group sync.WaitGroup
	errs := make(chan error, len(dirs))
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for dir := range next {
				_, err := r.l.output(dir, "--no-optional-locks", "status", "--porcelain=v2", "--branch", "-z")
				errs <- err
			}
		})
	}
	for _, dir := range dirs {
		next <- dir
	}
	close(next)
	group.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
