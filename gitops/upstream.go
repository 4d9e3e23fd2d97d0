package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// configTries is how often the configuration is written: somebody else may
// have it locked for a moment.
const configTries = 3

// setUpstream gives a branch that a remote has the one there as its upstream,
// so that a plain push goes home. Where it can't, the choice warns of it.
func (m *making) setUpstream(ctx context.Context, made *choice) {
	if made.remote == "" {
		return
	}
	branch := made.plan.Branch
	for _, kv := range [][2]string{{"remote", made.remote}, {"merge", "refs/heads/" + branch}} {
		if err := m.setConfig(ctx, "branch."+branch+"."+kv[0], kv[1]); err != nil {
			made.warnings = append(made.warnings, fmt.Sprintf("%s/%s could not be set as the upstream of %s, so that a plain push doesn't go there: %s; the first time, push with: git push -u %s %s",
				made.remote, branch, branch, because(err), quoted(made.remote), quoted(branch)))
			return
		}
	}
}

func (m *making) setConfig(ctx context.Context, key, value string) error {
	for try := 1; ; try++ {
		_, err := m.r.git.run(ctx, command{
			dir: workDir(m.req.Project), args: []string{"config", "--local", "--replace-all", key, value}, write: true, inherit: m.req.Inherit,
		})
		if err == nil || try == configTries {
			return err
		}
		select {
		case <-time.After(time.Duration(try*try) * 30 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// forgetUpstream drops the upstream of a branch that is gone, if it is as
// setUpstream writes it and there is no more to the branch's configuration.
func (c *clearing) forgetUpstream(ctx context.Context) {
	config, err := c.r.config(ctx, c.project.ID)
	if err != nil {
		return // nothing reads it any more
	}
	branch := c.w.Branch
	written := 0
	for key, values := range config.values {
		rest, ok := strings.CutPrefix(key, "branch."+branch+".")
		switch {
		case !ok || strings.Contains(rest, "."):
		case rest == "remote" && len(values) == 1 && slices.Contains(config.remotes, values[0]),
			rest == "merge" && slices.Equal(values, []string{"refs/heads/" + branch}):
			written++
		default:
			return
		}
	}
	if written == 0 {
		return
	}
	if err := c.r.forgetBranch(ctx, c.project, branch); err != nil {
		c.leave("the upstream of the branch %s was left in the configuration: %s", branch, because(err))
	}
}
