package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func TestClaimMakesAWholeWorktree(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.script(filepath.Join(l.dir, ".git", "hooks", "post-checkout"), "#!/bin/sh\necho \"$@ $PWD\" > seen\n")
	if filled := l.fill(); filled.Made != 1 || filled.Ready != 1 || len(filled.Kept) > 0 {
		t.Fatalf("%+v", filled)
	}
	w := l.warm(titled("Fix the login"))
	if w.Branch != "threadtree/fix-the-login" || filepath.Base(w.Directory) != "fix-the-login" || filepath.Base(gitDirOf(w.Directory)) != "fix-the-login" {
		t.Errorf("unexpected plan: %+v, entry %s", w, gitDirOf(w.Directory))
	}
	l.isTip(w.Branch, w.BaseCommit)
	if seen, _ := os.ReadFile(filepath.Join(w.Directory, "seen")); string(seen) != strings.Repeat("0", 40)+" "+w.BaseCommit+" 1 "+w.Directory+"\n" {
		t.Errorf("the hook saw %q", seen)
	}
	_ = os.Remove(filepath.Join(w.Directory, "seen"))
	if got := l.run(l.dir, "worktree", "list", "--porcelain"); strings.Contains(got, "locked") || strings.Count(got, "worktree ") != 2 {
		t.Errorf("%s", got)
	}
	if err := l.provider().Complete(t.Context(), l.project(), w); err != nil {
		t.Errorf("not complete: %v", err)
	}
	l.removes(w)
	if remains := l.remains(); len(remains) > 0 {
		t.Errorf("remains: %q", remains)
	}
}

// TestClaimNames goes through what decides of names and branches: it is that
// of a cold create.
func TestClaimNames(t *testing.T) {
	t.Parallel()
	l, _, seed := withOrigin(t)
	l.run(seed, "checkout", "-q", "-b", "far")
	far := l.commit(seed, "far", "x\n")
	l.run(seed, "push", "-q", "origin", "far")
	l.run(l.dir, "branch", "--no-track", "near")
	l.run(l.dir, "fetch", "-q")

	l.fill()
	w := l.warm(exactly(t, "near"))
	if w.BranchCreated || l.run(w.Directory, "symbolic-ref", "HEAD") != "refs/heads/near" || l.run(w.Directory, "status", "--porcelain") != "" {
		t.Errorf("attached: %+v", w)
	}
	l.fill()
	w = l.warm(exactly(t, "far"))
	if l.run(w.Directory, "rev-parse", "HEAD") != far || l.run(l.dir, "config", "branch.far.remote") != "origin" || !exists(filepath.Join(w.Directory, "far")) {
		t.Errorf("from the remote: %+v", w)
	}
	l.fill()
	req := l.request(exactly(t, "near"))
	p, _ := l.pooled()
	if _, err := p.Create(t.Context(), req); !errors.Is(err, workspace.ErrBranchCheckedOut) {
		t.Errorf("checked out elsewhere: %v", detail(err))
	}
	// A refusal has cost no spare.
	if len(l.spares()) != 1 {
		t.Errorf("spares: %q", l.spares())
	}
	one := l.warm(titled("One"))
	l.fill()
	two := l.warm(titled("one"), func(r *workspace.CreateRequest) { r.Attempt = "attempt-2" })
	if one.Directory == two.Directory || filepath.Base(two.Directory) != "one-2" {
		t.Errorf("%s and %s", one.Directory, two.Directory)
	}
}

// TestTouchedSparesAreNotHandedOut touches a spare in ways in which work, or a
// program that strayed, would.
func TestTouchedSparesAreNotHandedOut(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		touch func(l *lab, dir string)
		// kept is true where somebody's work is in it.
		kept bool
	}{
		"file changed in place": {func(l *lab, dir string) {
			// As long as it was, and with its time.
			info, err := os.Stat(filepath.Join(dir, "f"))
			if err != nil {
				l.t.Fatal(err)
			}
			l.write(filepath.Join(dir, "f"), "BASE\n")
			_ = os.Chtimes(filepath.Join(dir, "f"), info.ModTime(), info.ModTime())
		}, true},
		"untracked file":     {func(l *lab, dir string) { l.write(filepath.Join(dir, "new"), "x") }, true},
		"ignored file":       {func(l *lab, dir string) { l.write(filepath.Join(dir, "x.ignored"), "x") }, true},
		"file removed":       {func(l *lab, dir string) { _ = os.Remove(filepath.Join(dir, "f")) }, true},
		"mode changed":       {func(l *lab, dir string) { _ = os.Chmod(filepath.Join(dir, "f"), 0o755) }, true},
		"commit":             {func(l *lab, dir string) { l.run(dir, "commit", "-q", "--allow-empty", "-m", "x") }, true},
		"branch checked out": {func(l *lab, dir string) { l.run(dir, "checkout", "-q", "-b", "mine") }, true},
		"staged": {func(l *lab, dir string) {
			l.write(filepath.Join(dir, "f"), "staged\n")
			l.run(dir, "add", "f")
			l.write(filepath.Join(dir, "f"), "base\n")
		}, true},
		"read-only command of git": {func(l *lab, dir string) {
			_ = os.Chtimes(filepath.Join(dir, "f"), time.Unix(1, 0), time.Unix(1, 0))
			l.run(dir, "status")
		}, false},
		"index.lock":        {func(l *lab, dir string) { l.write(filepath.Join(gitDirOf(dir), "index.lock"), "") }, false},
		"directory gone":    {func(l *lab, dir string) { _ = os.RemoveAll(dir) }, false},
		"directory another": {func(l *lab, dir string) { _ = os.Rename(dir, dir+"x"); l.write(filepath.Join(dir, "f"), "base\n") }, true},
		"unlocked and moved off": {func(l *lab, dir string) {
			l.run(l.dir, "worktree", "move", "-f", "-f", dir, filepath.Join(l.root, "off"))
		}, false},
		"entry gone": {func(l *lab, dir string) { l.run(l.dir, "worktree", "remove", "-f", "-f", dir) }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.commit(l.dir, ".gitignore", "*.ignored\n")
			l.fill()
			dir := l.spares()[0]
			tt.touch(l, dir)
			w := l.pooledMade(titled("one"))
			if got := l.run(w.Directory, "status", "--porcelain", "--ignored"); got != "" || !exists(filepath.Join(w.Directory, "f")) {
				t.Errorf("status: %s", got)
			}
			if content, _ := os.ReadFile(filepath.Join(w.Directory, "f")); string(content) != "base\n" {
				t.Errorf("f is %q", content)
			}
			filled := l.fill()
			if kept := len(filled.Kept) == 1; kept != tt.kept || filled.Ready != 1 {
				t.Errorf("%+v", filled)
			}
			if tt.kept && !exists(dir) {
				t.Error("somebody's work is gone")
			}
		})
	}
}

// pooledMade makes a workspace of a spare, or without.
func (l *lab) pooledMade(name workspace.Name, change ...func(*workspace.CreateRequest)) workspace.Workspace {
	l.t.Helper()
	p, _ := l.pooled()
	req := l.request(name, change...)
	created, err := p.Create(l.t.Context(), req)
	if err != nil {
		l.t.Fatalf("create: %v", detail(err))
	}
	return rowOf(req, created.Plan)
}

// TestSparesOfAnotherKindAreNotHandedOut changes what decides about files.
func TestSparesOfAnotherKindAreNotHandedOut(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(l *lab){
		"configuration": func(l *lab) { l.run(l.dir, "config", "core.autocrlf", "true") },
		"filter": func(l *lab) {
			l.run(l.dir, "config", "filter.up.smudge", "tr a-z A-Z")
			l.write(filepath.Join(l.dir, ".git", "info", "attributes"), "f filter=up\n")
		},
		"attributes": func(l *lab) { l.write(filepath.Join(l.dir, ".git", "info", "attributes"), "f eol=crlf\n") },
		"a user's attributes": func(l *lab) {
			l.write(filepath.Join(l.root, ".config", "git", "attributes"), "f eol=crlf\n")
		},
		"attributes between the commits": func(l *lab) { l.commit(l.dir, ".gitattributes", "f eol=crlf\n") },
		"sparse checkout":                func(l *lab) { l.run(l.dir, "sparse-checkout", "set", "--no-cone", "/f") },
		"monitor":                        func(l *lab) { l.run(l.dir, "config", "core.fsmonitor", "true") },
		"most of it changed": func(l *lab) {
			for i := range 150 {
				l.write(filepath.Join(l.dir, "many", fmt.Sprint(i)), "x\n")
			}
			l.run(l.dir, "add", ".")
			l.run(l.dir, "commit", "-q", "-m", "many")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.fill()
			change(l)
			warm := l.pooledMade(titled("one"))
			if len(l.spares()) != 1 {
				t.Error("the spare was handed out")
			}
			cold := l.made(titled("two"), func(r *workspace.CreateRequest) { r.Attempt = "attempt-2" })
			a, _ := os.ReadFile(filepath.Join(warm.Directory, "f"))
			b, _ := os.ReadFile(filepath.Join(cold.Directory, "f"))
			if string(a) != string(b) {
				t.Errorf("%q and %q", a, b)
			}
			filled := l.fill()
			if filled.Removed != 1 || (filled.Ready == 1) == (name == "monitor") {
				t.Errorf("%+v", filled)
			}
		})
	}
}

func TestPoolKeepsItsBounds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p, pool := l.pooled()
	ctx, project := t.Context(), l.project()
	fill := func() Filled {
		t.Helper()
		filled, err := pool.Fill(ctx, project)
		if err != nil {
			t.Fatal(detail(err))
		}
		if len(l.spares()) != filled.Ready {
			t.Errorf("%+v: %q", filled, l.spares())
		}
		return filled
	}
	pool.o.Spares = 3
	if f := fill(); f.Made != 3 {
		t.Errorf("%+v", f)
	}
	if f := fill(); f.Made != 0 || f.Removed != 0 || f.Ready != 3 {
		t.Errorf("again: %+v", f)
	}
	pool.o.Spares = 2
	if list, err := p.Spares(ctx, project); err != nil || len(list) != 3 || list[2].Reason == "" || list[0].Reason != "" || list[0].Size < 1000 {
		t.Errorf("%+v, %v", list, err)
	}
	if f := fill(); f.Removed != 1 || f.Ready != 2 {
		t.Errorf("too many: %+v", f)
	}
	base := l.commit(l.dir, "g", "1\n")
	if f := fill(); f.Moved != 2 || f.Made != 0 {
		t.Errorf("base moved: %+v", f)
	}
	if w := l.warm(titled("one")); l.run(w.Directory, "rev-parse", "HEAD") != base || l.run(w.Directory, "status", "--porcelain") != "" {
		t.Error("not at the base")
	}
	pool.o.MaxBytes = 1
	if f := fill(); f.Ready != 0 || f.Removed != 1 || f.Made != 0 {
		t.Errorf("too large: %+v", f)
	}
	pool.o.MaxBytes, pool.o.Spares = 1<<30, 1
	fill()
	pool.r.now = func() time.Time { return time.Now().Add(100 * time.Hour) }
	if f := fill(); f.Removed != 1 || f.Made != 1 {
		t.Errorf("too old: %+v", f)
	}
	l.run(l.dir, "worktree", "prune", "--expire=now")
	l.run(l.dir, "gc", "-q", "--prune=now")
	if l.warm(titled("two"), func(r *workspace.CreateRequest) { r.Attempt = "attempt-2" }); len(l.leftovers()) > 0 {
		t.Errorf("left: %q", l.leftovers())
	}
}

// TestSparesAreListedAndCollected looks at spares as a manager does.
func TestSparesAreListedAndCollected(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fill()
	p, _ := l.pooled()
	dir := l.spares()[0]
	list, err := p.r.Worktrees(t.Context(), l.project())
	if err != nil || len(list) != 1 || !list[0].Spare || list[0].Directory != dir || !list[0].Locked {
		t.Fatalf("%+v, %v", list, err)
	}
	spares, err := p.Spares(t.Context(), l.project())
	if err != nil || len(spares) != 1 || spares[0].Reason != "" {
		t.Fatalf("%+v, %v", spares, err)
	}
	l.write(filepath.Join(dir, "mine"), "x")
	if err := p.DiscardSpare(t.Context(), l.project(), spares[0].ID); !errors.Is(err, workspace.ErrDirtyWorktree) || !exists(filepath.Join(dir, "mine")) {
		t.Errorf("somebody's work: %v", err)
	}
	if list, err = p.r.Worktrees(t.Context(), l.project()); err != nil || len(list) != 1 || list[0].Spare || list[0].Locked {
		t.Errorf("%+v, %v", list, err)
	}
	l.run(l.dir, "worktree", "remove", "--force", dir)
	l.fill()
	// A project that is gone: another one's gc finds it.
	if err := os.RemoveAll(l.dir); err != nil {
		t.Fatal(err)
	}
	l.run(l.root, "init", "-q", "-b", "main", filepath.Join(l.root, "other"))
	l.dir = filepath.Join(l.root, "other")
	l.commit(l.dir, "f", "x\n")
	if spares, err = p.Spares(t.Context(), l.project()); err != nil || len(spares) != 1 || !strings.Contains(spares[0].Reason, "gone") {
		t.Fatalf("%+v, %v", spares, err)
	}
	if err := p.DiscardSpare(t.Context(), l.project(), spares[0].ID); err != nil || len(l.leftovers()) > 0 {
		t.Errorf("%v, left %q", err, l.leftovers())
	}
}

// TestManyClaimsAtOnce has processes claim at once.
func TestManyClaimsAtOnce(t *testing.T) {
	t.Parallel()
	const processes, each = 4, 4
	l := newLab(t)
	_, pool := l.pooled()
	pool.o.Spares = processes * each
	filled, err := pool.Fill(t.Context(), l.project())
	if err != nil || filled.Ready != processes*each {
		t.Fatalf("%+v, %v", filled, err)
	}
	inodes := make(map[uint64]bool)
	for _, dir := range l.spares() {
		inodes[inodeOf(dir)] = true
	}
	var group sync.WaitGroup
	plans := make([][]workspace.Plan, processes)
	for i := range processes {
		group.Go(func() {
			cmd := exec.Command(os.Args[0], l.dir, l.home, fmt.Sprint(i), fmt.Sprint(each))
			cmd.Env = append(slices.Clone(l.env), childRole+"=claim")
			out, err := cmd.Output()
			if err == nil {
				err = json.Unmarshal(out, &plans[i])
			}
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	group.Wait()
	all := slices.Concat(plans...)
	l.whole(all)
	for _, plan := range all {
		if inode := inodeOf(plan.Directory); !inodes[inode] {
			t.Errorf("%s is no spare", plan.Directory)
		} else {
			delete(inodes, inode)
		}
	}
	if left := l.leftovers(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// childClaim makes several workspaces at once, of spares, and prints their
// plans.
func childClaim(args []string) error {
	r, err := New(Options{Home: args[1]})
	if err != nil {
		return err
	}
	project, err := r.Open(context.Background(), args[0])
	if err != nil {
		return err
	}
	p := NewProvider(r, ProviderOptions{Pool: NewPool(r, PoolOptions{})})
	var n int
	if _, err := fmt.Sscan(args[3], &n); err != nil {
		return err
	}
	var group sync.WaitGroup
	plans, errs := make([]workspace.Plan, n), make([]error, n)
	for i := range n {
		group.Go(func() {
			id := fmt.Sprintf("thread-%s-%d", args[2], i)
			created, err := p.Create(context.Background(), workspace.CreateRequest{
				Project: project, ThreadID: id, Attempt: id, Name: titled(id), Progress: func(workspace.Event) {},
				Claim: func(context.Context, workspace.Plan) error { return nil },
			})
			plans[i], errs[i] = created.Plan, err
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(plans)
}
