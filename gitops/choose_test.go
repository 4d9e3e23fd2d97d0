package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

func TestTitleNeverJoinsABranch(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "switch", "-q", "-c", "threadtree/fix")
	tip := l.commit(l.dir, "g", "work\n")
	l.run(l.dir, "switch", "-q", "main")
	w := l.made(titled("Fix"))
	if w.Branch != "threadtree/fix-2" || w.Name != "fix-2" || filepath.Base(w.Directory) != "fix-2" || !w.BranchCreated {
		t.Errorf("%+v", w)
	}
	l.isTip("threadtree/fix", tip)
}

func TestTitleAvoidsWhatOnlyARemoteHas(t *testing.T) {
	t.Parallel()
	l, _, seed := withOrigin(t)
	l.run(seed, "push", "-q", "origin", "main:threadtree/fix")
	l.run(l.dir, "fetch", "-q")
	if w := l.made(titled("fix")); w.Branch != "threadtree/fix-2" {
		t.Errorf("%+v", w)
	}
}

func TestTitleAvoidsClashes(t *testing.T) {
	t.Parallel()
	for name, branches := range map[string][]string{
		"directory of branches": {"threadtree/fix/deeper"},
		"another case":          {"threadtree/FIX"},
		"another Unicode form":  {"threadtree/e\u0301te\u0301"},
		"a branch above":        {"Threadtree"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			for _, b := range branches {
				l.run(l.dir, "branch", b)
			}
			title := "fix"
			if name == "another Unicode form" {
				title = "été"
			}
			if name == "a branch above" {
				e := l.refuse(workspace.ErrAlreadyExists, titled(title))
				if !strings.Contains(e.Hint, "rename") {
					t.Error(e.Hint)
				}
				return
			}
			if w := l.made(titled(title)); w.Branch != "threadtree/"+title+"-2" {
				t.Errorf("%+v", w)
			}
		})
	}
}

func TestDirectoryNamesAreUnique(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first := l.made(exactly(t, "feat/foo"))
	second := l.made(exactly(t, "feat-foo"))
	if filepath.Base(first.Directory) != "feat-foo" || filepath.Base(second.Directory) != "feat-foo-2" || second.Branch != "feat-foo" {
		t.Errorf("%s and %s", first.Directory, second.Directory)
	}
	// A directory of another case is the same one on some disks.
	l.write(filepath.Join(filepath.Dir(first.Directory), "UPPER", "x"), "")
	if w := l.made(titled("upper")); w.Branch != "threadtree/upper-2" {
		t.Errorf("%+v", w)
	}
	// git's entry of a missing worktree keeps its place.
	if err := os.Rename(first.Directory, filepath.Join(l.root, "away")); err != nil {
		t.Fatal(err)
	}
	if w := l.made(titled("feat foo")); filepath.Base(w.Directory) == "feat-foo" {
		t.Errorf("%+v", w)
	}
}

func TestUnknownFilesAreKept(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	parent := l.provider().r.worktreesDir(l.project())
	l.write(filepath.Join(parent, "x", "note"), "left\n")
	l.write(filepath.Join(parent, "y"), "a file\n")
	if err := os.Symlink("nowhere", filepath.Join(parent, "z")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(parent, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	l.run(l.dir, "branch", "threadtree/x")
	created := l.create(typed(t, "x"))
	if created.Plan.BranchCreated || filepath.Base(created.Plan.Directory) != "x-2" || !warned(created.Warnings, filepath.Join(parent, "x"), "left as it is") {
		t.Errorf("%+v", created)
	}
	for _, name := range []string{"y", "z"} {
		if w := l.made(titled(name)); w.Name != name+"-2" {
			t.Errorf("%+v", w)
		}
	}
	if w := l.made(titled("empty")); w.Name != "empty" {
		t.Errorf("%+v", w)
	}
	if got, _ := os.ReadFile(filepath.Join(parent, "x", "note")); string(got) != "left\n" {
		t.Errorf("the note is %q", got)
	}
}

func TestExistingBranchIsAttachedAsItIs(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]workspace.Name{
		"typed":   typed(t, "feat"),
		"literal": exactly(t, "feature/abc-1234-implement-user-authentication-flow-for-external-identity-providers-v2"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.run(l.dir, "switch", "-q", "-c", given.Branch)
			tip := l.commit(l.dir, "g", "work\n")
			l.run(l.dir, "switch", "-q", "main")
			l.run(l.dir, "tag", given.Branch, "main") // must not be taken for the branch
			created := l.create(given, from("main"))
			p := created.Plan
			if p.BranchCreated || p.Branch != given.Branch || p.Base != "main" || !warned(created.Warnings, given.Branch, "attached as it is") {
				t.Errorf("%+v", created)
			}
			l.isTip(given.Branch, tip)
			if got := l.run(p.Directory, "symbolic-ref", "HEAD"); got != "refs/heads/"+given.Branch {
				t.Errorf("HEAD is %s", got)
			}
			if got, _ := os.ReadFile(filepath.Join(p.Directory, "g")); string(got) != "work\n" {
				t.Errorf("g is %q", got)
			}
			if got := l.run(p.Directory, "status", "--porcelain"); got != "" {
				t.Errorf("status: %s", got)
			}
		})
	}
}

func TestBranchCheckedOutElsewhere(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	old := filepath.Join(l.root, "old")
	l.run(l.dir, "worktree", "add", "-q", "-b", "tok", old)
	e := l.refuse(workspace.ErrBranchCheckedOut, exactly(t, "tok"))
	if len(e.Files) != 1 || e.Files[0] != old || !strings.Contains(e.Message, old) {
		t.Errorf("%+v", e)
	}
	e = l.refuse(workspace.ErrBranchCheckedOut, exactly(t, "main"))
	if len(e.Files) != 1 || e.Files[0] != l.dir {
		t.Errorf("%+v", e)
	}
	// A rebase under way holds the branch, although HEAD is detached.
	l.commit(old, "f", "a\n")
	l.commit(l.dir, "f", "b\n")
	if _, err := l.try(old, "rebase", "main"); err == nil {
		t.Fatal("the rebase should conflict")
	}
	l.refuse(workspace.ErrBranchCheckedOut, exactly(t, "tok"))
	if err := os.RemoveAll(old); err != nil {
		t.Fatal(err)
	}
	e = l.refuse(workspace.ErrBranchCheckedOut, exactly(t, "tok"))
	if !strings.Contains(e.Hint, "missing") {
		t.Errorf("%+v", e)
	}
}

func TestBranchThatOnlyTheRemoteHas(t *testing.T) {
	t.Parallel()
	l, origin, seed := withOrigin(t)
	l.run(seed, "switch", "-q", "-c", "threadtree/feat")
	l.commit(seed, "g", "1\n")
	l.run(seed, "push", "-q", "origin", "threadtree/feat")
	l.run(l.dir, "fetch", "-q")
	tip := l.commit(seed, "g", "2\n")
	l.run(seed, "push", "-q", "origin", "threadtree/feat")
	created := l.create(typed(t, "feat"))
	if !created.Plan.BranchCreated || created.Plan.Base != "main" || !warned(created.Warnings, "exists on origin") {
		t.Errorf("%+v", created)
	}
	l.isTip("threadtree/feat", tip)
	// A plain push goes home.
	if got := l.run(created.Plan.Directory, "rev-parse", "--symbolic-full-name", "@{upstream}"); got != "refs/remotes/origin/threadtree/feat" {
		t.Errorf("the upstream is %s", got)
	}
	tip = l.commit(created.Plan.Directory, "g", "3\n")
	l.run(created.Plan.Directory, "push", "-q")
	if got := l.run(origin, "rev-parse", "threadtree/feat"); got != tip {
		t.Errorf("the push left the remote at %s", got)
	}
}

func TestExactBranchIsFetched(t *testing.T) {
	t.Parallel()
	l, origin, seed := withOrigin(t, "--depth", "1", "--single-branch", "-b", "main")
	l.run(seed, "switch", "-q", "-c", "feat")
	tip := l.commit(seed, "g", "x\n")
	l.run(seed, "push", "-q", "origin", "feat")
	l.create(exactly(t, "feat"))
	l.isTip("feat", tip)
	// In a clone of one branch nobody knows what else there is.
	l.run(l.dir, "remote", "set-url", "origin", origin+".gone")
	e := l.refuse(workspace.ErrGitFailed, exactly(t, "other"))
	if !strings.Contains(e.Message, "could not be asked") || !strings.Contains(e.Hint, "without fetching") {
		t.Errorf("%+v", e)
	}
	if c := l.create(exactly(t, "other"), offline); !c.Plan.BranchCreated || c.Plan.Base != "main" || !warned(c.Warnings, "was not asked", "other") {
		t.Errorf("%+v", c)
	}
	// Where all branches are fetched, a missing one is a new one.
	l.run(l.dir, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
	if created := l.create(exactly(t, "another")); !warned(created.Warnings, "could not be asked", "another") {
		t.Errorf("%+v", created)
	}
}

// TestTypedNameInACloneOfOneBranch asks the remote, since no fetch has told
// what it has.
func TestTypedNameInACloneOfOneBranch(t *testing.T) {
	t.Parallel()
	l, origin, seed := withOrigin(t, "--depth", "1", "--single-branch", "-b", "main")
	l.run(seed, "switch", "-q", "-c", "threadtree/feat")
	tip := l.commit(seed, "g", "x\n")
	l.run(seed, "push", "-q", "origin", "threadtree/feat")
	w := l.made(typed(t, "feat"))
	l.isTip("threadtree/feat", tip)
	if got := l.run(w.Directory, "config", "branch.threadtree/feat.merge"); got != "refs/heads/threadtree/feat" {
		t.Errorf("the upstream is %s", got)
	}
	if c := l.create(typed(t, "new")); !c.Plan.BranchCreated || c.Plan.Base != "main" || len(c.Warnings) > 0 {
		t.Errorf("%+v", c)
	}
	l.run(l.dir, "remote", "set-url", "origin", origin+".gone")
	e := l.refuse(workspace.ErrGitFailed, typed(t, "other"))
	if !strings.Contains(e.Message, "could not be asked") || !strings.Contains(e.Hint, "without fetching") {
		t.Errorf("%+v", e)
	}
	if c := l.create(typed(t, "other"), offline); !warned(c.Warnings, "was not asked", "other") {
		t.Errorf("%+v", c)
	}
}

// TestBranchCheckedOutUnderAnotherName has one branch stand for another: a
// checkout of either holds both.
func TestBranchCheckedOutUnderAnotherName(t *testing.T) {
	t.Parallel()
	for _, held := range []string{"alias", "real"} {
		t.Run(held, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.run(l.dir, "branch", "real")
			l.run(l.dir, "symbolic-ref", "refs/heads/alias", "refs/heads/real")
			place := filepath.Join(l.root, "place")
			l.run(l.dir, "worktree", "add", "-q", place, held)
			for _, branch := range []string{"alias", "real"} {
				e := l.refuse(workspace.ErrBranchCheckedOut, exactly(t, branch))
				if len(e.Files) != 1 || e.Files[0] != place {
					t.Errorf("%s: %+v", branch, e)
				}
			}
		})
	}
}

func TestClashesAreRefusedWithAFreeName(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "branch", "release/2026.4")
	l.run(l.dir, "branch", "threadtree/Feat")
	l.run(l.dir, "branch", "leaf")
	for branch, hint := range map[string]string{"release": "release-2", "leaf/x": "", "RELEASE/2026.4": "RELEASE/2026.4-2"} {
		e := l.refuse(workspace.ErrAlreadyExists, exactly(t, branch))
		if !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %s", branch, e.Hint)
		}
	}
	e := l.refuse(workspace.ErrAlreadyExists, typed(t, "feat"))
	if !strings.Contains(e.Hint, "threadtree/feat-2") {
		t.Error(e.Hint)
	}
}

func TestBadBranchNames(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, branch := range []string{"", "-x", "--lock", "HEAD", "@{-1}", "a..b", "a b", "x.lock", "a\nb"} {
		l.refuse(workspace.ErrInvalidName, workspace.Name{Kind: workspace.NameBranch, Slug: "x", Branch: branch})
	}
}

func TestClaimDecides(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var seen []workspace.Plan
	refused := &workspace.Error{Code: workspace.ErrAlreadyExists, Message: "taken"}
	created := l.create(titled("one"), func(r *workspace.CreateRequest) {
		r.Claim = func(_ context.Context, plan workspace.Plan) error {
			if exists(plan.Directory) || l.run(l.dir, "branch", "--list", plan.Branch) != "" {
				t.Error("made before it was claimed")
			}
			if seen = append(seen, plan); len(seen) < 3 {
				return refused
			}
			return nil
		}
	})
	if created.Plan.Branch != "threadtree/one-3" || len(seen) != 3 || seen[2] != created.Plan {
		t.Errorf("%+v after %+v", created.Plan, seen)
	}

	for name, c := range map[string]struct {
		err  error
		name workspace.Name
	}{
		"failure":      {&workspace.Error{Code: workspace.ErrStoreFailed, Message: "no store"}, titled("two")},
		"branch taken": {&workspace.Error{Code: workspace.ErrAlreadyExists, Message: "taken", Workspace: &workspace.Workspace{Branch: "threadtree/two"}}, typed(t, "two")},
		"unknown":      {refused, typed(t, "two")},
	} {
		_, err := l.provider().Create(context.Background(), l.request(c.name, func(r *workspace.CreateRequest) {
			r.Claim = func(context.Context, workspace.Plan) error { return c.err }
		}))
		if !errors.Is(err, workspace.CodeOf(c.err)) {
			t.Errorf("%s: %v", name, detail(err))
		}
		l.isTip("threadtree/two", "")
	}
	// A directory that is claimed leaves the branch to be had in another.
	var directories []string
	w := l.made(typed(t, "three"), func(r *workspace.CreateRequest) {
		r.Claim = func(_ context.Context, plan workspace.Plan) error {
			if directories = append(directories, plan.Directory); len(directories) == 1 {
				return &workspace.Error{Code: workspace.ErrAlreadyExists, Workspace: &workspace.Workspace{Branch: "else", Directory: plan.Directory}}
			}
			return nil
		}
	})
	if w.Branch != "threadtree/three" || w.Name != "three-2" {
		t.Errorf("%+v", w)
	}
}

func TestHomeThatCannotHoldWorktrees(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write(filepath.Join(l.home, "worktrees"), "a file\n")
	l.refuse(workspace.ErrDirectoryExists, titled("one"))
}

func TestHomeBehindASymlink(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	real := filepath.Join(l.root, "real")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, l.home); err != nil {
		t.Fatal(err)
	}
	w := l.made(titled("one"))
	if !strings.HasPrefix(w.Directory, real) || !strings.Contains(l.run(l.dir, "worktree", "list", "--porcelain"), w.Directory) {
		t.Errorf("directory %s", w.Directory)
	}
}
