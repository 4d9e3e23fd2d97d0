package gitops

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// setupCase is a project's checkout and a fresh worktree of it.
type setupCase struct {
	t        *testing.T
	r        *Repository
	source   string
	worktree string
	bin      string // tools of the test's own

	mu     sync.Mutex
	events []workspace.Event
}

// newSetupCase makes a project with the tracked files given.
func newSetupCase(t *testing.T, tracked map[string]string) *setupCase {
	t.Helper()
	top := resolved(t, t.TempDir())
	c := &setupCase{t: t, source: filepath.Join(top, "project"), worktree: filepath.Join(top, "fresh"), bin: filepath.Join(top, "bin")}
	for _, dir := range []string{c.source, c.bin} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New(Options{Home: filepath.Join(top, "home"), Env: setupTestEnv()})
	if err != nil {
		t.Fatal(err)
	}
	c.r = r
	c.git(c.source, "init", "-q", "-b", "main")
	for name, content := range tracked {
		c.write(filepath.Join(c.source, name), content)
	}
	c.git(c.source, "add", "-A", ".")
	c.git(c.source, "commit", "-q", "--allow-empty", "-m", "first")
	return c
}

func setupTestEnv() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")
}

func resolved(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func (c *setupCase) git(dir string, args ...string) string {
	c.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, cleanEnv(setupTestEnv())
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (c *setupCase) write(path, content string) {
	c.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// put writes files into the project's checkout without committing them.
func (c *setupCase) put(files map[string]string) {
	c.t.Helper()
	for name, content := range files {
		c.write(filepath.Join(c.source, name), content)
	}
}

// fresh makes the worktree, on a branch of its own.
func (c *setupCase) fresh() {
	c.t.Helper()
	c.git(c.source, "worktree", "add", "-q", "-b", "feature", "--", c.worktree)
}

// tool puts a shell script into the test's own directory for tools.
func (c *setupCase) tool(name, script string) {
	c.t.Helper()
	// As long as a file is open for writing, also in a process that is started
	// meanwhile, it can't be run.
	syscall.ForkLock.RLock()
	err := os.WriteFile(filepath.Join(c.bin, name), []byte("#!/bin/sh\n"+script), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		c.t.Fatal(err)
	}
}

// request returns a request for the fresh worktree that records its events.
func (c *setupCase) request(o SetupOptions) setupRequest {
	return setupRequest{
		options: o, source: c.source, directory: c.worktree,
		progress: func(e workspace.Event) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.events = append(c.events, e)
		},
	}
}

// copyFiles runs a set-up that only copies.
func (c *setupCase) copyFiles() []string {
	c.t.Helper()
	return c.r.setup(c.t.Context(), c.request(SetupOptions{Copy: true}))
}

// toolPath is a PATH with the test's own tools before the system's.
func (c *setupCase) toolPath() string {
	return "PATH=" + c.bin + string(os.PathListSeparator) + "/usr/bin" + string(os.PathListSeparator) + "/bin"
}

// bareToolPath is a PATH with the test's own tools and no other.
func (c *setupCase) bareToolPath() string { return "PATH=" + c.bin }

// untracked returns all files of the fresh worktree that aren't tracked,
// ignored or not, as "path=content" or "path->target".
func (c *setupCase) untracked() []string {
	c.t.Helper()
	var found []string
	for name := range strings.SplitSeq(c.git(c.worktree, "ls-files", "-z", "--others"), "\x00") {
		if name == "" {
			continue
		}
		path := filepath.Join(c.worktree, name)
		if target, err := os.Readlink(path); err == nil {
			found = append(found, name+"->"+target)
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			c.t.Fatal(err)
		}
		found = append(found, name+"="+string(content))
	}
	slices.Sort(found)
	return found
}

func (c *setupCase) wantUntracked(want ...string) {
	c.t.Helper()
	slices.Sort(want)
	if got := c.untracked(); !slices.Equal(got, want) {
		c.t.Errorf("files in the fresh worktree:\n got %q\nwant %q", got, want)
	}
}

func (c *setupCase) wantClean() {
	c.t.Helper()
	if got := c.git(c.worktree, "status", "--porcelain"); got != "" {
		c.t.Errorf("the fresh worktree isn't clean:\n%s", got)
	}
}

func (c *setupCase) read(path string) string {
	c.t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(content)
}

func wantNone(t *testing.T, warnings []string) {
	t.Helper()
	if len(warnings) > 0 {
		t.Errorf("warnings: %q, want none", warnings)
	}
}

// wantWarning wants exactly one warning, with each of the parts in it.
func wantWarning(t *testing.T, warnings []string, parts ...string) {
	t.Helper()
	if len(warnings) != 1 {
		t.Fatalf("warnings: %q, want one", warnings)
	}
	for _, p := range parts {
		if !strings.Contains(warnings[0], p) {
			t.Errorf("warning %q doesn't say %q", warnings[0], p)
		}
	}
}

// eventually waits until ok, which something outside the test brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not seen in a minute", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
