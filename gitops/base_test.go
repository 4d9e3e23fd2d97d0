package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func TestBaseIsTheCurrentHead(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "switch", "-q", "-c", "topic")
	sha := l.commit(l.dir, "g", "unpublished\n")
	if w := l.made(titled("one")); w.Base != "topic" || w.BaseCommit != sha {
		t.Errorf("base %s at %s, want topic at %s", w.Base, w.BaseCommit, sha)
	}
	l.run(l.dir, "checkout", "-q", "--detach")
	if w := l.made(titled("two")); w.Base != sha || w.BaseCommit != sha {
		t.Errorf("detached: base %s at %s, want %s", w.Base, w.BaseCommit, sha)
	}
}

func TestBaseIsThatOfTheLinkedWorktreePointedAt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	linked := filepath.Join(l.root, "linked")
	l.run(l.dir, "worktree", "add", "-q", "-b", "other", linked)
	sha := l.commit(linked, "g", "x\n")
	p := l.projectAt(linked)
	w := l.made(titled("one"), func(r *workspace.CreateRequest) { r.Project = p })
	if w.Base != "other" || w.BaseCommit != sha {
		t.Errorf("base %s at %s", w.Base, w.BaseCommit)
	}
}

func TestNoCommits(t *testing.T) {
	t.Parallel()
	l := emptyLab(t)
	l.run(l.root, "init", "-q", "-b", "main", l.dir)
	l.refuse(workspace.ErrNoCommits, titled("one"))
	l.refuse(workspace.ErrNoCommits, typed(t, "one"))
	l.refuse(workspace.ErrTargetNotFound, titled("one"), from("main"))
}

func TestBaseThatIsBehindIsTakenFromTheRemote(t *testing.T) {
	t.Parallel()
	l, _, seed := withOrigin(t)
	l.commit(seed, "g", "1\n")
	ahead := l.commit(seed, "g", "2\n")
	l.run(seed, "push", "-q", "origin", "main")
	local := l.run(l.dir, "rev-parse", "main")
	w := l.made(titled("one"), from("main"))
	if w.Base != "main" || w.BaseCommit != ahead {
		t.Errorf("base %s at %s, want main at %s", w.Base, w.BaseCommit, ahead)
	}
	l.isTip("main", local)
	if got := l.run(w.Directory, "rev-parse", "HEAD"); got != ahead {
		t.Errorf("HEAD %s", got)
	}
	// What is known by now is told where the current HEAD is the base.
	created := l.create(titled("two"))
	if created.Plan.BaseCommit != local || !warned(created.Warnings, "2 commits behind origin/main") {
		t.Errorf("%+v", created)
	}
}

func TestBaseWithoutFetching(t *testing.T) {
	t.Parallel()
	l, _, seed := withOrigin(t)
	local := l.run(l.dir, "rev-parse", "main")
	l.commit(seed, "g", "1\n")
	l.run(seed, "push", "-q", "origin", "main")
	created := l.create(titled("one"), from("main"), offline)
	if created.Plan.BaseCommit != local || len(created.Warnings) > 0 {
		t.Errorf("%+v", created)
	}
	for _, e := range l.events {
		if e.Phase == workspace.PhaseFetch {
			t.Errorf("fetched: %+v", e)
		}
	}
}

func TestBaseThatDivergedIsTheLocalOne(t *testing.T) {
	t.Parallel()
	l, _, seed := withOrigin(t)
	l.commit(seed, "g", "1\n")
	l.run(seed, "push", "-q", "origin", "main")
	local := l.commit(l.dir, "h", "mine\n")
	created := l.create(titled("one"), from("main"))
	if created.Plan.BaseCommit != local || !warned(created.Warnings, "diverged") {
		t.Errorf("%+v", created)
	}
}

func TestBaseFromUpstreamBeforeOrigin(t *testing.T) {
	t.Parallel()
	l, _, seed := withOrigin(t)
	upstream := filepath.Join(l.root, "upstream.git")
	l.run(l.root, "init", "-q", "--bare", "-b", "main", upstream)
	l.commit(seed, "g", "1\n")
	l.run(seed, "push", "-q", "origin", "main")
	ahead := l.commit(seed, "g", "2\n")
	l.run(seed, "push", "-q", upstream, "main")
	l.run(l.dir, "remote", "add", "upstream", upstream)
	if w := l.made(titled("one"), from("main")); w.BaseCommit != ahead {
		t.Errorf("base at %s, want upstream's %s", w.BaseCommit, ahead)
	}
	// Where upstream has nothing new, origin may have.
	l.run(l.dir, "update-ref", "refs/heads/main", ahead)
	further := l.commit(seed, "g", "3\n")
	l.run(seed, "push", "-q", "origin", "main")
	if w := l.made(titled("two"), from("main")); w.BaseCommit != further {
		t.Errorf("base at %s, want origin's %s", w.BaseCommit, further)
	}
}

func TestBaseOnTheRemoteOnly(t *testing.T) {
	t.Parallel()
	l, _, seed := withOrigin(t, "--depth", "1", "--single-branch", "-b", "main")
	l.run(seed, "switch", "-q", "-c", "feat")
	sha := l.commit(seed, "g", "x\n")
	l.run(seed, "push", "-q", "origin", "feat")
	for _, base := range []string{"feat", "origin/feat", "refs/remotes/origin/feat"} {
		if w := l.made(titled("from "+base), from(base)); w.Base != base || w.BaseCommit != sha {
			t.Errorf("%s: base %s at %s, want %s", base, w.Base, w.BaseCommit, sha)
		}
	}
	l.isTip("feat", "")
}

func TestBaseAsItIs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first := l.run(l.dir, "rev-parse", "HEAD")
	l.run(l.dir, "tag", "-a", "-m", "tagged", "v1")
	l.run(l.dir, "tag", "lightweight")
	l.commit(l.dir, "f", "later\n")
	for _, base := range []string{"v1", "lightweight", "refs/tags/v1", first, first[:12]} {
		if w := l.made(titled("from "+base), from(base)); w.Base != base || w.BaseCommit != first {
			t.Errorf("%s: base %s at %s, want %s", base, w.Base, w.BaseCommit, first)
		}
	}
}

func TestBranchBeforeTagOfTheSameName(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "tag", "dev")
	l.run(l.dir, "switch", "-q", "-c", "dev")
	sha := l.commit(l.dir, "f", "dev\n")
	l.run(l.dir, "switch", "-q", "main")
	created := l.create(titled("one"), from("dev"))
	if created.Plan.BaseCommit != sha || !warned(created.Warnings, "tag dev") {
		t.Errorf("%+v", created)
	}
}

func TestBasesThatAreRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "tag", "tree", l.run(l.dir, "rev-parse", "HEAD^{tree}"))
	blob := l.run(l.dir, "rev-parse", "HEAD:f")
	for base, code := range map[string]workspace.Code{
		"--lock": workspace.ErrInvalidRef, "-x": workspace.ErrInvalidRef, "a..b": workspace.ErrInvalidRef,
		"@{-1}": workspace.ErrInvalidRef, "HEAD~1": workspace.ErrInvalidRef, "a\x00b": workspace.ErrInvalidRef,
		"../x": workspace.ErrInvalidRef, strings.Repeat("x", 10_000): workspace.ErrInvalidRef,
		"tree": workspace.ErrInvalidRef, blob: workspace.ErrInvalidRef,
		"nowhere": workspace.ErrTargetNotFound, "origin/nowhere": workspace.ErrTargetNotFound,
		strings.Repeat("1", 40): workspace.ErrTargetNotFound,
	} {
		l.refuse(code, titled("one"), from(base))
	}
}

func TestBaseNowhereOnTheRemoteEither(t *testing.T) {
	t.Parallel()
	l, origin, _ := withOrigin(t)
	l.refuse(workspace.ErrTargetNotFound, titled("one"), from("nowhere"))
	l.refuse(workspace.ErrTargetNotFound, titled("one"), from("origin/nowhere"))
	l.run(l.dir, "remote", "set-url", "origin", origin+".gone")
	e := l.refuse(workspace.ErrTargetNotFound, titled("one"), from("nowhere"))
	if !strings.Contains(e.Message, "could not be asked") {
		t.Error(e.Message)
	}
}

func TestUnreachableRemoteIsTold(t *testing.T) {
	t.Parallel()
	l, origin, _ := withOrigin(t)
	l.run(l.dir, "remote", "set-url", "origin", origin+".gone")
	old := time.Now().Add(-75 * time.Hour)
	l.write(filepath.Join(l.dir, ".git", "FETCH_HEAD"), "x\n")
	if err := os.Chtimes(filepath.Join(l.dir, ".git", "FETCH_HEAD"), old, old); err != nil {
		t.Fatal(err)
	}
	created := l.create(titled("one"), from("main"))
	if !warned(created.Warnings, "origin could not be reached", "as of 3 days ago") {
		t.Errorf("%q", created.Warnings)
	}
	if created := l.create(titled("two"), from("origin/main")); !warned(created.Warnings, "could not be reached") {
		t.Errorf("%q", created.Warnings)
	}
}

// hang makes ssh a program that never answers, and says which processes it
// became.
func (l *lab) hang() (pids string) {
	l.t.Helper()
	pids = filepath.Join(l.root, "pids")
	l.script(filepath.Join(l.root, "bin", "ssh"), "#!/bin/sh\necho $$ >> "+pids+"\ntrap '' TERM\nsleep 600 &\necho $! >> "+pids+"\nwait\nsleep 600\n")
	l.env[0] = "PATH=" + filepath.Join(l.root, "bin") + ":" + os.Getenv("PATH")
	return pids
}

func TestHangingRemoteEndsInTime(t *testing.T) {
	t.Parallel()
	l, _, _ := withOrigin(t)
	pids := l.hang()
	l.run(l.dir, "remote", "set-url", "origin", "git@example.com:x/y.git")
	l.opts.FetchTimeout = 300 * time.Millisecond
	created := l.create(titled("one"), from("main"))
	if !warned(created.Warnings, "did not answer within 300ms", "as of") {
		t.Errorf("%q", created.Warnings)
	}
	list, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	for pid := range strings.FieldsSeq(string(list)) {
		if state, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(state), ") Z ") {
			t.Errorf("process %s still runs: %s", pid, state)
		}
	}
}

func TestSSHAsksNothing(t *testing.T) {
	t.Parallel()
	l, _, _ := withOrigin(t)
	seen := filepath.Join(l.root, "seen")
	l.script(filepath.Join(l.root, "bin", "ssh"), "#!/bin/sh\necho \"$@\" >> "+seen+"\nexit 1\n")
	l.env[0] = "PATH=" + filepath.Join(l.root, "bin") + ":" + os.Getenv("PATH")
	l.run(l.dir, "remote", "set-url", "origin", "git@example.com:x/y.git")
	l.create(titled("one"), from("main"))
	if args, _ := os.ReadFile(seen); !strings.Contains(string(args), "-oBatchMode=yes") {
		t.Errorf("ssh was called with %q", args)
	}
	// Whoever chose how ssh is called is not interfered with.
	own := filepath.Join(l.root, "own")
	l.script(own, "#!/bin/sh\necho own >> "+seen+"\nexit 1\n")
	l.run(l.dir, "config", "core.sshCommand", own)
	l.create(titled("two"), from("main"))
	if args, _ := os.ReadFile(seen); !strings.Contains(string(args), "own\n") {
		t.Errorf("core.sshCommand was not used: %q", args)
	}
}

func TestBrokenTrackingRefIsReported(t *testing.T) {
	t.Parallel()
	l, _, seed := withOrigin(t)
	l.commit(seed, "g", "1\n")
	l.run(seed, "push", "-q", "origin", "main")
	l.run(l.dir, "fetch", "-q", "--refmap=", "origin", "main:refs/keep/main") // the objects alone
	l.write(filepath.Join(l.dir, ".git", "refs", "remotes", "origin", "main"), "garbage\n")
	for _, base := range []string{"main", "origin/main"} {
		e := l.refuse(workspace.ErrGitFailed, titled("one"), from(base))
		if !strings.Contains(e.Message, "origin/main can't be read") {
			t.Error(e.Message)
		}
	}
}

func TestFetchTouchesNoLocalBranch(t *testing.T) {
	t.Parallel()
	l, _, seed := withOrigin(t)
	// A mirror's refspec would overwrite the local branches.
	l.run(l.dir, "config", "remote.origin.fetch", "+refs/heads/*:refs/heads/*")
	l.run(l.dir, "config", "fetch.prune", "true")
	l.run(l.dir, "branch", "mine")
	local := l.run(l.dir, "rev-parse", "main")
	ahead := l.commit(seed, "g", "1\n")
	l.run(seed, "tag", "v9")
	l.run(seed, "push", "-q", "origin", "main", "v9")
	if w := l.made(titled("one"), from("main")); w.BaseCommit != ahead {
		t.Errorf("base at %s, want %s", w.BaseCommit, ahead)
	}
	l.isTip("main", local)
	l.isTip("mine", local)
	if exists(filepath.Join(l.dir, ".git", "FETCH_HEAD")) || l.run(l.dir, "tag") != "" {
		t.Error("the fetch wrote more than its tracking ref")
	}
}

func TestBranchInFullIsNoTag(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "tag", "x")
	l.refuse(workspace.ErrTargetNotFound, titled("one"), from("refs/heads/x"))
	if w := l.made(titled("two"), from("refs/tags/x")); w.Base != "refs/tags/x" {
		t.Errorf("base %s", w.Base)
	}
}

func TestDefaultBranchIsReadAnew(t *testing.T) {
	t.Parallel()
	l, origin, seed := withOrigin(t)
	l.run(seed, "push", "-q", "origin", "main:new")
	l.run(l.dir, "fetch", "-q")
	l.run(l.root, "--git-dir="+origin, "symbolic-ref", "HEAD", "refs/heads/new")
	l.run(l.dir, "remote", "set-head", "origin", "-a")
	l.run(l.dir, "branch", "threadtree/old", "main")
	w := l.made(typed(t, "old"))
	if w.Base != "new" {
		t.Errorf("an attached branch is compared with %q, want new", w.Base)
	}
}

func TestCancelledFetch(t *testing.T) {
	t.Parallel()
	l, _, _ := withOrigin(t)
	l.hang()
	l.run(l.dir, "remote", "set-url", "origin", "git@example.com:x/y.git")
	ctx, cancel := context.WithCancel(context.Background())
	req := l.request(titled("one"), from("main"))
	req.Progress = func(e workspace.Event) {
		if e.Phase == workspace.PhaseFetch {
			cancel()
		}
	}
	_, err := l.provider().Create(ctx, req)
	if !errors.Is(err, workspace.ErrTimeout) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", detail(err))
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "just now", time.Minute: "1 minute ago", 90 * time.Minute: "1 hour ago", 47 * time.Hour: "47 hours ago",
		50 * time.Hour: "2 days ago",
	} {
		if got := age(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
	log := "0 1 A <a@b> 100 +0000\tx\n1 2 A B <a@b> 200 +0130\tfetch: y\n"
	if got := lastLogTime([]byte(log)); got.Unix() != 200 {
		t.Errorf("%v", got)
	}
}
