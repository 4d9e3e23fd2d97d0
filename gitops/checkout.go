package gitops

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/threadtree/threadtree/workspace"
)

// settleCheckout finds out the top of the checkout and whether the repository
// is bare, from the configuration as git reads it for this purpose.
func (r *Repository) settleCheckout(ctx context.Context, s *site) error {
	own, err := r.git.checkoutConfig(ctx, s.common, s.common)
	if err != nil {
		return unreadable(s.common, err)
	}
	s.bare = own.isBare(s.common, s.dotGit)
	if s.linked() {
		s.top = s.beside
		if !own.perWorktree {
			return nil
		}
		// Only with its own configuration switched on does a linked worktree
		// heed core.bare and core.worktree of the shared one.
		linked, err := r.git.checkoutConfig(ctx, s.common, s.gitDir)
		if err != nil {
			return unreadable(s.gitDir, err)
		}
		if linked.bareSet && linked.bare {
			s.fault = sharedBareFault(s.common)
		}
		if linked.worktree != "" {
			return s.setTop(linked.worktree)
		}
		return nil
	}
	if s.bare {
		return nil
	}
	switch {
	case own.worktree != "":
		return s.setTop(own.worktree)
	case s.dotGit != "":
		s.top = s.beside
	case filepath.Base(s.common) == ".git":
		s.top = filepath.Dir(s.common)
	}
	return nil
}

// setTop takes the configured core.worktree.
func (s *site) setTop(worktree string) error {
	if !filepath.IsAbs(worktree) {
		worktree = filepath.Join(s.gitDir, worktree)
	}
	top, err := filepath.EvalSymlinks(worktree)
	if err != nil {
		return &workspace.Error{
			Code:    workspace.ErrNotARepository,
			Message: fmt.Sprintf("the repository %s has its files at %s by core.worktree, and that is missing", s.common, worktree),
			Hint:    "mend or unset core.worktree in its configuration",
			Err:     err,
		}
	}
	s.top = top
	return nil
}

// sharedBareFault explains the state in which each linked worktree takes
// itself for bare.
func sharedBareFault(common string) string {
	return sharedBare + ", so git takes each linked worktree for a bare repository; to mend it " + mendSharedBare(common)
}

const sharedBare = "core.bare is true in the shared configuration while extensions.worktreeConfig is on"

func mendSharedBare(common string) string {
	return fmt.Sprintf("run: git config --file %s --unset core.bare (and, if the repository is to be bare: git config --file %s core.bare true)",
		quoted(filepath.Join(common, "config")), quoted(filepath.Join(common, "config.worktree")))
}

// takesWorktrees refuses a repository in whose new worktrees git would not
// work. A new one gets a copy of the main configuration of its own kind, but
// for a core.bare that is true.
func (r *Repository) takesWorktrees(ctx context.Context, p workspace.Project) error {
	shared, err := r.git.readConfigFile(ctx, filepath.Join(p.ID, "config"))
	if err != nil {
		return unreadable(p.ID, err)
	}
	perWorktree, _ := shared.truth("extensions.worktreeconfig")
	if bare, _ := shared.truth("core.bare"); !bare || !perWorktree {
		return nil
	}
	own, err := r.git.readConfigFile(ctx, filepath.Join(p.ID, "config.worktree"))
	if err != nil {
		return unreadable(p.ID, err)
	}
	if bare, set := own.truth("core.bare"); set && !bare {
		return nil
	}
	return &workspace.Error{
		Code: workspace.ErrGitFailed, Op: "create",
		Message: sharedBare + ", so that git would not work in a new worktree; nothing was made",
		Hint:    mendSharedBare(p.ID),
	}
}

// checkoutConfig is what the configuration says about a checkout.
type checkoutConfig struct {
	bare, bareSet bool
	worktree      string
	// perWorktree is true where each checkout has a configuration of its own.
	perWorktree bool
}

// checkoutConfig reads the shared configuration and, where that is switched
// on, that of one git directory on top.
func (g *git) checkoutConfig(ctx context.Context, common, gitDir string) (checkoutConfig, error) {
	c, err := g.readConfigFile(ctx, filepath.Join(common, "config"))
	if err != nil {
		return checkoutConfig{}, err
	}
	var out checkoutConfig
	out.take(c)
	out.perWorktree, _ = c.truth("extensions.worktreeconfig")
	if out.perWorktree {
		if c, err = g.readConfigFile(ctx, filepath.Join(gitDir, "config.worktree")); err != nil {
			return checkoutConfig{}, err
		}
		out.take(c)
	}
	return out, nil
}

func (c *checkoutConfig) take(from *repoConfig) {
	if bare, set := from.truth("core.bare"); set {
		c.bare, c.bareSet = bare, true
	}
	if worktree, ok := from.get("core.worktree"); ok {
		c.worktree = worktree
	}
}

// isBare guesses by the name where the configuration doesn't say it, as git
// does.
func (c checkoutConfig) isBare(common, dotGit string) bool {
	switch {
	case c.bareSet:
		return c.bare
	case c.worktree != "", filepath.Base(common) == ".git":
		return false
	}
	return dotGit == ""
}
