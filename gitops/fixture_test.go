package gitops

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// fixture is a git repository of a test's own, with everything around it in
// one temporary directory, and git untouched by the machine's configuration.
type fixture struct {
	t testing.TB
	// root is the temporary directory, without symlinks.
	root string
	// dir is the repository's checkout, root/repo.
	dir string
	env []string
	// r reads the repository; its home is root/home.
	r *Repository
}

// newRepo makes a repository with one commit of the file f on the branch main.
func newRepo(t testing.TB) *fixture {
	t.Helper()
	f := newEmptyRepo(t)
	f.commit(f.dir, "f", "base\n", "init")
	return f
}

// newEmptyRepo makes a repository without a commit. args go to git init.
func newEmptyRepo(t testing.TB, args ...string) *fixture {
	t.Helper()
	f := newFixture(t)
	f.mkdir(f.dir)
	f.git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	return f
}

// newFixture makes everything but the repository.
func newFixture(t testing.TB) *fixture {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, root: root, dir: filepath.Join(root, "repo"), env: fixtureEnv(root)}
	if f.r, err = New(Options{Home: f.path("home"), Env: f.env}); err != nil {
		t.Fatal(err)
	}
	return f
}

// fixtureEnv is an environment in which git finds no configuration but the
// repository's, and commits as a fixed person.
func fixtureEnv(root string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + root, "XDG_CONFIG_HOME=" + filepath.Join(root, "xdg"), "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + filepath.Join(root, "gitconfig"), "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org",
	}
}

// path returns a path below the fixture's root.
func (f *fixture) path(parts ...string) string {
	return filepath.Join(append([]string{f.root}, parts...)...)
}

// git runs git in the repository's checkout and returns its output.
func (f *fixture) git(args ...string) string {
	f.t.Helper()
	return f.gitIn(f.dir, args...)
}

// gitIn runs git in a directory.
func (f *fixture) gitIn(dir string, args ...string) string {
	f.t.Helper()
	out, err := f.tryGit(dir, args...)
	if err != nil {
		f.t.Fatalf("git %q in %s: %v\n%s", args, dir, err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

// tryGit runs git where it may fail.
func (f *fixture) tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir, cmd.Env = dir, f.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// sh runs a shell script in the repository's checkout, with $ROOT and $REPO.
func (f *fixture) sh(script string) {
	f.t.Helper()
	cmd := exec.Command("sh", "-e", "-c", script)
	cmd.Dir, cmd.Env = f.dir, append(f.env, "ROOT="+f.root, "REPO="+f.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func (f *fixture) mkdir(path string) {
	f.t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		f.t.Fatal(err)
	}
}

// write writes a file and makes the directories above it. No child is begun
// meanwhile: it would have the file open for writing, and a script couldn't be
// run.
func (f *fixture) write(path, content string) {
	f.t.Helper()
	f.mkdir(filepath.Dir(path))
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(content), 0o644)
	syscall.ForkLock.RUnlock()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) read(path string) string {
	f.t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(content)
}

// commit writes a file in a working copy, commits it and returns the commit.
func (f *fixture) commit(dir, file, content, message string) string {
	f.t.Helper()
	f.write(filepath.Join(dir, file), content)
	f.gitIn(dir, "add", "--", file)
	f.gitIn(dir, "commit", "-q", "-m", message)
	return f.gitIn(dir, "rev-parse", "HEAD")
}

// worktree adds a linked worktree root/name on a new branch of that name.
func (f *fixture) worktree(name string, args ...string) string {
	f.t.Helper()
	dir := f.path(name)
	f.git(append([]string{"worktree", "add", "-q", "-b", name, dir}, args...)...)
	return dir
}

// remote makes root/origin.git, a bare clone of the repository, and has it as
// the remote origin, with main following it.
func (f *fixture) remote() string {
	f.t.Helper()
	origin := f.path("origin.git")
	f.git("clone", "-q", "--bare", f.dir, origin)
	f.git("remote", "add", "origin", origin)
	f.git("fetch", "-q", "origin")
	f.git("branch", "-q", "--set-upstream-to=origin/main", "main")
	f.git("remote", "set-head", "origin", "main")
	return origin
}

// open opens the project that a directory lies in.
func (f *fixture) open(dir string) workspace.Project {
	f.t.Helper()
	p, err := f.r.Open(f.t.Context(), dir)
	if err != nil {
		f.t.Fatal(err)
	}
	return p
}

// list returns the project's worktrees by the last part of their directory.
func (f *fixture) list() map[string]workspace.Worktree {
	f.t.Helper()
	all, err := f.r.Worktrees(f.t.Context(), f.open(f.dir))
	if err != nil {
		f.t.Fatal(err)
	}
	byName := make(map[string]workspace.Worktree)
	for _, w := range all {
		byName[filepath.Base(w.Directory)] = w
	}
	return byName
}

// state returns the state of one worktree against a base.
func (f *fixture) state(w workspace.Worktree, base string) workspace.State {
	f.t.Helper()
	var state workspace.State
	calls := 0
	err := f.r.States(f.t.Context(), f.open(f.dir), []workspace.StateQuery{{Worktree: w, Base: base}}, func(_ int, s workspace.State) {
		state = s
		calls++
	})
	if err != nil || calls != 1 {
		f.t.Fatalf("States: %d calls, error %v", calls, err)
	}
	return state
}

// snapshot returns a line for each file below dir: its mode, its size, when
// it was changed, and its content.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%v %s", info.Mode(), info.ModTime().Format(time.RFC3339Nano))
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %x", info.Size(), sha256.Sum256(content))
		}
		files[path] = line
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// wantSame compares a snapshot with what is there now.
func wantSame(t testing.TB, dir string, before map[string]string) {
	t.Helper()
	after := snapshot(t, dir)
	for path, line := range before {
		if after[path] != line {
			t.Errorf("%s changed:\nbefore %s\nafter  %s", path, line, after[path])
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			t.Errorf("%s appeared", path)
		}
	}
}

// wantCode wants an error of that code which a person can read.
func wantCode(t testing.TB, err error, code workspace.Code) *workspace.Error {
	t.Helper()
	if got := workspace.CodeOf(err); got != code {
		t.Fatalf("code %q, want %q; error: %v", got, code, err)
	}
	e, ok := err.(*workspace.Error)
	if !ok || e.Message == "" || e.Hint == "" {
		t.Fatalf("error %#v says nothing or hints nothing", err)
	}
	return e
}

// bigRepo makes a repository with that many files in one commit, quickly.
func bigRepo(t testing.TB, files int) *fixture {
	t.Helper()
	f := newEmptyRepo(t)
	var stream bytes.Buffer
	stream.WriteString("commit refs/heads/main\ncommitter Ada <ada@example.org> 1700000000 +0000\ndata 3\nbig\n")
	for i := range files {
		content := fmt.Sprintf("package p%d\n\n// file number %d\n", i%100, i)
		fmt.Fprintf(&stream, "M 100644 inline d%02d/e%02d/f%05d.go\ndata %d\n%s\n", i%100, i/100%20, i, len(content), content)
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Env, cmd.Stdin = f.dir, f.env, &stream
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("fast-import: %v\n%s", err, out)
	}
	f.git("reset", "-q", "--hard")
	return f
}
