package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// target is a repository whose branch main is to move from one commit to the
// next, which changes files in every way there is. $WT is the checkout that
// has main.
type target struct {
	*fixture
	// wt is the checkout of main: the main one, or a linked worktree.
	wt, gitDir string
	// was and next are the two commits.
	was, next string
}

const targetBase = `
mkdir -p dir sub/deep d2f
printf '*.ign\nign/\n' >.gitignore
for f in f a.txt keep.txt gone.txt dir/b.txt dir/c.txt sub/deep/x d2f/one d2f/two f2d mode.sh; do echo "$f 1" >$f; done
ln -s a.txt link
git add .
git commit -qm base`

const targetNext = `
git checkout -q -b topic
for f in f a.txt dir/b.txt sub/deep/x; do echo "$f 2, and longer" >$f; done
git rm -q gone.txt dir/c.txt f2d; rm -r d2f
mkdir -p f2d added/deep ign
echo 'a file now' >d2f
for f in f2d/inner new.txt added/deep/n.txt forced.ign ign/new.txt; do echo "$f 2" >$f; done
chmod +x mode.sh; ln -sf keep.txt link
git add -A .; git add -f forced.ign ign/new.txt
git commit -qm next
git checkout -q main`

// newTarget makes the repository. before runs ahead of the first commit, and
// change makes more of the next one; either may be "".
func newTarget(t testing.TB, linked bool, before, change string) *target {
	t.Helper()
	f := newEmptyRepo(t)
	f.env = append(f.env, "GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000")
	r, err := New(Options{Home: f.path("home"), Env: f.env})
	if err != nil {
		t.Fatal(err)
	}
	f.r = r
	if before != "" {
		f.sh(before)
	}
	f.sh(targetBase)
	f.sh(targetNext)
	if change != "" {
		f.sh("git checkout -q topic\n" + change + "\ngit commit -qam more\ngit checkout -q main\n[ ! -e .gitmodules ] || git submodule --quiet update")
	}
	x := &target{fixture: f, wt: f.dir, gitDir: filepath.Join(f.dir, ".git")}
	if linked {
		f.sh(`git checkout -q -b elsewhere; git worktree add -q "$ROOT/wt" main`)
		x.wt, x.gitDir = f.path("wt"), filepath.Join(f.dir, ".git", "worktrees", "wt")
	}
	x.was, x.next = f.git("rev-parse", "main"), f.git("rev-parse", "topic")
	return x
}

// in runs a script in the checkout of main.
func (x *target) in(script string) {
	x.t.Helper()
	x.sh(`cd "` + x.wt + `"` + "\n" + script)
}

func (x *target) input() advanceInput {
	return advanceInput{ref: "refs/heads/main", old: x.was, new: x.next, message: "merge topic: Fast-forward", lockWait: 1}
}

// advance moves main under the repository's lock, as a merge does.
func (x *target) advance(change ...func(*advanceInput)) (advanced, error) {
	x.t.Helper()
	p := x.open(x.dir)
	lock, err := x.r.lock(x.t.Context(), p)
	if err != nil {
		x.t.Fatal(err)
	}
	defer lock.release()
	in := x.input()
	in.inherit = lock.inherit()
	for _, c := range change {
		c(&in)
	}
	return x.r.advance(x.t.Context(), p, in)
}

// recover settles what was interrupted.
func (x *target) recover() ([]string, error) {
	x.t.Helper()
	p := x.open(x.dir)
	lock, err := x.r.lock(x.t.Context(), p)
	if err != nil {
		x.t.Fatal(err)
	}
	defer lock.release()
	return x.r.recoverAdvance(x.t.Context(), p, lock.inherit()...)
}

// facts are what there is to say of the checkout and of main: its files, its
// index, its status, its refs and reflogs, and the names in its git directory.
func (x *target) facts() []string {
	x.t.Helper()
	facts := x.tree()
	git := func(args ...string) {
		out, _ := x.tryGit(x.wt, args...)
		facts = append(facts, "$ git "+strings.Join(args, " "))
		for line := range strings.Lines(out) {
			facts = append(facts, strings.ReplaceAll(strings.TrimSuffix(line, "\n"), x.root, "$ROOT"))
		}
	}
	git("--no-optional-locks", "status", "--porcelain=v2", "--branch", "-uall", "--ignored")
	git("ls-files", "-s", "--sparse")
	git("ls-files", "-v")
	git("rev-parse", "main", "HEAD", "ORIG_HEAD")
	git("reflog", "--format=%H %gs", "main")
	git("reflog", "--format=%H %gs", "HEAD")
	git("fsck", "--no-dangling")
	names, err := os.ReadDir(x.gitDir)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, n := range names {
		if n.Name() != privateDir && !strings.HasPrefix(n.Name(), "sharedindex.") {
			facts = append(facts, "in the git directory: "+n.Name())
		}
	}
	return facts
}

// tree has a line for each file and directory of the checkout.
func (x *target) tree() []string {
	x.t.Helper()
	var lines []string
	for path, line := range snapshot(x.t, x.wt) {
		rel, err := filepath.Rel(x.wt, path)
		if err != nil {
			x.t.Fatal(err)
		}
		if first, _, _ := strings.Cut(rel, "/"); first == ".git" || strings.Contains(rel, "/.git/") {
			continue
		}
		// The time is of no interest, and the size is in the content.
		fields := strings.Fields(line)
		line = fields[0] + " " + fields[len(fields)-1]
		switch target, err := os.Readlink(path); {
		case err == nil:
			line = fields[0] + " -> " + target
		case strings.HasPrefix(fields[0], "d"):
			line = fields[0]
		}
		lines = append(lines, rel+" "+line)
	}
	slices.Sort(lines)
	return lines
}

// untouched is everything in the repository and in the checkout, times of the
// files included, but for what coming and going of locks changes.
func (x *target) untouched() map[string]string {
	x.t.Helper()
	all := snapshot(x.t, x.dir)
	if x.wt != x.dir {
		for path, line := range snapshot(x.t, x.wt) {
			all[path] = line
		}
	}
	for path := range all {
		if path == x.gitDir || strings.HasPrefix(path, filepath.Join(x.dir, ".git", privateDir)) || path == filepath.Join(x.dir, ".git") {
			delete(all, path)
		}
	}
	return all
}

// wantRefused wants an error of the code, and nothing to have happened.
func (x *target) wantRefused(code workspace.Code, files ...string) *workspace.Error {
	x.t.Helper()
	before, facts := x.untouched(), x.facts()
	_, err := x.advance()
	e := wantCode(x.t, err, code)
	if diff := cmp.Diff(before, x.untouched()); diff != "" {
		x.t.Errorf("the refused move changed something:\n%s", diff)
	}
	if diff := cmp.Diff(facts, x.facts()); diff != "" {
		x.t.Errorf("the refused move changed something:\n%s", diff)
	}
	if len(files) > 0 && !slices.Equal(e.Files, files) {
		x.t.Errorf("refused for %q, want %q: %s", e.Files, files, e.Message)
	}
	return e
}

// merge is what git makes of the same.
func (x *target) merge() {
	x.t.Helper()
	x.gitIn(x.wt, "-c", "submodule.recurse=false", "merge", "-q", "--ff-only", "--no-overwrite-ignore", "topic")
}

// wantMoved compares a target that was moved with one that git merged.
func (x *target) wantMoved(git *target) {
	x.t.Helper()
	if diff := cmp.Diff(git.facts(), x.facts()); diff != "" {
		x.t.Errorf("not as git makes it (-git +ours):\n%s", diff)
	}
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	for i, state := range advanceStates {
		for _, place := range []struct {
			name   string
			linked bool
		}{{"main checkout", false}, {"linked worktree", true}} {
			if place.linked && !state.linked {
				continue
			}
			if testing.Short() && state.linked && place.linked != (i%2 == 0) {
				continue
			}
			t.Run(state.name+", "+place.name, func(t *testing.T) {
				t.Parallel()
				fresh := func() *target {
					x := newTarget(t, place.linked, state.before, state.change)
					x.in(state.script)
					return x
				}
				x := fresh()
				if state.code != "" {
					e := x.wantRefused(state.code, state.files...)
					if state.kind != "" && !strings.Contains(e.Message, state.kind+": ") {
						t.Errorf("the message doesn't say %q: %s", state.kind, e.Message)
					}
					return
				}
				if _, err := x.advance(); err != nil {
					t.Fatal(detail(err))
				}
				git := fresh()
				git.merge()
				x.wantMoved(git)
			})
		}
	}
}

func TestAdvanceNotForward(t *testing.T) {
	t.Parallel()
	x := newTarget(t, false, "", "")
	x.in("echo more >>keep.txt; git commit -qam more")
	moved := x.git("rev-parse", "main")
	e := x.wantRefused(workspace.ErrNotFastForward)
	if !strings.Contains(e.Message, short(moved)) {
		t.Errorf("it doesn't say where main is: %s", e.Message)
	}
	x.was = moved
	x.wantRefused(workspace.ErrNotFastForward)
	_, err := x.advance(func(in *advanceInput) { in.ref = "refs/heads/none" })
	wantCode(t, err, workspace.ErrTargetNotFound)
	// Where it is already nothing happens.
	before := x.facts()
	if _, err := x.advance(func(in *advanceInput) { in.new = moved }); err != nil {
		t.Error(detail(err))
	}
	if diff := cmp.Diff(before, x.facts()); diff != "" {
		t.Error(diff)
	}
}

// TestAdvanceLosesRace has main move, or something else checked out, between
// the first look and the lock.
func TestAdvanceLosesRace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		code   workspace.Code
	}{
		"a commit":     {"git commit -q --allow-empty -m more", workspace.ErrNotFastForward},
		"an operation": {"git rev-parse HEAD >.git/CHERRY_PICK_HEAD", workspace.ErrOperationInProgress},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t, false, "", "")
			_, err := x.advance(func(in *advanceInput) {
				in.step = func(step string) {
					if step == stepJournal {
						x.in(test.script)
					}
				}
			})
			wantCode(t, err, test.code)
			if got := x.gitIn(x.wt, "status", "--porcelain"); got != "" {
				t.Error(got)
			}
		})
	}
	t.Run("a switch", func(t *testing.T) {
		t.Parallel()
		x := newTarget(t, false, "", "")
		out, err := x.advance(func(in *advanceInput) {
			in.step = func(step string) {
				if step == stepJournal {
					x.in("git checkout -q -b other")
				}
			}
		})
		if err != nil || out.at != nil {
			t.Fatalf("%+v, %s", out, detail(err))
		}
		if got := x.git("rev-parse", "main"); got != x.next {
			t.Errorf("main is at %s", got)
		}
		if got := x.gitIn(x.wt, "status", "--porcelain"); got != "" {
			t.Error(got)
		}
	})
	t.Run("the ref, after the files", func(t *testing.T) {
		t.Parallel()
		x := newTarget(t, false, "", "")
		before := x.tree()
		_, err := x.advance(func(in *advanceInput) {
			in.step = func(step string) {
				if step == stepWritten {
					x.in("git update-ref refs/heads/main $(git commit-tree -p main -m more main^{tree})")
				}
			}
		})
		wantCode(t, err, workspace.ErrNotFastForward)
		if diff := cmp.Diff(before, x.tree()); diff != "" {
			t.Error(diff)
		}
		if got := x.gitIn(x.wt, "status", "--porcelain"); got != "" {
			t.Error(got)
		}
	})
}

func TestAdvanceWaitsForIndexLock(t *testing.T) {
	t.Parallel()
	x := newTarget(t, false, "", "")
	lock := filepath.Join(x.gitDir, "index.lock")
	x.write(lock, "")
	e := x.wantRefused(workspace.ErrLocked)
	if !strings.Contains(e.Message, lock) {
		t.Errorf("it doesn't name the lock: %s", e.Message)
	}
	// One that goes away while it waits is no trouble.
	_, err := x.advance(func(in *advanceInput) {
		in.lockWait = 0
		in.step = func(step string) {
			if step == stepJournal {
				if err := os.Remove(lock); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if err != nil {
		t.Fatal(detail(err))
	}
}

// TestAdvanceEditedMeanwhile has somebody edit files after the look at them.
func TestAdvanceEditedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"mine\n", "f 2, and longer\n"} {
		x := newTarget(t, false, "", "")
		before := x.tree()
		_, err := x.advance(func(in *advanceInput) {
			in.step = func(step string) {
				if step == stepLooked {
					x.write(filepath.Join(x.wt, "f"), content)
				}
			}
		})
		e := wantCode(t, err, workspace.ErrTargetDirty)
		if !slices.Equal(e.Files, []string{"f"}) {
			t.Errorf("%q", e.Files)
		}
		if got := x.read(filepath.Join(x.wt, "f")); got != content {
			t.Errorf("the edit was lost: %q", got)
		}
		x.in("git checkout -q f")
		if diff := cmp.Diff(before, x.tree()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAdvanceCancelled(t *testing.T) {
	t.Parallel()
	x := newTarget(t, false, "git config filter.slow.clean cat; git config filter.slow.smudge cat; echo 'f filter=slow' >.gitattributes", "")
	x.in(`git config filter.slow.smudge "[ -e '$ROOT/slept' ] || { touch '$ROOT/slept'; sleep 600; }; cat"`)
	before := x.facts()
	p := x.open(x.dir)
	// Only once the filter waits: a later one, of the undo, doesn't.
	_, err := x.r.advance(cancelWhen(t, x.path("slept")), p, x.input())
	wantCode(t, err, workspace.ErrTimeout)
	if diff := cmp.Diff(before, x.facts()); diff != "" {
		t.Error(diff)
	}
	if errors.Is(err, errHeadMoved) {
		t.Error(err)
	}
}

// cancelWhen returns a context that ends once there is a file.
func cancelWhen(t *testing.T, path string) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		for !exists(path) && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	return ctx
}

// TestAdvanceIgnoredAtTheLastMoment has an ignored file appear where one is to
// be written, when that is about to begin.
func TestAdvanceIgnoredAtTheLastMoment(t *testing.T) {
	t.Parallel()
	for _, linked := range []bool{false, true} {
		x := newTarget(t, linked, "", "")
		x.write(filepath.Join(x.dir, ".git", "info", "exclude"), "new.txt\n")
		path := filepath.Join(x.wt, "new.txt")
		before := x.facts()
		_, err := x.advance(func(in *advanceInput) {
			in.step = func(step string) {
				if step == stepRecorded {
					x.write(path, "precious\n")
				}
			}
		})
		e := wantCode(t, err, workspace.ErrTargetDirty)
		if !slices.Equal(e.Files, []string{"new.txt"}) || x.read(path) != "precious\n" {
			t.Errorf("files %q, the file is %q", e.Files, x.read(path))
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, x.facts()); diff != "" {
			t.Error(diff)
		}
		if _, err := x.advance(); err != nil {
			t.Error(detail(err))
		}
	}
}
