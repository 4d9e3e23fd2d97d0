package gitops

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestPausedMergeIsOneCommit compares a merge that was paused, resolved and
// finished with the one that a person makes on the target: one merge commit of
// the same parents, with the message that was asked for.
func TestPausedMergeIsOneCommit(t *testing.T) {
	t.Parallel()
	asked := func(message string) func(*workspace.MergeRequest) {
		return func(r *workspace.MergeRequest) { r.Message = message }
	}
	for name, c := range map[string]struct {
		message, want string
		hook, byHand  bool
		again, moved  bool
	}{
		"of git's message":         {want: "Merge branch 'x'\n"},
		"of its own message":       {message: "Bring x home\n\n#1 is done\n", want: "Bring x home\n\n#1 is done\n"},
		"finished by hand":         {byHand: true, message: "Bring x home", want: "Bring x home\n"},
		"by git":                   {hook: true, message: "Bring x home", want: "Bring x home\n\nhooked\n"},
		"with the target moved on": {moved: true, want: "Merge branch 'x'\n"},
		"by git, moved on":         {hook: true, moved: true, want: "Merge branch 'x'\n\nhooked\n"},
		"resolved twice":           {again: true, want: "Merge branch 'x'\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newMergeLab(t)
			l.clash()
			if c.hook {
				l.hook("commit-msg", "grep -q hooked \"$1\" || printf '\\nhooked\\n' >>\"$1\"\n")
			}
			tip := l.gitIn(l.x, "rev-parse", "HEAD")
			_, err := l.try(by(workspace.StrategyMerge), resolving, asked(c.message))
			wantPaused(t, err, "f")
			l.resolve("f", "both\n")
			if c.moved {
				l.commit(l.dir, "meanwhile", "1\n", "meanwhile")
			}
			if c.byHand {
				l.byHand(workspace.StrategyMerge)
			}
			if c.again {
				l.byHand(workspace.StrategyMerge)
				l.commit(l.dir, "f", "main again\n", "main changes f again")
				_, err := l.try(by(workspace.StrategyMerge), resolving)
				wantPaused(t, err, "f")
				l.resolve("f", "all\n")
			}
			onto := l.git("rev-parse", "main")
			merged, err := l.goOn()
			if err != nil {
				t.Fatal(detail(err))
			}
			l.landed(merged)
			if got := l.git("show", "-s", "--format=%P", "main"); got != onto+" "+tip {
				t.Errorf("the parents are %s, not %s %s", got, onto, tip)
			}
			if got := l.git("rev-list", "--merges", "main"); strings.Contains(got, "\n") {
				t.Errorf("there are several merge commits:\n%s", l.git("log", "--graph", "--format=%h %s%n%b", "main"))
			}
			if got := l.git("cat-file", "commit", "main"); !strings.HasSuffix(got+"\n", "\n\n"+c.want) {
				t.Errorf("the commit is %q, want %q", got, c.want)
			}
			// x's own two commits, and the merge.
			if merged.Commits != 3 {
				t.Errorf("%d commits", merged.Commits)
			}
			if got := l.read(filepath.Join(l.dir, "f")); got != map[bool]string{true: "all\n", false: "both\n"}[c.again] {
				t.Errorf("f is %q", got)
			}
			if c.moved && l.read(filepath.Join(l.dir, "meanwhile")) != "1\n" {
				t.Error("what was done meanwhile is gone")
			}
		})
	}
}

// TestPausedMergeWithMoreWork keeps the ids of commits that were made on top of
// the resolution, and with them the commit that resolves.
func TestPausedMergeWithMoreWork(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	l.clash()
	l.pause(workspace.StrategyMerge)
	l.resolve("f", "both\n")
	l.gitIn(l.x, "commit", "-q", "--no-edit", "--cleanup=strip")
	after := l.commit(l.x, "after", "1\n", "after")
	merged, err := l.goOn()
	if err != nil {
		t.Fatal(detail(err))
	}
	l.landed(merged)
	if got := l.git("rev-parse", "main^2"); got != after && got != l.git("rev-parse", after) {
		t.Errorf("the second parent is %s, not %s", got, after)
	}
	if got := l.git("log", "--format=%B", "main"); strings.Contains(got, "#") {
		t.Errorf("messages: %s", got)
	}
}
