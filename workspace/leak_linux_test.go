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

	"github.com/threadtree/threadtree/workspace"
)

// leakRounds is how many workspaces are made and deleted one after another:
// THREADTREE_LEAK_ROUNDS of them if that is set.
func leakRounds(t *testing.T) int {
	t.Helper()
	if set := os.Getenv("THREADTREE_LEAK_ROUNDS"); set != "" {
		n, err := strconv.Atoi(set)
		if err != nil || n < 1 {
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
// another. It runs beside no other test, for it counts what the process has.
func TestCreatesAndDeletesLeakNothing(t *testing.T) {
	rounds := leakRounds(t)
	p := build(t, settings{tune: func(c *workspace.Config) {
		// Kept until they are collected, which is at once.
		c.KeepDirectory, c.KeepSnapshot = time.Nanosecond, time.Nanosecond
	}})
	round := func(i int) {
		t.Helper()
		thread := fmt.Sprintf("round-%d", i)
		w := p.create(t, thread)
		write(t, filepath.Join(w.Directory, "new"), "work\n")
		if _, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: thread, Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	refs := func() []string { return strings.Fields(git(t, p.project, "for-each-ref", "--format=%(refname)")) }
	kept := refs()
	round(0) // opens what stays open, such as the database's connections
	before := inUse(t)
	for i := range rounds - 1 {
		round(i + 1)
	}
	if after := inUse(t); after.goroutines > before.goroutines || after.children > before.children || after.files > before.files {
		t.Errorf("in use after one: %+v; after %d: %+v", before, rounds, after)
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
	for _, dir := range []string{filepath.Join(p.project, ".git", "worktrees"), filepath.Join(p.home, "worktrees"), filepath.Join(p.home, "attempts")} {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
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
