package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// advanceErrand is what a child process does: move main, or settle what was
// interrupted, and be killed after a step.
type advanceErrand struct {
	Dir, Home, Git string
	Env            []string
	Old, New       string
	Step           string
	Recover        bool
}

func init() { childRoles["advance"] = childAdvance }

func childAdvance(args []string) error {
	var e advanceErrand
	if err := json.Unmarshal([]byte(args[0]), &e); err != nil {
		return err
	}
	r, err := New(Options{Home: e.Home, Env: e.Env, Git: e.Git})
	if err != nil {
		return err
	}
	ctx := context.Background()
	p, err := r.Open(ctx, e.Dir)
	if err != nil {
		return err
	}
	in := advanceInput{ref: "refs/heads/main", old: e.Old, new: e.New, message: "merge topic: Fast-forward", step: func(step string) {
		if step == e.Step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}}
	if e.Recover {
		_, err = r.recoverMoves(ctx, p, advanceInput{step: in.step})
		return err
	}
	_, err = r.advance(ctx, p, in)
	return err
}

// killed has a child do the errand and wants it to be killed over it.
func (x *target) killed(e advanceErrand) {
	x.t.Helper()
	out, err := x.errand(e).CombinedOutput()
	status, ok := errors.AsType[*exec.ExitError](err)
	if !ok || !status.Sys().(syscall.WaitStatus).Signaled() {
		x.t.Fatalf("the child was not killed: %v\n%s", err, out)
	}
}

func (x *target) errand(e advanceErrand) *exec.Cmd {
	x.t.Helper()
	e.Dir, e.Home, e.Env, e.Old, e.New = x.dir, x.path("home"), x.env, x.was, x.next
	job, err := json.Marshal(e)
	if err != nil {
		x.t.Fatal(err)
	}
	cmd := childCommand("advance", string(job))
	cmd.Stderr = nil
	return cmd
}

// wrapGit makes a program in git's place that does something else where it is
// called to write files.
func (x *target) wrapGit(script string) string {
	x.t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		x.t.Fatal(err)
	}
	path := x.path("git")
	x.write(path, fmt.Sprintf("#!/bin/sh\ngit=%s\ncase \"$*\" in\n*'read-tree -m -u'*) %s ;;\nesac\nexec $git \"$@\"\n", real, script))
	if err := os.Chmod(path, 0o755); err != nil {
		x.t.Fatal(err)
	}
	return path
}

// around is the user's own work beside what a move changes.
const around = `echo 1 >>keep.txt; echo 1 >other; echo 1 >other.ign; mkdir -p ign empty; echo 1 >ign/other
echo 2 >staged; git add staged; git checkout -q topic -- a.txt; rm dir/b.txt`

// settled settles what was interrupted once the children of the killed process
// are gone, and returns what was done.
func (x *target) settled() []string {
	x.t.Helper()
	for {
		lines, err := x.recover()
		if err != nil {
			x.t.Fatal(detail(err))
		}
		if !warned(lines, "still at work") {
			return lines
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// wantSettled wants one line about what was interrupted.
func (x *target) wantSettled(words ...string) {
	x.t.Helper()
	lines := x.settled()
	if len(lines) != 1 || !warned(lines, words...) {
		x.t.Errorf("recovered %q, want one line with %q", lines, words)
	}
	if lines, err := x.recover(); err != nil || len(lines) > 0 {
		x.t.Errorf("recovered again: %q, %s", lines, detail(err))
	}
}

// undoneSteps are those after which a killed move is undone, and finishedSteps
// those after which it is finished.
var (
	undoneSteps   = []string{stepJournal, stepLocked, stepChecked, stepCopied, stepLooked, stepRecorded, stepWritten}
	finishedSteps = []string{stepRefMoved, stepInstalled, stepUnlocked}
)

func TestAdvanceKilledAtEachStep(t *testing.T) {
	t.Parallel()
	for i, step := range append(append([]string{}, undoneSteps...), finishedSteps...) {
		for _, state := range []struct {
			name, meanwhile string
			linked          bool
			// from is the first step that it is tried after.
			from int
		}{
			{"main checkout", "", false, 0},
			{"linked worktree", "", true, len(undoneSteps) - 1},
			{"lock removed meanwhile", `rm -f "$(git rev-parse --git-path index.lock)"`, false, len(undoneSteps) - 2},
			{"lock removed and index refreshed meanwhile", `rm -f "$(git rev-parse --git-path index.lock)"; touch keep.txt; git status >/dev/null`, true, len(undoneSteps) - 1},
		} {
			if i < state.from {
				continue
			}
			t.Run(step+", "+state.name, func(t *testing.T) {
				t.Parallel()
				fresh := func() *target {
					x := newTarget(t, state.linked, "", "")
					x.in(around)
					return x
				}
				x := fresh()
				before, index := x.facts(), x.read(filepath.Join(x.gitDir, "index"))
				x.killed(advanceErrand{Step: step})
				if state.meanwhile != "" {
					x.in(state.meanwhile)
				}
				switch finished := i >= len(undoneSteps); {
				case finished:
					x.wantSettled("main", x.wt, "finished")
					git := fresh()
					git.merge()
					x.wantMoved(git)
				default:
					how := "undone"
					if i < len(undoneSteps)-2 {
						how = "dropped"
					}
					x.wantSettled("main", x.wt, how)
					if diff := cmp.Diff(before, x.facts()); diff != "" {
						t.Errorf("not as before:\n%s", diff)
					}
					if state.meanwhile == "" && x.read(filepath.Join(x.gitDir, "index")) != index {
						t.Error("the user's index was written to")
					}
				}
			})
		}
	}
}

// TestAdvanceAfterKill has the next move settle what the killed one left.
func TestAdvanceAfterKill(t *testing.T) {
	t.Parallel()
	fresh := func() *target {
		x := newTarget(t, false, "", "")
		x.in(around)
		return x
	}
	x, git := fresh(), fresh()
	git.merge()
	x.killed(advanceErrand{Step: stepWritten})
	if out, err := x.tryGit(x.wt, "commit", "-qam", "half of it"); err == nil {
		t.Errorf("the user committed what was half written: %s", out)
	}
	out, err := x.advance()
	if err != nil || len(out.recovered) != 1 {
		t.Fatalf("%q, %s", out.recovered, detail(err))
	}
	x.wantMoved(git)
}

// TestAdvanceAttributesUndone has the new commit change the attributes by which
// files are written, those of files that it takes away among them.
func TestAdvanceAttributesUndone(t *testing.T) {
	t.Parallel()
	x := newTarget(t, false,
		`printf 'dir/b.txt eol=crlf\n*gone* eol=crlf\n' >.gitattributes; echo first >./-gone; mkdir sub; echo 'x eol=crlf' >sub/.gitattributes`,
		`printf 'f eol=crlf\nnew.txt eol=crlf\n' >.gitattributes; echo 'n.txt eol=crlf' >added/.gitattributes; git rm -q -- -gone; git add .`)
	before := x.facts()
	if got := x.read(filepath.Join(x.wt, "gone.txt")); got != "gone.txt 1\r\n" {
		t.Fatalf("the attributes had no effect: %q", got)
	}
	x.killed(advanceErrand{Step: stepWritten})
	if got := x.read(filepath.Join(x.wt, "f")); got != "f 2, and longer\r\n" {
		t.Fatalf("the attributes had no effect: %q", got)
	}
	x.wantSettled("undone")
	if diff := cmp.Diff(before, x.facts()); diff != "" {
		t.Error(diff)
	}
}

// TestAdvanceRecoveryKilled kills the settling itself after its work.
func TestAdvanceRecoveryKilled(t *testing.T) {
	t.Parallel()
	for _, steps := range [][2]string{{stepWritten, stepWritten}, {stepRefMoved, stepInstalled}} {
		fresh := func() *target {
			x := newTarget(t, true, "", "")
			x.in(around)
			return x
		}
		x := fresh()
		want := x.facts()
		if steps[0] == stepRefMoved {
			git := fresh()
			git.merge()
			want = git.facts()
		}
		x.killed(advanceErrand{Step: steps[0]})
		x.killed(advanceErrand{Step: steps[1], Recover: true})
		x.wantSettled("main")
		if diff := cmp.Diff(want, x.facts()); diff != "" {
			t.Errorf("killed after %q: %s", steps[0], diff)
		}
	}
}

// TestAdvanceEditedAfterKill leaves what somebody edited after the crash.
func TestAdvanceEditedAfterKill(t *testing.T) {
	t.Parallel()
	x := newTarget(t, false, "", "")
	x.in(around)
	x.killed(advanceErrand{Step: stepWritten})
	x.in("echo mine >f; echo mine >new.txt; echo mine >gone.txt; echo mine >f2d/mine; rm sub/deep/x")
	lines, err := x.recover()
	if err != nil || len(lines) != 1 || !warned(lines, "undone", "f, f2d, gone.txt, new.txt") {
		t.Errorf("%q, %s", lines, detail(err))
	}
	for path, want := range map[string]string{
		"f": "mine\n", "new.txt": "mine\n", "gone.txt": "mine\n", "f2d/mine": "mine\n",
		"sub/deep/x": "sub/deep/x 1\n", "dir/c.txt": "dir/c.txt 1\n", "d2f/one": "d2f/one 1\n",
	} {
		if got := x.read(filepath.Join(x.wt, path)); got != want {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
	}
	if exists(filepath.Join(x.wt, "f2d", "inner")) || exists(filepath.Join(x.wt, "added")) || exists(filepath.Join(x.gitDir, "index.lock")) {
		t.Error("something of the move is left")
	}
}

// TestAdvanceTakenOverAfterKill has somebody stage what the killed move wrote.
func TestAdvanceTakenOverAfterKill(t *testing.T) {
	t.Parallel()
	x := newTarget(t, false, "", "")
	x.killed(advanceErrand{Step: stepWritten})
	x.in("rm .git/index.lock; git add new.txt f added; git rm -q --cached gone.txt")
	before := x.git("status", "--porcelain", "new.txt", "f", "gone.txt", "added")
	if _, err := x.recover(); err != nil {
		t.Fatal(detail(err))
	}
	if got := x.git("status", "--porcelain", "new.txt", "f", "gone.txt", "added"); got != before {
		t.Errorf("status %s, before %s", got, before)
	}
	if got := x.git("status", "--porcelain"); got != before {
		t.Errorf("the rest was not undone: %s", got)
	}
}

// TestAdvanceCommittedAfterKill has somebody remove the lock and go on working
// once the ref has moved: nothing of theirs is touched.
func TestAdvanceCommittedAfterKill(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a commit":       "git add -A; git commit -qm mine",
		"staged":         "echo mine >>keep.txt; git add keep.txt",
		"overlapping":    "echo mine >>a.txt; git add a.txt",
		"another branch": "git reset -q --hard; git checkout -q -b mine",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTarget(t, false, "", "")
			x.killed(advanceErrand{Step: stepRefMoved})
			x.in("rm .git/index.lock\n" + script)
			tree, head := x.tree(), x.git("rev-parse", "HEAD")
			staged := x.git("diff", "--cached", "--name-only", x.was, "--", "keep.txt", "a.txt")
			x.wantSettled("finished")
			if diff := cmp.Diff(tree, x.tree()); diff != "" {
				t.Error(diff)
			}
			if got := x.git("rev-parse", "HEAD"); got != head {
				t.Errorf("HEAD is at %s", got)
			}
			if name == "staged" {
				if got := x.git("diff", "--name-only", "HEAD") + " " + x.git("diff", "--cached", "--name-only"); got != "keep.txt keep.txt" {
					t.Errorf("changes: %q, staged before: %q", got, staged)
				}
			}
			if exists(filepath.Join(x.gitDir, "index.lock")) {
				t.Error("the lock is left")
			}
		})
	}
}

// TestAdvanceKilledWithinFiles ends git, and whoever runs it, after it has
// written a number of files.
func TestAdvanceKilledWithinFiles(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 9; n += 2 {
		t.Run(fmt.Sprintf("after %d files", n), func(t *testing.T) {
			t.Parallel()
			x := newTarget(t, false, "git config filter.count.clean cat; git config filter.count.smudge cat; echo '* filter=count' >.gitattributes", "")
			x.in(around)
			before := x.facts()
			x.in(fmt.Sprintf(`cat >"$ROOT/smudge" <<'EOF'
#!/bin/sh
cat
[ -e "$ROOT/pids" ] || exit 0
echo >>"$ROOT/count"
[ $(wc -l <"$ROOT/count") -lt %d ] || kill -9 $(cat "$ROOT/pids")
EOF
chmod +x "$ROOT/smudge"; git config filter.count.smudge "ROOT='$ROOT' '$ROOT/smudge'"`, n))
			x.killed(advanceErrand{Git: x.wrapGit(`echo $PPID $$ >'` + x.root + `/pids'`)})
			if err := os.Remove(x.path("pids")); err != nil {
				t.Fatal(err)
			}
			if !exists(filepath.Join(x.gitDir, "index.lock")) {
				t.Error("it was not killed within")
			}
			x.wantSettled("undone")
			if diff := cmp.Diff(before, x.facts()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAdvanceKilledAnywhereInFiles ends git, and whoever runs it, at some
// moment of its writing of many files; some are then left half written.
func TestAdvanceKilledAnywhereInFiles(t *testing.T) {
	t.Parallel()
	const change = `for i in $(seq 120); do yes "line $i" | head -n 3000 >many$i; done; yes more | head -n 3000 >f; git add .`
	for i := range 12 {
		t.Run(fmt.Sprintf("after %d ms", i), func(t *testing.T) {
			t.Parallel()
			x := newTarget(t, i%2 == 1, "", change)
			x.in(around)
			before := x.facts()
			x.killed(advanceErrand{Git: x.wrapGit(fmt.Sprintf(`$git "$@" & sleep 0.%03d; kill -9 $! $PPID; exit 1`, i))})
			for _, path := range []string{"f", "many7"} {
				if info, err := os.Stat(filepath.Join(x.wt, path)); err == nil && info.Size() > 100 {
					if err := os.Truncate(filepath.Join(x.wt, path), info.Size()/2); err != nil {
						t.Fatal(err)
					}
				}
			}
			x.wantSettled("undone")
			if diff := cmp.Diff(before, x.facts()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAdvanceOrphanedGit leaves a git alone that outlives its process.
func TestAdvanceOrphanedGit(t *testing.T) {
	t.Parallel()
	x := newTarget(t, false, "git config filter.slow.clean cat; git config filter.slow.smudge cat; echo 'new.txt filter=slow' >.gitattributes", "")
	before := x.facts()
	x.in(`git config filter.slow.smudge "touch '$ROOT/started'; while [ ! -e '$ROOT/proceed' ]; do sleep 0.02; done; cat"`)
	x.killed(advanceErrand{Git: x.wrapGit(`{ while [ ! -e '` + x.root + `/started' ]; do sleep 0.02; done; kill -9 $PPID; } 3>&- 4>&- &`)})
	lines, err := x.recover()
	if err != nil || len(lines) != 1 || !warned(lines, "still at work", x.wt) {
		t.Errorf("%q, %s", lines, detail(err))
	}
	_, err = x.advance()
	wantCode(t, err, workspace.ErrInProgress)
	x.write(x.path("proceed"), "")
	x.wantSettled("undone")
	if diff := cmp.Diff(before, x.facts()); diff != "" {
		t.Error(diff)
	}
}

// TestAdvanceForeignLockAfterKill leaves everything alone while somebody
// else's git holds the index that ours was killed over.
func TestAdvanceForeignLockAfterKill(t *testing.T) {
	t.Parallel()
	x := newTarget(t, false, "", "")
	before := x.facts()
	x.killed(advanceErrand{Step: stepWritten})
	lock := filepath.Join(x.gitDir, "index.lock")
	x.write(lock, "somebody's")
	tree := x.tree()
	_, err := x.recover()
	wantCode(t, err, workspace.ErrLocked)
	_, err = x.advance()
	e := wantCode(t, err, workspace.ErrInProgress)
	if !strings.Contains(e.Message, lock) || x.read(lock) != "somebody's" {
		t.Errorf("the lock is not named, or was taken: %s", e.Message)
	}
	if diff := cmp.Diff(tree, x.tree()); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	x.wantSettled("undone")
	if diff := cmp.Diff(before, x.facts()); diff != "" {
		t.Error(diff)
	}
}
