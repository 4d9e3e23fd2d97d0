package gitops

import (
	"os"
	"testing"
)

// The tree that an index is said to have is the one that git would write of
// it, and none is known once something is staged.
func TestIndexTree(t *testing.T) {
	t.Parallel()
	const clean = "git reset -q --hard; git status >/dev/null"
	for name, c := range map[string]struct {
		script string
		known  bool
	}{
		"as committed":       {clean, true},
		"version 4":          {"git update-index --index-version 4; " + clean, true},
		"untracked cache":    {"git update-index --untracked-cache; " + clean, true},
		"changed on disk":    {clean + "; echo more >>a/f; echo new >new", true},
		"another commit":     {"echo more >>a/f; git commit -qam more; " + clean, true},
		"written":            {"echo more >>a/f; git add .; git write-tree", true},
		"nothing in it":      {"git rm -qr .; git commit -qm none; git reset -q --hard", true},
		"staged":             {clean + "; echo more >>a/f; git add .", false},
		"added":              {clean + "; echo more >b/new; git add .", false},
		"removed":            {clean + "; git rm -q b/f", false},
		"about to be added":  {clean + "; echo new >new; git add -N new", false},
		"split":              {"git update-index --split-index; " + clean, false},
		"sparse":             {"git sparse-checkout set --cone --sparse-index a", false},
		"in conflict":        {"git checkout -qb x; echo x >a/f; git commit -qam x; git checkout -q main; echo y >a/f; git commit -qam y; ! git merge -q x", false},
		"left out of a cone": {"git sparse-checkout set --cone a; " + clean, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			f.sh("mkdir a b; echo a >a/f; echo b >b/f; git add .; git commit -qm dirs")
			f.sh(c.script)
			data, err := os.ReadFile(f.path("repo", ".git", "index"))
			if err != nil {
				t.Fatal(err)
			}
			tree, ok := indexTree(data)
			if ok != c.known {
				t.Fatalf("known: %v, want %v", ok, c.known)
			}
			if ok && tree != f.git("write-tree") {
				t.Errorf("%s, but git writes %s", tree, f.git("write-tree"))
			}
			if !ok {
				return
			}
			for n := range data {
				if got, ok := indexTree(data[:n]); ok && got != tree {
					t.Errorf("of the first %d bytes: %s", n, got)
				}
			}
		})
	}
}

// Two trees are read where something is staged: only with both does git see
// that.
func TestTreesToRead(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	old := f.commit(f.dir, "g", "g\n", "second")
	m := &move{r: f.r, at: checkout{gitDir: f.path("repo", ".git"), top: f.dir}, files: moveFiles(f.path("repo", ".git"))}
	m.in = advanceInput{old: old, new: f.git("commit-tree", "-p", old, "-m", "third", "HEAD^{tree}")}
	read := func(oldTree string) int {
		t.Helper()
		m.in.oldTree = oldTree
		if _, err := m.files.copyIndex(); err != nil {
			t.Fatal(err)
		}
		return len(m.treesToRead(t.Context()))
	}
	tree := f.git("rev-parse", "HEAD^{tree}")
	if read("") != 1 || read(tree) != 1 {
		t.Error("both trees are read where nothing is staged")
	}
	f.sh("echo more >>f")
	if read("") != 1 {
		t.Error("both trees are read for a change that isn't staged")
	}
	f.sh("git add f")
	if read("") != 2 || read(tree) != 2 {
		t.Error("one tree is read where something is staged")
	}
	f.sh("git write-tree") // notes the tree of what is staged
	if read("") != 2 || read(tree) != 2 {
		t.Error("one tree is read where something is staged and its tree is noted")
	}
}
