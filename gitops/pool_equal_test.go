package gitops

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// pooled is a provider that makes worktrees of spares, and its pool.
func (l *lab) pooled() (*Provider, *Pool) {
	l.t.Helper()
	r, err := New(Options{Home: l.home, Env: l.env, Git: l.git})
	if err != nil {
		l.t.Fatal(err)
	}
	o := l.opts
	o.Pool = NewPool(r, PoolOptions{Spares: 1})
	return NewProvider(r, o), o.Pool
}

// fill makes a spare, which must work.
func (l *lab) fill() Filled {
	l.t.Helper()
	_, pool := l.pooled()
	filled, err := pool.Fill(l.t.Context(), l.project())
	if err != nil {
		l.t.Fatalf("fill: %v", detail(err))
	}
	return filled
}

// warm makes a workspace of a spare, which must be there.
func (l *lab) warm(name workspace.Name, change ...func(*workspace.CreateRequest)) workspace.Workspace {
	l.t.Helper()
	before := l.spares()
	p, _ := l.pooled()
	req := l.request(name, change...)
	created, err := p.Create(l.t.Context(), req)
	if err != nil {
		l.t.Fatalf("create: %v", detail(err))
	}
	if after := l.spares(); len(after) != len(before)-1 {
		l.t.Errorf("no spare was used: %q before, %q after", before, after)
	}
	return rowOf(req, created.Plan)
}

// spares lists the directories of spares.
func (l *lab) spares() []string {
	l.t.Helper()
	found, err := filepath.Glob(filepath.Join(l.home, "worktrees", "*", spareBase+"*"))
	if err != nil {
		l.t.Fatal(err)
	}
	return found
}

// leftovers lists what there is of spares on the disk and in the repository.
func (l *lab) leftovers() []string {
	l.t.Helper()
	left := l.spares()
	for _, pattern := range []string{
		filepath.Join(l.home, "spares", "*", "*.*"), filepath.Join(l.dir, ".git", "worktrees", "*spare*"),
		filepath.Join(l.dir, ".git", "threadtree", "dead", "*"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			l.t.Fatal(err)
		}
		left = append(left, found...)
	}
	return left
}

// notWarm are the scenarios in which there is no spare, with the reason, or in
// which one differs from a new worktree.
var notWarm = map[string]string{
	"split index, base moved":                              "made anew",
	"sparse index, folder that becomes a file, base moved": "made anew",
	"reference transaction hook":                           "reference-transaction",
	"filter that sees its environment":                     "differs",
}

// TestClaimEqualsPlainWorktreeAdd compares worktrees that are made of spares,
// of the base's commit and of an older one, with what git alone makes.
func TestClaimEqualsPlainWorktreeAdd(t *testing.T) {
	t.Parallel()
	for name, change := range scenarios {
		for _, moved := range []string{"", ", base moved"} {
			t.Run(name+moved, func(t *testing.T) {
				t.Parallel()
				if notWarm[name] == "differs" {
					t.Skip("left out, as the documentation says")
				}
				ours, plain := prepared(t), prepared(t)
				change(ours)
				change(plain)
				ours.run(ours.dir, "config", "submodule.sm.update", "none")
				plain.run(plain.dir, "config", "submodule.sm.update", "none")
				filled := ours.fill()
				if want := notWarm[name]; want != "" {
					if !strings.Contains(filled.Without, want) || len(ours.spares()) > 0 {
						t.Errorf("%+v, %q", filled, ours.spares())
					}
					return
				}
				// What making the spare did to the hook's file isn't the claim's.
				_ = os.Remove(filepath.Join(ours.root, "transactions"))
				if moved != "" {
					ours.moveBase()
					plain.moveBase()
				}
				make := ours.warm
				if notWarm[name+moved] != "" {
					make = ours.pooledMade
				}
				plan := make(titled("one"), offline)
				plain.home = filepath.Join(plain.root, "home")
				directory := filepath.Join(plain.provider().r.worktreesDir(plain.project()), "one")
				if err := os.MkdirAll(filepath.Dir(directory), 0o755); err != nil {
					t.Fatal(err)
				}
				plain.run(plain.dir, "worktree", "add", "-q", "--no-track", "-b", plan.Branch, directory, plan.BaseCommit)
				got, want := ours.facts(plan.Directory), plain.facts(directory)
				if !slices.Equal(got, want) {
					t.Errorf("plain (-) and claimed (+) differ:\n%s", difference(want, got))
				}
				if left := ours.leftovers(); notWarm[name+moved] == "" && len(left) > 0 {
					t.Errorf("left: %q", left)
				}
			})
		}
	}
}

// moveBase puts commits on main that change, add, remove and rename files, and a
// file in the place of the folder swap.
func (l *lab) moveBase() {
	l.t.Helper()
	dir := l.dir
	if l.run(dir, "rev-parse", "--is-bare-repository") == "true" {
		dir = filepath.Join(l.root, "mover")
		l.run(l.root, "-c", "protocol.file.allow=always", "clone", "-q", l.dir, dir)
	}
	if !exists(filepath.Join(dir, "in", "a")) {
		l.run(dir, "reset", "-q", "--hard")
	}
	l.write(filepath.Join(dir, "in", "a"), "changed\n")
	l.write(filepath.Join(dir, "in", "new", "file"), "new\n")
	l.write(filepath.Join(dir, "late"), "late\n")
	l.run(dir, "add", "--sparse", ".")
	l.run(dir, "commit", "-q", "-m", "more")
	l.run(dir, "rm", "-q", "--sparse", "late", "out/b")
	if l.run(dir, "ls-files", "swap") != "" {
		l.run(dir, "rm", "-q", "-r", "--sparse", "swap")
		l.write(filepath.Join(dir, "swap"), "a file in the folder's place\n")
		l.run(dir, "add", "--sparse", "swap")
	}
	l.run(dir, "commit", "-q", "-m", "less")
	if dir != l.dir {
		l.run(dir, "push", "-q", "origin", "HEAD")
	}
}
