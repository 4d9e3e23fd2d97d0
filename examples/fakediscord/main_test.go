package main

import (
	"maps"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		name    string
		options map[string]any
	}{
		"worktrees":                              {"worktrees", map[string]any{}},
		"worktree  diff":                         {"worktree diff", map[string]any{}},
		"new-worktree name=fix the":              {"new-worktree", map[string]any{"name": "fix the"}},
		"new-worktree name=a b base-branch=main": {"new-worktree", map[string]any{"name": "a b", "base-branch": "main"}},
	} {
		if name, options := parse(line); name != want.name || !maps.Equal(options, want.options) {
			t.Errorf("%q is %q with %v", line, name, options)
		}
	}
}
