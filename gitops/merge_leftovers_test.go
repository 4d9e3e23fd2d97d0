package gitops

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// long is a file that takes a while to write.
var long = strings.Repeat("a line of the file\n", 20_000)

// halted is a merge that was killed when git was about to begin in the
// workspace.
func halted(t *testing.T, s workspace.Strategy) *mergeLab {
	t.Helper()
	l := newMergeLab(t)
	l.commit(l.dir, ".gitattributes", "*.crlf text eol=crlf\n", "attributes")
	l.commit(l.dir, "renamed", strings.Repeat("a\n", 20), "renamed")
	l.gitIn(l.x, "merge", "-q", "main")
	hooked(ahead)(l)
	l.commit(l.x, "renamed", "x\n"+strings.Repeat("a\n", 20), "x changes the first line")
	l.mkdir(filepath.Join(l.dir, "dir2"))
	l.git("mv", "renamed", "dir2/renamed")
	l.commit(l.dir, "sub/long", long, "long")
	l.commit(l.dir, "lines.crlf", "1\n2\n", "lines")
	l.write(filepath.Join(l.dir, "k.ign"), "tracked all the same\n")
	l.git("add", "-f", "k.ign")
	if err := os.Symlink("sub/long", filepath.Join(l.dir, "link")); err != nil {
		t.Fatal(err)
	}
	l.git("add", "link")
	l.git("commit", "-qm", "more")
	l.kill(mergeErrand{Op: "merge", Strategy: s, Step: 1})
	return l
}

// TestMergeRemovesLeftovers has files lie in the workspace that a killed git
// was writing. They are known by what they are.
func TestMergeRemovesLeftovers(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"whole":                  {"other": "main\n"},
		"half written":           {"sub/long": long[:100_000]},
		"hardly begun":           {"sub/long": "", "other": ""},
		"ignored":                {"k.ign": "tracked all"},
		"with other line ends":   {"lines.crlf": "1\r\n2"},
		"merged, and in no tree": {"dir2/renamed": "x\n" + strings.Repeat("a\n", 19)},
	} {
		for _, s := range []workspace.Strategy{workspace.StrategyRebase, workspace.StrategySquash} {
			t.Run(name+", "+string(s), func(t *testing.T) {
				t.Parallel()
				l := halted(t, s)
				for file, content := range files {
					l.write(filepath.Join(l.x, file), content)
				}
				if err := os.Symlink("sub/long", filepath.Join(l.x, "link")); err != nil {
					t.Fatal(err)
				}
				l.write(filepath.Join(l.x, "mine.ign"), "mine\n")
				before := l.git("for-each-ref", backupRefs)
				if _, err := l.g.Recover(t.Context(), l.open(l.dir)); err != nil {
					t.Fatal(detail(err))
				}
				if got := l.gitIn(l.x, "status", "--porcelain", "--branch"); got != "## x" {
					t.Errorf("the workspace's status: %s", got)
				}
				if got := l.git("for-each-ref", backupRefs); got != before {
					t.Errorf("git's own files were kept as if they were somebody's: %s", got)
				}
				l.merge(by(s))
				if got := l.read(filepath.Join(l.x, "mine.ign")); got != "mine\n" {
					t.Errorf("mine.ign: %q", got)
				}
				if got := l.read(filepath.Join(l.dir, "dir2/renamed")); got != "x\n"+strings.Repeat("a\n", 20) {
					t.Errorf("dir2/renamed: %q", got)
				}
			})
		}
	}
}

// TestMergeLeavesOthersFiles leaves what git can't have written, and names it.
func TestMergeLeavesOthersFiles(t *testing.T) {
	t.Parallel()
	old := time.Now().Add(-time.Hour)
	for name, test := range map[string]struct {
		file, content string
		when          time.Time
		// as is a path that leads elsewhere, to the file.
		as string
	}{
		"elsewhere":          {file: "mine", content: "main\n"},
		"another content":    {file: "other", content: "mine\n"},
		"more than git's":    {file: "other", content: "main\nand mine\n"},
		"older":              {file: "other", content: "main\n", when: old},
		"behind a link":      {file: "mine/long", content: long, as: "sub"},
		"untransformed":      {file: "lines.crlf", content: "1\n2\n"},
		"of another version": {file: "dir2/renamed", content: "y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := halted(t, workspace.StrategySquash)
			path := filepath.Join(l.x, test.file)
			l.write(path, test.content)
			want := []string{test.file}
			if test.as != "" {
				if err := os.Symlink(filepath.Dir(test.file), filepath.Join(l.x, test.as)); err != nil {
					t.Fatal(err)
				}
				want = append(want, test.as)
			}
			if !test.when.IsZero() {
				if err := os.Chtimes(path, test.when, test.when); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				_, err := l.try(by(workspace.StrategySquash))
				e := wantCode(t, err, workspace.ErrDirtyWorktree)
				if !slices.Equal(e.Files, want) {
					t.Errorf("%q", e.Files)
				}
				if got := l.read(path); got != test.content {
					t.Errorf("%s was changed", path)
				}
			}
		})
	}
}

// TestMergeRebaseHardlyBegun meets a rebase that was killed while it wrote down
// what it was about.
func TestMergeRebaseHardlyBegun(t *testing.T) {
	t.Parallel()
	for _, empty := range []string{"head-name", "onto", "orig-head"} {
		l := newMergeLab(t)
		hooked(ahead)(l)
		l.kill(mergeErrand{Op: "merge", Strategy: workspace.StrategyRebase, Step: 1})
		state := filepath.Join(l.dir, ".git", "worktrees", "x", "rebase-merge")
		l.write(filepath.Join(state, "interactive"), "")
		for _, file := range [][2]string{{"head-name", "refs/heads/x\n"}, {"onto", l.git("rev-parse", "main") + "\n"}, {"orig-head", l.tipOf() + "\n"}} {
			if file[0] == empty {
				l.write(filepath.Join(state, file[0]), "")
				break
			}
			l.write(filepath.Join(state, file[0]), file[1])
		}
		l.merge()
	}
}
