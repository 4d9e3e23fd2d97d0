package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestQuick has every row measured once, on little.
func TestQuick(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	dir := t.TempDir()
	if code := run(t.Context(), []string{"--quick", "--dir", dir}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, &stdout, &stderr)
	}
	lines := 0
	for line := range strings.Lines(stdout.String()) {
		if strings.HasPrefix(line, "| ") && strings.Count(line, "|") == 6 && (strings.Contains(line, "| met |") || strings.Contains(line, "| **not met** |")) {
			lines++
		}
	}
	rows := 0
	for _, s := range subjects() {
		rows += len(s.rows)
	}
	if lines != rows || rows < 11 {
		t.Errorf("%d of %d rows:\n%s", lines, rows, &stdout)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args string
		code int
		says string
	}{
		{"--help", 0, "--only"},
		{"--rounds=0", 2, "1 or more"},
		{"--nothing", 2, "unknown flag"},
		{"--only=nothing --quick", 0, "say nothing"},
		{"--only=nothing", 0, "| ratio |"},
		{"--dir=/nowhere/at/all", 1, "no such file"},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), strings.Fields(test.args), &out, &out); code != test.code || !strings.Contains(out.String(), test.says) {
			t.Errorf("%s: exit code %d:\n%s", test.args, code, &out)
		}
	}
}
