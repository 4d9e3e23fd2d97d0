package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// remoteBranch splits "origin/x". Names of remotes may contain slashes.
func remoteBranch(name string, remotes []string) (remote, branch string, ok bool) {
	for _, r := range remotes {
		if rest, cut := strings.CutPrefix(name, r+"/"); cut && rest != "" && len(r) > len(remote) {
			remote, branch, ok = r, rest, true
		}
	}
	return remote, branch, ok
}

// remote takes a branch of a remote as it is there now.
func (b *baseResolver) remote(ctx context.Context, remote, branch string) (base, error) {
	results, err := b.refresh(ctx, branch, []string{remote})
	if err != nil {
		return base{}, err
	}
	tracked, err := b.tracked(ctx, remote, branch)
	if err != nil {
		return base{}, err
	}
	b.warnStale(ctx, results[remote], branch, tracked)
	if tracked == "" {
		return base{}, noBase(remote + "/" + branch)
	}
	if results[remote].absent {
		b.warn("%s has no branch %s any more; it was taken %s", remote, branch, b.asOf(ctx, remote, branch, tracked))
	}
	return base{commit: tracked}, nil
}

// notLocal takes what is no local branch: one that only a remote has, or a
// tag or commit.
func (b *baseResolver) notLocal(ctx context.Context, name string, remotes []string) (base, error) {
	candidates := b.candidates(name, remotes)
	known := ""
	for _, remote := range candidates {
		tracked, err := b.tracked(ctx, remote, name)
		if err != nil {
			return base{}, err
		}
		if tracked != "" {
			known = remote
			break
		}
	}
	if known != "" {
		b.warnAmbiguous(ctx, name)
		return b.remote(ctx, known, name)
	}
	commit, err := b.commit(ctx, name)
	if err != nil || commit != "" {
		return base{commit: commit}, err
	}
	return b.unknown(ctx, name, candidates)
}

// commit resolves a tag, a commit or any other name of git's that stands for
// a commit, "" if it stands for nothing.
func (b *baseResolver) commit(ctx context.Context, name string) (string, error) {
	parse := func(kind string) (string, error) {
		return b.r.git.line(ctx, command{
			dir:  workDir(b.project),
			args: []string{"rev-parse", "--verify", "-q", "--end-of-options", name + "^{" + kind + "}"},
		})
	}
	sha, err := parse("commit")
	if err == nil {
		return sha, nil
	}
	if ctx.Err() != nil {
		return "", failure("create", "the base could not be looked up; nothing was made", "try again", err)
	}
	if _, err := parse("object"); err == nil {
		return "", &workspace.Error{
			Code: workspace.ErrInvalidRef, Op: "create",
			Message: fmt.Sprintf("%s is no commit, so nothing can start from it", name),
			Hint:    "give a branch, a tag of a commit, or a commit",
		}
	}
	return "", nil
}

// unknown looks on the remotes for a branch that nothing is known of here, as
// in a clone of a single branch.
func (b *baseResolver) unknown(ctx context.Context, name string, remotes []string) (base, error) {
	results, err := b.refresh(ctx, name, remotes)
	if err != nil {
		return base{}, err
	}
	missing := noBase(name)
	for _, remote := range remotes {
		tracked, err := b.tracked(ctx, remote, name)
		if err != nil {
			return base{}, err
		}
		if tracked != "" {
			return base{commit: tracked}, nil
		}
		if results[remote].err != nil {
			missing.Message += fmt.Sprintf(", and %s could not be asked", remote)
			missing.Err = results[remote].err
		}
	}
	return base{}, missing
}

func noBase(name string) *workspace.Error {
	return &workspace.Error{
		Code: workspace.ErrTargetNotFound, Op: "create",
		Message: fmt.Sprintf("there is no branch, tag or commit %s to start from; nothing was made", name),
		Hint:    "see the branches with: git branch -a",
	}
}

// remoteTip returns the freshest known commit of a branch that exists on a
// remote only, with that remote, "" if there is none.
func (b *baseResolver) remoteTip(ctx context.Context, branch string, fetch bool) (sha, remote string, err error) {
	remotes, err := b.r.remotes(ctx, b.project)
	if err != nil {
		return "", "", err
	}
	candidates := b.candidates(branch, remotes)
	for _, r := range remotes {
		if !slices.Contains(candidates, r) {
			candidates = append(candidates, r)
		}
	}
	var results map[string]fetchResult
	if fetch {
		if results, err = b.refresh(ctx, branch, candidates); err != nil {
			return "", "", err
		}
	}
	var asked error
	for _, r := range candidates {
		tracked, err := b.tracked(ctx, r, branch)
		if err != nil {
			return "", "", err
		}
		if tracked != "" && !results[r].absent {
			b.warnStale(ctx, results[r], branch, tracked)
			return tracked, r, nil
		}
		switch {
		case results[r].err != nil:
			asked = errors.Join(asked, b.notAsked(results[r], branch))
		case b.noFetch && tracked == "" && !b.settings.fetches(r, branch):
			b.warn("%s was not asked whether it has a branch %s, and no fetch here brings it: it may have another of that name", r, branch)
		}
	}
	return "", "", asked
}

// notAsked is nil where an ordinary fetch would have brought the branch by
// now: then a new one is made, with a warning. Otherwise nobody knows whether
// the remote has it, and one made from the base would only look like it.
func (b *baseResolver) notAsked(result fetchResult, branch string) error {
	if b.settings.fetches(result.remote, branch) {
		b.warn("%s could not be asked for a branch %s; as far as is known here it has none", result.remote, branch)
		return nil
	}
	return &workspace.Error{
		Code: failureCode(result.err), Op: "create",
		Message: fmt.Sprintf("%s could not be asked whether it has a branch %s; nothing was made", result.remote, branch),
		Hint:    "try again when it answers, or create without fetching to make a new branch",
		Err:     result.err,
	}
}

func failureCode(err error) workspace.Code {
	return workspace.CodeOf(failure("", "", "", err))
}
