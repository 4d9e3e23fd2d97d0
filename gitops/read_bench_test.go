package gitops

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// against reports how long ours takes in terms of git's time for the same,
// measured in turns.
func against(b *testing.B, git, ours func()) {
	b.Helper()
	git()
	ours()
	var gitTime, ourTime time.Duration
	for b.Loop() {
		start := time.Now()
		git()
		middle := time.Now()
		ours()
		gitTime, ourTime = gitTime+middle.Sub(start), ourTime+time.Since(middle)
	}
	b.ReportMetric(float64(ourTime)/float64(gitTime), "x/git")
}

func BenchmarkWorktrees(b *testing.B) {
	for _, n := range []int{5, 50, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newRepo(b)
			for i := range n {
				f.git("worktree", "add", "-q", "-b", fmt.Sprintf("b%d", i), f.path(fmt.Sprintf("w%d", i)))
			}
			p := f.open(f.dir)
			against(b, func() { f.git("worktree", "list", "--porcelain", "-z") }, func() {
				if ws, err := f.r.Worktrees(context.Background(), p); err != nil || len(ws) != n {
					b.Fatal(len(ws), err)
				}
			})
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	f := newRepo(b)
	against(b, func() { f.git("rev-parse", "--show-toplevel", "--git-common-dir") }, func() { f.open(f.dir) })
}

func BenchmarkInspect(b *testing.B) {
	f := newRepo(b)
	wt := f.worktree("wt")
	against(b, func() { f.gitIn(wt, "rev-parse", "--show-toplevel", "--git-common-dir", "HEAD") }, func() {
		if _, _, err := f.r.Inspect(context.Background(), wt); err != nil {
			b.Fatal(err)
		}
	})
}

// statusOfAll runs one git status in each directory, as many at once as
// States does.
func statusOfAll(b *testing.B, f *fixture, dirs []string) {
	b.Helper()
	next := make(chan string)
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for dir := range next {
				cmd := exec.Command("git", "-C", dir, "status", "--porcelain=v2", "--branch", "-z", "-unormal")
				cmd.Env = append(f.env, "GIT_OPTIONAL_LOCKS=0")
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Errorf("%v: %s", err, out)
				}
			}
		})
	}
	for _, dir := range dirs {
		next <- dir
	}
	close(next)
	group.Wait()
}

func BenchmarkStates(b *testing.B) {
	for _, size := range []struct{ files, worktrees int }{{20, 30}, {20_000, 3}} {
		b.Run(fmt.Sprintf("%d-files-%d-worktrees", size.files, size.worktrees), func(b *testing.B) {
			f := bigRepo(b, size.files)
			var dirs []string
			for i := range size.worktrees {
				wt := f.worktree(fmt.Sprintf("w%d", i))
				f.commit(wt, "own", fmt.Sprint(i), "own")
				f.write(wt+"/new", "untracked")
				dirs = append(dirs, wt)
			}
			p := f.open(f.dir)
			all, err := f.r.Worktrees(context.Background(), p)
			if err != nil {
				b.Fatal(err)
			}
			var queries []workspace.StateQuery
			for _, w := range all {
				queries = append(queries, workspace.StateQuery{Worktree: w, Base: "main"})
			}
			against(b, func() { statusOfAll(b, f, dirs) }, func() {
				// Nothing is remembered from the last time.
				f.r.relations = relationCache{}
				err := f.r.States(context.Background(), p, queries, func(i int, s workspace.State) {
					if len(s.Unknown) > 0 || *s.Ahead != 1 || *s.Untracked != 1 {
						b.Errorf("%+v", s)
					}
				})
				if err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
