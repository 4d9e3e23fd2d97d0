package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// bin is a lab with a workspace that is thrown away and brought back.
type bin struct {
	*lab
	p *Provider
	w workspace.Workspace
}

// newBin makes a repository with a few files, and a workspace of it.
func newBin(t testing.TB, prepare ...func(l *lab)) *bin {
	t.Helper()
	l := newLab(t)
	for _, file := range []string{"modified", "staged", "both", "deleted", "unstaged", "mode", "d/in", "d/deep/er", "becomes-dir", "assumed", "skipped", "gone"} {
		l.write(filepath.Join(l.dir, file), "content of "+file+"\n")
	}
	l.write(filepath.Join(l.dir, ".gitignore"), ".env\nnode_modules/\n*.log\n")
	if err := errors.Join(os.Symlink("f", filepath.Join(l.dir, "link")), os.Symlink("d", filepath.Join(l.dir, "dirlink"))); err != nil {
		t.Fatal(err)
	}
	for _, f := range prepare {
		f(l)
	}
	l.run(l.dir, "add", "-A")
	l.run(l.dir, "commit", "-q", "-m", "files")
	b := &bin{lab: l, p: l.provider()}
	b.w = l.made(titled("one"))
	return b
}

func (b *bin) id() string { return b.w.Attempt.ID }

func (b *bin) at(path string) string { return filepath.Join(b.w.Directory, path) }

func (b *bin) try(force bool) (workspace.Removed, error) {
	b.t.Helper()
	return b.p.Remove(context.Background(), workspace.RemoveRequest{
		Project: b.project(), Workspace: b.w, TrashID: b.id(), Force: force, Progress: func(workspace.Event) {},
	})
}

// delete throws the workspace away, which must succeed, and returns what is in
// the trash then.
func (b *bin) delete(force bool) workspace.Trashed {
	b.t.Helper()
	removed, err := b.try(force)
	if err != nil {
		b.t.Fatalf("remove: %v", detail(err))
	}
	return b.trashed(removed)
}

func (b *bin) trashed(removed workspace.Removed) workspace.Trashed {
	b.t.Helper()
	if removed.Kept == nil {
		b.t.Fatalf("nothing is kept: %+v", removed)
	}
	return workspace.Trashed{ID: b.id(), Workspace: b.w, Kept: *removed.Kept, Size: -1}
}

func (b *bin) discard(t workspace.Trashed, all bool) {
	b.t.Helper()
	if err := b.p.Discard(context.Background(), b.project(), t, all); err != nil {
		b.t.Fatalf("discard: %v", detail(err))
	}
}

func (b *bin) tryRestore(t workspace.Trashed) (workspace.Restored, error) {
	b.t.Helper()
	return b.p.Restore(context.Background(), workspace.RestoreRequest{
		Project: b.project(), Trashed: t, Attempt: "attempt-back", Progress: func(workspace.Event) {},
		Free: func(string, string) bool { return true },
	})
}

// restore brings it back, which must succeed, and lets go of the rest.
func (b *bin) restore(t workspace.Trashed) workspace.Restored {
	b.t.Helper()
	restored, err := b.tryRestore(t)
	if err != nil {
		b.t.Fatalf("restore: %v", detail(err))
	}
	back := b.w
	back.Directory, back.Branch, back.Attempt.ID = restored.Directory, restored.Branch, "attempt-back"
	if head, _ := b.lab.try(restored.Directory, "symbolic-ref", "-q", "--short", "HEAD"); head == back.Branch {
		if err := b.p.Complete(context.Background(), b.project(), back); err != nil {
			b.t.Errorf("it is back, but not complete: %v", err)
		}
	}
	b.discard(t, true)
	b.nothingKept()
	if out, err := b.lab.try(b.dir, "fsck", "--no-dangling"); err != nil || strings.Contains(out, "missing") {
		b.t.Errorf("fsck: %v\n%s", err, out)
	}
	return restored
}

// nothingKept wants no trace of a trash.
func (b *bin) nothingKept() {
	b.t.Helper()
	if refs := b.run(b.dir, "for-each-ref", "refs/threadtree"); refs != "" {
		b.t.Errorf("refs: %s", refs)
	}
	for _, pattern := range []string{
		filepath.Join(b.dir, ".git", "threadtree", "trash", "*"), filepath.Join(b.dir, ".git", "threadtree", "trash-*"),
		filepath.Join(b.dir, ".git", "threadtree", "dead", "*"), filepath.Join(filepath.Dir(b.w.Directory), ".*"),
	} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			b.t.Errorf("left: %q", left)
		}
	}
}

// shape is all that a person sees of a working copy.
type shape struct {
	status, index, flags, undo string
	head                       string
	files                      map[string]string
}

// shapeOf looks at a working copy; with ignored, at all files in it.
func (l *lab) shapeOf(dir string, ignored bool) shape {
	l.t.Helper()
	s := shape{
		status: l.run(dir, "status", "--porcelain=v2", "--branch", "-uall"),
		index:  l.run(dir, "ls-files", "-s", "-z"),
		flags:  l.run(dir, "ls-files", "-v", "-f", "-z"),
		undo:   l.run(dir, "ls-files", "--resolve-undo", "-z"),
		files:  make(map[string]string),
	}
	s.head, _ = l.try(dir, "symbolic-ref", "-q", "HEAD")
	skip := make(map[string]bool)
	if !ignored {
		for path := range strings.SplitSeq(l.run(dir, "ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z"), "\x00") {
			skip[strings.TrimSuffix(path, "/")] = true
		}
		for path := range strings.SplitSeq(l.run(dir, "ls-files", "-o", "--exclude-standard", "--directory", "-z"), "\x00") {
			if rest, ok := strings.CutSuffix(path, "/"); ok && exists(filepath.Join(dir, rest, ".git")) {
				skip[rest] = true // an embedded repository
			}
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case rel == ".git", rel == ".":
			return nil
		case skip[rel] && d.IsDir():
			return fs.SkipDir
		case skip[rel] || d.IsDir():
			return nil
		}
		s.files[rel], err = fileLine(path, d)
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

func fileLine(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	content := []byte(nil)
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		return fmt.Sprintf("%v -> %q", info.Mode(), target), err
	}
	if info.Mode().IsRegular() {
		content, err = os.ReadFile(path)
	}
	return fmt.Sprintf("%v %q", info.Mode(), content), err
}

// sameShape compares what was with what is.
func sameShape(t testing.TB, before, after shape) {
	t.Helper()
	for name, pair := range map[string][2]string{
		"status": {before.status, after.status}, "index": {before.index, after.index}, "flags": {before.flags, after.flags},
		"resolved conflicts": {before.undo, after.undo}, "HEAD": {before.head, after.head},
	} {
		if pair[0] != pair[1] {
			t.Errorf("the %s changed from\n%q\nto\n%q", name, pair[0], pair[1])
		}
	}
	for path, line := range before.files {
		if after.files[path] != line {
			t.Errorf("%q was\n%.300s\nand is\n%.300s", path, line, after.files[path])
		}
	}
	for path := range after.files {
		if _, ok := before.files[path]; !ok {
			t.Errorf("%q appeared", path)
		}
	}
}

// mess leaves every kind of work in the workspace.
func (b *bin) mess() {
	b.t.Helper()
	w := func(path, content string) { b.write(b.at(path), content) }
	git := func(args ...string) { b.run(b.w.Directory, args...) }
	w("committed", "committed\n")
	git("add", "committed")
	git("commit", "-q", "-m", "work")
	w("modified", "modified\r\nwith CRLF\r\n\x00binary")
	w("staged", "staged\n")
	w("both", "first\n")
	git("add", "staged", "both")
	w("both", "second\n")
	git("rm", "-q", "deleted")
	git("mv", "gone", "moved")
	w("announced", "announced\n")
	w("announced-gone", "x")
	git("add", "-N", "announced", "announced-gone")
	git("update-index", "--assume-unchanged", "assumed")
	w("assumed", "edited in secret\n")
	git("update-index", "--skip-worktree", "skipped")
	w("skipped", "edited in secret, too\n")
	w("new/deep/file", "new\n")
	w("new/empty", "")
	w(".env", "SECRET=1\n")
	w("debug.log", "ignored\n")
	w("node_modules/x/y.js", "ignored\n")
	w("-dash", "dash\n")
	w("ünï côdé", "unicode\n")
	w("new line\nand \"quote\" \\ back", "odd\n")
	w("ends in cr\r", "odd\n")
	w("tab\t", "odd\n")
	w("not UTF-8 \xff", "odd\n")
	w("private", "0600\n")
	w("tool", "#!/bin/sh\n")
	w("becomes-dir.tmp", "")
	err := errors.Join(
		os.Remove(b.at("unstaged")), os.Remove(b.at("announced-gone")), os.Remove(b.at("becomes-dir.tmp")),
		os.Chmod(b.at("mode"), 0o755), os.Chmod(b.at("private"), 0o600), os.Chmod(b.at("tool"), 0o755),
		os.Remove(b.at("link")), os.Symlink("nowhere", b.at("link")), os.Symlink("../../outside", b.at("untracked-link")),
		os.Remove(b.at("becomes-dir")), os.Mkdir(b.at("becomes-dir"), 0o755),
		os.RemoveAll(b.at("d")), os.Symlink(b.at("new"), b.at("d")),
		os.Remove(b.at("dirlink")), os.Mkdir(b.at("dirlink"), 0o755),
	)
	if err != nil {
		b.t.Fatal(err)
	}
	w("becomes-dir/in", "in\n")
	w("dirlink/in", "in\n")
}

// embed makes two repositories in the workspace, one without a commit.
func (b *bin) embed() {
	b.t.Helper()
	for _, name := range []string{"embedded", "bare-of-commits"} {
		b.run(b.root, "init", "-q", b.at(name))
		b.write(b.at(name+"/file"), "in "+name+"\n")
	}
	b.commit(b.at("embedded"), "file", "committed\n")
	b.write(b.at("embedded/file"), "edited\n")
}

// ways are the two ways in which it comes back.
func ways(t *testing.T, test func(t *testing.T, anew bool)) {
	t.Helper()
	for name, anew := range map[string]bool{"by rename": false, "from the snapshot": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, anew)
		})
	}
}

// roundTrip deletes and restores, and wants everything as it was.
func (b *bin) roundTrip(anew bool) (workspace.Trashed, workspace.Restored) {
	b.t.Helper()
	before := b.shapeOf(b.w.Directory, !anew)
	trashed := b.delete(true)
	if exists(b.w.Directory) {
		b.t.Fatalf("%s is there", b.w.Directory)
	}
	if anew {
		b.discard(trashed, false)
		if exists(trashed.Kept.Directory) {
			b.t.Fatalf("%s is there", trashed.Kept.Directory)
		}
	}
	restored := b.restore(trashed)
	sameShape(b.t, before, b.shapeOf(restored.Directory, !anew))
	return trashed, restored
}

func hasLine(lines []string, words ...string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return warned([]string{line}, words...) })
}
