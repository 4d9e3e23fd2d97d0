package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// lookAtTarget finds the branch to merge into: the one that was asked for,
// else the workspace's base, else the default branch. None is ever assumed.
func (m *merging) lookAtTarget(ctx context.Context) error {
	name, err := m.targetName(ctx)
	if err != nil {
		return err
	}
	ref, sha, err := m.refs.resolve(ctx, "refs/heads/"+name)
	switch {
	case err != nil:
		return err
	case sha == "":
		return m.noTarget(ctx, name, fmt.Sprintf("there is no branch %s to merge into", name))
	}
	m.target, m.onto = headFile{ref: ref}.branch(), sha
	if m.target == "" {
		m.target = name
	}
	if m.target == m.branch {
		return &workspace.Error{
			Code: workspace.ErrInvalidRef, Hint: "name another branch to merge into", Option: workspace.OptionTarget,
			Message: fmt.Sprintf("%s is the workspace's own branch; nothing was changed", m.target),
		}
	}
	return nil
}

// targetName returns the short name of the target. It need not exist where a
// person asked for it.
func (m *merging) targetName(ctx context.Context) (string, error) {
	if m.req.Target != "" {
		if err := workspace.CheckRef(m.req.Target); err != nil {
			return "", err
		}
		return strings.TrimPrefix(m.req.Target, "refs/heads/"), nil
	}
	if j := m.journal; j != nil {
		return j.Now.Target, nil
	}
	base := strings.TrimPrefix(m.req.Workspace.Base, "refs/heads/")
	if base == "" || base == "HEAD" {
		return m.defaultTarget(ctx)
	}
	return m.baseTarget(ctx, base)
}

// baseTarget is the branch that the workspace was made from. One that is gone
// is not replaced by a guess.
func (m *merging) baseTarget(ctx context.Context, base string) (string, error) {
	sha, err := m.refs.lookup(ctx, "refs/heads/"+base)
	if err != nil || sha != "" {
		return base, err
	}
	remotes, err := m.r.remotes(ctx, m.req.Project)
	if err != nil {
		return "", err
	}
	if _, branch, ok := remoteBranch(strings.TrimPrefix(base, "refs/remotes/"), remotes); ok {
		return branch, nil
	}
	// A tag or a commit is no place to merge into.
	resolver := &comparer{r: m.r, refs: m.refs}
	commit, err := resolver.commit(ctx, base)
	if err != nil {
		return "", err
	}
	if commit != "" {
		return m.defaultTarget(ctx)
	}
	return "", m.noTarget(ctx, base, fmt.Sprintf("the workspace's base %s is gone", base))
}

func (m *merging) defaultTarget(ctx context.Context) (string, error) {
	name, err := m.r.defaultBranch(ctx, m.req.Project)
	if err == nil && name == "" {
		err = m.noTarget(ctx, "", "the project has no default branch: neither origin's HEAD nor what its main checkout has is one")
	}
	return name, err
}

// noTarget says that there is nothing to merge into, and what would do.
func (m *merging) noTarget(ctx context.Context, name, what string) error {
	hint, option := "name the branch to merge into", workspace.OptionTarget
	remotes, err := m.r.remotes(ctx, m.req.Project)
	if err != nil {
		return err
	}
	if remote, branch, ok := remoteBranch(strings.TrimPrefix(name, "refs/remotes/"), remotes); ok {
		if sha, err := m.refs.lookup(ctx, "refs/heads/"+branch); err == nil && sha != "" {
			hint, option = "merge into the local branch "+branch, workspace.OptionTarget+workspace.Option(" "+branch)
		} else {
			hint, option = fmt.Sprintf("make it first: git branch %s %s/%s", branch, remote, branch), ""
		}
	}
	slices.Sort(remotes)
	for _, remote := range remotes {
		if sha, err := m.refs.lookup(ctx, trackingRef(remote, name)); name != "" && err == nil && sha != "" {
			hint, option = fmt.Sprintf("only %s has it; make it here first: git branch %s %s/%s", remote, name, remote, name), ""
			break
		}
	}
	return &workspace.Error{Code: workspace.ErrTargetNotFound, Message: what + "; nothing was changed", Hint: hint, Option: option}
}

// targetNow returns where the target stands at this moment.
func (m *merging) targetNow(ctx context.Context) (string, error) {
	sha, err := m.refs.lookup(ctx, "refs/heads/"+m.target)
	if err == nil && sha == "" {
		err = m.noTarget(ctx, m.target, fmt.Sprintf("the branch %s has just been deleted", m.target))
	}
	return sha, err
}
