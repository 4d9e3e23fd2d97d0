package main

import (
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestWorkspaceWithoutAName shows a record as other programs may write it.
func TestWorkspaceWithoutAName(t *testing.T) {
	t.Parallel()
	for want, w := range map[string]workspace.Workspace{
		"login: ready\n":      {Name: "login", Branch: "threadtree/login", Status: workspace.StatusReady},
		"feature/x: ready\n":  {Branch: "feature/x", Status: workspace.StatusReady},
		"workspace: failed\n": {Status: workspace.StatusError},
	} {
		if got := (&app{opts: &options{}}).workspace(w); !strings.HasPrefix(got, want) {
			t.Errorf("shown as %q, want %q first", got, want)
		}
	}
}
