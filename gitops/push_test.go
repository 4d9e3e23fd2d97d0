package gitops

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// host is a fixture whose repository has a bare one as origin, and the
// workspace w with one commit of its own.
type host struct {
	*fixture
	t      *testing.T
	origin string
	w      workspace.Workspace
	events []workspace.Event
}

func newHost(t *testing.T) *host {
	t.Helper()
	f := newRepo(t)
	h := &host{fixture: f, t: t, origin: f.remote()}
	f.worktree("w")
	f.commit(f.path("w"), "own", "1\n", "own")
	h.w = f.row("w", "main")
	return h
}

func (h *host) push(lease bool) (workspace.Pushed, error) {
	h.t.Helper()
	h.events = nil
	return h.reviewer().Push(h.t.Context(), workspace.PushRequest{
		Project: h.open(h.dir), Workspace: h.w, ForceWithLease: lease,
		Progress: func(e workspace.Event) { h.events = append(h.events, e) },
	})
}

// pushed pushes where that must succeed.
func (h *host) pushed(lease bool) workspace.Pushed {
	h.t.Helper()
	p, err := h.push(lease)
	if err != nil {
		h.t.Fatal(detail(err))
	}
	for _, e := range h.events {
		if e.Warning {
			h.t.Errorf("warning: %s", e.Message)
		}
	}
	return p
}

// refused pushes where that must be refused and nothing may change.
func (h *host) refused(lease bool, code workspace.Code) *workspace.Error {
	h.t.Helper()
	before, config := h.refsOf(h.origin), h.read(filepath.Join(h.dir, ".git", "config"))
	local := h.refsOf(h.dir)
	_, err := h.push(lease)
	e := wantCode(h.t, err, code)
	if diff := cmp.Diff(before, h.refsOf(h.origin)); diff != "" {
		h.t.Errorf("the remote changed:\n%s", diff)
	}
	if diff := cmp.Diff(local, h.refsOf(h.dir)); diff != "" {
		h.t.Errorf("the repository changed:\n%s", diff)
	}
	if now := h.read(filepath.Join(h.dir, ".git", "config")); now != config {
		h.t.Errorf("the configuration changed:\n%s", cmp.Diff(config, now))
	}
	return e
}

func (f *fixture) refsOf(dir string) []string {
	f.t.Helper()
	return strings.Split(f.gitIn(dir, "for-each-ref"), "\n")
}

func (h *host) isAt(dir, ref, sha string) {
	h.t.Helper()
	if got, _ := h.tryGit(dir, "rev-parse", "--verify", "-q", ref); strings.TrimSpace(got) != sha {
		h.t.Errorf("%s of %s is at %q, want %q", ref, filepath.Base(dir), got, sha)
	}
}

func (h *host) tip() string { return h.gitIn(h.path("w"), "rev-parse", "HEAD") }

func TestPush(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	// What would send more, or elsewhere.
	h.sh(`git tag -a -m v v1 w; git branch other; git config push.followTags true; git config push.default matching
git config remote.origin.push '+refs/heads/*:refs/heads/*'; git config branch.w.remote origin; git config branch.w.merge refs/heads/main`)
	before := h.refsOf(h.origin)
	got := h.pushed(false)
	if diff := cmp.Diff(workspace.Pushed{Remote: "origin", Branch: "w"}, got); diff != "" {
		t.Error(diff)
	}
	if after := h.refsOf(h.origin); len(after) != len(before)+1 {
		t.Errorf("the remote has now:\n%s", strings.Join(after, "\n"))
	}
	h.isAt(h.origin, "refs/heads/w", h.tip())
	h.isAt(h.dir, "refs/remotes/origin/w", h.tip())
	if up := h.gitIn(h.path("w"), "rev-parse", "--abbrev-ref", "@{upstream}"); up != "origin/w" {
		t.Errorf("it follows %s", up)
	}
	if len(h.events) == 0 || h.events[0].Phase != workspace.PhasePush || !strings.Contains(h.events[0].Message, "Pushing w to origin") {
		t.Errorf("events %+v", h.events)
	}
	h.pushed(false) // again: nothing to do, and no error
	h.commit(h.path("w"), "own", "2\n", "more")
	h.pushed(false)
	h.isAt(h.origin, "refs/heads/w", h.tip())
}

func TestPushNeverForces(t *testing.T) {
	t.Parallel()
	for _, mirror := range []bool{false, true} {
		h := newHost(t)
		h.git("config", "remote.origin.push", "+refs/heads/*:refs/heads/*")
		if mirror {
			h.git("config", "remote.origin.mirror", "true")
		}
		h.pushed(false)
		theirs := h.gitIn(h.origin, "commit-tree", "-p", "w", "-m", "theirs", "w^{tree}")
		h.gitIn(h.origin, "update-ref", "refs/heads/w", theirs)
		h.commit(h.path("w"), "own", "2\n", "more")
		e := h.refused(false, workspace.ErrNotFastForward)
		if !strings.Contains(e.Hint, "fetch") || !strings.Contains(e.Hint, "with lease") || e.Option != workspace.OptionForceWithLease {
			t.Errorf("hint %q, option %q", e.Hint, e.Option)
		}
		h.isAt(h.origin, "refs/heads/main", h.git("rev-parse", "main"))
		// The same once their commit is known here.
		h.git("fetch", "-q", "origin", "+refs/heads/w:refs/remotes/origin/w")
		h.refused(false, workspace.ErrNotFastForward)
	}
}

func TestPushWithLease(t *testing.T) {
	t.Parallel()
	t.Run("replaces what was seen", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.pushed(true)
		h.gitIn(h.path("w"), "commit", "-q", "--amend", "-m", "better")
		h.refused(false, workspace.ErrNotFastForward)
		h.pushed(true)
		h.isAt(h.origin, "refs/heads/w", h.tip())
		h.isAt(h.dir, "refs/remotes/origin/w", h.tip())
	})
	t.Run("not what came since", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.pushed(false)
		theirs := h.gitIn(h.origin, "commit-tree", "-p", "w", "-m", "theirs", "w^{tree}")
		h.gitIn(h.origin, "update-ref", "refs/heads/w", theirs)
		h.gitIn(h.path("w"), "commit", "-q", "--amend", "-m", "better")
		h.refused(true, workspace.ErrNotFastForward)
		h.isAt(h.origin, "refs/heads/w", theirs)
	})
	t.Run("not what was never seen", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.pushed(false)
		h.git("update-ref", "-d", "refs/remotes/origin/w")
		h.gitIn(h.path("w"), "commit", "-q", "--amend", "-m", "better")
		if e := h.refused(true, workspace.ErrNotFastForward); !strings.Contains(e.Hint, "fetch") {
			t.Errorf("hint %q", e.Hint)
		}
	})
	t.Run("not without a place for it", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.pushed(false)
		h.git("config", "--unset-all", "remote.origin.fetch")
		h.gitIn(h.path("w"), "commit", "-q", "--amend", "-m", "better")
		h.refused(true, workspace.ErrNotFastForward)
	})
}

func TestPushNothing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		code         workspace.Code
	}{
		{"no commit of its own", `git reset -q --hard main`, workspace.ErrNothingToMerge},
		{"merged", `git -C "$REPO" merge -q w`, workspace.ErrNothingToMerge},
		{"merged and detached", `git -C "$REPO" merge -q w; git checkout -q --detach main; git branch -D w`, workspace.ErrNothingToMerge},
		{"detached", `git checkout -q --detach`, workspace.ErrNotReady},
		{"the base is gone", `git reset -q --hard main; git -C "$REPO" checkout -q -b else; git branch -D main; git update-ref -d refs/remotes/origin/main
git symbolic-ref -d refs/remotes/origin/HEAD`, workspace.ErrNothingToMerge},
		{"no commit at all", `git checkout -q --orphan empty; git rm -qrf .`, workspace.ErrNothingToMerge},
		{"a rebase under way", `echo x >f; git commit -qam x; echo y >"$REPO/f"; git -C "$REPO" commit -qam y; ! git rebase -q main 2>/dev/null`, workspace.ErrOperationInProgress},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.sh(`cd "$ROOT/w"; ` + test.script)
			h.refused(false, test.code)
			h.refused(true, test.code)
		})
	}
}

// TestPushSaysWhatItLeaves: work that isn't committed, and that there was
// nothing new.
func TestPushSaysWhatItLeaves(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.write(h.path("w/new"), "new\n")
	p, err := h.push(false)
	if want := []string{"1 file isn't committed, and not pushed: new"}; err != nil || !slices.Equal(p.Warnings, want) || p.UpToDate {
		t.Errorf("%+v, %v", p, err)
	}
	h.write(h.path("w/own"), "edited\n")
	p, err = h.push(false)
	if want := []string{"2 files aren't committed, and not pushed"}; err != nil || !slices.Equal(p.Warnings, want) || !p.UpToDate {
		t.Errorf("%+v, %v", p, err)
	}
	h.commit(h.path("w"), "own", "more\n", "more")
	h.commit(h.path("w"), "new", "new\n", "new")
	if p := h.pushed(false); p.UpToDate || len(p.Warnings) > 0 {
		t.Errorf("%+v", p)
	}
}

func TestPushTheBaseItself(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.sh(`git checkout -q -b else; git -C "$ROOT/w" checkout -q main; git -C "$ROOT/w" merge -q w`)
	if got := h.pushed(false); got.Branch != "main" || got.URL != "" {
		t.Errorf("%+v", got)
	}
	h.isAt(h.origin, "refs/heads/main", h.tip())
	h.refused(false, workspace.ErrNothingToMerge)
}

func TestPushWhereTo(t *testing.T) {
	t.Parallel()
	const bare = `git clone -q --bare . "$ROOT/fork.git"; git clone -q --bare . "$ROOT/third.git"; `
	tests := []struct {
		name, script string
		// remote is where it goes, "" for nowhere.
		remote string
	}{
		{"none", `git remote remove origin`, ""},
		{"one of another name", `git remote rename origin other`, "other"},
		{"origin of two", bare + `git remote add fork "$ROOT/fork.git"`, "origin"},
		{"two without origin", bare + `git remote rename origin a; git remote add fork "$ROOT/fork.git"`, ""},
		{"remote.pushDefault", bare + `git remote add fork "$ROOT/fork.git"; git config remote.pushDefault fork`, "fork"},
		{"set for all of the user's", bare + `git remote add fork "$ROOT/fork.git"; git config --global remote.pushDefault fork`, "fork"},
		{"the branch's", bare + `git remote add fork "$ROOT/fork.git"; git remote add third "$ROOT/third.git"
git config remote.pushDefault fork; git config branch.w.pushRemote third`, "third"},
		{"the one it follows", bare + `git remote add fork "$ROOT/fork.git"; git config branch.w.remote fork; git config branch.w.merge refs/heads/w`, "fork"},
		{"one it follows under another name", bare + `git remote add fork "$ROOT/fork.git"; git config branch.w.remote fork; git config branch.w.merge refs/heads/main`, "origin"},
		{"a branch of this repository", `git config branch.w.remote .; git config branch.w.merge refs/heads/w`, "origin"},
		{"a remote with nothing but rules", `git config remote.zzz.fetch +refs/heads/*:refs/remotes/zzz/*; git remote rename origin other`, "other"},
		{"a path from the checkout", `git remote set-url origin ../origin.git`, "origin"},
		{"an address for a name", `git config remote.pushDefault https://user:s3cret@example.org/x.git`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.sh(test.script)
			if test.remote == "" {
				if e := h.refused(false, workspace.ErrTargetNotFound); strings.Contains(e.Message+e.Hint, "s3cret") {
					t.Errorf("a secret in %q", e.Message)
				}
				return
			}
			if got := h.pushed(false); got.Remote != test.remote || got.Branch != "w" {
				t.Errorf("%+v, want %s", got, test.remote)
			}
			h.isAt(filepath.Join(h.root, filepath.Base(h.git("remote", "get-url", "--push", test.remote))), "refs/heads/w", h.tip())
		})
	}
}

func TestPushRunsHooks(t *testing.T) {
	t.Parallel()
	t.Run("the operator's", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.script(".git/hooks/pre-push", "echo refused by policy >&2\nexit 1\n")
		if e := h.refused(false, workspace.ErrGitFailed); !strings.Contains(e.Message, "refused by policy") {
			t.Errorf("message %q", e.Message)
		}
		h.script(".git/hooks/pre-push", `cat >"$GIT_DIR/seen"`+"\n")
		h.pushed(false)
		if seen := h.read(h.path("repo/.git/worktrees/w/seen")); !strings.HasPrefix(seen, "refs/heads/w "+h.tip()+" refs/heads/w ") {
			t.Errorf("the hook saw %q", seen)
		}
	})
	t.Run("the repository's", func(t *testing.T) {
		t.Parallel()
		h := newHost(t)
		h.git("config", "core.hooksPath", ".githooks")
		h.script("../w/.githooks/pre-push", "touch \"$ROOT\"/ran \""+h.path("ran")+"\"\nexit 1\n")
		h.gitIn(h.path("w"), "add", ".githooks")
		h.gitIn(h.path("w"), "commit", "-qm", "hook")
		h.pushed(false)
		if exists(h.path("ran")) {
			t.Error("a hook of the repository's ran")
		}
		h.commit(h.path("w"), "own", "2\n", "more")
		v := NewReviewer(h.r, ReviewOptions{RepositoryHooks: true})
		_, err := v.Push(t.Context(), workspace.PushRequest{Project: h.open(h.dir), Workspace: h.w, Progress: quiet})
		wantCode(t, err, workspace.ErrGitFailed)
		if !exists(h.path("ran")) {
			t.Error("it didn't run where it was allowed")
		}
	})
}

// script writes a shell script into the repository's checkout.
func (f *fixture) script(path, body string) {
	f.t.Helper()
	path = filepath.Join(f.dir, filepath.FromSlash(path))
	f.write(path, "#!/bin/sh\n"+body)
	if err := os.Chmod(path, 0o755); err != nil {
		f.t.Fatal(err)
	}
}

func TestPushChecksSubmodules(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.git("clone", "-q", "--bare", h.dir, h.path("lib.git"))
	h.gitIn(h.path("w"), "submodule", "--quiet", "add", h.path("lib.git"), "lib")
	sha := h.commit(h.path("w/lib"), "g", "1", "in lib")
	h.gitIn(h.path("w"), "add", "lib")
	h.gitIn(h.path("w"), "commit", "-qm", "lib")
	h.git("config", "push.recurseSubmodules", "on-demand")
	h.refused(false, workspace.ErrGitFailed)
	if out, err := h.tryGit(h.path("lib.git"), "cat-file", "-e", sha); err == nil {
		t.Errorf("the submodule was pushed along: %s", out)
	}
	h.git("config", "push.recurseSubmodules", "no")
	want := "nobody else can fetch the commit " + short(sha) + " of the submodule lib, which isn't pushed: push it first, from " + h.path("w/lib")
	if p, err := h.push(false); err != nil || !slices.Equal(p.Warnings, []string{want}) {
		t.Errorf("warnings: %q, %v", p.Warnings, err)
	}
}

// TestHostSquashes is the whole way of a team that merges on its host.
func TestHostSquashes(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.commit(h.path("w"), "own", "1\n2\n", "more")
	h.pushed(false)
	// The host squashes, goes on and deletes the branch.
	h.sh(`git clone -q "$ROOT/origin.git" "$ROOT/web"; cd "$ROOT/web"; git merge -q --squash origin/w >/dev/null; git commit -qm "own (#1)"
echo later >own; git commit -qam later; git push -q origin main :w`)
	w := h.list()["w"]
	if s := h.state(w, "main"); s.Merged == nil || *s.Merged {
		t.Errorf("before the fetch: merged %v", s.Merged)
	}
	h.git("fetch", "-q", "--prune", "origin")
	s := h.state(h.list()["w"], "main")
	if s.Merged == nil || !*s.Merged || *s.Ahead != 2 || *s.Behind != 2 {
		t.Errorf("state %+v", s)
	}
	_, err := NewProvider(h.r, ProviderOptions{}).Remove(t.Context(), workspace.RemoveRequest{Project: h.open(h.dir), Workspace: h.w, Progress: quiet, TrashID: "t1"})
	if err != nil {
		t.Errorf("it can't be removed: %s", detail(err))
	}
}
