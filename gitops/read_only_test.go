package gitops

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// TestReadingWritesNothing reads everything there is to read of a repository
// in which git would like to refresh, prune and mend a lot, and wants each
// file of the repository and of its worktrees to be what it was, the time of
// its last change included.
func TestReadingWritesNothing(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.git("clone", "-q", f.dir, f.path("lib"))
	f.git("submodule", "--quiet", "add", f.path("lib"), "lib")
	f.git("commit", "-qm", "lib")
	f.remote()
	for _, name := range []string{"clean", "dirty", "squashed", "hidden", "gone", "moved", "rebasing", "subs", "untracked"} {
		f.worktree(name)
	}
	f.sh(`cd "$ROOT"
echo 1 >>dirty/f; touch dirty/new; echo 2 >dirty/g; git -C dirty add g
echo 1 >squashed/g; git -C squashed add g; git -C squashed commit -qm g
echo 1 >repo/g; git -C repo add g; git -C repo commit -qm squash; echo 2 >repo/g; git -C repo commit -qam later
git -C hidden update-index --assume-unchanged f; echo 1 >>hidden/f
rm -r gone; mv moved moved2
echo 1 >rebasing/f; git -C rebasing commit -qam 1; echo 2 >repo/f; git -C repo commit -qam 2; ! git -C rebasing rebase -q main 2>/dev/null
git -C subs -c protocol.file.allow=always submodule --quiet update --init; touch subs/lib/new
git -C untracked update-index --untracked-cache; git -C untracked status >/dev/null; touch untracked/new
git -C repo config core.fsmonitor true; git -C repo config core.untrackedCache true; git -C repo config feature.manyFiles true`)
	// Entries that git has had for long, and files whose index is stale.
	old := time.Now().Add(-200 * 24 * time.Hour)
	for _, name := range []string{"clean", "dirty", "gone", "moved", "squashed"} {
		admin := f.path("repo/.git/worktrees", name)
		for _, file := range []string{"gitdir", "HEAD", "index", "commondir"} {
			if err := os.Chtimes(filepath.Join(admin, file), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, file := range []string{"clean/f", "dirty/f", "repo/f"} {
		now := time.Now()
		if err := os.Chtimes(f.path(file), now, now); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, f.root)
	readAll(t, f)
	readAll(t, f)
	wantSame(t, f.root, before)
}

// readAll calls everything that reads.
func readAll(t *testing.T, f *fixture) {
	t.Helper()
	ctx := t.Context()
	p := f.open(f.dir)
	all, err := f.r.Worktrees(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 9 {
		t.Fatalf("%d worktrees: %+v", len(all), all)
	}
	_, main, err := f.r.Inspect(ctx, f.dir)
	if err != nil {
		t.Fatal(err)
	}
	var queries []workspace.StateQuery
	for _, w := range append(all, main) {
		for _, base := range []string{"main", "", "gone", "origin/main"} {
			queries = append(queries, workspace.StateQuery{Worktree: w, Base: base})
		}
	}
	err = f.r.States(ctx, p, queries, func(i int, s workspace.State) {
		w := queries[i].Worktree
		if known := s.Dirty != nil; known == w.Missing {
			t.Errorf("%s: dirty known %v; %q", w.Directory, known, s.Unknown)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"clean", "dirty", "moved2", "subs/lib"} {
		if _, _, err := f.r.Inspect(ctx, f.path(dir)); err != nil {
			t.Errorf("Inspect(%s): %v", dir, err)
		}
	}
	if _, _, err := f.r.head(ctx, p); err != nil {
		t.Error(err)
	}
	if names, err := f.r.branchNames(ctx, p); err != nil || len(names) != 10 {
		t.Errorf("branches %q, %v", names, err)
	}
	if _, err := f.r.defaultBranch(ctx, p); err != nil {
		t.Error(err)
	}
}
