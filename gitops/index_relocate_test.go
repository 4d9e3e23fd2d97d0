package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRelocatedIndexIsGitsOwn moves worktrees whose index keeps track of
// untracked files: git has to find nothing to complain of, and to go on using
// what it has of them.
func TestRelocatedIndexIsGitsOwn(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2", "4"} {
		for _, hinted := range []bool{false, true} {
			t.Run(fmt.Sprintf("version %s, hint %t", version, hinted), func(t *testing.T) {
				t.Parallel()
				l := newLab(t)
				l.run(l.dir, "config", "index.version", version)
				l.write(filepath.Join(l.dir, "d", "g"), "x\n")
				l.run(l.dir, "add", ".")
				l.run(l.dir, "commit", "-q", "-m", "more")
				from := filepath.Join(l.root, "from")
				to := filepath.Join(l.root, strings.Repeat("a long place ", 12))
				l.run(l.dir, "worktree", "add", "-q", "-b", "x", from)
				l.run(from, "update-index", "--untracked-cache")
				l.write(filepath.Join(from, "new"), "x")
				before := l.run(from, "status", "--porcelain")
				admin := gitDirOf(from)
				hint := hintOf(admin)
				if hint == nil {
					t.Fatal("no hint")
				}
				var err error
				if hinted {
					err = hint.relocate(admin, from, to)
				} else {
					err = relocateIndex(admin, from, to)
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(from, to); err != nil {
					t.Fatal(err)
				}
				l.write(filepath.Join(admin, "gitdir"), filepath.Join(to, ".git")+"\n")
				// A warning would be part of it.
				if got := l.run(to, "status", "--porcelain"); got != before || before != "?? new" {
					t.Errorf("%q before, %q after", before, got)
				}
				l.run(to, "update-index", "--really-refresh")
				if out := l.run(to, "fsck"); strings.Contains(out, "error") {
					t.Error(out)
				}
				data, err := os.ReadFile(filepath.Join(admin, "index"))
				if err != nil || !strings.Contains(string(data), "Location "+to+", ") {
					t.Errorf("the index doesn't know its place: %v", err)
				}
				// Not where it is from elsewhere.
				if err := relocateIndex(admin, from, to); err == nil {
					t.Error("relocated from where it isn't")
				}
			})
		}
	}
}

func TestVarints(t *testing.T) {
	t.Parallel()
	for _, v := range []int{0, 1, 127, 128, 129, 255, 16511, 16512, 1 << 20} {
		if got, n := readVarint(append(writeVarint(v), 0xff)); got != v || n != len(writeVarint(v)) {
			t.Errorf("%d: %d, %d bytes", v, got, n)
		}
	}
	if _, n := readVarint([]byte{0x80, 0x80}); n != 0 {
		t.Error("one without an end was read")
	}
}
