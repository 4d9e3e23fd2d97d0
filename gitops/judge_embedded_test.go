package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// ignoring has git ignore what the tests put in the way.
func ignoring(l *lab) {
	l.write(filepath.Join(l.dir, ".gitignore"), "*.ign\nnode_modules/\nvendor/\n")
}

// TestIgnoredRepositoriesAreJudged: their commits and changes are nowhere else,
// and no status tells of them.
func TestIgnoredRepositoriesAreJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   string
		work func(b *bin, dir string)
		code workspace.Code
		want string
	}{
		"a commit":               {"er.ign", func(b *bin, dir string) { b.commit(dir, "f", "x\n") }, workspace.ErrUnmerged, "1 commit of the repository er.ign within it, up to "},
		"a commit deep below":    {"a.ign/b/c/d", func(b *bin, dir string) { b.commit(dir, "f", "x\n") }, workspace.ErrUnmerged, "1 commit of the repository a.ign/b/c/d within it"},
		"in a tracked directory": {"d/er.ign", func(b *bin, dir string) { b.commit(dir, "f", "x\n") }, workspace.ErrUnmerged, "repository d/er.ign"},
		"a dependency of one's own": {"node_modules/@own/lib", func(b *bin, dir string) {
			b.commit(dir, "f", "x\n")
		}, workspace.ErrUnmerged, "repository node_modules/@own/lib"},
		"on a detached HEAD": {"er.ign", func(b *bin, dir string) {
			b.commit(dir, "f", "x\n")
			b.run(dir, "checkout", "-q", "--detach")
			b.commit(dir, "f", "y\n")
		}, workspace.ErrUnmerged, "2 commits of the repository er.ign"},
		"no commit yet": {"er.ign", func(b *bin, dir string) { b.write(filepath.Join(dir, "f"), "x\n") }, workspace.ErrDirtyWorktree, "uncommitted work in the repository er.ign within it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBin(t, ignoring)
			dir := b.at(c.at)
			b.run(b.root, "init", "-q", dir)
			c.work(b, dir)
			if status := b.run(b.w.Directory, "status", "--porcelain"); status != "" {
				t.Fatalf("it isn't ignored: %s", status)
			}
			_, err := b.try(false)
			if e := wantCode(t, err, c.code); !warned([]string{e.Message}, c.want, nothingRemoved) {
				t.Errorf("%q doesn't say %q", e.Message, c.want)
			}
			before := b.shapeOf(b.w.Directory, true)
			trashed := b.delete(true)
			if !hasLine(trashed.Kept.Missing, c.want) {
				t.Errorf("missing: %q", trashed.Kept.Missing)
			}
			sameShape(t, before, b.shapeOf(b.restore(trashed).Directory, true))
		})
	}
}

// TestIgnoredClonesMayGo: what was cloned and not worked on is elsewhere.
func TestIgnoredClonesMayGo(t *testing.T) {
	t.Parallel()
	b := newBin(t, ignoring)
	up := filepath.Join(b.root, "upstream")
	b.run(b.root, "init", "-q", up)
	b.commit(up, "f", "1\n")
	b.run(up, "tag", "v1")
	first := b.run(up, "rev-parse", "HEAD")
	b.commit(up, "f", "2\n")
	b.run(up, "config", "uploadpack.allowAnySHA1InWant", "true")
	b.run(b.root, "clone", "-q", up, b.at("node_modules/lib"))
	b.run(b.root, "clone", "-q", "--depth", "1", "--branch", "v1", "file://"+up, b.at("vendor/example.com/lib"))
	b.write(b.at("vendor/example.com/lib/built.o"), "left by a build\n")
	// One that was fetched by its commit alone, under no ref.
	b.run(b.root, "init", "-q", b.at("vendor/fetched"))
	b.run(b.at("vendor/fetched"), "remote", "add", "origin", up)
	b.run(b.at("vendor/fetched"), "fetch", "-q", "origin", first)
	b.run(b.at("vendor/fetched"), "checkout", "-q", "--detach", "FETCH_HEAD")
	b.run(b.root, "clone", "-q", up, b.at("clone.ign"))
	b.run(up, "worktree", "add", "-q", "-b", "side", b.at("linked.ign"))
	b.commit(b.at("linked.ign"), "f", "kept by the branch\n")
	// Neither a repository, nor a way out of the workspace.
	b.write(b.at("node_modules/odd/.git"), "")
	b.run(b.root, "init", "-q", filepath.Join(b.root, "away"))
	b.commit(filepath.Join(b.root, "away"), "f", "x\n")
	if err := os.Symlink(filepath.Join(b.root, "away"), b.at("node_modules/away")); err != nil {
		t.Fatal(err)
	}
	if trashed := b.delete(false); len(trashed.Kept.Missing) > 0 {
		t.Errorf("missing: %q", trashed.Kept.Missing)
	}
}

// TestIgnoredCopiesMayGo: the main checkout has the repository as well.
func TestIgnoredCopiesMayGo(t *testing.T) {
	t.Parallel()
	b := newBin(t, ignoring)
	b.run(b.root, "init", "-q", filepath.Join(b.dir, "er.ign"))
	b.commit(filepath.Join(b.dir, "er.ign"), "f", "x\n")
	if err := os.CopyFS(b.at("er.ign"), os.DirFS(filepath.Join(b.dir, "er.ign"))); err != nil {
		t.Fatal(err)
	}
	b.run(b.at("er.ign"), "status") // the copied index knows other files
	if trashed := b.delete(false); len(trashed.Kept.Missing) > 0 {
		t.Errorf("missing: %q", trashed.Kept.Missing)
	}
}

// TestSearchForRepositoriesIsBounded and says where it ended.
func TestSearchForRepositoriesIsBounded(t *testing.T) {
	t.Parallel()
	b := newBin(t, ignoring)
	deep := "deep.ign"
	for n := range embeddedDepth + 1 {
		deep += fmt.Sprintf("/%d", n)
	}
	b.write(b.at(deep+"/f"), "")
	b.write(b.at("node_modules/a/b/c/d/e/f"), "")
	found, unsearched := findEmbedded(t.Context(), b.w.Directory, []string{"deep.ign/", "node_modules/", "f.ign"})
	if len(found) > 0 || !slices.Equal(unsearched, []string{"deep.ign"}) {
		t.Errorf("found %v, left out %q", found, unsearched)
	}
	if trashed := b.delete(false); !hasLine(trashed.Kept.Missing, "deep.ign", "too much to search") {
		t.Errorf("missing: %q", trashed.Kept.Missing)
	}
}
