package gitops

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// benchLab is a repository with n files.
func benchLab(b *testing.B, n int) *lab {
	l := newLab(b)
	for i := range n {
		l.write(filepath.Join(l.dir, fmt.Sprintf("d%d", i/100), fmt.Sprintf("f%d", i)), strings.Repeat(fmt.Sprintf("file %d of many, a line of its text\n", i), 80))
	}
	l.run(l.dir, "add", ".")
	l.run(l.dir, "commit", "-q", "-m", "files")
	return l
}

// BenchmarkCreate compares a cold create with what git alone takes:
//
//	go test ./gitops -run '^$' -bench Create -benchtime 20x
func BenchmarkCreate(b *testing.B) {
	for _, n := range []int{20, 2000} {
		l := benchLab(b, n)
		p, project := l.provider(), l.project()
		b.Run(fmt.Sprintf("provider/%d files", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				id := fmt.Sprintf("p%d-%d", b.N, i)
				_, err := p.Create(context.Background(), workspace.CreateRequest{
					Project: project, ThreadID: id, Attempt: id, Name: titled(id), Progress: func(workspace.Event) {},
					Claim: func(context.Context, workspace.Plan) error { return nil },
				})
				if err != nil {
					b.Fatal(detail(err))
				}
			}
		})
		b.Run(fmt.Sprintf("git worktree add/%d files", n), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				id := fmt.Sprintf("g%d-%d", b.N, i)
				l.run(l.dir, "worktree", "add", "-q", "--no-track", "-b", id, filepath.Join(l.root, "plain", id), "main")
			}
		})
	}
}
