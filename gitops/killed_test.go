package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// helperEnv holds what a re-executed test process has to do.
const helperEnv = "THREADTREE_TEST_HELPER"

// errand is what a re-executed test process has to do: one create.
type errand struct {
	Dir, Home, Git, Title, Attempt, Plan string
	// Pool has it made of a spare, if there is one.
	Pool bool
	// At is the step after which the process ends itself.
	At     string
	Env    []string
	Setup  [][]string
	Thread string
}

// TestHelperProcess is no test of its own: it is the process that others end.
func TestHelperProcess(t *testing.T) {
	job := os.Getenv(helperEnv)
	if job == "" {
		t.Skip("only run by other tests")
	}
	var e errand
	if err := json.Unmarshal([]byte(job), &e); err != nil {
		t.Fatal(err)
	}
	r, err := New(Options{Home: e.Home, Env: e.Env, Git: e.Git})
	if err != nil {
		t.Fatal(err)
	}
	r.reached = func(step string) {
		if step == e.At {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	locks, err := NewAttemptLocks(filepath.Join(e.Home, "locks"), "here")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := locks.Lock(t.Context(), e.Attempt)
	if err != nil {
		t.Fatal(err)
	}
	project, err := r.Open(t.Context(), e.Dir)
	if err != nil {
		t.Fatal(err)
	}
	o := ProviderOptions{Setup: SetupOptions{Commands: e.Setup}}
	if e.Pool {
		o.Pool = NewPool(r, PoolOptions{})
	}
	created, err := NewProvider(r, o).Create(t.Context(), workspace.CreateRequest{
		Project: project, ThreadID: e.Thread, Attempt: e.Attempt, Inherit: lock.Inherit(), Setup: true,
		Name: workspace.NameFromTitle(workspace.DefaultPrefix, e.Title, e.Thread),
		Claim: func(_ context.Context, plan workspace.Plan) error {
			content, err := json.Marshal(plan)
			if err != nil {
				return err
			}
			return os.WriteFile(e.Plan, content, 0o600)
		},
		Progress: func(workspace.Event) {},
	})
	if err != nil {
		t.Fatal(detail(err))
	}
	if len(created.Warnings) > 0 {
		t.Fatalf("%q", created.Warnings)
	}
	if e.Setup == nil {
		// The work is done and nobody has been told yet.
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

// helper starts a process that creates a workspace, and is ended within.
func (l *lab) helper(e errand) *exec.Cmd {
	l.t.Helper()
	e.Dir, e.Home, e.Env = l.dir, l.home, l.env
	job, err := json.Marshal(e)
	if err != nil {
		l.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$", "-test.count=1")
	cmd.Env = append(os.Environ(), helperEnv+"="+string(job))
	return cmd
}

// killed runs a helper that must end by SIGKILL, and returns the row that its
// manager would have.
func (l *lab) killed(e errand) workspace.Workspace {
	l.t.Helper()
	if e.Title == "" {
		e.Title = "one"
	}
	e.Attempt, e.Plan, e.Thread = "attempt-1", filepath.Join(l.root, "plan"), "thread"
	out, err := l.helper(e).CombinedOutput()
	status, ok := errors.AsType[*exec.ExitError](err)
	if !ok || !status.Sys().(syscall.WaitStatus).Signaled() {
		l.t.Fatalf("the helper was not killed: %v\n%s", err, out)
	}
	content, err := os.ReadFile(e.Plan)
	if err != nil {
		l.t.Fatal(err)
	}
	var plan workspace.Plan
	if err := json.Unmarshal(content, &plan); err != nil {
		l.t.Fatal(err)
	}
	return rowOf(workspace.CreateRequest{ThreadID: e.Thread, Attempt: e.Attempt, Project: l.project()}, plan)
}

// seize waits until nobody of the attempt is left, and returns how it was
// found at first.
func (l *lab) seize(attempt string) (first workspace.Liveness) {
	l.t.Helper()
	locks, err := NewAttemptLocks(filepath.Join(l.home, "locks"), "here")
	if err != nil {
		l.t.Fatal(err)
	}
	a := workspace.Attempt{ID: attempt, Host: "here", Lock: filepath.Join(l.home, "locks", attempt+".lock")}
	for {
		lock, live, err := locks.Seize(l.t.Context(), a)
		if err != nil {
			l.t.Fatal(err)
		}
		if first == "" {
			first = live
		}
		if live == workspace.Dead {
			if err := lock.Release(); err != nil {
				l.t.Fatal(err)
			}
			return first
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// remains lists all branches, entries and files that are not the lab's own.
func (l *lab) remains() []string {
	l.t.Helper()
	var left []string
	for _, root := range []string{
		filepath.Join(l.home, "worktrees"), filepath.Join(l.dir, ".git", "worktrees"), filepath.Join(l.dir, ".git", "threadtree", "dead"),
	} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && path != root && filepath.Dir(path) != filepath.Join(l.home, "worktrees") {
				left = append(left, strings.TrimPrefix(path, l.root))
			}
			return err
		})
		if err != nil {
			l.t.Fatal(err)
		}
	}
	for branch := range strings.FieldsSeq(l.run(l.dir, "for-each-ref", "--format=%(refname)", "refs/heads")) {
		if branch != "refs/heads/main" {
			left = append(left, branch)
		}
	}
	return left
}

// settle does what a manager does with a dead attempt: it is complete or
// cleared, and then the same create succeeds.
func (l *lab) settle(w workspace.Workspace, complete bool) {
	l.t.Helper()
	p, ctx := l.provider(), l.t.Context()
	err := p.Complete(ctx, l.project(), w)
	if (err == nil) != complete {
		l.t.Fatalf("complete: %v, want %v", err, complete)
	}
	if err != nil && !errors.Is(err, workspace.ErrNotReady) {
		l.t.Errorf("complete: %v", detail(err))
	}
	if complete {
		return
	}
	for range 2 {
		left, err := p.Clear(ctx, l.project(), w)
		if err != nil || len(left) > 0 {
			l.t.Fatalf("clear: %v, left %q", detail(err), left)
		}
		if remains := l.remains(); len(remains) > 0 {
			l.t.Fatalf("remains: %q", remains)
		}
	}
	again := l.made(titled("one"), func(r *workspace.CreateRequest) { r.Attempt = "attempt-2" })
	if again.Branch != w.Branch || again.Directory != w.Directory {
		l.t.Errorf("the second create made %s at %s", again.Branch, again.Directory)
	}
	if got := l.run(again.Directory, "status", "--porcelain"); got != "" {
		l.t.Errorf("status: %s", got)
	}
	if out := l.run(l.dir, "fsck"); strings.Contains(out, "error") {
		l.t.Error(out)
	}
}

// wrap makes a program in git's place that does more where the arguments
// match a pattern of the shell's.
func (l *lab) wrap(pattern, more string) string {
	l.t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		l.t.Fatal(err)
	}
	path := filepath.Join(l.root, "wrapped-git")
	l.script(path, fmt.Sprintf("#!/bin/sh\ngit=%s\ncase \"$*\" in\n%s) %s ;;\nesac\nexec $git \"$@\"\n", real, pattern, more))
	return path
}

// gitAdds makes the repository one whose entries git itself has to write.
func (l *lab) gitAdds() { l.run(l.dir, "config", "core.sharedRepository", "group") }

func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	const kill = "kill -9 $PPID"
	steps := map[string]struct {
		prepare  func(l *lab, e *errand)
		complete bool
	}{
		"between claim and branch": {prepare: func(_ *lab, e *errand) { e.At = "no branch yet" }},
		"branch made":              {prepare: func(_ *lab, e *errand) { e.At = "branch" }},
		"entry built":              {prepare: func(_ *lab, e *errand) { e.At = "entry built" }},
		"entry placed":             {prepare: func(_ *lab, e *errand) { e.At = "entry" }},
		"directory made":           {prepare: func(_ *lab, e *errand) { e.At = "directory" }},
		"between claim and add": {prepare: func(l *lab, e *errand) {
			l.gitAdds()
			e.Git = l.wrap(`*"worktree add"*`, kill+"; exit 1")
		}},
		"branch made, no entry": {prepare: func(l *lab, e *errand) {
			l.gitAdds()
			// The hook runs within the transaction that makes the branch: it
			// ends the two gits above it and us.
			l.script(filepath.Join(l.dir, ".git", "hooks", "reference-transaction"), "#!/bin/sh\n"+
				"[ \"$1\" = committed ] && [ ! -e "+l.root+"/once ] || exit 0\ntouch "+l.root+"/once\n"+
				"up() { awk '{print $4}' /proc/$1/stat; }\nadd=$(up $PPID)\nus=$(up $add)\nkill -9 $us $add $PPID\n")
		}},
		"after add": {prepare: func(l *lab, e *errand) {
			l.gitAdds()
			e.Git = l.wrap(`*"worktree add"*`, `$git "$@"; `+kill+`; exit 1`)
		}},
		"before checkout": {prepare: func(l *lab, e *errand) { e.Git = l.wrap(`*"reset --hard"*`, kill+"; exit 1") }},
		"after checkout":  {prepare: func(l *lab, e *errand) { e.Git = l.wrap(`*"reset --hard"*`, `$git "$@"; `+kill+`; exit 1`) }},
		"in submodules":   {prepare: func(l *lab, e *errand) { l.addSubmodule(); e.Git = l.wrap(`*"submodule -q update"*`, kill+"; exit 1") }},
		"after a submodule": {prepare: func(l *lab, e *errand) {
			l.addSubmodule()
			e.Git = l.wrap(`*"submodule -q update"*`, `$git "$@"; `+kill+`; exit 1`)
		}},
		"in the hook": {prepare: func(l *lab, e *errand) {
			l.script(filepath.Join(l.dir, ".git", "hooks", "post-checkout"), "#!/bin/sh\n[ -e "+l.root+"/once ] && exit 0\ntouch "+l.root+"/once\n"+kill+"\n")
		}},
		"in set-up": {prepare: func(l *lab, e *errand) {
			l.script(filepath.Join(l.root, "set-up"), "#!/bin/sh\ntouch made\n"+kill+"\n")
			e.Setup = [][]string{{filepath.Join(l.root, "set-up")}}
		}},
		"after all of it": {prepare: func(*lab, *errand) {}, complete: true},
		"worktree with work": {prepare: func(l *lab, e *errand) {
			l.script(filepath.Join(l.root, "set-up"), "#!/bin/sh\nmkdir -p ro/x; touch ro/x/y; chmod 555 ro/x ro; ln -s / root\n"+kill+"\n")
			e.Setup = [][]string{{filepath.Join(l.root, "set-up")}}
		}},
	}
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			var e errand
			step.prepare(l, &e)
			w := l.killed(e)
			if step.complete {
				e.Setup = nil
			}
			l.seize(w.Attempt.ID)
			l.settle(w, step.complete)
		})
	}
}

// TestOrphanedGitStillWrites kills the maker while its git goes on.
func TestOrphanedGitStillWrites(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	proceed := filepath.Join(l.root, "proceed")
	l.run(l.dir, "config", "filter.slow.smudge", "while [ ! -e "+proceed+" ]; do sleep 0.02; done; cat")
	l.commit(l.dir, ".gitattributes", "*.slow filter=slow\n")
	l.commit(l.dir, "z.slow", "x\n")
	started := filepath.Join(l.root, "started")
	l.run(l.dir, "config", "filter.slow.smudge", "touch "+started+"; while [ ! -e "+proceed+" ]; do sleep 0.02; done; cat")
	w := l.killed(errand{Git: l.wrap(`*"reset --hard"*`, "{ while [ ! -e "+started+" ]; do sleep 0.02; done; kill -9 $PPID; } 3>&- 4>&- &")})
	time.AfterFunc(100*time.Millisecond, func() { _ = os.WriteFile(proceed, nil, 0o600) })
	if first := l.seize(w.Attempt.ID); first != workspace.Orphaned {
		t.Errorf("the attempt was %s while its git wrote", first)
	}
	l.settle(w, false)
}

// TestKilledAnywhereInAdd ends git and its maker at many moments of the add.
func TestKilledAnywhereInAdd(t *testing.T) {
	t.Parallel()
	for i := range 12 {
		t.Run(fmt.Sprintf("after %d ms", i), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.gitAdds()
			w := l.killed(errand{Git: l.wrap(`*"worktree add"*`, fmt.Sprintf(`$git "$@" & sleep 0.%03d; kill -9 $! $PPID; exit 1`, i))})
			l.seize(w.Attempt.ID)
			l.settle(w, false)
		})
	}
}

// TestHalfWrittenEntries clears what git leaves when it is ended between any
// two of the files that it writes.
func TestHalfWrittenEntries(t *testing.T) {
	t.Parallel()
	type file struct{ name, content string }
	// The order in which git writes them.
	order := []file{
		{"locked", ""},
		{"locked", makingReason + "attempt-1\n"},
		{"gitdir", ""},
		{"gitdir", "DIR/.git\n"},
		{"DIR/.git", ""},
		{"DIR/.git", "gitdir: ADMIN\n"},
		{"HEAD", ""},
		{"HEAD", strings.Repeat("0", 40) + "\n"},
		{"commondir", ""},
		{"commondir", "../..\n"},
		{"HEAD", "ref: refs/heads/threadtree/one\n"},
	}
	for n := range len(order) + 1 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.gitAdds()
			w := l.killed(errand{Git: l.wrap(`*"worktree add"*`, "kill -9 $PPID; exit 1")})
			l.seize(w.Attempt.ID)
			l.run(l.dir, "branch", "--no-track", w.Branch, w.BaseCommit)
			// Another's worktree of the same directory name keeps its entry.
			theirs := filepath.Join(l.root, "one")
			l.run(l.dir, "worktree", "add", "-q", "--detach", theirs)
			admin := filepath.Join(l.dir, ".git", "worktrees", "one1")
			if err := errors.Join(os.Mkdir(admin, 0o755), os.MkdirAll(w.Directory, 0o755)); err != nil {
				t.Fatal(err)
			}
			for _, f := range order[:n] {
				path := filepath.Join(admin, f.name)
				if rest, ok := strings.CutPrefix(f.name, "DIR"); ok {
					path = w.Directory + rest
				}
				l.write(path, strings.NewReplacer("DIR", w.Directory, "ADMIN", admin).Replace(f.content))
			}
			left, err := l.provider().Clear(t.Context(), l.project(), w)
			if err != nil || len(left) > 0 {
				t.Fatalf("clear: %v, left %q", detail(err), left)
			}
			remains := slices.DeleteFunc(l.remains(), func(path string) bool {
				return strings.HasPrefix(path, "/repo/.git/worktrees/one/") || path == "/repo/.git/worktrees/one"
			})
			if len(remains) > 0 {
				t.Errorf("remains: %q", remains)
			}
			if got := l.run(l.dir, "worktree", "list"); !strings.Contains(got, theirs) {
				t.Errorf("the other worktree is gone: %s", got)
			}
		})
	}
}
