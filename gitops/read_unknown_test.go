package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func TestStateSaysWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare func(f *fixture, wt string)
		base    string
		files   bool // uncommitted work is known
		commits bool // ahead and behind are known
		says    []string
	}{
		{"the base is gone", func(f *fixture, _ string) { f.git("branch", "-qD", "dev") }, "dev", true, false, []string{"the base dev is gone"}},
		{"a base that never was", func(*fixture, string) {}, "0123456789012345678901234567890123456789", true, false, []string{"is gone"}},
		{"no default branch", func(f *fixture, _ string) { f.git("checkout", "-q", "--detach") }, "", true, false, []string{"no default branch"}},
		{"the directory is missing", func(f *fixture, wt string) { _ = os.RemoveAll(wt) }, "main", false, true, []string{"the directory is missing"}},
		{"the directory lost its .git", func(f *fixture, wt string) { _ = os.Remove(filepath.Join(wt, ".git")) }, "main", false, true, []string{"no working copy"}},
		{"another repository in its place", func(f *fixture, wt string) {
			f.sh(`rm -r "$ROOT/wt"; git init -q "$ROOT/wt"`)
		}, "main", false, true, []string{"can't be read"}},
		{"a corrupt index", func(f *fixture, _ string) {
			f.write(f.path("repo/.git/worktrees/wt/index"), "garbage that is no index at all, but long enough to be one")
		}, "main", false, true, []string{"git says: "}},
		{"no HEAD", func(f *fixture, _ string) { _ = os.Remove(f.path("repo/.git/worktrees/wt/HEAD")) }, "main", false, false, []string{"HEAD file is missing"}},
		{"no commit yet", func(f *fixture, wt string) { f.gitIn(wt, "checkout", "-q", "--orphan", "fresh") }, "main", true, false, []string{"no commit yet"}},
		{"a commit that is lost", func(f *fixture, wt string) {
			sha := f.commit(wt, "g", "1", "lost")
			if err := os.Remove(f.path("repo/.git/objects", sha[:2], sha[2:])); err != nil {
				f.t.Fatal(err)
			}
		}, "main", false, false, []string{"git says: "}},
		{"a broken submodule", func(f *fixture, wt string) {
			f.git("clone", "-q", f.dir, f.path("lib"))
			f.gitIn(wt, "submodule", "--quiet", "add", f.path("lib"), "lib")
			f.gitIn(wt, "commit", "-qm", "lib")
			f.write(filepath.Join(wt, "lib/.git"), "gitdir: nowhere\n")
		}, "main", false, true, []string{"git says: "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			f.git("branch", "dev")
			wt := f.worktree("wt")
			f.commit(wt, "own", "1", "own")
			test.prepare(f, wt)
			s := f.state(f.list()["wt"], test.base)
			if (s.Dirty != nil) != test.files || (s.Ahead != nil) != test.commits || (s.Merged != nil) != test.commits {
				t.Errorf("state %+v", s)
			}
			all := strings.Join(s.Unknown, "\n")
			for _, says := range test.says {
				if !strings.Contains(all, says) || !strings.Contains(all, "not known, because ") {
					t.Errorf("unknown %q doesn't say %q", s.Unknown, says)
				}
			}
			if s.Default {
				t.Error("said to be the default branch")
			}
		})
	}
}

func TestStateOfWorktreesThatTakeTooLong(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	// A clean filter that never ends keeps status from ending.
	f.git("config", "filter.slow.clean", "sleep 600; cat")
	f.commit(f.dir, ".gitattributes", "slow.txt filter=slow\n", "filter")
	f.worktree("quick")
	wt := f.worktree("slow")
	f.write(filepath.Join(wt, "slow.txt"), "x")
	f.git("config", "filter.slow.clean", "cat")
	f.gitIn(wt, "add", "slow.txt")
	f.git("config", "filter.slow.clean", "sleep 600; cat")
	f.write(filepath.Join(wt, "slow.txt"), "y")
	r, err := New(Options{Home: f.path("home"), Env: f.env, StateTimeout: 4 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	f.r = r
	all := f.list()
	s := f.state(all["slow"], "main")
	if s.Dirty != nil || s.Untracked != nil || s.Ahead == nil || len(s.Unknown) != 1 || !strings.Contains(s.Unknown[0], "longer than 4s") {
		t.Errorf("state of the slow one: %+v", s)
	}
}

func TestStatesCallsOnceAQueryAndOneAtATime(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("a")
	f.worktree("b")
	all := f.list()
	var queries []workspace.StateQuery
	for i := range 20 {
		w := all["a"]
		if i%2 == 1 {
			w = all["b"]
		}
		queries = append(queries, workspace.StateQuery{Worktree: w, Base: "main"})
	}
	var running atomic.Int32
	calls := make([]int, len(queries))
	err := f.r.States(t.Context(), f.open(f.dir), queries, func(i int, s workspace.State) {
		if running.Add(1) != 1 {
			t.Error("two calls at a time")
		}
		defer running.Add(-1)
		calls[i]++
		if s.Ahead == nil || s.Dirty == nil || *s.Dirty {
			t.Errorf("query %d: %+v", i, s)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range calls {
		if n != 1 {
			t.Errorf("query %d was answered %d times", i, n)
		}
	}
	if err := f.r.States(t.Context(), f.open(f.dir), nil, nil); err != nil {
		t.Errorf("no queries: %v", err)
	}
}

func TestStatesEndWithTheirContext(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("a")
	var queries []workspace.StateQuery
	for range 50 {
		queries = append(queries, workspace.StateQuery{Worktree: f.list()["a"]})
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := f.r.States(ctx, f.open(f.dir), queries, func(_ int, s workspace.State) {
		calls++
		if len(s.Unknown) > 0 {
			t.Errorf("a state that was cut short: %q", s.Unknown)
		}
		cancel()
	})
	wantCode(t, err, workspace.ErrTimeout)
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%d calls, error %v", calls, err)
	}
}

func TestLastActivity(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.env = append(f.env, "GIT_COMMITTER_DATE=1700000000 +0000")
	wt := f.worktree("wt")
	f.commit(wt, "g", "1", "dated")
	admin := f.path("repo/.git/worktrees/wt")
	old := time.Unix(1600000000, 0)
	for _, file := range []string{"index", "HEAD", "logs/HEAD"} {
		if err := os.Chtimes(filepath.Join(admin, file), old, old); err != nil {
			t.Fatal(err)
		}
	}
	last := func() time.Time { return *f.state(f.list()["wt"], "main").LastActivity }
	if got := last(); got.Unix() != 1700000000 {
		t.Errorf("last activity %v, want that of the commit", got)
	}
	for i, file := range []string{"index", "HEAD", "logs/HEAD"} {
		later := time.Unix(1700000000+int64(i)+1, 0)
		if err := os.Chtimes(filepath.Join(admin, file), later, later); err != nil {
			t.Fatal(err)
		}
		if got := last(); !got.Equal(later) {
			t.Errorf("last activity %v, want that of %s", got, file)
		}
	}
}
