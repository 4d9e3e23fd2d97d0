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
	"syscall"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// mergeErrand is what a child process does: a call of a Merger, to be killed
// after a number of steps.
type mergeErrand struct {
	Dir, Home, Git string
	Env            []string
	Op             string
	Workspace      workspace.Workspace
	Strategy       workspace.Strategy
	Resolve        bool
	// Step is the number of the step after which it is killed, 0 for none.
	Step int
}

// The children are started before any init of this file.
var _ = func() bool {
	childRoles["merge"] = childMerge
	return true
}()

func childMerge(args []string) error {
	var e mergeErrand
	if err := json.Unmarshal([]byte(args[0]), &e); err != nil {
		return err
	}
	r, err := New(Options{Home: e.Home, Env: e.Env, Git: e.Git})
	if err != nil {
		return err
	}
	n := 0
	g := NewMerger(r, MergeOptions{step: func(string) {
		if n++; n == e.Step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}})
	ctx := context.Background()
	p, err := r.Open(ctx, e.Dir)
	if err != nil {
		return err
	}
	return call(ctx, g, e.Op, workspace.MergeRequest{Project: p, Workspace: e.Workspace, Strategy: e.Strategy, Resolve: e.Resolve})
}

// call calls a method of a Merger by its name.
func call(ctx context.Context, g *Merger, op string, req workspace.MergeRequest) error {
	req.Progress = func(workspace.Event) {}
	var err error
	switch op {
	case "merge":
		_, err = g.Merge(ctx, req)
	case "continue":
		_, err = g.Continue(ctx, req)
	case "abort":
		err = g.Abort(ctx, req)
	case "recover":
		_, err = g.Recover(ctx, req.Project)
	}
	return err
}

// mergeStory is a call that is killed, and what comes before it.
type mergeStory struct {
	op       string
	strategy workspace.Strategy
	resolve  bool
	// before makes the state in which it is called.
	before func(*mergeLab)
	// ends is the code that the call ends with where it isn't killed.
	ends workspace.Code
}

// pausedAt leaves a merge paused, and resolved in the files.
func pausedAt(s workspace.Strategy) func(*mergeLab) {
	return func(l *mergeLab) {
		l.clash()
		if _, err := l.try(by(s), resolving); !errors.Is(err, workspace.ErrPaused) {
			l.t.Fatal(detail(err))
		}
		l.write(filepath.Join(l.x, "f"), "both\n")
		l.gitIn(l.x, "add", "f")
	}
}

// hooked gives the repository a hook, so that git has to make the commits.
func hooked(before func(*mergeLab)) func(*mergeLab) {
	return func(l *mergeLab) {
		before(l)
		for _, hook := range []string{"post-commit", "commit-msg"} {
			path := filepath.Join(l.dir, ".git", "hooks", hook)
			l.write(path, "#!/bin/sh\nexit 0\n")
			if err := os.Chmod(path, 0o755); err != nil {
				l.t.Fatal(err)
			}
		}
	}
}

var mergeStories = map[string]mergeStory{
	"rebase":            {op: "merge", strategy: workspace.StrategyRebase, before: ahead},
	"squash":            {op: "merge", strategy: workspace.StrategySquash, before: ahead},
	"merge":             {op: "merge", strategy: workspace.StrategyMerge, before: ahead},
	"rebase by git":     {op: "merge", strategy: workspace.StrategyRebase, before: hooked(ahead)},
	"squash by git":     {op: "merge", strategy: workspace.StrategySquash, before: hooked(ahead)},
	"merge by git":      {op: "merge", strategy: workspace.StrategyMerge, before: hooked(ahead)},
	"detached":          {op: "merge", strategy: workspace.StrategyRebase, before: func(l *mergeLab) { ahead(l); l.gitIn(l.x, "switch", "-q", "--detach") }},
	"rebase to resolve": {op: "merge", strategy: workspace.StrategyRebase, resolve: true, before: (*mergeLab).clash, ends: workspace.ErrRebaseConflict},
	"squash to resolve": {op: "merge", strategy: workspace.StrategySquash, resolve: true, before: (*mergeLab).clash, ends: workspace.ErrMergeConflict},
	"continued rebase":  {op: "continue", strategy: workspace.StrategyRebase, before: pausedAt(workspace.StrategyRebase)},
	"continued squash":  {op: "continue", strategy: workspace.StrategySquash, before: pausedAt(workspace.StrategySquash)},
	"continued merge":   {op: "continue", strategy: workspace.StrategyMerge, before: pausedAt(workspace.StrategyMerge)},
	"continued merge by git": {
		op: "continue", strategy: workspace.StrategyMerge, before: hooked(pausedAt(workspace.StrategyMerge)),
	},
	"aborted rebase": {op: "abort", strategy: workspace.StrategyRebase, before: pausedAt(workspace.StrategyRebase)},
	"aborted merge":  {op: "abort", strategy: workspace.StrategyMerge, before: pausedAt(workspace.StrategyMerge)},
}

// steps counts the steps of a story by running it to its end.
func (s mergeStory) steps(t *testing.T) []string {
	t.Helper()
	var steps []string
	l := newMergeLab(t)
	s.before(l)
	g := NewMerger(l.r, MergeOptions{step: func(step string) { steps = append(steps, step) }})
	err := call(t.Context(), g, s.op, l.request(by(s.strategy), func(r *workspace.MergeRequest) { r.Resolve = s.resolve }))
	if code := workspace.CodeOf(err); code != s.ends {
		t.Fatalf("the story ends with %v, want %q", detail(err), s.ends)
	}
	return steps
}

// TestMergeKilledAtEachStep kills each call after each of its steps. What is
// left is settled by Recover, or by the next call, and no work is lost.
func TestMergeKilledAtEachStep(t *testing.T) {
	t.Parallel()
	for name, story := range mergeStories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := story.steps(t)
			if len(steps) == 0 {
				t.Fatal("there are no steps")
			}
			for i, step := range steps {
				if testing.Short() && i%4 != len(name)%4 {
					continue
				}
				t.Run(fmt.Sprintf("%d %s", i+1, step), func(t *testing.T) {
					t.Parallel()
					story.killed(t, i+1)
				})
			}
		})
	}
}

func (s mergeStory) killed(t *testing.T, step int) {
	l := newMergeLab(t)
	s.before(l)
	l.dirtyTarget()
	tip := l.tipOf()
	l.kill(mergeErrand{Op: s.op, Strategy: s.strategy, Resolve: s.resolve, Step: step})
	l.wantNothingLost(tip)
	// One way is as good as the other.
	if step%2 == 0 {
		if _, err := l.g.Recover(t.Context(), l.open(l.dir)); err != nil {
			t.Fatalf("recover: %v", detail(err))
		}
		if again, err := l.g.Recover(t.Context(), l.open(l.dir)); err != nil || len(again) > 0 {
			t.Fatalf("recover again: %v %v", again, detail(err))
		}
		l.wantNothingLost(tip)
	}
	l.finish(s)
	l.wantNothingLost(tip)
	l.wantTarget()
}

// dirtyTarget is a person's own work in the target's checkout.
func (l *mergeLab) dirtyTarget() {
	l.write(filepath.Join(l.dir, ".gitignore"), "*.ign\nedited\n")
	l.write(filepath.Join(l.dir, "untracked"), "u\n")
}

// tipOf is the commit that holds the workspace's work.
func (l *mergeLab) tipOf() string {
	if j, err := readMergeJournal(filepath.Join(l.dir, ".git", "worktrees", "x")); err == nil && j != nil {
		return j.Tip
	}
	return l.gitIn(l.x, "rev-parse", "HEAD")
}

// wantNothingLost wants the commit to be reachable by a ref, or what it brings
// to be on main.
func (l *mergeLab) wantNothingLost(tip string) {
	l.t.Helper()
	if l.git("for-each-ref", "--contains", tip) == "" && l.gitIn(l.x, "rev-parse", "HEAD") != tip {
		l.t.Errorf("nothing keeps %s", tip)
	}
	if out, err := l.tryGit(l.dir, "fsck", "--no-dangling", "--no-progress"); err != nil {
		l.t.Errorf("fsck: %s", out)
	}
}

// wantTarget wants main's checkout to be as main is, but for the person's work.
func (l *mergeLab) wantTarget() {
	l.t.Helper()
	if got := l.git("status", "--porcelain"); got != " M .gitignore\n?? untracked" {
		l.t.Errorf("main's status: %q", got)
	}
}

// finish does what a person would do next, up to the end.
func (l *mergeLab) finish(s mergeStory) {
	l.t.Helper()
	if s.op == "abort" {
		err := l.g.Abort(l.t.Context(), l.request())
		if err != nil && !errors.Is(err, workspace.ErrNotFound) {
			l.t.Fatalf("abort: %v", detail(err))
		}
		if got := l.gitIn(l.x, "status", "--porcelain", "--branch"); got != "## x" {
			l.t.Errorf("the workspace's status after the abort: %s", got)
		}
		l.tidy()
		return
	}
	merged, err := l.try(by(s.strategy), resolving)
	if errors.Is(err, workspace.ErrPaused) {
		l.write(filepath.Join(l.x, "f"), "both\n")
		l.gitIn(l.x, "add", "f")
		merged, err = l.g.Continue(l.t.Context(), l.request())
	}
	switch {
	case errors.Is(err, workspace.ErrNothingToMerge):
		// It had been done.
		if got := l.gitIn(l.x, "rev-parse", "HEAD"); got != l.git("rev-parse", "main") {
			l.t.Errorf("nothing to merge, but the workspace is at %s", got)
		}
		l.tidy()
	case err != nil:
		l.t.Fatalf("merge: %v", detail(err))
	default:
		l.landed(merged)
	}
	for file, content := range l.brought() {
		if got, err := os.ReadFile(filepath.Join(l.dir, file)); err != nil || string(got) != content {
			l.t.Errorf("main's %s is %q, %v", file, got, err)
		}
	}
}

// brought is what main must have in the end.
func (l *mergeLab) brought() map[string]string {
	if _, err := os.Stat(filepath.Join(l.x, "dir", "new")); err == nil {
		return map[string]string{"f": "x\n", "dir/new": "new\n", "other": "main\n"}
	}
	return map[string]string{"f": "both\n", "other": "other\n"}
}

// kill has a child do the errand and wants it to be killed over it.
func (l *mergeLab) kill(e mergeErrand) {
	l.t.Helper()
	e.Dir, e.Home, e.Env, e.Workspace = l.dir, l.path("home"), l.env, l.w
	job, err := json.Marshal(e)
	if err != nil {
		l.t.Fatal(err)
	}
	cmd := childCommand("merge", string(job))
	cmd.Env = append(cmd.Env, "TMPDIR="+l.t.TempDir()) // for what it can't remove
	cmd.Stderr = nil
	out, err := cmd.CombinedOutput()
	status, ok := errors.AsType[*exec.ExitError](err)
	if !ok || !status.Sys().(syscall.WaitStatus).Signaled() {
		l.t.Fatalf("the child was not killed: %v\n%s", err, out)
	}
}

// TestMergeKilledWithGit kills git in the middle of what it does in the
// workspace, and its caller.
func TestMergeKilledWithGit(t *testing.T) {
	t.Parallel()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for pattern, s := range map[string]workspace.Strategy{
		"*'rebase -q'*": workspace.StrategyRebase, "*'checkout -q --detach'*": workspace.StrategySquash,
		"*'merge -q --squash'*": workspace.StrategySquash, "*'commit -q'*": workspace.StrategySquash, "*'merge -q --no-ff'*": workspace.StrategyMerge,
		"*'read-tree -m -u'*": workspace.StrategyRebase,
	} {
		times := 6
		if testing.Short() {
			times = 2
		}
		for i := range times {
			t.Run(fmt.Sprintf("%s after %d ms", strings.Trim(pattern, "*'"), 4*i), func(t *testing.T) {
				t.Parallel()
				l := newMergeLab(t)
				hooked(ahead)(l)
				for n := range 5 {
					l.commit(l.x, fmt.Sprintf("n%d", n), "n\n", "more")
				}
				l.dirtyTarget()
				tip := l.tipOf()
				git := l.path("wrapped-git")
				l.write(git, fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n%s) %s \"$@\" & sleep 0.%03d; kill -9 $! $PPID; exit 1 ;;\nesac\nexec %[2]s \"$@\"\n", pattern, real, 4*i))
				if err := os.Chmod(git, 0o755); err != nil {
					t.Fatal(err)
				}
				l.kill(mergeErrand{Op: "merge", Strategy: s, Git: git})
				l.settled()
				l.wantNothingLost(tip)
				l.finish(mergeStory{op: "merge", strategy: s})
				l.wantNothingLost(tip)
				l.wantTarget()
			})
		}
	}
}

// settled has what was left settled, once what outlived the killed process has
// ended: until then the lock on the repository is theirs.
func (l *mergeLab) settled() {
	l.t.Helper()
	for {
		lines, err := l.g.Recover(l.t.Context(), l.open(l.dir))
		l.t.Logf("recovered: %q, %v", lines, err)
		if err == nil && !l.r.interrupted(l.open(l.dir)) {
			return
		}
		if err != nil {
			l.t.Fatalf("recover: %v", detail(err))
		}
	}
}

// TestMergeKilledCopyingNotes kills a merge when git has copied the notes, or
// some of them, and nothing says so yet.
func TestMergeKilledCopyingNotes(t *testing.T) {
	t.Parallel()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"all":     `%s "$@"`,
		"of one":  `GIT_NOTES_REWRITE_REF=refs/notes/commits %s "$@"`,
		"nothing": `: %s`,
	} {
		for _, mode := range []string{"", "concatenate", "overwrite", "cat_sort_uniq"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				l := newMergeLab(t)
				ahead(l)
				l.git("config", "notes.rewriteRef", "refs/notes/*")
				if mode != "" {
					l.git("config", "notes.rewriteMode", mode)
				}
				l.gitIn(l.x, "notes", "add", "-m", "z\n\na")
				l.gitIn(l.x, "notes", "add", "-m", "below", "HEAD~1")
				l.gitIn(l.x, "notes", "--ref", "other", "add", "-m", "other")
				git := l.path("wrapped-git")
				l.write(git, fmt.Sprintf("#!/bin/sh\ncase \"$*\" in\n*'notes copy'*) "+script+"; kill -9 $PPID; exit 1 ;;\nesac\nexec %[1]s \"$@\"\n", real))
				if err := os.Chmod(git, 0o755); err != nil {
					t.Fatal(err)
				}
				l.kill(mergeErrand{Op: "merge", Strategy: workspace.StrategyRebase, Git: git})
				below := "below"
				if name == "all" {
					// The same note again would be no change.
					l.git("notes", "append", "-m", "more", "main~1")
					below = "below\n\nmore"
				}
				l.settled()
				for _, want := range [][3]string{{"commits", "main", "z\n\na"}, {"commits", "main~1", below}, {"other", "main", "other"}} {
					if got := l.git("notes", "--ref", want[0], "show", want[1]); got != want[2] {
						t.Errorf("the note %s of %s is %q", want[0], want[1], got)
					}
				}
			})
		}
	}
}

// TestMergeKilledBeforeCopyingNotes adds the notes to one that somebody wrote
// after the kill.
func TestMergeKilledBeforeCopyingNotes(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	ahead(l)
	l.git("config", "notes.rewriteRef", "refs/notes/*")
	l.gitIn(l.x, "notes", "add", "-m", "copied")
	step := slices.Index(mergeStories["rebase"].steps(t), stepTargetDone)
	l.kill(mergeErrand{Op: "merge", Strategy: workspace.StrategyRebase, Step: step + 1})
	l.git("notes", "add", "-m", "meanwhile", "main")
	l.settled()
	if got := l.git("notes", "show", "main"); got != "meanwhile\n\ncopied" {
		t.Errorf("the note is %q", got)
	}
}
