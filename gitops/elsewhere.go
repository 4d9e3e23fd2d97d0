package gitops

import (
	"context"
	"strconv"
)

// elsewhere finds out whether commits would be lost with the worktree and the
// branch own. It goes by what compare has found.
func (l *looker) elsewhere(ctx context.Context, base, own string) {
	kept := true
	switch {
	case l.w.Head == "" && l.w.Broken != "":
		return
	case l.w.Head == "", l.w.Branch != "" && l.w.Branch != own, l.state.Merged != nil && *l.state.Merged:
	default:
		others, err := l.c.kept(ctx, l.w.Head, l.w.Branch)
		if err != nil {
			l.unknown("whether other branches have its commits", l.because(ctx, err))
			return
		}
		if !others {
			known := false
			if kept, known = l.mergedByDefault(ctx, base); !known {
				return
			}
		}
	}
	l.state.Elsewhere = &kept
}

// mergedByDefault reports whether the default branch has what HEAD's commits
// bring, where the base, that isn't it, has not; and whether that is known.
func (l *looker) mergedByDefault(ctx context.Context, base string) (merged, known bool) {
	known = l.state.Merged != nil || l.c.side(ctx, base).unknown != ""
	if base == "" {
		return false, known
	}
	s := l.c.side(ctx, "")
	if s.unknown != "" {
		return false, known
	}
	rel, err := l.c.relation(ctx, s.sha, l.w.Head)
	if err != nil || rel.merged == nil {
		return false, false
	}
	return *rel.merged, known || *rel.merged
}

// kept reports whether refs other than the given branch have a commit.
func (c *comparer) kept(ctx context.Context, sha, branch string) (bool, error) {
	if known, ok := c.surveyed.kept[keptKey{sha, branch}]; ok {
		return known, nil
	}
	n, err := c.only(ctx, sha, branch)
	return n == 0, err
}

// only counts the commits that no ref but the given branch has, and no
// detached HEAD of the main checkout.
func (c *comparer) only(ctx context.Context, sha, branch string) (int, error) {
	args := []string{"rev-list", "--count", sha, "--not"}
	if branch != "" {
		args = append(args, "--exclude="+branch)
	}
	args = append(args, "--branches", "--tags", "--remotes")
	if h, err := c.r.headOf(ctx, c.project.ID); err == nil && h.sha != "" {
		args = append(args, h.sha)
	}
	out, err := c.r.git.line(ctx, c.refs.command(append(args, "--")...))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out)
}
