package gitops

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// base is what a new branch starts from.
type base struct {
	// name is how a person would say it.
	name   string
	commit string
}

// errNetwork says that only a remote knows the answer.
var errNetwork = errors.New("a remote would have to be asked")

// baseResolver finds out what a base stands for.
type baseResolver struct {
	*fetcher
	noFetch bool
	// dry has it end with errNetwork where a remote would be asked.
	dry      bool
	warnings []string
}

// resolve returns the base that name stands for: the project's current HEAD
// for "", a branch with its fresher side, or a remote branch, a tag or a
// commit as it is. Only tracking refs are written.
func (b *baseResolver) resolve(ctx context.Context, name string) (base, error) {
	if name == "" || name == "HEAD" {
		return b.current(ctx)
	}
	if err := workspace.CheckRef(name); err != nil {
		return base{}, err
	}
	branch, local := strings.CutPrefix(name, "refs/heads/")
	if local {
		// Said in full it is that branch, and not a tag of its name.
		sha, err := b.r.tip(ctx, b.project, name)
		if err == nil && sha == "" {
			err = noBase(name)
		}
		if err != nil {
			return base{}, err
		}
	}
	found, err := b.named(ctx, branch)
	// Said again, the name stands for the same base.
	found.name = name
	return found, err
}

func (b *baseResolver) named(ctx context.Context, name string) (base, error) {
	short := strings.TrimPrefix(name, "refs/remotes/")
	remotes, err := b.r.remotes(ctx, b.project)
	if err != nil {
		return base{}, err
	}
	local, err := b.r.tip(ctx, b.project, "refs/heads/"+name)
	if err != nil {
		return base{}, failure("create", fmt.Sprintf("the branch %s can't be read; nothing was made", name), "see what git says: git rev-parse "+quoted(name), err)
	}
	if local != "" {
		b.warnAmbiguous(ctx, name)
		return b.branch(ctx, name, local, b.candidates(name, remotes))
	}
	if remote, branch, ok := remoteBranch(short, remotes); ok {
		return b.remote(ctx, remote, branch)
	}
	return b.notLocal(ctx, name, remotes)
}

// warnAmbiguous tells where a branch is taken although a tag has its name.
func (b *baseResolver) warnAmbiguous(ctx context.Context, name string) {
	if tag, err := b.r.tip(ctx, b.project, "refs/tags/"+name); err == nil && tag != "" {
		b.warn("there is a tag %s too; the branch was taken", name)
	}
}

func (b *baseResolver) warn(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	b.warnings = append(b.warnings, message)
	b.tell(workspace.Event{Phase: workspace.PhaseFetch, Message: message, Warning: true})
}

// current is the HEAD of the checkout that the caller pointed at. It may be
// unpublished; where it is known to be behind, that is told.
func (b *baseResolver) current(ctx context.Context) (base, error) {
	sha, branch, err := b.r.head(ctx, b.project)
	if err != nil {
		return base{}, err
	}
	if branch == "" {
		return base{name: sha, commit: sha}, nil
	}
	if b.dry {
		return base{name: branch, commit: sha}, nil
	}
	remotes, err := b.r.remotes(ctx, b.project)
	if err != nil {
		return base{}, err
	}
	for _, remote := range b.candidates(branch, remotes) {
		tracked, err := b.tracked(ctx, remote, branch)
		if err != nil || tracked == "" || tracked == sha {
			continue
		}
		out, err := b.r.git.line(ctx, command{dir: workDir(b.project), args: []string{"rev-list", "--count", sha + ".." + tracked, "--"}})
		if n, _ := strconv.Atoi(out); err == nil && n > 0 {
			b.warn("%s is %s behind %s/%s; the workspace starts from %s as it is here", branch, plural(n, "commit"), remote, branch, branch)
			break
		}
	}
	return base{name: branch, commit: sha}, nil
}

// branch takes a local branch, or its side on a remote where that is strictly
// ahead.
func (b *baseResolver) branch(ctx context.Context, name, local string, remotes []string) (base, error) {
	results, err := b.refresh(ctx, name, remotes)
	if err != nil {
		return base{}, err
	}
	for _, remote := range remotes {
		result := results[remote]
		if result.absent {
			continue
		}
		tracked, err := b.tracked(ctx, remote, name)
		if err != nil {
			return base{}, err
		}
		b.warnStale(ctx, result, name, tracked)
		if tracked == "" || tracked == local {
			continue
		}
		ahead, err := b.ancestor(ctx, local, tracked)
		if err != nil {
			return base{}, err
		}
		if ahead {
			return base{commit: tracked}, nil
		}
		behind, err := b.ancestor(ctx, tracked, local)
		if err != nil {
			return base{}, err
		}
		if !behind {
			b.warn("%s and %s/%s have diverged; the local branch was taken", name, remote, name)
			break
		}
	}
	return base{commit: local}, nil
}

// refresh fetches a branch from the remotes unless that isn't wanted.
func (b *baseResolver) refresh(ctx context.Context, branch string, remotes []string) (map[string]fetchResult, error) {
	byRemote := make(map[string]fetchResult)
	switch {
	case b.noFetch || len(remotes) == 0:
		return byRemote, nil
	case b.dry:
		return nil, errNetwork
	}
	results, err := b.fetch(ctx, branch, remotes)
	for _, result := range results {
		byRemote[result.remote] = result
	}
	if err != nil {
		return nil, failure("create", "the base could not be fetched; nothing was made", "try again", err)
	}
	return byRemote, nil
}

// warnStale tells where a tracking ref could not be brought up to date.
func (b *baseResolver) warnStale(ctx context.Context, result fetchResult, branch, tracked string) {
	if result.err == nil {
		return
	}
	what := fmt.Sprintf("%s could not be reached", result.remote)
	switch {
	case result.reached:
		what = fmt.Sprintf("%s/%s could not be updated", result.remote, branch)
	case errors.Is(result.err, context.DeadlineExceeded):
		what = fmt.Sprintf("%s did not answer within %s", result.remote, b.timeout)
	}
	if tracked == "" {
		b.warn("%s, and nothing is known of its branch %s", what, branch)
		return
	}
	b.warn("%s; %s/%s is known %s", what, result.remote, branch, b.asOf(ctx, result.remote, branch, tracked))
}

func (b *baseResolver) ancestor(ctx context.Context, older, newer string) (bool, error) {
	_, err := b.r.git.run(ctx, command{dir: workDir(b.project), args: []string{"merge-base", "--is-ancestor", older, newer}})
	switch exitCode(err) {
	case 0:
		return true, nil
	case 1:
		return false, nil
	}
	return false, failure("create", "the base can't be compared with its remote side; nothing was made", "see whether objects are missing: git fsck", err)
}
