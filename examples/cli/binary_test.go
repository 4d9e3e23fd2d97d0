package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBinary runs the built program on a clone of the repository that it comes
// from, and on one of 20,000 files.
func TestBinary(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "threadtree")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Run("own repository", func(t *testing.T) {
		t.Parallel()
		top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
		if err != nil {
			t.Skip("the tests don't run in a git checkout")
		}
		h := newHost(t, program)
		h.git("clone", "--quiet", strings.TrimSpace(string(top)), "app")
		h.life()
	})
	t.Run("20,000 files", func(t *testing.T) {
		t.Parallel()
		h := newHost(t, program)
		h.git("init", "--quiet", "app")
		h.fastImport(20_000)
		h.git("-C", "app", "reset", "--quiet", "--hard", "main")
		h.life()
	})
}

// host is a user with the program and a project.
type host struct {
	t       *testing.T
	program string
	dir     string
	env     []string
}

func newHost(t *testing.T, program string) *host {
	dir := t.TempDir()
	return &host{t: t, program: program, dir: dir, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org",
	}}
}

// life is the whole life of a workspace.
func (h *host) life() {
	h.t.Helper()
	branches := h.git("-C", "app", "for-each-ref", "refs/heads", "refs/remotes", "refs/tags")
	type fields = map[string]any
	created := h.threadtree("create", "--repo", "app", "--thread", "1", "--title", "Try it")
	dir, _ := created["directory"].(string)
	if created["branch"] != "threadtree/try-it" || created["status"] != "ready" {
		h.t.Fatalf("created %v", created)
	}
	if out := h.git("-C", dir, "status", "--porcelain"); out != "" {
		h.t.Errorf("the fresh worktree isn't clean: %s", out)
	}
	if want, got := h.git("-C", "app", "ls-files"), h.git("-C", dir, "ls-files"); got != want {
		h.t.Error("the fresh worktree hasn't the project's files")
	}
	for _, args := range [][]string{{"create", "--repo", "app", "--thread", "1", "--title", "Try it"}, {"get", "--thread", "1"}} {
		if again := h.threadtree(args...); fmt.Sprint(again) != fmt.Sprint(created) {
			h.t.Errorf("%v: %v, not %v", args, again, created)
		}
	}
	rows, _ := h.threadtree("list", "--repo", "app")["workspaces"].([]any)
	if len(rows) != 1 {
		h.t.Fatalf("listed %v", rows)
	}
	if row, ok := rows[0].(fields); !ok || row["thread_id"] != "1" || row["dirty"] != false || row["deletable"] != true {
		h.t.Errorf("listed %v", rows[0])
	}
	if deleted := h.threadtree("delete", "--thread", "1"); deleted["deleted"] != true || deleted["restore_until"] == nil {
		h.t.Errorf("deleted: %v", deleted)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		h.t.Errorf("the directory is still there: %v", err)
	}
	if now := h.git("-C", "app", "for-each-ref", "refs/heads", "refs/remotes", "refs/tags"); now != branches {
		h.t.Errorf("the refs were\n%s\nand are\n%s", branches, now)
	}
}

func (h *host) threadtree(args ...string) map[string]any {
	h.t.Helper()
	var v map[string]any
	out := h.run(nil, h.program, append([]string{"--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		h.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return v
}

func (h *host) git(args ...string) string {
	h.t.Helper()
	return h.run(nil, "git", args...)
}

func (h *host) run(stdin []byte, program string, args ...string) string {
	h.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = h.dir, h.env, bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("%s %v: %v\n%s", filepath.Base(program), args, err, &stderr)
	}
	return string(out)
}

// fastImport makes one commit with n files on main.
func (h *host) fastImport(n int) {
	h.t.Helper()
	var b bytes.Buffer
	b.WriteString("commit refs/heads/main\ncommitter Ada <ada@example.org> 1700000000 +0000\ndata 5\nMany\n\n")
	for i := range n {
		content := fmt.Sprintf("file %d\n", i)
		fmt.Fprintf(&b, "M 100644 inline d%02d/e%02d/f%d.txt\ndata %d\n%s\n", i%40, i/40%25, i, len(content), content)
	}
	h.run(b.Bytes(), "git", "-C", "app", "fast-import", "--quiet")
}
