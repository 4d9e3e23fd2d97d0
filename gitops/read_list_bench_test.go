package gitops

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// listLab makes worktrees as threads leave them: all behind the base, some
// ahead of it, some merged as a squash, and some with changes.
func listLab(b *testing.B, files, worktrees int) (*fixture, []string, []workspace.StateQuery) {
	b.Helper()
	f := bigRepo(b, files)
	var dirs []string
	for i := range worktrees {
		name := fmt.Sprintf("w%d", i)
		wt := f.worktree(name)
		dirs = append(dirs, wt)
		if i%4 > 0 {
			f.commit(wt, "own"+name, name, "own")
			f.commit(wt, "own"+name, name+"\nmore", "more")
		}
		switch i % 4 {
		case 2:
			f.git("merge", "-q", "--squash", name)
			f.git("commit", "-q", "-m", "squash of "+name)
		case 3:
			f.write(wt+"/new", "untracked")
			f.write(wt+"/own"+name, "modified")
		}
		f.commit(f.dir, "main", name, "work on main")
	}
	time.Sleep(100 * time.Millisecond)
	all, err := f.r.Worktrees(context.Background(), f.open(f.dir))
	if err != nil {
		b.Fatal(err)
	}
	var queries []workspace.StateQuery
	for _, w := range all {
		queries = append(queries, workspace.StateQuery{Worktree: w, Base: "main", Own: w.Branch})
	}
	return f, dirs, queries
}

// BenchmarkList lists worktrees with all that is known of them, for the first
// time and again, and reports the medians as ratios to git's status of each, as
// many at once, and of the second list to the first.
func BenchmarkList(b *testing.B) {
	for _, size := range []struct{ files, worktrees int }{{20, 50}, {20_000, 20}} {
		b.Run(fmt.Sprintf("%d-files-%d-worktrees", size.files, size.worktrees), func(b *testing.B) {
			f, dirs, queries := listLab(b, size.files, size.worktrees)
			list := func(r *Repository) {
				p, err := r.Open(context.Background(), f.dir)
				if err == nil {
					_, err = r.Worktrees(context.Background(), p)
				}
				if err != nil {
					b.Fatal(err)
				}
				merged := 0
				err = r.States(context.Background(), p, queries, func(i int, s workspace.State) {
					if len(s.Unknown) > 0 || s.Merged == nil || s.Dirty == nil {
						b.Errorf("%+v", s)
					} else if *s.Merged {
						merged++
					}
				})
				if err != nil || merged < len(dirs)/2 {
					b.Fatal(merged, err)
				}
			}
			var git, first, second []time.Duration
			for b.Loop() {
				r, err := New(Options{Home: f.path("home"), Env: f.env})
				if err != nil {
					b.Fatal(err)
				}
				git = append(git, took(func() { statusOfAll(b, f, dirs) }))
				first = append(first, took(func() { list(r) }))
				second = append(second, took(func() { list(r) }))
			}
			b.ReportMetric(float64(median(first))/float64(median(git)), "first/git")
			b.ReportMetric(float64(median(second))/float64(median(first)), "second/first")
		})
	}
}
