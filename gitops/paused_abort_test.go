package gitops

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestAbortRefusesWhatIsInTheWay wants an abort that would overwrite files to
// name them and to change nothing, and to do its work once they are away.
func TestAbortRefusesWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	for name, dirt := range map[string]struct {
		make  func(*mergeLab)
		files []string
	}{
		"an untracked file": {func(l *mergeLab) { l.write(filepath.Join(l.x, "gone"), "mine\n") }, []string{"gone"}},
		"an ignored file":   {func(l *mergeLab) { l.write(filepath.Join(l.x, "gone.ign"), "mine\n") }, []string{"gone.ign"}},
		"a directory":       {func(l *mergeLab) { l.write(filepath.Join(l.x, "gone/in"), "mine\n") }, []string{"gone/in"}},
		"a file where a directory comes": {
			func(l *mergeLab) { l.write(filepath.Join(l.x, "below"), "mine\n") }, []string{"below"},
		},
		"one taken out of the index": {
			func(l *mergeLab) { l.gitIn(l.x, "rm", "-q", "--cached", "kept") }, []string{"kept"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			perStrategy(t, func(t *testing.T, s workspace.Strategy) {
				l := newMergeLab(t)
				for _, file := range []string{"gone", "gone.ign", "below/gone", "kept"} {
					l.write(filepath.Join(l.dir, file), "base\n")
					l.git("add", "-f", file)
				}
				l.git("commit", "-q", "-m", "files")
				l.gitIn(l.x, "merge", "-q", "main")
				l.git("rm", "-q", "gone", "gone.ign", "below/gone")
				l.git("commit", "-q", "-m", "main takes them away")
				l.clash()
				before := l.world(false)
				l.pause(s)
				if _, err := os.Lstat(filepath.Join(l.x, "gone")); err == nil {
					t.Fatal("gone should be gone while it is paused")
				}
				dirt.make(l)
				paused := l.world(true)
				for range 2 {
					e := wantCode(t, l.abort(), workspace.ErrDirtyWorktree)
					if !slices.Equal(e.Files, dirt.files) || !strings.Contains(e.Hint, "abort again") {
						t.Errorf("files %q, hint %q", e.Files, e.Hint)
					}
					l.same(paused)
				}
				// It can be continued as well.
				_, err := l.goOn()
				wantPaused(t, err, "f")
				for _, file := range dirt.files {
					if err := os.RemoveAll(filepath.Join(l.x, file)); err != nil {
						t.Fatal(err)
					}
				}
				_ = os.Remove(filepath.Join(l.x, "gone"))
				if err := l.abort(); err != nil {
					t.Fatal(detail(err))
				}
				l.same(before)
				l.tidy()
			})
		})
	}
}

// TestAbortThrowsNoEditAway edits a file that the merge had staged.
func TestAbortThrowsNoEditAway(t *testing.T) {
	t.Parallel()
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		l := newMergeLab(t)
		l.commit(l.dir, "elsewhere", "base\n", "elsewhere")
		l.gitIn(l.x, "merge", "-q", "main")
		l.commit(l.dir, "elsewhere", "main\n", "main changes it")
		l.clash()
		before := l.world(false)
		l.pause(s)
		l.write(filepath.Join(l.x, "elsewhere"), "edited\n")
		if err := l.abort(); err != nil {
			t.Fatal(detail(err))
		}
		l.same(before)
		var kept int
		for ref := range strings.FieldsSeq(l.git("for-each-ref", "--format=%(refname)", backupRefs)) {
			if out, err := l.tryGit(l.dir, "show", ref+":elsewhere"); err == nil && out == "edited\n" {
				kept++
			}
		}
		if kept != 1 {
			t.Errorf("the edit is kept %d times", kept)
		}
	})
}
