package gitops

import (
	"context"
	"testing"
	"time"
)

// BenchmarkAdvance compares moving a checked-out branch by a commit that
// changes 60 of 20,000 files with git's fast-forward:
//
//	go test ./gitops -run '^$' -bench Advance -benchtime 20x
func BenchmarkAdvance(b *testing.B) {
	f := bigRepo(b, 20_000)
	x := &target{fixture: f, wt: f.dir, gitDir: f.path("repo", ".git")}
	x.was = x.git("rev-parse", "main")
	x.sh(`git checkout -q -b topic
for i in $(seq 0 59); do n=$(printf %02d $i); echo "changed $i" >>d$n/e00/f000$n.go; done
git commit -qam topic; git checkout -q main; git worktree add -q -b twin "$ROOT/twin" main`)
	x.next = x.git("rev-parse", "topic")
	x.in("git gc -q; git status >/dev/null; git -C ../twin status >/dev/null")
	p := x.open(x.dir)
	set, err := x.r.settings(context.Background(), p)
	if err != nil {
		b.Fatal(err)
	}
	var gitTime, ourTime time.Duration
	for b.Loop() {
		start := time.Now()
		x.gitIn(x.path("twin"), "merge", "-q", "--ff-only", "topic")
		middle := time.Now()
		in := x.input()
		in.set = set
		if _, err := x.r.advance(context.Background(), p, in); err != nil {
			b.Fatal(detail(err))
		}
		gitTime, ourTime = gitTime+middle.Sub(start), ourTime+time.Since(middle)
		for _, dir := range []string{x.dir, x.path("twin")} {
			x.gitIn(dir, "reset", "-q", "--hard", x.was)
			x.gitIn(dir, "status")
		}
	}
	b.ReportMetric(float64(ourTime)/float64(gitTime), "x/git")
	b.ReportMetric(float64(ourTime.Milliseconds())/float64(b.N), "ms/advance")
}
