package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// pause leaves a merge paused at f.
func (l *mergeLab) pause(s workspace.Strategy) {
	l.t.Helper()
	_, err := l.try(by(s), resolving)
	if !errors.Is(err, workspace.ErrPaused) {
		l.t.Fatal(detail(err))
	}
}

// byHand finishes what is under way in the workspace as a person does.
func (l *mergeLab) byHand(s workspace.Strategy) {
	l.t.Helper()
	if s == workspace.StrategyRebase {
		l.gitIn(l.x, "-c", "core.editor=true", "rebase", "--continue")
		return
	}
	l.gitIn(l.x, "commit", "-q", "--no-edit")
}

func (l *mergeLab) goOn() (workspace.Merged, error) {
	l.t.Helper()
	return l.g.Continue(l.t.Context(), l.request())
}

func (l *mergeLab) abort() error { return l.g.Abort(l.t.Context(), l.request()) }

func TestPausedFinishedByHand(t *testing.T) {
	t.Parallel()
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		for _, again := range []string{"merge", "continue"} {
			l := newMergeLab(t)
			l.clash()
			l.pause(s)
			l.resolve("f", "both\n")
			l.byHand(s)
			l.commit(l.x, "after", "1\n", "after")
			merged, err := l.try()
			if again == "continue" {
				// Merged already above.
				if err != nil {
					t.Fatal(detail(err))
				}
				_, err := l.goOn()
				wantCode(t, err, workspace.ErrNotFound)
				continue
			}
			if err != nil {
				t.Fatal(detail(err))
			}
			l.landed(merged)
			if merged.Strategy != s || l.read(filepath.Join(l.dir, "f")) != "both\n" || l.read(filepath.Join(l.dir, "after")) != "1\n" {
				t.Errorf("merged: %+v", merged)
			}
		}
	})
}

func TestPausedContinuedAfterFinishedByHand(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	l.clash()
	l.pause(workspace.StrategyRebase)
	l.resolve("f", "both\n")
	l.byHand(workspace.StrategyRebase)
	merged, err := l.goOn()
	if err != nil {
		t.Fatal(detail(err))
	}
	l.landed(merged)
}

func TestPausedAbortedByHand(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	l.clash()
	before := l.world(false)
	l.pause(workspace.StrategyRebase)
	l.gitIn(l.x, "rebase", "--abort")
	_, err := l.goOn()
	wantCode(t, err, workspace.ErrNotFound)
	wantCode(t, l.abort(), workspace.ErrNotFound)
	_, err = l.try()
	wantCode(t, err, workspace.ErrRebaseConflict)
	if errors.Is(err, workspace.ErrPaused) {
		t.Error("it isn't paused any more")
	}
	l.same(before)
	// The next one begins anew.
	l.pause(workspace.StrategyRebase)
	l.resolve("f", "both\n")
	merged, err := l.goOn()
	if err != nil {
		t.Fatal(detail(err))
	}
	l.landed(merged)
}

// TestPausedOfSomebodyElse wants a rebase that isn't ours never to be touched.
func TestPausedOfSomebodyElse(t *testing.T) {
	t.Parallel()
	for _, ours := range []bool{false, true} {
		l := newMergeLab(t)
		l.clash()
		if ours {
			// Theirs comes after ours was aborted by hand.
			l.pause(workspace.StrategyRebase)
			l.gitIn(l.x, "rebase", "--abort")
			l.commit(l.x, "later", "1\n", "later")
		}
		if _, err := l.tryGit(l.x, "rebase", "main"); err == nil {
			t.Fatal("there is no conflict")
		}
		before := l.world(true)
		_, err := l.try(resolving)
		e := wantCode(t, err, workspace.ErrOperationInProgress)
		if !strings.Contains(e.Message, "rebase") {
			t.Errorf("it isn't named: %s", e.Message)
		}
		_, err = l.goOn()
		wantCode(t, err, workspace.ErrOperationInProgress)
		wantCode(t, l.abort(), workspace.ErrOperationInProgress)
		l.same(before)
	}
}

func TestPausedWhileTheTargetMoves(t *testing.T) {
	t.Parallel()
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		l := newMergeLab(t)
		l.clash()
		l.pause(s)
		l.commit(l.dir, "meanwhile", "1\n", "meanwhile")
		l.resolve("f", "both\n")
		merged, err := l.goOn()
		if s == workspace.StrategyRebase || s == workspace.StrategySquash || s == workspace.StrategyMerge {
			if err != nil {
				t.Fatal(detail(err))
			}
			l.landed(merged)
		}
		if l.read(filepath.Join(l.x, "meanwhile")) != "1\n" {
			t.Error("the other commit isn't there")
		}
	})
}

func TestPausedTwice(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	l.commit(l.dir, "g", "base\n", "g")
	l.gitIn(l.x, "merge", "-q", "main")
	l.commit(l.x, "f", "x\n", "x changes f")
	l.commit(l.x, "g", "x\n", "x changes g")
	l.commit(l.dir, "f", "m\n", "main changes f")
	l.commit(l.dir, "g", "m\n", "main changes g")
	before := l.world(false)
	l.pause(workspace.StrategyRebase)
	l.resolve("f", "both\n")
	_, err := l.goOn()
	c := wantPaused(t, err, "g")
	if c.Commit.Subject != "x changes g" || len(c.Ours) == 0 || c.Ours[0].Subject != "x changes g" {
		t.Errorf("conflict: %+v", c)
	}
	if err := l.abort(); err != nil {
		t.Fatal(detail(err))
	}
	l.same(before)
	l.pause(workspace.StrategyRebase)
	l.resolve("f", "both\n")
	_, err = l.goOn()
	wantPaused(t, err, "g")
	l.resolve("g", "both\n")
	merged, err := l.goOn()
	if err != nil {
		t.Fatal(detail(err))
	}
	l.landed(merged)
	if merged.Commits != 2 {
		t.Errorf("merged: %+v", merged)
	}
}

func TestPausedFinishedWithMarkers(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	l.clash()
	l.pause(workspace.StrategyRebase)
	l.gitIn(l.x, "add", "f")
	l.byHand(workspace.StrategyRebase)
	for range 2 {
		_, err := l.try()
		wantPaused(t, err, "f")
		_, err = l.goOn()
		wantPaused(t, err, "f")
	}
	l.commit(l.x, "f", "both\n", "no markers")
	merged, err := l.try()
	if err != nil {
		t.Fatal(detail(err))
	}
	l.landed(merged)

	l = newMergeLab(t)
	l.clash()
	before := l.world(false)
	l.pause(workspace.StrategyRebase)
	l.gitIn(l.x, "add", "f")
	l.byHand(workspace.StrategyRebase)
	done := l.gitIn(l.x, "rev-parse", "HEAD")
	if err := l.abort(); err != nil {
		t.Fatal(detail(err))
	}
	l.same(before)
	if l.git("for-each-ref", "--contains", done) == "" {
		t.Error("what was done since is lost")
	}
}

// TestAbortKeepsWhatWasDone wants work from the middle of a conflict to stay
// reachable.
func TestAbortKeepsWhatWasDone(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	l.clash()
	before := l.world(false)
	l.pause(workspace.StrategyRebase)
	l.write(filepath.Join(l.x, "f"), "half\n")
	l.write(filepath.Join(l.x, "untracked"), "mine\n")
	if err := l.abort(); err != nil {
		t.Fatal(detail(err))
	}
	if l.read(filepath.Join(l.x, "untracked")) != "mine\n" {
		t.Error("an untracked file is lost")
	}
	if err := os.Remove(filepath.Join(l.x, "untracked")); err != nil {
		t.Fatal(err)
	}
	l.same(before)
	var kept []string
	for ref := range strings.FieldsSeq(l.git("for-each-ref", "--format=%(refname)", backupRefs)) {
		if out, err := l.tryGit(l.dir, "show", ref+":f"); err == nil && out == "half\n" {
			kept = append(kept, ref)
		}
	}
	if len(kept) != 1 {
		t.Fatalf("the half-done work is kept as %q", kept)
	}
	if title := l.git("log", "-1", "--format=%s", kept[0]); title != "Snapshot of a working copy whose merge was undone" {
		t.Errorf("it is called %q", title)
	}
}

// TestPausedTargetDirty wants a resolution to be kept where the target can't
// be moved.
func TestPausedTargetDirty(t *testing.T) {
	t.Parallel()
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		l := newMergeLab(t)
		l.clash()
		before := l.world(false)
		l.pause(s)
		l.write(filepath.Join(l.dir, "f"), "edited\n")
		l.resolve("f", "both\n")
		for range 2 {
			_, err := l.goOn()
			e := wantCode(t, err, workspace.ErrTargetDirty)
			if !slices.Equal(e.Files, []string{"f"}) {
				t.Errorf("files: %q", e.Files)
			}
		}
		_, err := l.try()
		wantCode(t, err, workspace.ErrTargetDirty)
		l.git("checkout", "-q", "f")
		if s == workspace.StrategyMerge {
			if err := l.abort(); err != nil {
				t.Fatal(detail(err))
			}
			l.same(before)
			return
		}
		merged, err := l.goOn()
		if err != nil {
			t.Fatal(detail(err))
		}
		l.landed(merged)
	})
}

func TestPausedResolvedToNothing(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	l.commit(l.x, "f", "x\n", "x changes f")
	l.commit(l.dir, "f", "m\n", "main changes f")
	before := l.world(false)
	l.pause(workspace.StrategyRebase)
	l.resolve("f", "m\n")
	_, err := l.goOn()
	wantCode(t, err, workspace.ErrNothingToMerge)
	if err := l.abort(); err != nil {
		t.Fatal(detail(err))
	}
	l.same(before)
}

// TestPauseRefusesWhatIsInTheWay wants ignored files not to be overwritten by
// the rebase that is started.
func TestPauseRefusesWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		make func(*mergeLab)
	}{
		{"of the target", func(l *mergeLab) {
			l.write(filepath.Join(l.dir, "b.ign"), "main\n")
			l.git("add", "-f", "b.ign")
			l.git("commit", "-q", "-m", "b")
		}},
		{"on the way", func(l *mergeLab) {
			l.write(filepath.Join(l.x, "b.ign"), "x\n")
			l.gitIn(l.x, "add", "-f", "b.ign")
			l.gitIn(l.x, "commit", "-q", "-m", "b")
			l.gitIn(l.x, "rm", "-q", "b.ign")
			l.gitIn(l.x, "commit", "-q", "-m", "no b")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newMergeLab(t)
			c.make(l)
			l.clash()
			l.write(filepath.Join(l.x, "b.ign"), "precious\n")
			e := l.refuse(workspace.ErrDirtyWorktree, resolving)
			if !slices.Equal(e.Files, []string{"b.ign"}) {
				t.Errorf("files: %q", e.Files)
			}
		})
	}
}

// TestPausedHintsAtMarkers wants files that were added with their markers to be
// told from those that weren't added.
func TestPausedHintsAtMarkers(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	l.commit(l.dir, "g", "base\n", "g")
	l.gitIn(l.x, "merge", "-q", "main")
	for _, dir := range []string{l.x, l.dir} {
		l.write(filepath.Join(dir, "f"), "by "+dir+"\n")
		l.write(filepath.Join(dir, "g"), "by "+dir+"\n")
		l.gitIn(dir, "commit", "-q", "-a", "-m", "both")
	}
	_, err := l.try(resolving)
	wantPaused(t, err, "f", "g")
	hint := func(words ...string) {
		t.Helper()
		_, err := l.goOn()
		e := wantCode(t, err, workspace.ErrRebaseConflict)
		if !errors.Is(err, workspace.ErrPaused) || !warned([]string{e.Hint}, words...) {
			t.Errorf("the hint %q lacks %q", e.Hint, words)
		}
		if strings.Contains(e.Hint, "git add each") != slices.Contains(words, "git add each") {
			t.Errorf("the hint is %q", e.Hint)
		}
	}
	hint("git add each")
	l.gitIn(l.x, "add", "f")
	hint("git add each", "added already", "markers left: f")
	l.gitIn(l.x, "add", "g")
	hint("markers", "once more")
	l.resolve("f", "both\n")
	l.resolve("g", "both\n")
	merged, err := l.goOn()
	if err != nil {
		t.Fatal(detail(err))
	}
	l.landed(merged)
}

func TestMarked(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200<<10)
	for content, want := range map[string]bool{
		"": false,
		"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n":               true,
		"<<<<<<< HEAD\r\nb\r\n=======\r\nc\r\n>>>>>>> x\r\n":        true,
		"<<<<<<< HEAD\nb\n||||||| base\n=======\n>>>>>>> x":         true,
		"title\n=======\n>>>>>>> quoted\n":                          false,
		"<<<<<<< HEAD\nb\n>>>>>>> x\n":                              false,
		" <<<<<<< HEAD\n=======\n>>>>>>> x\n":                       false,
		long + "<<<<<<< HEAD\n=======\n>>>>>>> x\n":                 false,
		long + "\n<<<<<<< HEAD\n" + long + "\n=======\n>>>>>>> x\n": true,
	} {
		if got := marked(strings.NewReader(content)); got != want {
			t.Errorf("%.60q: %v", content, got)
		}
	}
}
