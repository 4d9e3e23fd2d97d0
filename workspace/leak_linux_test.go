package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/workspace"
)

// leakRounds is how many workspaces are made and deleted one after another:
// THREADTREE_LEAK_ROUNDS of them if that is set.
func leakRounds(t *testing.T) int {
	t.Helper()
	if set := os.Getenv("THREADTREE_LEAK_ROUNDS"); set != "" {
		n, err := strconv.Atoi(set)
		if err != nil || n < 2 {
			t.Fatalf("THREADTREE_LEAK_ROUNDS is %q", set)
		}
		return n
	}
	if testing.Short() {
		return 10
	}
	return 25
}

// use is what this process has in use.
type use struct{ files, goroutines, children int }

// inUse counts what is in use once nothing changes any more.
func inUse(t *testing.T) use {
	t.Helper()
	var last use
	for same := 0; same < 5; time.Sleep(10 * time.Millisecond) {
		now := use{goroutines: runtime.NumGoroutine()}
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		now.files = len(files)
		stats, err := filepath.Glob("/proc/[0-9]*/stat")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range stats {
			// Behind the command's name come the state and the parent.
			stat, _ := os.ReadFile(path)
			fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
				now.children++
			}
		}
		if now == last {
			same++
		} else {
			last, same = now, 0
		}
	}
	return last
}

// TestCreatesAndDeletesLeakNothing makes and deletes workspaces one after
// another, in turns of spares and without, with a preview of each. It runs
// beside no other test, for it counts what the process has.
func TestCreatesAndDeletesLeakNothing(t *testing.T) {
	rounds := leakRounds(t)
	var pool *gitops.Pool
	p := build(t, settings{tune: func(c *workspace.Config) {
		// Kept until they are collected, which is at once.
		c.KeepDirectory, c.KeepSnapshot = time.Nanosecond, time.Nanosecond
		repo := c.Repository.(*gitops.Repository)
		pool = gitops.NewPool(repo, gitops.PoolOptions{Spares: 1})
		c.Provider = gitops.NewProvider(repo, gitops.ProviderOptions{Pool: pool})
	}})
	project, err := p.repo.Open(t.Context(), p.project)
	if err != nil {
		t.Fatal(err)
	}
	merger := workspace.NewMerger(p.Manager, gitops.NewMerger(p.repo, gitops.MergeOptions{}))
	round := func(i int) {
		t.Helper()
		if i%2 == 0 {
			if filled, err := pool.Fill(t.Context(), project); err != nil || filled.Made != 1 {
				t.Fatalf("%+v, %v", filled, err)
			}
		}
		thread := fmt.Sprintf("round-%d", i)
		w := p.create(t, thread)
		if spares, _ := filepath.Glob(filepath.Join(filepath.Dir(w.Directory), ".spare-*")); len(spares) > 0 {
			t.Fatalf("%q wasn't handed out", spares)
		}
		write(t, filepath.Join(w.Directory, "new"), "work\n")
		if preview, err := merger.Preview(t.Context(), workspace.MergeOptions{ThreadID: thread}); err != nil || preview.Clean {
			t.Fatalf("%+v, %v", preview, err)
		}
		if _, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: thread, Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	refs := func() []string { return strings.Fields(git(t, p.project, "for-each-ref", "--format=%(refname)")) }
	kept := refs()
	// These open what stays open: the database's connections, and a process that
	// reads objects, which waits for the next preview once the repository has
	// come to rest.
	round(0)
	time.Sleep(250 * time.Millisecond)
	round(1)
	before := inUse(t)
	for i := range rounds - 2 {
		round(i + 2)
	}
	if after := inUse(t); after.goroutines > before.goroutines || after.children > before.children || after.files > before.files {
		t.Errorf("in use after two: %+v; after %d: %+v", before, rounds, after)
	}

	collector := workspace.NewCollector(p.Manager)
	trash, err := collector.Trash(t.Context(), p.project)
	if err != nil || len(trash) != rounds {
		t.Errorf("%d records of %d deleted workspaces, %v", len(trash), rounds, err)
	}
	if n := len(refs()) - len(kept); n != rounds {
		t.Errorf("%d refs more than before, of %d deleted workspaces", n, rounds)
	}
	plan, err := collector.Plan(t.Context(), workspace.CollectOptions{Project: p.project})
	if err == nil {
		plan, err = collector.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range plan {
		if !item.Done {
			t.Errorf("%s of %s was left: %v", item.Kind, item.ThreadID, item.Err)
		}
	}
	left(t, p, kept, refs())
}

// left looks for what is left of workspaces that are all gone for good.
func left(t *testing.T, p *parts, kept, refs []string) {
	t.Helper()
	if fmt.Sprint(refs) != fmt.Sprint(kept) {
		t.Errorf("refs left: %q, at first %q", refs, kept)
	}
	if trash, err := p.Trash(t.Context(), p.project); err != nil || len(trash) > 0 {
		t.Errorf("%d records left, %v", len(trash), err)
	}
	if rows := list(t, p); len(rows) > 0 {
		t.Errorf("%d rows left: %+v", len(rows), rows)
	}
	for _, dir := range []string{filepath.Join(p.project, ".git", "worktrees"), filepath.Join(p.home, "worktrees"), filepath.Join(p.home, "attempts"), filepath.Join(p.home, "spares")} {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if name := d.Name(); name == "filling" || name == "size" {
				return nil // one each of the project's pool
			}
			if depth := strings.Count(strings.TrimPrefix(path, dir), "/"); err == nil && (depth > 1 || depth == 1 && !d.IsDir()) {
				t.Errorf("left: %s", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
