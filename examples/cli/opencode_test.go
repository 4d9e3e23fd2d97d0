package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenCode runs the built program with the real OpenCode, which it starts
// itself, and without one.
func TestOpenCode(t *testing.T) {
	t.Parallel()
	real := os.Getenv("OPENCODE_BIN")
	program := filepath.Join(t.TempDir(), "threadtree")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h := newHost(t, program)
	h.git("init", "--quiet", "-b", "main", "app")
	h.git("-C", "app", "commit", "--quiet", "--allow-empty", "-m", "first in "+h.dir)
	env := h.env

	h.env = append(env, "OPENCODE_BIN="+filepath.Join(h.dir, "no-such-opencode"))
	alone := h.threadtree("--provider", "auto", "create", "--repo", "app", "--thread", "1", "--name", "alone")
	if alone["provider"] != "git" || alone["provider_id"] != "" || alone["status"] != "ready" || !mentions(alone["warnings"], "no-such-opencode", "git made this workspace") {
		t.Errorf("auto without OpenCode: %v", alone)
	}
	if refused := h.refused("--provider", "opencode", "create", "--repo", "app", "--thread", "2", "--name", "two"); refused["code"] != "provider_unavailable" ||
		!mentions(refused["message"], "no-such-opencode", "npm install") || refused["hint"] == nil {
		t.Errorf("opencode without OpenCode: %v", refused)
	}

	if real == "" {
		if os.Getenv("THREADTREE_OPENCODE_REQUIRED") != "" {
			t.Fatal("OPENCODE_BIN names no OpenCode")
		}
		t.Skip("the rest needs OpenCode: npm install --prefix DIR opencode-ai (the version is in opencode/testdata/package.json), and OPENCODE_BIN=DIR/node_modules/opencode-ai/bin/opencode.exe")
	}
	h.env = append(env, "OPENCODE_BIN="+real, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1")
	made := h.threadtree("--provider", "opencode", "create", "--repo", "app", "--thread", "3", "--name", "three")
	id, _ := made["provider_id"].(string)
	dir, _ := made["directory"].(string)
	if made["provider"] != "opencode" || !strings.HasPrefix(id, "wrk_") || made["status"] != "ready" || mentions(made["warnings"]) {
		t.Fatalf("created %v", made)
	}
	if head := strings.TrimSpace(h.git("-C", dir, "symbolic-ref", "--short", "HEAD")); head != made["branch"] {
		t.Errorf("HEAD is %s, the branch %v", head, made["branch"])
	}
	if got := h.threadtree("get", "--thread", "3"); got["provider_id"] != id || got["directory"] != dir {
		t.Errorf("got %v", got)
	}
	// Whoever deletes it, its row goes too: nothing is said to be left.
	if deleted := h.threadtree("delete", "--thread", "3"); deleted["deleted"] != true || deleted["left"] != nil {
		t.Errorf("deleted: %v", deleted)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
	back := h.threadtree("restore", "--thread", "3")
	if back["provider_id"] != id || back["directory"] != dir || mentions(back["warnings"]) {
		t.Errorf("restored %v", back)
	}
	// All is as it has to be, and a reconcile finds nothing to do.
	if actions, _ := h.threadtree("--provider", "opencode", "reconcile", "--repo", "app")["actions"].([]any); len(actions) > 0 {
		t.Errorf("reconciled: %v", actions)
	}
}

// refused is the error that a command ends with.
func (h *host) refused(args ...string) map[string]any {
	h.t.Helper()
	cmd := exec.Command(h.program, append([]string{"--json"}, args...)...)
	cmd.Dir, cmd.Env = h.dir, h.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 {
		h.t.Errorf("%v: %v", args, err)
	}
	var v struct{ Error map[string]any }
	if err := json.Unmarshal(stderr.Bytes(), &v); err != nil {
		h.t.Errorf("%v: %v\n%s", args, err, &stderr)
	}
	return v.Error
}

// mentions reports whether a text, or one of several, has all of the words;
// without words, whether there is one.
func mentions(v any, words ...string) bool {
	texts, ok := v.([]any)
	if !ok && v != nil {
		texts = []any{v}
	}
	for _, text := range texts {
		found := true
		for _, word := range words {
			found = found && strings.Contains(text.(string), word)
		}
		if found {
			return true
		}
	}
	return false
}
