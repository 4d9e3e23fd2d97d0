package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// BenchmarkDelete throws worktrees of 20,000 files away, and reports how many
// times the time of one "git status -uall" of them that takes: judged, with a
// snapshot, put aside.
func BenchmarkDelete(b *testing.B) {
	for _, state := range []struct {
		name string
		work func(f *fixture, dir string)
	}{
		{"clean", func(*fixture, string) {}},
		{"dirty", func(f *fixture, dir string) {
			for i := range 60 {
				f.write(filepath.Join(dir, fmt.Sprintf("d%02d/e00/f%05d.go", i, i)), "changed\n")
				f.write(filepath.Join(dir, fmt.Sprintf("new/n%d", i)), "new\n")
			}
		}},
		{"sparse", func(f *fixture, dir string) { f.gitIn(dir, "sparse-checkout", "set", "d01", "d02") }},
		{"sparse without a cone", func(f *fixture, dir string) { f.gitIn(dir, "sparse-checkout", "set", "--no-cone", "/d0*") }},
	} {
		b.Run(state.name, func(b *testing.B) { benchmarkDelete(b, state.work) })
	}
}

func benchmarkDelete(b *testing.B, work func(*fixture, string)) {
	f := bigRepo(b, 20_000)
	p := NewProvider(f.r, ProviderOptions{})
	project := f.open(f.dir)
	var status, deleting time.Duration
	n := 0
	for b.Loop() {
		n++
		thread := fmt.Sprintf("thread-%d", n)
		req := workspace.CreateRequest{
			Project: project, ThreadID: thread, Attempt: thread, Name: workspace.NameFromTitle(workspace.DefaultPrefix, thread, thread),
			Claim: func(context.Context, workspace.Plan) error { return nil }, Progress: func(workspace.Event) {},
		}
		created, err := p.Create(b.Context(), req)
		if err != nil {
			b.Fatal(detail(err))
		}
		w := rowOf(req, created.Plan)
		work(f, w.Directory)
		f.gitIn(w.Directory, "status") // the first one fills the caches of index and disk
		begin := time.Now()
		f.gitIn(w.Directory, "status", "-uall", "--porcelain=v2")
		status += time.Since(begin)
		begin = time.Now()
		removed, err := p.Remove(b.Context(), workspace.RemoveRequest{
			Project: project, Workspace: w, TrashID: thread, Force: true, Progress: func(workspace.Event) {},
		})
		deleting += time.Since(begin)
		if err != nil || removed.Kept == nil {
			b.Fatal(detail(err))
		}
		if err := p.Discard(b.Context(), project, workspace.Trashed{ID: thread, Workspace: w, Kept: *removed.Kept}, true); err != nil {
			b.Fatal(detail(err))
		}
		if _, err := os.Lstat(w.Directory); err == nil {
			b.Fatal("it is there")
		}
	}
	b.ReportMetric(float64(status.Milliseconds())/float64(n), "ms/status")
	b.ReportMetric(float64(deleting.Milliseconds())/float64(n), "ms/delete")
	b.ReportMetric(float64(deleting)/float64(status), "x-status")
}
