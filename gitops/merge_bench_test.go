package gitops

import (
	"syscall"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// BenchmarkMerge brings 10 commits home in a repository of 20,000 files, and
// previews that, beside what git does for the same: for the commits alone that
// is merge-tree:
//
//	go test ./gitops -run '^$' -bench Merge -benchtime 10x
func BenchmarkMerge(b *testing.B) {
	for _, c := range []struct {
		name          string
		ahead, behind int
		shared        bool
	}{
		{"10 apart", 10, 5, false},
		{"10 apart, 300 behind", 10, 300, false},
		{"10 on shared files", 10, 10, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := benchRepo(b, c.ahead, c.behind, c.shared)
			topic := f.path("topic")
			f.git("gc", "-q")
			f.gitIn(topic, "update-index", "--untracked-cache") // as a fresh workspace has it
			onto, tip := f.git("rev-parse", "main"), f.git("rev-parse", "topic")
			g := NewMerger(f.r, MergeOptions{})
			req := workspace.MergeRequest{
				Project: f.open(f.dir), Progress: func(workspace.Event) {},
				Workspace: workspace.Workspace{ThreadID: "thread", Branch: "topic", BranchCreated: true, Base: "main", Directory: topic},
			}
			back := func() {
				f.git("reset", "-q", "--hard", onto)
				f.gitIn(topic, "checkout", "-q", "-B", "topic", tip)
				f.gitIn(topic, "status")
				f.git("status")
			}
			var merge, preview, commits, git, mergeTree spent
			alone := req
			alone.CommitsAlone = true
			for b.Loop() {
				preview.add(func() {
					if p, err := g.Preview(b.Context(), req); err != nil || !p.Clean {
						b.Fatal(p, err)
					}
				})
				commits.add(func() {
					if p, err := g.Preview(b.Context(), alone); err != nil || !p.Clean || len(p.Files) != c.ahead {
						b.Fatal(p, err)
					}
				})
				mergeTree.add(func() { f.git("merge-tree", "--write-tree", "main", "topic") })
				merge.add(func() {
					if merged, err := g.Merge(b.Context(), req); err != nil || merged.Commits != c.ahead || len(merged.Warnings) > 0 {
						b.Fatal(merged, detail(err))
					}
				})
				back()
				git.add(func() {
					f.gitIn(topic, "rebase", "-q", "main")
					f.git("merge", "-q", "--ff-only", "topic")
				})
				back()
			}
			b.ReportMetric(merge.wall()/git.wall(), "merge/git")
			b.ReportMetric(preview.wall()/git.wall(), "preview/git")
			b.ReportMetric(merge.cpu()/git.cpu(), "merge/git-cpu")
			b.ReportMetric(preview.cpu()/git.cpu(), "preview/git-cpu")
			b.ReportMetric(commits.wall()/mergeTree.wall(), "commits-alone/merge-tree")
			b.ReportMetric(commits.cpu()/mergeTree.cpu(), "commits-alone/merge-tree-cpu")
			b.ReportMetric(commits.wall(), "commits-alone-ms")
			b.ReportMetric(merge.wall(), "merge-ms")
			b.ReportMetric(preview.wall(), "preview-ms")
			b.ReportMetric(mergeTree.wall(), "merge-tree-ms")
			b.ReportMetric(git.wall(), "git-ms")
		})
	}
}

// spent is what something took, each time: by the clock, and of the
// processors, where others at work there don't matter.
type spent struct{ walls, cpus []time.Duration }

func (s *spent) add(do func()) {
	before := processors()
	s.walls = append(s.walls, took(do))
	s.cpus = append(s.cpus, processors()-before)
}

func (s *spent) wall() float64 { return milliseconds(median(s.walls)) }

func (s *spent) cpu() float64 { return milliseconds(median(s.cpus)) }

// processors is what this process and its children have used of them so far.
func processors() time.Duration {
	var all time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var use syscall.Rusage
		if syscall.Getrusage(who, &use) == nil {
			all += time.Duration(use.Utime.Nano() + use.Stime.Nano())
		}
	}
	return all
}
