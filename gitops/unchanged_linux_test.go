package gitops

import (
	"os"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// glance is what is told of a worktree without asking git, and what git tells.
func glance(t *testing.T, f *fixture, name string) (told counts, known bool, want counts) {
	t.Helper()
	c, err := f.r.newComparer(t.Context(), f.open(f.dir))
	if err != nil {
		t.Fatal(err)
	}
	c.lookOutside(t.Context())
	w := f.list()[name]
	l := f.r.newLooker(c, workspace.StateQuery{Worktree: w, Base: "main"})
	told, known, _, _ = l.unchanged(t.Context())
	report, err := f.r.status(t.Context(), l.gitDir, w.Directory, "normal")
	if err != nil {
		t.Fatal(err)
	}
	want = report.counts()
	hidden, err := f.r.hiddenEdits(t.Context(), l.gitDir, w.Directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range hidden {
		if !report.has(path) {
			want.modified++
			want.changed++
		}
	}
	// As a list has it, which then remembers it.
	l = f.r.newLooker(c, workspace.StateQuery{Worktree: w, Base: "main"})
	l.changes(t.Context())
	if *l.state.Changed != want.changed || *l.state.Untracked != want.untracked || *l.state.Dirty != want.dirty() {
		t.Errorf("changed %d, untracked %d, git has %+v", *l.state.Changed, *l.state.Untracked, want)
	}
	return told, known, want
}

// TestUnchangedIsWhatGitFinds has worktrees in which something is done, and
// then something else, and looks each time at what is told without git.
func TestUnchangedIsWhatGitFinds(t *testing.T) {
	t.Parallel()
	if !localFiles(t.TempDir()) {
		t.Skip("the temporary directory is on a file system of another kind")
	}
	const ours, git = true, false
	tests := []struct {
		name, script string
		// ours tells whether it is known without git the second time.
		ours bool
	}{
		{"nothing done", `true`, ours},
		{"touched", `touch a`, ours},
		{"modified", `echo 2 >a`, ours},
		{"modified in the moment in which it was noted, to the same size", `git update-index --refresh -q
printf "one\n" >a; git add a; git commit -qm one; printf "two\n" >a; touch -r "$ROOT/repo/.git/worktrees/x/index" a`, ours},
		{"modified, the same size and time", `touch -r a "$ROOT/time"; printf "A\n" >a; touch -r "$ROOT/time" a`, ours},
		{"committed, and as it was before", `cp a "$ROOT/a"; echo 2 >a; git commit -qam 2; cp "$ROOT/a" a`, ours},
		{"staged", `echo 2 >a; git add a`, ours},
		{"untracked", `echo 2 >new`, ours},
		{"untracked, deep", `mkdir -p p/q; echo 2 >p/q/new`, ours},
		{"ignored", `echo 2 >x.log`, ours},
		{"an empty directory", `mkdir empty`, ours},
		{"deleted", `rm a`, ours},
		{"deleted from the index", `git rm -q --cached a`, ours},
		{"announced", `echo 1 >new; git add -N new`, ours},
		{"mode", `chmod +x a`, ours},
		{"mode that git doesn't know", `chmod 600 a`, ours},
		{"link turned", `ln -sfn b link`, ours},
		{"link for a file", `rm a; ln -s b a`, ours},
		{"file for a directory", `rm -r sub; echo 1 >sub`, ours},
		{"committed", `echo 2 >a; git commit -qam 2`, ours},
		{"HEAD moved alone", `git update-ref HEAD HEAD~1`, ours},
		{"conflicted", `echo 2 >a; git commit -qam 2; git checkout -q --detach HEAD~1; echo 3 >a; git commit -qam 3; ! git merge -q x >/dev/null`, ours},
		{"assumed unchanged", `git update-index --assume-unchanged a; echo 2 >a`, ours},
		{"skipped", `git update-index --skip-worktree a; echo 2 >a`, ours},
		{"a repository inside", `git init -q inner`, git},
		{"a fifo", `mkfifo fifo`, ours},
		{"split index", `git update-index --split-index; echo 2 >a; git add a`, git},
		{"line endings by attribute", `printf 'a eol=crlf\n' >.gitattributes; git add .; git commit -qm attributes; touch a`, ours},
		{"a filter", `git config filter.f.clean "tr a-z A-Z"; echo 'a filter=f' >.gitattributes; git add .; git commit -qm f`, git},
		{"autocrlf", `git config core.autocrlf true; printf 'x\r\n' >a; git add a; git commit -qm crlf`, ours},
		{"file mode off", `git config core.fileMode false; chmod +x a`, ours},
		{"ignored now", `echo 2 >new; echo new >>"$ROOT/repo/.git/info/exclude"`, ours},
		{"ignored by a file of the user's", `echo 2 >new; echo new >"$ROOT/ignore"; git config core.excludesFile "$ROOT/ignore"`, ours},
		{"replaced", `git replace --graft HEAD`, git},
		{"configuration for some", `git config includeIf.gitdir:/nowhere.path nothing`, git},
		{"configuration of its own", `git config extensions.worktreeConfig true; git config --worktree core.fileMode false`, git},
	}
	if testing.Short() {
		tests = tests[:12]
	}
	fixtures := make([]*fixture, len(tests))
	// All wait at once for what they did to be settled.
	step := func(do func(i int, f *fixture)) {
		inParallel(len(tests), func(i int) { do(i, fixtures[i]) })
		time.Sleep(raceMargin + 50*time.Millisecond)
	}
	step(func(i int, _ *fixture) {
		f := newRepo(t)
		fixtures[i] = f
		f.sh(`mkdir sub; echo 1 >a; echo 1 >b; : >hollow; echo 1 >sub/c; ln -s a link; echo '*.log' >.gitignore
git add .; git commit -qm files; git worktree add -q -b x "$ROOT/x"; git -C "$ROOT/x" status >/dev/null`)
	})
	look := func(i int, when string, ours bool) {
		told, known, want := glance(t, fixtures[i], "x")
		if known != ours {
			t.Errorf("%s: %s: known without git: %v", tests[i].name, when, known)
		}
		if known && told != want {
			t.Errorf("%s: %s: told %+v, git has %+v", tests[i].name, when, told, want)
		}
	}
	step(func(i int, f *fixture) {
		look(i, "before", true)
		f.sh(`cd "$ROOT/x"; ` + tests[i].script)
		if told, known, want := glance(t, f, "x"); known && told != want {
			t.Errorf("%s: at once: told %+v, git has %+v", tests[i].name, told, want)
		}
	})
	step(func(i int, f *fixture) {
		glance(t, f, "x")
		look(i, "at last", tests[i].ours)
		// And one change more, of what was untracked, modified or clean.
		f.sh(`cd "$ROOT/x"; echo more >>.gitignore`)
		look(i, "and more", false)
	})
}

// TestListsDontRememberWhatMayYetChange lists a worktree that was changed just
// now, and looks whether a change in the same moment would be missed.
func TestListsDontRememberWhatMayYetChange(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	wt := f.worktree("x")
	time.Sleep(raceMargin + 50*time.Millisecond)
	glance(t, f, "x")
	f.write(wt+"/f", "changed")
	glance(t, f, "x")
	if _, known, _ := glance(t, f, "x"); known {
		t.Error("it was remembered at once")
	}
	if err := os.Remove(wt + "/f"); err != nil {
		t.Fatal(err)
	}
	if _, known, _ := glance(t, f, "x"); known {
		t.Error("a change was missed")
	}
}

// TestListsDontRememberWhatWasThereForAMoment has something done in a worktree
// while git takes its status, and undone before anybody else looks.
func TestListsDontRememberWhatWasThereForAMoment(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(`mkdir sub; echo 1 >sub/c; git add .; git commit -qm files; git worktree add -q "$ROOT/x"; echo 2 >"$ROOT/x/f"`)
	f.write(f.path("momentary"), "#!/bin/sh\ncase \"$*\" in *status*) cd '"+f.path("x")+"'; echo 1 >new; mv sub away; cd - >/dev/null\n"+
		"git \"$@\"; e=$?; cd '"+f.path("x")+"'; rm new; mv away sub; exit $e;; esac\nexec git \"$@\"\n")
	f.sh(`chmod +x "$ROOT/momentary"`)
	time.Sleep(raceMargin + 50*time.Millisecond)
	plain := f.r
	var err error
	if f.r, err = New(Options{Home: f.path("home"), Env: f.env, Git: f.path("momentary")}); err != nil {
		t.Fatal(err)
	}
	c, err := f.r.newComparer(t.Context(), f.open(f.dir))
	if err != nil {
		t.Fatal(err)
	}
	c.lookOutside(t.Context())
	changes := func() counts {
		l := f.r.newLooker(c, workspace.StateQuery{Worktree: f.list()["x"], Base: "main"})
		l.changes(t.Context())
		return counts{changed: *l.state.Changed, untracked: *l.state.Untracked}
	}
	if got := changes(); got != (counts{changed: 2, untracked: 2}) {
		t.Fatalf("in that moment there was %+v", got)
	}
	f.r.git = plain.git
	if got := changes(); got != (counts{changed: 1}) {
		t.Errorf("%+v is told, which is there no more", got)
	}
}
