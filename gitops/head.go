package gitops

import (
	"context"
	"fmt"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// head returns what is checked out where the caller pointed: the object id,
// and the branch, "" where HEAD is detached. In a bare repository that is its
// own HEAD. Where there is no commit yet the code is no_commits, and the
// branch is returned with it.
func (r *Repository) head(ctx context.Context, p workspace.Project) (sha, branch string, err error) {
	gitDir, err := checkoutGitDir(p)
	if err != nil {
		return "", "", err
	}
	h, err := r.headOf(ctx, gitDir)
	if err != nil {
		return "", "", err
	}
	if sha, branch, err = r.openRefs(p.ID).checkedOut(ctx, h); err != nil {
		return "", "", err
	}
	if sha == "" {
		return "", branch, &workspace.Error{
			Code:    workspace.ErrNoCommits,
			Message: fmt.Sprintf("the repository %s has no commit yet on %s", p.Name, strings.TrimPrefix(h.ref, "refs/heads/")),
			Hint:    "make a first commit, or name a base that has one",
		}
	}
	return sha, branch, nil
}

// checkoutGitDir returns the git directory of the checkout that the caller pointed
// at, the common one in a bare repository.
func checkoutGitDir(p workspace.Project) (string, error) {
	if p.TopLevel == "" {
		return p.ID, nil
	}
	found, err := findPlace(p.TopLevel)
	if err != nil {
		return "", err
	}
	if found.common != p.ID {
		// The files lie elsewhere by core.worktree, out of any repository.
		return p.ID, nil
	}
	return found.gitDir, nil
}

// headOf reads the HEAD of a git directory.
func (r *Repository) headOf(ctx context.Context, gitDir string) (headFile, error) {
	h, err := readHead(gitDir)
	if err != nil {
		return headFile{}, unreadable(gitDir, err)
	}
	if h.ref != reftableHead {
		return h, nil
	}
	return r.askHead(ctx, gitDir)
}

// reftableHead stands in the HEAD file of a repository that keeps its refs,
// HEAD among them, in tables.
const reftableHead = "refs/heads/.invalid"

// askHead has git read the HEAD of a git directory.
func (r *Repository) askHead(ctx context.Context, gitDir string) (headFile, error) {
	cmd := command{dir: gitDir, env: []string{"GIT_DIR=" + gitDir}, args: []string{"symbolic-ref", "-q", "HEAD"}}
	ref, err := r.git.line(ctx, cmd)
	if err == nil {
		return headFile{ref: ref}, nil
	}
	cmd.args = []string{"rev-parse", "--verify", "-q", "HEAD"}
	sha, err := r.git.line(ctx, cmd)
	return headFile{sha: sha}, failure("", "HEAD could not be read", "", err)
}

// defaultBranch returns the short name of the project's default branch: that
// of origin's HEAD, or else what its main checkout, or the bare repository
// itself, has checked out. It is "" where neither is a branch.
func (r *Repository) defaultBranch(ctx context.Context, p workspace.Project) (string, error) {
	x := r.openRefs(p.ID)
	target, err := x.symbolic(ctx, "refs/remotes/origin/HEAD")
	if err != nil {
		return "", err
	}
	if branch, ok := strings.CutPrefix(target, "refs/remotes/origin/"); ok {
		return branch, nil
	}
	h, err := r.headOf(ctx, p.ID)
	if err != nil {
		return "", err
	}
	_, branch, err := x.checkedOut(ctx, h)
	return branch, err
}
