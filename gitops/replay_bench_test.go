package gitops

import (
	"bytes"
	"fmt"
	"os/exec"
	"testing"
	"time"
)

// benchRepo is a repository of 20,000 files, with topic that many commits
// ahead of where it left main, and main that many ahead as well. topic adds
// and changes files of its own; where shared is true each of its commits
// changes, apart from main's lines, a file that main changed too.
func benchRepo(b testing.TB, ahead, behind int, shared bool) *fixture {
	b.Helper()
	f := bigRepo(b, 20000)
	base := f.git("rev-parse", "main")
	var stream bytes.Buffer
	lines := func(first, last string) string {
		return first + "\n" + string(bytes.Repeat([]byte("between\n"), 20)) + last + "\n"
	}
	commit := func(ref, from string, i int, path, content string) {
		fmt.Fprintf(&stream, "commit %s\ncommitter Ada <ada@example.org> %d +0000\ndata 2\nc\n", ref, 1700000001+i)
		if i == 0 {
			fmt.Fprintf(&stream, "from %s\n", from)
		}
		fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
	}
	// A parent with long files, so that both sides can change them.
	for i := range ahead {
		commit("refs/heads/base", base, i, fmt.Sprintf("d%02d/shared%d.txt", i%100, i), lines("a", "b"))
	}
	stream.WriteString("\n")
	for i := range max(behind, ahead) {
		path, content := fmt.Sprintf("d%02d/e%02d/f%05d.go", i%100, i/100, i), fmt.Sprintf("main %d\n", i)
		if i < ahead && shared {
			path, content = fmt.Sprintf("d%02d/shared%d.txt", i%100, i), lines("a", "main")
		}
		if i < behind || shared {
			commit("refs/heads/main", "refs/heads/base", i, path, content)
		}
	}
	for i := range ahead {
		path, content := fmt.Sprintf("d%02d/e19/new%d.go", i%100, i), fmt.Sprintf("topic %d\n", i)
		if shared {
			path, content = fmt.Sprintf("d%02d/shared%d.txt", i%100, i), lines("topic", "b")
		}
		commit("refs/heads/topic", "refs/heads/base", i, path, content)
	}
	cmd := exec.Command("git", "fast-import", "--quiet", "--force")
	cmd.Dir, cmd.Env, cmd.Stdin = f.dir, f.env, &stream
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("fast-import: %v\n%s", err, out)
	}
	f.git("reset", "-q", "--hard")
	f.git("worktree", "add", "-q", f.path("topic"), "topic")
	return f
}

// Each round runs the replay, its rehearsal and what git does one after the
// other; what is reported are ratios.
func BenchmarkReplay(b *testing.B) {
	for _, c := range []struct {
		name          string
		ahead, behind int
		shared        bool
	}{
		{"10 apart", 10, 5, false},
		{"10 apart, 300 behind", 10, 300, false},
		{"10 on shared files", 10, 10, true},
		{"200 apart", 200, 5, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := benchRepo(b, c.ahead, c.behind, c.shared)
			in := f.composeInput("main", "topic")
			in.top = f.path("topic")
			in.gitDir = gitDirOf(in.top)
			var compose, rehearse, rebase, mergeTree time.Duration
			for b.Loop() {
				compose += took(func() {
					if done, err := f.r.compose(b.Context(), in); err != nil || done.commits != c.ahead {
						b.Fatal(done, err)
					}
				})
				rehearse += took(func() {
					err := f.r.rehearse(b.Context(), in, func(composed, func(...string) (command, error)) error { return nil })
					if err != nil {
						b.Fatal(err)
					}
				})
				mergeTree += took(func() { f.git("merge-tree", "--write-tree", "main", "topic") })
				rebase += took(func() {
					f.gitIn(in.top, "rebase", "-q", "main")
					f.git("merge", "-q", "--ff-only", "topic")
				})
				f.git("reset", "-q", "--hard", in.onto)
				f.gitIn(in.top, "reset", "-q", "--hard", in.tip)
			}
			b.ReportMetric(float64(compose)/float64(rebase), "compose/git")
			b.ReportMetric(float64(rehearse)/float64(rebase), "rehearse/git")
			b.ReportMetric(float64(rehearse)/float64(mergeTree), "rehearse/merge-tree")
			b.ReportMetric(compose.Seconds()*1e3/float64(b.N), "compose-ms")
			b.ReportMetric(rehearse.Seconds()*1e3/float64(b.N), "rehearse-ms")
			b.ReportMetric(mergeTree.Seconds()*1e3/float64(b.N), "merge-tree-ms")
			b.ReportMetric(rebase.Seconds()*1e3/float64(b.N), "git-ms")
		})
	}
}
