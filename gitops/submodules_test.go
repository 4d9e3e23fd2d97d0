package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

func TestSubmodulesFromLocalCopies(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.addSubmodule()
	sub, sm := filepath.Join(l.root, "sub"), filepath.Join(l.dir, "sm")
	// A commit that nobody else has, not even on a branch.
	l.run(sm, "checkout", "-q", "--detach")
	local := l.commit(sm, "s", "local\n")
	l.run(l.dir, "commit", "-q", "-am", "bump")
	if err := os.Rename(sub, sub+".gone"); err != nil {
		t.Fatal(err)
	}
	created := l.create(titled("one"))
	if len(created.Warnings) > 0 {
		t.Errorf("%q", created.Warnings)
	}
	dir := filepath.Join(created.Plan.Directory, "sm")
	if got := l.run(dir, "rev-parse", "HEAD"); got != local {
		t.Errorf("the submodule is at %s, want %s", got, local)
	}
	if got := l.run(created.Plan.Directory, "status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
	if got, want := l.run(dir, "config", "remote.origin.url"), l.run(sm, "config", "remote.origin.url"); got != want {
		t.Errorf("origin of the submodule is %s, want %s", got, want)
	}
	if got, want := l.run(dir, "for-each-ref", "refs/remotes"), l.run(sm, "for-each-ref", "refs/remotes"); got != want {
		t.Errorf("tracking refs of the submodule: %s, want %s", got, want)
	}
	// It doesn't depend on the copy that it was made from.
	if exists(filepath.Join(gitDirOf(dir), "objects", "info", "alternates")) {
		t.Error("the submodule borrows objects")
	}
}

func TestSubmodulesWithinSubmodules(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	inner, outer := filepath.Join(l.root, "inner"), filepath.Join(l.root, "outer")
	for _, dir := range []string{inner, outer} {
		l.run(l.root, "init", "-q", "-b", "main", dir)
		l.commit(dir, "x", dir)
	}
	allow := []string{"-c", "protocol.file.allow=always"}
	l.run(outer, append(allow, "submodule", "--quiet", "add", "--name", "in/ner=1", inner, "deep/in ner*")...)
	l.run(outer, "commit", "-q", "-m", "inner")
	l.run(l.dir, append(allow, "submodule", "--quiet", "add", "--name", "the outer", outer, "out er")...)
	l.run(l.dir, append(allow, "submodule", "--quiet", "update", "--init", "--recursive")...)
	l.run(l.dir, "commit", "-q", "-m", "outer")
	for _, dir := range []string{inner, outer} {
		if err := os.Rename(dir, dir+".gone"); err != nil {
			t.Fatal(err)
		}
	}
	created := l.create(titled("one"), offline)
	if len(created.Warnings) > 0 || !exists(filepath.Join(created.Plan.Directory, "out er", "deep", "in ner*", "x")) {
		t.Errorf("%+v", created)
	}
	if got := l.run(created.Plan.Directory, "submodule", "status", "--recursive"); strings.ContainsAny(got[:1], "-+U") {
		t.Errorf("%s", got)
	}
	// The next one has the worktree's copies to look in, too.
	if created := l.create(titled("two"), offline); len(created.Warnings) > 0 {
		t.Errorf("%q", created.Warnings)
	}
}

func TestBrokenSubmoduleIsAWarning(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.addSubmodule()
	bad := filepath.Join(l.root, "bad")
	l.run(l.root, "init", "-q", "-b", "main", bad)
	l.commit(bad, "x", "x\n")
	l.run(l.dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", bad, "bad")
	l.run(l.dir, "commit", "-q", "-m", "bad")
	l.run(l.dir, "submodule", "--quiet", "deinit", "-f", "bad")
	for _, dir := range []string{bad, filepath.Join(l.dir, ".git", "modules", "bad")} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	created := l.create(titled("one"))
	if len(created.Warnings) != 1 || !warned(created.Warnings, "the submodule bad could not be initialised") {
		t.Errorf("%q", created.Warnings)
	}
	if !exists(filepath.Join(created.Plan.Directory, "sm", "s")) {
		t.Error("the other submodule wasn't initialised")
	}
	if created := l.create(titled("two"), offline); !warned(created.Warnings, "bad", "not allowed") {
		t.Errorf("%q", created.Warnings)
	}
}

func TestSubmoduleFromItsRemote(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.addSubmodule()
	// The clone has no copy of it yet.
	clone := filepath.Join(l.root, "clone")
	l.run(l.root, "clone", "-q", l.dir, clone)
	l.dir = clone
	if created := l.create(titled("one")); !warned(created.Warnings, "sm", "could not be initialised") {
		t.Errorf("git refuses local addresses unless it is told not to: %q", created.Warnings)
	}
	l.write(filepath.Join(l.root, ".gitconfig"), "[protocol \"file\"]\n\tallow = always\n")
	created := l.create(titled("two"))
	if len(created.Warnings) > 0 || !exists(filepath.Join(created.Plan.Directory, "sm", "s")) {
		t.Errorf("%+v", created)
	}
	l.run(l.dir, "config", "submodule.sm.update", "none")
	created = l.create(titled("three"))
	if len(created.Warnings) > 0 || exists(filepath.Join(created.Plan.Directory, "sm", "s")) {
		t.Errorf("%+v", created)
	}
}

func TestProjectThatIsASubmodule(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.addSubmodule()
	l.dir = filepath.Join(l.dir, "sm")
	w := l.made(titled("one"))
	if !exists(filepath.Join(w.Directory, "s")) || w.ProjectID != filepath.Join(filepath.Dir(l.dir), ".git", "modules", "sm") {
		t.Errorf("%+v", w)
	}
	if _, err := l.provider().Remove(t.Context(), workspace.RemoveRequest{Project: l.project(), Workspace: w}); err != nil {
		t.Error(detail(err))
	}
}

func TestJoinSubmodules(t *testing.T) {
	t.Parallel()
	listed := "H 100644 aa 0\tf\x00H 160000 bb 0\tlib\x00S 160000 cc 0\tleft out\x00H 160000 dd 0\tno name\x00"
	config := "submodule.a.b.path\nlib/\x00submodule.a.b.update\nnone\x00submodule.gone.path\ngone\x00submodule.x.path\nleft out\x00submodule.broken\x00"
	want := []submodule{{name: "a.b", path: "lib", commit: "bb", update: "none"}}
	if got := joinSubmodules(parseGitlinks([]byte(listed)), []byte(config)); !cmp.Equal(got, want, cmp.AllowUnexported(submodule{})) {
		t.Error(cmp.Diff(want, got, cmp.AllowUnexported(submodule{})))
	}
}

func FuzzJoinSubmodules(f *testing.F) {
	f.Add([]byte("H 160000 bb 0\tlib\x00"), []byte("submodule.a.b.path\nlib/\x00submodule.a.b.update\nnone\x00"))
	f.Add([]byte("S 160000 cc 0\tx\x00H 160000"), []byte("submodule.path\nx\x00submodule..path\nx\x00submodule"))
	f.Fuzz(func(t *testing.T, index, config []byte) {
		links := parseGitlinks(index)
		for _, s := range joinSubmodules(links, config) {
			if commit, ok := links[s.path]; !ok || s.commit != commit {
				t.Errorf("%+v is not in the index", s)
			}
		}
	})
}
