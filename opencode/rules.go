package opencode

import (
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// rules are what a session at a location may not do. None of them asks: where
// nobody is there to answer, a question keeps the agent waiting for ever.
func (a *Agent) rules(at workspace.Location) []Rule {
	rules := []Rule{
		{Permission: "external_directory", Pattern: "*", Action: "deny"},
		{Permission: "doom_loop", Pattern: "*", Action: "deny"},
		{Permission: "question", Pattern: "*", Action: "deny"},
	}
	if at.Workspace != nil {
		rules = append(rules, checkoutRules(*at.Workspace)...)
	}
	return append(rules, a.cfg.Rules...)
}

// checkoutRules refuse shell commands that name the project's main checkout.
// Where the workspace lies inside of it there are none: they would refuse the
// workspace too. Nor where a pattern can't spell its path.
func checkoutRules(w workspace.Workspace) []Rule {
	var rules []Rule
	seen := make(map[string]bool)
	for _, main := range []string{strings.TrimSuffix(w.ProjectID, string(filepath.Separator)+".git"), w.ProjectDirectory} {
		if main == "" || seen[main] || strings.ContainsAny(main, "*?") || inside(w.Directory, main) {
			continue
		}
		seen[main] = true
		for _, end := range []string{"", "/*", " *", "'*", "\"*", ";*", "&*", "|*", ")*", "\n*"} {
			rules = append(rules, Rule{Permission: "bash", Pattern: "*" + main + end, Action: "deny"})
		}
	}
	return rules
}

// inside reports whether path lies in directory.
func inside(path, directory string) bool {
	rel, err := filepath.Rel(resolved(directory), resolved(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
