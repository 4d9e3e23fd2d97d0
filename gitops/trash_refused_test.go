package gitops

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// refuses removes, which must be refused with force, too, and leave everything
// byte for byte as it was.
func (b *bin) refuses(w workspace.Workspace, code workspace.Code, words ...string) {
	b.t.Helper()
	own := b.w
	defer func() { b.w = own }()
	b.w = w
	for _, force := range []bool{false, true} {
		before := withoutObjects(b.snapshot())
		_, err := b.try(force)
		if e := wantCode(b.t, err, code); !warned([]string{e.Message}, words...) {
			b.t.Errorf("%q doesn't say %q", e.Message, words)
		}
		if after := withoutObjects(b.snapshot()); !slices.Equal(before, after) {
			b.t.Errorf("the refused removal changed the disk:\n%s", difference(before, after))
		}
	}
}

// TestForceNeverTakes what nobody may remove.
func TestForceNeverTakes(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	at := func(directory string) workspace.Workspace {
		w := b.w
		w.Directory = directory
		return w
	}
	for _, directory := range []string{b.dir, b.root, "/", filepath.Join(b.dir, ".git")} {
		b.refuses(at(directory), workspace.ErrLocked, "repository itself")
	}
	plain := filepath.Join(b.root, "plain")
	b.write(filepath.Join(plain, "x"), "")
	b.refuses(at(plain), workspace.ErrLocked, "no worktree")
	other := newBin(t)
	b.refuses(at(other.w.Directory), workspace.ErrLocked, "no worktree")

	link := filepath.Join(b.root, "away")
	if err := errors.Join(os.Rename(b.w.Directory, link), os.Symlink(link, b.w.Directory)); err != nil {
		t.Fatal(err)
	}
	b.refuses(b.w, workspace.ErrLocked, "no directory itself")
	if err := errors.Join(os.Remove(b.w.Directory), os.Rename(link, b.w.Directory)); err != nil {
		t.Fatal(err)
	}

	nested := filepath.Join(b.w.Directory, "nested")
	b.run(b.dir, "worktree", "add", "-q", "--detach", nested)
	b.refuses(b.w, workspace.ErrLocked, nested)
	b.run(b.dir, "worktree", "remove", nested)

	b.run(b.dir, "checkout", "-q", "--detach")
	b.run(b.dir, "update-ref", "refs/remotes/origin/main", "main")
	b.run(b.dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
	b.run(b.w.Directory, "switch", "-q", "main")
	b.refuses(b.w, workspace.ErrLocked, "main", "default")
}

func TestTrashRefusesAnOddID(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	for _, id := range []string{"../x", "a/b", ".hidden", "a..b", "a b", "x.lock"} {
		req := workspace.RemoveRequest{Project: b.project(), Workspace: b.w, TrashID: id, Progress: func(workspace.Event) {}}
		_, err := b.p.Remove(t.Context(), req)
		wantCode(t, err, workspace.ErrInternal)
		_, _, err = b.p.Resume(t.Context(), req)
		wantCode(t, err, workspace.ErrInternal)
	}
	_, err := b.p.Remove(t.Context(), workspace.RemoveRequest{Project: b.project(), Workspace: b.w, Force: true})
	wantCode(t, err, workspace.ErrInternal)
}

// asNobody does an errand as a user without rights, who owns all that the lab
// has, but for what deny takes away.
func (b *bin) asNobody(e trashErrand, deny func()) trashResult {
	b.t.Helper()
	if os.Geteuid() != 0 {
		b.t.Skip("only root can become somebody else")
	}
	const nobody = 65534
	b.write(filepath.Join(b.root, ".gitconfig"), "[safe]\n\tdirectory = *\n")
	err := filepath.WalkDir(b.root, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	})
	for dir := b.root; dir != "/" && err == nil; dir = filepath.Dir(dir) {
		var info os.FileInfo
		if info, err = os.Stat(dir); err == nil {
			err = os.Chmod(dir, info.Mode()|0o005)
		}
	}
	binary, readErr := os.ReadFile(os.Args[0])
	program := filepath.Join(b.root, "program")
	// No process may be started while the file is open for writing: that one
	// would hold it open, and it could not be run.
	syscall.ForkLock.RLock()
	err = errors.Join(err, readErr, os.WriteFile(program, binary, 0o755))
	syscall.ForkLock.RUnlock()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := b.errand(e)
	deny()
	cmd.Path = program
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("%v\n%s", err, out)
	}
	var result trashResult
	if err := json.Unmarshal(out, &result); err != nil {
		b.t.Fatalf("%v\n%s", err, out)
	}
	return result
}

func TestTrashOfWhatCantBeRenamed(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.write(b.at(".env"), "SECRET=1\n")
	parent := filepath.Dir(b.w.Directory)
	deny := func() {
		if err := os.Chmod(parent, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(parent, 0o755) })
	}
	result := b.asNobody(trashErrand{Remove: &b.w, NoForce: true}, deny)
	if result.Code != workspace.ErrPermissionDenied || !strings.Contains(result.Message, ".env") {
		t.Errorf("%+v", result)
	}
	b.nothingKept()
	if got := b.run(b.w.Directory, "status", "--porcelain", "-b"); got != "## "+b.w.Branch {
		t.Errorf("status: %s", got)
	}
	result = b.asNobody(trashErrand{Remove: &b.w}, deny)
	if result.Code != "" || result.Removed.Kept == nil || result.Removed.Kept.Directory != "" || !hasLine(result.Removed.Left, ".env") {
		t.Errorf("%+v", result)
	}
	if left, _ := os.ReadDir(b.w.Directory); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestTrashOfUnreadableFiles(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.write(b.at("f"), "secret edit\n")
	b.write(b.at("new"), "secret\n")
	b.write(b.at("fine"), "fine\n")
	result := b.asNobody(trashErrand{Remove: &b.w}, func() {
		for _, file := range []string{"f", "new"} {
			if err := os.Chmod(b.at(file), 0); err != nil {
				t.Fatal(err)
			}
		}
	})
	if result.Code != "" || result.Removed.Kept == nil {
		t.Fatalf("%+v", result)
	}
	kept := result.Removed.Kept
	for _, file := range []string{"f", "new"} {
		if !hasLine(kept.Missing, "the file "+file+",", "can't be read") {
			t.Errorf("missing: %q", kept.Missing)
		}
		if got, _ := os.ReadFile(filepath.Join(kept.Directory, file)); !strings.Contains(string(got), "secret") {
			t.Errorf("%s is %q in the trash", file, got)
		}
	}
	if got := b.run(b.dir, "show", kept.Ref+":fine"); got != "fine" {
		t.Errorf("fine is %q", got)
	}
}

// TestTrashWithoutRoom can't write what is larger than some limit.
func TestTrashWithoutRoom(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(i*i>>3 ^ i>>7)
	}
	b.write(b.at("big"), string(noise))
	b.write(b.at("small"), "small\n")
	before := b.shapeOf(b.w.Directory, true)
	limited := func(pattern, more string) {
		b.p = NewProvider(mustNew(t, Options{Home: b.home, Env: b.env, Git: b.wrap(pattern, more)}), ProviderOptions{})
	}
	b.run(b.dir, "config", "core.looseCompression", "0")
	limited(`*"hash-object"*`, "ulimit -f 1")
	removed, err := b.try(true)
	if err != nil {
		t.Fatal(detail(err))
	}
	if !hasLine(removed.Kept.Missing, "no snapshot") || removed.Kept.Snapshot != removed.Tip {
		t.Errorf("%+v", removed.Kept)
	}
	sameShape(t, before, b.shapeOf(b.restore(b.trashed(removed)).Directory, true))

	// Clean, so that nothing but the snapshot is in the way.
	b.w.Attempt.ID = "attempt-3"
	b.run(b.w.Directory, "clean", "-q", "-fd")
	limited(`*"commit-tree"*`, "echo 'fatal: No space left on device' >&2; exit 128")
	disk := withoutObjects(b.snapshot())
	_, err = b.try(false)
	if e := wantCode(t, err, workspace.ErrGitFailed); !strings.Contains(e.Message, "No space left") || !strings.Contains(e.Message, "nothing was removed") {
		t.Errorf("%s", e.Message)
	}
	if after := withoutObjects(b.snapshot()); !slices.Equal(disk, after) {
		t.Errorf("the refused removal changed the disk:\n%s", difference(disk, after))
	}
}

// TestTrashHooks runs the operator's own hooks on refs, and none that the
// repository brings.
func TestTrashHooks(t *testing.T) {
	t.Parallel()
	for name, inTree := range map[string]bool{"the operator's": false, "the repository's": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBin(t)
			hooks := filepath.Join(b.dir, ".git", "hooks")
			if inTree {
				hooks = filepath.Join(b.dir, "hooks")
				b.run(b.dir, "config", "core.hooksPath", hooks)
			}
			b.mess()
			b.script(filepath.Join(hooks, "reference-transaction"), "#!/bin/sh\ncat >>"+b.root+"/ran\n")
			trashed := b.delete(true)
			b.restore(trashed)
			ran, _ := os.ReadFile(filepath.Join(b.root, "ran"))
			if strings.Contains(string(ran), trashRefs) == inTree {
				t.Errorf("the hooks were told: %s", ran)
			}
		})
	}
	// One that refuses keeps the branch, and nothing is lost.
	b := newBin(t)
	b.mess()
	before := b.shapeOf(b.w.Directory, true)
	b.script(filepath.Join(b.dir, ".git", "hooks", "reference-transaction"), "#!/bin/sh\n[ $1 = prepared ] || exit 0\n! grep -q refs/heads/\n")
	tip := b.run(b.w.Directory, "rev-parse", "HEAD")
	removed, err := b.try(true)
	if err != nil || removed.Branch != "" || !hasLine(removed.Left, b.w.Branch) {
		t.Errorf("%+v, %v", removed, err)
	}
	b.isTip(b.w.Branch, tip)
	sameShape(t, before, b.shapeOf(b.restore(b.trashed(removed)).Directory, true))
}
