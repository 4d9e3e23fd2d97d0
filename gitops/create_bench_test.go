package gitops

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// BenchmarkCreateRatio compares creates with what "git worktree add" takes for
// the same, one after the other in turn, and reports the ratio of the medians:
//
//	TMPDIR=/dev/shm go test ./gitops -run '^$' -bench CreateRatio -benchtime 9x
func BenchmarkCreateRatio(b *testing.B) {
	for _, c := range []struct {
		name             string
		files, worktrees int
		base             string
		warm             bool
	}{
		{"warm, 20000 files, base at the tip", 20_000, 0, "main", true},
		{"warm, 20000 files, base 50 commits away", 20_000, 0, "ahead", true},
		{"cold, 20000 files", 20_000, 0, "main", false},
		{"cold, 20 files, 200 worktrees", 20, 200, "main", false},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := benchLab(b, c.files)
			for i := range c.worktrees {
				l.run(l.dir, "worktree", "add", "-q", "--no-track", "-b", fmt.Sprintf("old/%d", i), l.plainDir(fmt.Sprintf("old-%d", i)), "main")
			}
			if c.base == "ahead" {
				l.ahead(50)
			}
			p, project := l.provider(), l.project()
			if c.warm {
				p, _ = l.pooled()
			}
			var git, ours []time.Duration
			for i := 0; b.Loop(); i++ {
				id := fmt.Sprintf("n%d", i)
				if c.warm {
					l.fill()
				}
				git = append(git, took(func() { l.addPlain(id, c.base) }))
				l.dropPlain(id)
				ours = append(ours, took(func() { benchCreate(b, p, project, id, c.base) }))
				l.dropMade(p, project, id)
			}
			reportRatio(b, git, ours)
		})
	}
}

// ahead makes a branch of that name with n commits on main, of five files each.
func (l *lab) ahead(n int) {
	directory := filepath.Join(l.root, "ahead")
	l.run(l.dir, "worktree", "add", "-q", "-b", "ahead", directory, "main")
	for i := range n {
		for j := range 5 {
			k := (i*5 + j) * 37
			l.write(filepath.Join(directory, fmt.Sprintf("d%d", k/100), fmt.Sprintf("f%d", k)), fmt.Sprintf("changed in %d\n", i))
		}
		l.run(directory, "add", ".")
		l.run(directory, "commit", "-q", "-m", "change")
	}
	l.run(l.dir, "worktree", "remove", "--force", directory)
}

// BenchmarkCreateAtOnce compares creates at once with creates one at a time.
func BenchmarkCreateAtOnce(b *testing.B) {
	const n = 32
	l := benchLab(b, 20)
	p, project := l.provider(), l.project()
	var one, many []time.Duration
	for i := 0; b.Loop(); i++ {
		one = append(one, took(func() {
			for j := range n {
				l.addPlain(fmt.Sprintf("o%d-%d", i, j), "main")
			}
		}))
		many = append(many, took(func() {
			var group sync.WaitGroup
			for j := range n {
				group.Go(func() { benchCreate(b, p, project, fmt.Sprintf("m%d-%d", i, j), "main") })
			}
			group.Wait()
		}))
		for j := range n {
			l.dropPlain(fmt.Sprintf("o%d-%d", i, j))
			l.dropMade(p, project, fmt.Sprintf("m%d-%d", i, j))
		}
	}
	reportRatio(b, one, many)
}

func (l *lab) plainDir(id string) string { return filepath.Join(l.root, "plain", id) }

func (l *lab) addPlain(id, base string) {
	l.run(l.dir, "worktree", "add", "-q", "--no-track", "-b", "plain/"+id, l.plainDir(id), base)
}

func (l *lab) dropPlain(id string) { l.drop(l.plainDir(id), "plain/"+id) }

func (l *lab) drop(directory, branch string) {
	l.run(l.dir, "worktree", "remove", "--force", directory)
	l.run(l.dir, "update-ref", "-d", "refs/heads/"+branch)
}

func (l *lab) dropMade(p *Provider, project workspace.Project, id string) {
	l.drop(filepath.Join(p.r.worktreesDir(project), id), workspace.DefaultPrefix+id)
}

// benchCreate makes a workspace as a manager has it made.
func benchCreate(b *testing.B, p *Provider, project workspace.Project, id, base string) {
	req := workspace.CreateRequest{
		Base: base, NoFetch: true, Project: project, ThreadID: id, Attempt: id, Name: titled(id), Progress: func(workspace.Event) {},
		Claim: func(context.Context, workspace.Plan) error { return nil },
	}
	err := p.Precheck(context.Background(), req)
	if err == nil {
		req.Prechecked = true
		_, err = p.Create(context.Background(), req)
	}
	if err != nil {
		b.Error(detail(err))
	}
}
