package gitops

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// mergeLab is a repository with main checked out and a workspace on the branch
// x, one commit of its own ahead.
type mergeLab struct {
	*fixture
	g *Merger
	w workspace.Workspace
	// x is the workspace's directory.
	x string
	// events are those of the last calls.
	events []workspace.Event
}

func newMergeLab(t testing.TB, options ...MergeOptions) *mergeLab {
	t.Helper()
	l := &mergeLab{fixture: newRepo(t)}
	l.commit(l.dir, ".gitignore", "*.ign\n", "ignore")
	l.attach(options...)
	return l
}

// attach makes the workspace at what main is now.
func (l *mergeLab) attach(options ...MergeOptions) {
	l.t.Helper()
	var o MergeOptions
	if len(options) > 0 {
		o = options[0]
	}
	l.x = l.worktree("x")
	l.g = NewMerger(l.r, o)
	l.w = workspace.Workspace{
		ThreadID: "thread", Name: "x", Branch: "x", BranchCreated: true, Base: "main", Directory: l.x,
		Status: workspace.StatusReady, Provider: workspace.ProviderGit,
	}
}

func (l *mergeLab) request(change ...func(*workspace.MergeRequest)) workspace.MergeRequest {
	l.t.Helper()
	req := workspace.MergeRequest{
		Project: l.open(l.dir), Workspace: l.w, Strategy: workspace.StrategyRebase,
		Progress: func(e workspace.Event) { l.events = append(l.events, e) },
	}
	for _, c := range change {
		c(&req)
	}
	return req
}

func by(s workspace.Strategy) func(*workspace.MergeRequest) {
	return func(r *workspace.MergeRequest) { r.Strategy = s }
}

func resolving(r *workspace.MergeRequest) { r.Resolve = true }

func keeping(r *workspace.MergeRequest) { r.KeepBranch = true }

func into(target string) func(*workspace.MergeRequest) {
	return func(r *workspace.MergeRequest) { r.Target = target }
}

func (l *mergeLab) try(change ...func(*workspace.MergeRequest)) (workspace.Merged, error) {
	l.t.Helper()
	return l.g.Merge(l.t.Context(), l.request(change...))
}

// merge merges and checks what must hold after any merge.
func (l *mergeLab) merge(change ...func(*workspace.MergeRequest)) workspace.Merged {
	l.t.Helper()
	merged, err := l.try(change...)
	if err != nil {
		l.t.Fatalf("merge: %v", detail(err))
	}
	l.landed(merged)
	return merged
}

func (l *mergeLab) landed(merged workspace.Merged) {
	l.t.Helper()
	if got := l.git("rev-parse", "refs/heads/"+merged.Target); got != merged.SHA {
		l.t.Errorf("%s is at %s, not at %s", merged.Target, got, merged.SHA)
	}
	if got := l.gitIn(l.x, "rev-parse", "HEAD"); got != merged.SHA {
		l.t.Errorf("the workspace is at %s, not at %s", got, merged.SHA)
	}
	if out, err := l.tryGit(l.x, "symbolic-ref", "-q", "HEAD"); err == nil {
		l.t.Errorf("the workspace is on %s; %q", out, merged.Warnings)
	}
	if got := l.gitIn(l.x, "status", "--porcelain"); got != "" {
		l.t.Errorf("the workspace's status: %s", got)
	}
	if merged.Branch != "" {
		_, err := l.tryGit(l.dir, "rev-parse", "--verify", "-q", "refs/heads/"+merged.Branch)
		if (err == nil) != merged.BranchKept {
			l.t.Errorf("the branch %s is there: %v, said to be kept: %v", merged.Branch, err == nil, merged.BranchKept)
		}
	}
	l.tidy()
}

// tidy checks that no file of ours is left, but for a lock that is free.
func (l *mergeLab) tidy() {
	l.t.Helper()
	for _, pattern := range []string{".git/threadtree-*", ".git/worktrees/*/threadtree-*", ".git/index.lock", ".git/worktrees/*/index.lock", ".git/worktrees/*/.threadtree*"} {
		if left, _ := filepath.Glob(filepath.Join(l.dir, pattern)); len(left) > 0 {
			l.t.Errorf("left: %v", left)
		}
	}
}

// world is all that must be the same after a refusal: refs, HEADs, and every
// file of both checkouts, with its times unless they may change.
func (l *mergeLab) world(times bool) map[string]string {
	l.t.Helper()
	w := make(map[string]string)
	if times {
		w["times"] = "too"
	}
	for _, dir := range []string{l.dir, l.x} {
		for path, line := range snapshot(l.t, dir) {
			if rest, inGit := strings.CutPrefix(path, filepath.Join(l.dir, ".git")); inGit && !strings.HasPrefix(rest, "/hooks") {
				continue
			}
			if fields := strings.Fields(line); !times {
				line = fields[0] + " " + fields[len(fields)-1]
				if fields[0][0] == 'd' {
					line = fields[0]
				}
			}
			w[path] = line
		}
		w["status "+dir] = l.gitIn(dir, "status", "--porcelain=v2", "--branch", "-uall", "--ignored")
		w["index "+dir] = l.gitIn(dir, "ls-files", "-s", "-v")
		w["head "+dir] = l.gitIn(dir, "rev-parse", "--symbolic-full-name", "HEAD")
	}
	w["refs"] = l.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags", "refs/remotes", "refs/notes")
	w["config"] = l.read(filepath.Join(l.dir, ".git", "config"))
	return w
}

func (l *mergeLab) same(before map[string]string) {
	l.t.Helper()
	_, times := before["times"]
	after := l.world(times)
	for key, value := range before {
		if after[key] != value {
			l.t.Errorf("%s changed:\nbefore %s\nafter  %s", key, value, after[key])
		}
	}
	for key := range after {
		if _, ok := before[key]; !ok {
			l.t.Errorf("%s appeared", key)
		}
	}
}

// refuse wants a merge to be refused and everything to stay as it is.
func (l *mergeLab) refuse(code workspace.Code, change ...func(*workspace.MergeRequest)) *workspace.Error {
	l.t.Helper()
	before := l.world(true)
	_, err := l.try(change...)
	e := wantCode(l.t, err, code)
	l.same(before)
	l.tidy()
	return e
}

// clash makes main and x change the same line.
func (l *mergeLab) clash() {
	l.t.Helper()
	l.commit(l.x, "other", "other\n", "add other")
	l.commit(l.x, "f", "x\n", "x changes f")
	l.commit(l.dir, "f", "m\n", "main changes f")
}

var strategies = []workspace.Strategy{workspace.StrategyRebase, workspace.StrategySquash, workspace.StrategyMerge}

// perStrategy runs a test by each strategy.
func perStrategy(t *testing.T, test func(*testing.T, workspace.Strategy)) {
	t.Helper()
	for _, s := range strategies {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func TestMergeClean(t *testing.T) {
	t.Parallel()
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		l := newMergeLab(t)
		l.commit(l.x, "a", "1\n", "first")
		l.commit(l.x, "b", "2\n", "second")
		l.commit(l.dir, "g", "main\n", "on main")
		main := l.git("rev-parse", "main")
		tip := l.gitIn(l.x, "rev-parse", "x")
		merged := l.merge(by(s))
		if merged.Branch != "x" || merged.BranchKept || merged.Target != "main" || merged.FastForward || merged.Strategy != s {
			t.Errorf("merged: %+v", merged)
		}
		wantCommits := map[workspace.Strategy]int{workspace.StrategyRebase: 2, workspace.StrategySquash: 1, workspace.StrategyMerge: 3}[s]
		if got := l.git("rev-list", "--count", main+"..main"); merged.Commits != wantCommits || got != string(rune('0'+wantCommits)) {
			t.Errorf("%d commits said, %s there, want %d", merged.Commits, got, wantCommits)
		}
		if got := l.git("status", "--porcelain"); got != "" {
			t.Errorf("main's status: %s", got)
		}
		if l.read(filepath.Join(l.dir, "b")) != "2\n" || l.read(filepath.Join(l.x, "g")) != "main\n" {
			t.Error("files lack")
		}
		if len(merged.Backups) != 2 || l.git("rev-parse", merged.Backups[0]) != tip || l.git("rev-parse", merged.Backups[1]) != main {
			t.Errorf("backups: %v", merged.Backups)
		}
		if len(merged.Warnings) > 0 {
			t.Errorf("warnings: %q", merged.Warnings)
		}
		if last := l.events[len(l.events)-1]; last.Phase != workspace.PhaseDone {
			t.Errorf("the last event is %+v", last)
		}
	})
}

func TestMergeConflictChangesNothing(t *testing.T) {
	t.Parallel()
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		l := newMergeLab(t)
		l.clash()
		code := workspace.ErrRebaseConflict
		if s != workspace.StrategyRebase {
			code = workspace.ErrMergeConflict
		}
		e := l.refuse(code, by(s))
		c, ok := errors.AsType[*workspace.Conflict](e)
		if !ok || c.Paused || errors.Is(e, workspace.ErrPaused) || !slices.Equal(c.Files, []string{"f"}) || !slices.Equal(e.Files, c.Files) {
			t.Fatalf("conflict: %+v", c)
		}
		if len(c.Ours) != 1 || c.Ours[0].Subject != "x changes f" || len(c.Theirs) != 1 || c.Theirs[0].Subject != "main changes f" {
			t.Errorf("ours %+v, theirs %+v", c.Ours, c.Theirs)
		}
		if s == workspace.StrategyRebase && c.Commit.Subject != "x changes f" {
			t.Errorf("commit: %+v", c.Commit)
		}
	})
}

func TestResolveContinueAbort(t *testing.T) {
	t.Parallel()
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		l := newMergeLab(t)
		l.clash()
		before := l.world(false)
		_, err := l.try(by(s), resolving)
		wantPaused(t, err, "f")
		both := map[bool]string{true: "the rebase of x onto main is paused", false: "the merge of x and main is paused"}[s == workspace.StrategyRebase]
		if !strings.Contains(err.Error(), both) {
			t.Errorf("told: %v", err)
		}
		_, again := l.try(by(s))
		wantPaused(t, again, "f")
		_, err = l.g.Continue(t.Context(), l.request())
		wantPaused(t, err, "f")
		if err := l.g.Abort(t.Context(), l.request()); err != nil {
			t.Fatal(detail(err))
		}
		l.same(before)
		l.tidy()
		wantCode(t, l.g.Abort(t.Context(), l.request()), workspace.ErrNotFound)
		_, err = l.g.Continue(t.Context(), l.request())
		wantCode(t, err, workspace.ErrNotFound)

		// Once more, and to the end.
		_, err = l.try(by(s), resolving)
		wantPaused(t, err, "f")
		l.gitIn(l.x, "add", "f") // with its markers
		_, err = l.g.Continue(t.Context(), l.request())
		wantPaused(t, err, "f")
		l.write(filepath.Join(l.x, "f"), "both\n")
		l.gitIn(l.x, "add", "f")
		merged, err := l.g.Continue(t.Context(), l.request())
		if err != nil {
			t.Fatal(detail(err))
		}
		l.landed(merged)
		if merged.Strategy != s || merged.Branch != "x" {
			t.Errorf("merged: %+v", merged)
		}
		if l.read(filepath.Join(l.dir, "f")) != "both\n" || l.read(filepath.Join(l.dir, "other")) != "other\n" {
			t.Error("the target's files are wrong")
		}
	})
}

// wantPaused wants the conflict of a paused merge, with those files.
func wantPaused(t *testing.T, err error, files ...string) *workspace.Conflict {
	t.Helper()
	c, ok := errors.AsType[*workspace.Conflict](err)
	if !ok || !errors.Is(err, workspace.ErrPaused) || !c.Paused || !slices.Equal(c.Files, files) {
		t.Fatalf("error %v, conflict %+v", detail(err), c)
	}
	if code := workspace.CodeOf(err); code != conflictCode(c.Strategy) {
		t.Fatalf("code %s for %s", code, c.Strategy)
	}
	return c
}
