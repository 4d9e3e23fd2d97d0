package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// BenchmarkDelete throws worktrees of 20,000 files away, and reports how many
// times the time of one "git status -uall" of them that takes: judged, with a
// snapshot, put aside:
//
//	go test ./gitops -run '^$' -bench Delete -benchtime 10x
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
		{"sparse index", func(f *fixture, dir string) { f.gitIn(dir, "sparse-checkout", "set", "--sparse-index", "d01", "d02") }},
		{"sparse without a cone", func(f *fixture, dir string) { f.gitIn(dir, "sparse-checkout", "set", "--no-cone", "/d0*") }},
	} {
		b.Run(state.name, func(b *testing.B) { benchmarkDelete(b, state.work) })
	}
}

func benchmarkDelete(b *testing.B, work func(*fixture, string)) {
	f := bigRepo(b, 20_000)
	p := NewProvider(f.r, ProviderOptions{})
	project := f.open(f.dir)
	var status, deleting spent
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
		status.add(func() { f.gitIn(w.Directory, "status", "-uall", "--porcelain=v2") })
		var removed workspace.Removed
		deleting.add(func() {
			removed, err = p.Remove(b.Context(), workspace.RemoveRequest{
				Project: project, Workspace: w, TrashID: thread, Force: true, Progress: func(workspace.Event) {},
			})
		})
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
	b.ReportMetric(status.wall(), "ms/status")
	b.ReportMetric(deleting.wall(), "ms/delete")
	b.ReportMetric(deleting.wall()/status.wall(), "x-status")
	b.ReportMetric(deleting.cpu()/status.cpu(), "x-status-cpu")
}
