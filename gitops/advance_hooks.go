package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// afterAdvance runs the hooks that a merge runs in the checkout once it has
// moved forward, and returns a warning for each that failed or was not run.
// The hooks are the operator's own, except for those that lie in a work tree,
// which need in.ownHooks. They may call git or us: no lock should be held.
// in is what advance was given; files of in.inherit that hold a lock have to
// be taken out.
func (r *Repository) afterAdvance(ctx context.Context, p workspace.Project, in advanceInput, at *checkout) []string {
	if at == nil {
		return nil
	}
	if err := in.complete(ctx, r, p); err != nil {
		return []string{"the hooks of the merge were not run: " + err.Error()}
	}
	var warnings []string
	for _, hook := range []struct {
		name string
		args []string
	}{{"post-index-change", []string{"1", "0"}}, {"post-merge", []string{"0"}}} {
		if ctx.Err() != nil {
			break
		}
		path, inTree := in.set.hookOf(p, *at, hook.name)
		switch info, err := os.Stat(path); {
		case err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
			continue
		case inTree && !in.ownHooks:
			warnings = append(warnings, fmt.Sprintf("the repository's own %s hook was not run: it needs the permission for set-up", hook.name))
			continue
		}
		_, err := r.git.run(ctx, command{
			dir: at.top, args: append([]string{"hook", "run", "--ignore-missing", hook.name, "--"}, hook.args...), write: true,
			env: append(at.lookup(), "GIT_REFLOG_ACTION="+reflogAction(in.message)), inherit: in.inherit, timeout: in.hookTimeout,
		})
		switch {
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			warnings = append(warnings, fmt.Sprintf("the %s hook in %s was ended after %s", hook.name, at.name(), in.hookTimeout))
		case err != nil:
			warnings = append(warnings, fmt.Sprintf("the %s hook in %s failed: %v", hook.name, at.name(), err))
		}
	}
	return warnings
}

// hookOf returns where git looks for a hook when it is run in a checkout, and
// whether that is in a work tree.
func (s *settings) hookOf(p workspace.Project, at checkout, name string) (path string, inTree bool) {
	if configured := s.get("core.hookspath"); configured != "" && !strings.HasPrefix(configured, "~") && !filepath.IsAbs(configured) {
		return filepath.Join(at.top, configured, name), true
	}
	path = filepath.Join(s.hooks, name)
	return path, s.hooksInTree || s.inWorkTree(p, resolveExisting(path))
}

// reflogAction is what a merge has its hooks know: the message up to its
// colon.
func reflogAction(message string) string {
	action, _, _ := strings.Cut(message, ":")
	return action
}
