package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// parted makes a repository whose branch topic, in a worktree of its own, left
// main some commits ago. The script runs in the repository's checkout, which
// has main; "on DIR FILE TEXT" commits there or in the worktree $T.
func parted(t testing.TB, script string, args ...string) (*fixture, composeInput) {
	t.Helper()
	f := newEmptyRepo(t, args...)
	f.commit(f.dir, "f", "base\n", "init")
	f.sh(`seq 40 >long; git add long; git commit -qm long`)
	top := f.worktree("topic")
	f.sh(`on() { echo "$3" >"$1/$2"; git -C "$1" add "$2"; git -C "$1" commit -qm "change $2"; }
T=$ROOT/topic M=$REPO
` + script)
	in := f.composeInput("main", "topic")
	in.top, in.gitDir = top, gitDirOf(top)
	return f, in
}

const apart = `on $T g 1; on $T h 2; on $M m 3`

// composes runs compose, which must not fail.
func (f *fixture) composes(in composeInput) composed {
	f.t.Helper()
	done, err := f.r.compose(f.t.Context(), in)
	if err != nil {
		f.t.Fatal(detail(err))
	}
	return done
}

// objects are the ids of all objects that the repository has.
func (f *fixture) objects() []string {
	f.t.Helper()
	return strings.Fields(f.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)"))
}

// untouched wants all as it is now at the end of the test, but for objects.
func (f *fixture) untouched() {
	f.t.Helper()
	state := func() map[string]string {
		all := snapshot(f.t, f.root)
		objects := filepath.Join(f.dir, ".git", "objects")
		for path := range all {
			if strings.HasPrefix(path, objects) {
				delete(all, path)
			}
		}
		return all
	}
	before := state()
	f.t.Cleanup(func() {
		if diff := cmp.Diff(before, state()); diff != "" {
			f.t.Errorf("changed (-before +after):\n%s", diff)
		}
	})
}

func TestComposeWritesObjectsOnly(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"apart":            apart,
		"on the same file": `sed -i 's/^5$/five/' long; git commit -qam five; cd $T; sed -i 's/^30$/thirty/' long; git commit -qam thirty`,
		"by whole trees":   `git mv f f2; git commit -qm move; echo more >>$T/f; git -C $T commit -qam more`,
	} {
		for _, strategy := range []workspace.Strategy{workspace.StrategyRebase, workspace.StrategySquash, workspace.StrategyMerge} {
			t.Run(name+", "+string(strategy), func(t *testing.T) {
				t.Parallel()
				f, in := parted(t, script)
				in.strategy = strategy
				f.untouched()
				before := f.objects()
				err := f.r.rehearse(t.Context(), in, func(done composed, command func(...string) (command, error)) error {
					if done.conflict != nil {
						return errors.New("conflict")
					}
					cmd, err := command("diff-tree", "--name-only", "-r", in.onto, done.tree)
					if err != nil {
						return err
					}
					out, err := f.r.git.line(t.Context(), cmd)
					if out == "" {
						t.Error("the rehearsal shows no difference")
					}
					return err
				})
				if err != nil {
					t.Fatal(detail(err))
				}
				if diff := cmp.Diff(before, f.objects()); diff != "" {
					t.Errorf("the rehearsal leaves objects (-before +after):\n%s", diff)
				}
				done := f.composes(in)
				if f.git("rev-parse", done.tip+"^{tree}") != done.tree {
					t.Errorf("%s has another tree than %s", done.tip, done.tree)
				}
				f.git("-c", "fsck.missingEmail=error", "fsck", "--strict", "--no-dangling")
			})
		}
	}
}

func TestConflictLeavesNoObject(t *testing.T) {
	t.Parallel()
	f, in := parted(t, `on $T g 1; on $T f theirs; on $T h 2; on $M f ours`)
	f.untouched()
	before := f.objects()
	done := f.composes(in)
	if done.conflict == nil || done.tip != "" {
		t.Fatalf("%+v", done)
	}
	want := f.git("rev-parse", "topic~1")
	c := done.conflict
	if c.commit.SHA != want || c.commit.Subject != "change f" || c.commit.Author != "Ada" || c.done != 1 || !slices.Equal(c.files, []string{"f"}) {
		t.Errorf("%+v", c)
	}
	if len(c.notes) != 1 || !strings.Contains(c.notes[0].text, "Merge conflict in f") {
		t.Errorf("%+v", c.notes)
	}
	if diff := cmp.Diff(before, f.objects()); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
	for _, strategy := range []workspace.Strategy{workspace.StrategySquash, workspace.StrategyMerge} {
		in.strategy = strategy
		done := f.composes(in)
		if done.conflict == nil || done.conflict.commit.SHA != "" || !slices.Equal(done.conflict.files, []string{"f"}) {
			t.Errorf("%s: %+v", strategy, done)
		}
	}
}

func TestComposeCounts(t *testing.T) {
	t.Parallel()
	type counts struct {
		Commits, Dropped, Source, Rewritten int
		FastForward                         bool
		Tip                                 string
	}
	tests := []struct {
		name, script string
		strategy     workspace.Strategy
		want         counts
	}{
		{"nothing", `true`, "", counts{Tip: "main"}},
		{"target ahead", `on $M m 1`, "", counts{Tip: "main"}},
		{"fast-forward", `on $T g 1; on $T h 1`, "", counts{Commits: 2, Source: 2, FastForward: true, Tip: "topic"}},
		{"fast-forward over merges", `on $T g 1; git -C $T branch side; on $T h 1; git -C $T merge -q --no-edit side~1; git -C $T merge -q --no-ff -m m side 2>/dev/null || :
git -C $T checkout -q -b other topic~1; on $T o 1; git -C $T checkout -q topic; git -C $T merge -q --no-edit other`, "", counts{Commits: 4, Source: 3, FastForward: true, Tip: "topic"}},
		{"apart", apart, "", counts{Commits: 2, Source: 2, Rewritten: 2}},
		{"picked already", apart + `; git cherry-pick topic~1 >/dev/null`, "", counts{Commits: 1, Dropped: 1, Source: 1, Rewritten: 1}},
		{"all picked already", apart + `; git cherry-pick topic~1 topic >/dev/null`, "", counts{Dropped: 2, Tip: "main"}},
		{"became empty", `on $T g 1; on $T h 2; echo 1 >g; echo 2 >h; git add .; git commit -qm both`, "", counts{Dropped: 2, Source: 2, Rewritten: 2, Tip: "main"}},
		{"became empty with another change", `on $T g 1; on $T h 2; echo 1 >g; echo 3 >m; git add .; git commit -qm both`, "", counts{Commits: 1, Dropped: 1, Source: 2, Rewritten: 2}},
		{"empty on purpose", `on $T g 1; git -C $T commit -q --allow-empty -m note; on $M m 3; git commit -q --allow-empty -m note`, "", counts{Commits: 2, Source: 2, Rewritten: 2}},
		{"squash", apart, workspace.StrategySquash, counts{Commits: 1, Source: 2}},
		{"squash, target an ancestor", `on $T g 1; on $T h 2`, workspace.StrategySquash, counts{Commits: 1, Source: 2}},
		{"squash, all there already", apart + `; git merge -q --squash topic >/dev/null; git commit -qm squash`, workspace.StrategySquash, counts{Dropped: 2, Source: 2, Tip: "main"}},
		{"merge", apart, workspace.StrategyMerge, counts{Commits: 3, Source: 2}},
		{"merge, target an ancestor", `on $T g 1`, workspace.StrategyMerge, counts{Commits: 2, Source: 1}},
		{"merge of nothing", `on $M m 1`, workspace.StrategyMerge, counts{Tip: "main"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, in := parted(t, test.script)
			in.strategy = test.strategy
			done := f.composes(in)
			got := counts{done.commits, done.dropped, len(done.source), len(done.rewritten), done.fastForward, done.tip}
			want := test.want
			if want.Tip == "" {
				want.Tip = done.tip
			} else {
				want.Tip = f.git("rev-parse", want.Tip)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := f.git("rev-list", "--count", in.onto+".."+done.tip); n != fmt.Sprint(done.commits) {
				t.Errorf("%s commits are new, %d are said to be", n, done.commits)
			}
		})
	}
}

func TestMergeCommitsRefuseARebase(t *testing.T) {
	t.Parallel()
	f, in := parted(t, `on $T g 1; on $M m 1; git -C $T merge -q --no-edit main; on $T h 1; on $M m 2`)
	f.untouched()
	_, err := f.r.compose(t.Context(), in)
	e := wantCode(t, err, workspace.ErrNotFastForward)
	if !strings.Contains(e.Hint, "strategy merge") || e.Option != workspace.OptionStrategyMerge {
		t.Errorf("hint %q, option %q", e.Hint, e.Option)
	}
	in.strategy = workspace.StrategyMerge
	if done := f.composes(in); done.commits != 4 {
		t.Errorf("%+v", done)
	}
}

func TestComposeNeedsGit(t *testing.T) {
	t.Parallel()
	hook := func(name string) string {
		return `printf '#!/bin/sh\n' >.git/hooks/` + name + `; chmod +x .git/hooks/` + name
	}
	tests := []struct {
		name, script string
		strategy     workspace.Strategy
		allowed      bool
		reason       string // part of it, "" for none
		hooks        []string
	}{
		{name: "nothing", script: `true`},
		{name: "signing", script: `git config commit.gpgSign true`, reason: "gpgSign"},
		{name: "signing in the worktree alone", script: `git config extensions.worktreeConfig true; git -C $T config --worktree commit.gpgSign 1`, reason: "gpgSign"},
		{name: "signing, for a squash", script: `git config commit.gpgSign true`, strategy: workspace.StrategySquash, reason: "gpgSign"},
		{name: "no signing", script: `git config commit.gpgSign false`},
		{name: "encoding", script: `git config i18n.commitEncoding ISO-8859-1`, reason: "ISO-8859-1"},
		{name: "UTF-8", script: `git config i18n.commitEncoding utf8`},
		{name: "cleanup", script: `git config commit.cleanup strip`, reason: "strip"},
		{name: "a commit's encoding", script: `git -C $T -c i18n.commitEncoding=Shift_JIS commit -q --allow-empty -m x`, reason: "Shift_JIS"},
		{name: "pre-rebase", script: hook("pre-rebase"), reason: "pre-rebase"},
		{name: "two hooks", script: hook("post-rewrite") + ";" + hook("prepare-commit-msg"), reason: "prepare-commit-msg, post-rewrite"},
		{name: "a hook that isn't executable", script: `echo >.git/hooks/pre-rebase`},
		{name: "a hook that a rebase doesn't run", script: hook("pre-commit")},
		{name: "hooks of a squash", script: hook("pre-commit") + ";" + hook("pre-rebase"), strategy: workspace.StrategySquash, hooks: []string{"pre-commit"}},
		{name: "hooks of a merge", script: hook("commit-msg"), strategy: workspace.StrategyMerge, hooks: []string{"commit-msg"}},
		{name: "hooks that the repository brings", script: `mkdir $T/hooks; printf '#!/bin/sh\n' >$T/hooks/pre-rebase; chmod +x $T/hooks/*; git config core.hooksPath hooks`},
		{name: "the same, allowed", script: `mkdir $T/hooks; printf '#!/bin/sh\n' >$T/hooks/pre-rebase; chmod +x $T/hooks/*; git config core.hooksPath hooks`, allowed: true, reason: "pre-rebase"},
		{name: "hooks elsewhere", script: `mkdir $ROOT/hooks; printf '#!/bin/sh\n' >$ROOT/hooks/pre-rebase; chmod +x $ROOT/hooks/*; git config core.hooksPath $ROOT/hooks`, reason: "pre-rebase"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f, in := parted(t, apart+"\n"+test.script)
			in.strategy, in.repoHooks = test.strategy, test.allowed
			before := f.objects()
			done := f.composes(in)
			if (done.needsGit == "") != (test.reason == "") || !strings.Contains(done.needsGit, test.reason) {
				t.Errorf("needs git: %q, want %q", done.needsGit, test.reason)
			}
			if !slices.Equal(done.hooks, test.hooks) {
				t.Errorf("hooks %q, want %q", done.hooks, test.hooks)
			}
			if (done.tip == "") != (test.reason != "") {
				t.Errorf("tip %q", done.tip)
			}
			if test.reason != "" && !slices.Equal(before, f.objects()) {
				t.Error("objects were written")
			}
			// A fast-forward makes no commit, and a rehearsal shows all.
			in.onto = f.git("merge-base", "main", "topic")
			if done := f.composes(in); test.strategy == "" && (!done.fastForward || done.needsGit != "") {
				t.Errorf("fast-forward: %+v", done)
			}
		})
	}
}

func TestRehearseDespiteNeeds(t *testing.T) {
	t.Parallel()
	f, in := parted(t, apart+`; git config commit.gpgSign true; git config user.useConfigOnly true`)
	f.env = slices.DeleteFunc(f.env, func(kv string) bool { return strings.HasPrefix(kv, "GIT_COMMITTER") })
	err := f.r.rehearse(t.Context(), in, func(done composed, _ func(...string) (command, error)) error {
		if done.commits != 2 || done.needsGit != "" {
			t.Errorf("%+v", done)
		}
		return nil
	})
	if err != nil {
		t.Error(detail(err))
	}
}

func TestComposeWithoutIdentity(t *testing.T) {
	t.Parallel()
	f, in := parted(t, apart+`; git config user.useConfigOnly true`)
	env := slices.DeleteFunc(slices.Clone(f.env), func(kv string) bool { return strings.HasPrefix(kv, "GIT_COMMITTER") })
	r, err := New(Options{Home: f.path("home"), Env: env})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.compose(t.Context(), in)
	if e := wantCode(t, err, workspace.ErrGitFailed); !strings.Contains(e.Hint, "user.name") {
		t.Errorf("hint %q", e.Hint)
	}
}

// A git without merge-tree --write-tree can still replay what is apart.
func TestComposeWithAnOldGit(t *testing.T) {
	t.Parallel()
	f, in := parted(t, `on $T f theirs; on $T g 1; on $M f ours`)
	old := f.path("old-git")
	f.write(old, "#!/bin/sh\nfor a; do [ \"$a\" = merge-tree ] && exit 129; done\nexec git \"$@\"\n")
	if err := os.Chmod(old, 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := New(Options{Home: f.path("home"), Env: f.env, Git: old})
	if err != nil {
		t.Fatal(err)
	}
	done, err := r.compose(t.Context(), in)
	if err != nil || !strings.Contains(done.needsGit, "2.38") {
		t.Errorf("%+v, error %v", done, err)
	}
	in.tip, in.onto = f.git("rev-parse", "main"), f.git("rev-parse", "topic~1")
	f.git("checkout", "-q", "main~1")
	f.git("commit", "-q", "--allow-empty", "-m", "apart")
	in.tip = f.git("rev-parse", "HEAD")
	if done, err := r.compose(t.Context(), in); err != nil || done.commits != 1 {
		t.Errorf("%+v, error %v", done, err)
	}
}

func TestComposeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f, in := parted(t, apart)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.r.compose(ctx, in)
	wantCode(t, err, workspace.ErrTimeout)
	// While git merges.
	f, in = parted(t, `sed -i 's/^5$/five/' long; git commit -qam five; sed -i 's/^30$/thirty/' $T/long; git -C $T commit -qam thirty
git config merge.slow.driver "touch $ROOT/begun; sleep 60"; mkdir -p .git/info; echo 'long merge=slow' >.git/info/attributes`)
	begun := f.path("begun")
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		for !exists(begun) && ctx.Err() == nil {
			runtime.Gosched()
		}
		cancel()
	}()
	before := f.objects()
	_, err = f.r.compose(ctx, in)
	wantCode(t, err, workspace.ErrTimeout)
	if !exists(begun) || !slices.Equal(before, f.objects()) {
		t.Error("it ended before it merged, or left objects")
	}
}

func TestComposeOfNoCommit(t *testing.T) {
	t.Parallel()
	f, in := parted(t, apart)
	in.onto = strings.Repeat("1", 40)
	if _, err := f.r.compose(t.Context(), in); !errors.Is(err, workspace.ErrGitFailed) {
		t.Errorf("error %v", err)
	}
}
