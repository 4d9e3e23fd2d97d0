package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// whole checks that each plan is a worktree on its branch, that they are all
// different, and that there is nothing else.
func (l *lab) whole(plans []workspace.Plan) {
	l.t.Helper()
	list := l.run(l.dir, "worktree", "list", "--porcelain")
	branches := l.run(l.dir, "for-each-ref", "refs/heads")
	if got, want := strings.Count(list, "worktree "), len(plans)+1; got != want {
		l.t.Errorf("%d worktrees, want %d:\n%s", got, want, list)
	}
	if got, want := strings.Count(branches, "\n")+1, len(plans)+1; got != want {
		l.t.Errorf("%d branches, want %d:\n%s", got, want, branches)
	}
	directories, err := filepath.Glob(filepath.Join(l.home, "worktrees", "*", "*"))
	if err != nil || len(directories) != len(plans) {
		l.t.Errorf("%d directories, want %d: %q, %v", len(directories), len(plans), directories, err)
	}
	for _, plan := range plans {
		if !strings.Contains(list, "worktree "+plan.Directory+"\n") || !strings.Contains(list, "branch refs/heads/"+plan.Branch+"\n") {
			l.t.Errorf("git doesn't have %+v", plan)
		}
		if got := l.run(plan.Directory, "status", "--porcelain"); got != "" {
			l.t.Errorf("status of %s: %s", plan.Directory, got)
		}
	}
}

func TestManyCreatesAtOnce(t *testing.T) {
	t.Parallel()
	for name, title := range map[string]func(i int) string{
		"different names": func(i int) string { return fmt.Sprintf("thread %d", i) },
		"one name":        func(int) string { return "one" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 32
			l, _, seed := withOrigin(t)
			l.commit(seed, "g", "1\n")
			l.run(seed, "push", "-q", "origin", "main")
			var (
				taken   claims
				group   sync.WaitGroup
				p       = l.provider()
				project = l.project()
				plans   = make([]workspace.Plan, n)
				errs    = make([]error, n)
			)
			for i := range n {
				group.Go(func() {
					thread := fmt.Sprintf("thread-%d", i)
					created, err := p.Create(context.Background(), workspace.CreateRequest{
						Project: project, ThreadID: thread, Attempt: "attempt-" + thread, Base: []string{"", "main", "origin/main"}[i%3],
						Name: titled(title(i)), Claim: taken.of(thread), Progress: func(workspace.Event) {},
					})
					plans[i], errs[i] = created.Plan, err
					// Fetches of one branch at once don't count as failed.
					if i%3 != 0 && len(created.Warnings) > 0 {
						t.Errorf("%q", created.Warnings)
					}
				})
			}
			group.Wait()
			for _, err := range errs {
				if err != nil {
					t.Error(detail(err))
				}
			}
			l.whole(plans)
		})
	}
}

func TestOneTypedNameHasOneWinner(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var (
		taken   claims
		group   sync.WaitGroup
		p       = l.provider()
		project = l.project()
		mu      sync.Mutex
		won     []workspace.Plan
	)
	for i := range 8 {
		group.Go(func() {
			thread := fmt.Sprintf("thread-%d", i)
			created, err := p.Create(context.Background(), workspace.CreateRequest{
				Project: project, ThreadID: thread, Attempt: "attempt-" + thread,
				Name: typed(t, "x"), Claim: taken.of(thread), Progress: func(workspace.Event) {},
			})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won = append(won, created.Plan)
			case !errors.Is(err, workspace.ErrBranchCheckedOut) && !errors.Is(err, workspace.ErrAlreadyExists):
				t.Error(detail(err))
			}
		})
	}
	group.Wait()
	if len(won) != 1 {
		t.Fatalf("%d winners", len(won))
	}
	l.whole(won)
}

func TestManyProcessesAtOnce(t *testing.T) {
	t.Parallel()
	const n = 8
	l := newLab(t)
	l.script(filepath.Join(l.root, "set-up"), "#!/bin/sh\n")
	plans := make([]workspace.Plan, n)
	var group sync.WaitGroup
	for i := range n {
		e := errand{
			Title: "one", Attempt: fmt.Sprintf("attempt-%d", i), Thread: fmt.Sprintf("thread-%d", i),
			Plan: filepath.Join(l.root, fmt.Sprintf("plan-%d", i)), Setup: [][]string{{filepath.Join(l.root, "set-up")}},
		}
		cmd := l.helper(e)
		group.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
				return
			}
			content, err := os.ReadFile(e.Plan)
			if err = errors.Join(err, json.Unmarshal(content, &plans[i])); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if !t.Failed() {
		l.whole(plans)
	}
}

// TestCreatesAmidForeignGit has others list, prune and pack at the same time.
func TestCreatesAmidForeignGit(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ctx, stop := context.WithCancel(context.Background())
	var others, group sync.WaitGroup
	for _, args := range [][]string{{"worktree", "prune", "--expire=now"}, {"worktree", "list"}, {"branch", "--list"}, {"pack-refs", "--all"}} {
		others.Go(func() {
			for ctx.Err() == nil {
				_, _ = l.try(l.dir, args...)
			}
		})
	}
	const n = 16
	var (
		taken   claims
		p       = l.provider()
		project = l.project()
		plans   = make([]workspace.Plan, n)
	)
	for i := range n {
		group.Go(func() {
			thread := fmt.Sprintf("thread-%d", i)
			created, err := p.Create(ctx, workspace.CreateRequest{
				Project: project, ThreadID: thread, Attempt: "attempt-" + thread,
				Name: titled("one"), Claim: taken.of(thread), Progress: func(workspace.Event) {},
			})
			if err != nil {
				t.Error(detail(err))
			}
			plans[i] = created.Plan
		})
	}
	group.Wait()
	stop()
	others.Wait()
	if !t.Failed() {
		l.whole(plans)
	}
}

// TestCreateAndRemoveAtOnce makes and removes worktrees of one name.
func TestCreateAndRemoveAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var (
		taken   claims
		group   sync.WaitGroup
		p       = l.provider()
		project = l.project()
	)
	for i := range 6 {
		group.Go(func() {
			for range 4 {
				req := workspace.CreateRequest{
					Project: project, ThreadID: fmt.Sprintf("thread-%d", i), Attempt: fmt.Sprintf("attempt-%d", i),
					Name: titled("one"), Claim: taken.of(fmt.Sprintf("thread-%d", i)), Progress: func(workspace.Event) {},
				}
				created, err := p.Create(context.Background(), req)
				if err != nil {
					t.Error(detail(err))
					return
				}
				_, err = p.Remove(context.Background(), workspace.RemoveRequest{
					Project: project, Workspace: rowOf(req, created.Plan), Progress: func(workspace.Event) {},
				})
				if err != nil {
					t.Error(detail(err))
				}
			}
		})
	}
	group.Wait()
	if remains := l.remains(); len(remains) > 0 {
		t.Errorf("remains: %q", remains)
	}
}
