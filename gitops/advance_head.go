package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// relocate moves the HEAD of a checkout to another commit, with its files and
// its index, by the same steps as advance moves a branch: no change that isn't
// committed is overwritten, and what a killed process leaves is settled by
// recoverAdvance. HEAD, which must be on the branch in.ref at in.old, or
// detached there where in.ref is "HEAD", is detached afterwards; the branch
// stays. changes are the paths in which the commits differ. The repository's
// lock must be held. The codes are those of advance.
func (r *Repository) relocate(ctx context.Context, p workspace.Project, in advanceInput, at checkout, changes []treeChange) error {
	in.detach = true
	if err := in.complete(ctx, r, p); err != nil {
		return err
	}
	if len(changes) == 0 {
		return r.moveHead(ctx, p, in, at, in.inherit)
	}
	m := &move{r: r, p: p, in: in, at: at, files: moveFiles(at.gitDir), changes: changes}
	return m.run(ctx)
}

// leaves is the branch that HEAD must be on before a move, "" for none.
func (in *advanceInput) leaves() string {
	if in.detach && in.ref == "HEAD" {
		return ""
	}
	return in.branch()
}

// leads is the branch that HEAD is on after a move, "" for none.
func (in *advanceInput) leads() string {
	if in.detach {
		return ""
	}
	return in.branch()
}

// moveHead moves HEAD itself. Where it stands afterwards decides.
func (r *Repository) moveHead(ctx context.Context, p workspace.Project, in advanceInput, at checkout, inherit []*os.File) error {
	_, gitErr := r.git.run(ctx, command{
		dir: at.top, env: at.lookup(), write: true, config: in.set.hooksOff(in.ownHooks), inherit: inherit, timeout: in.hookTimeout,
		args:  []string{"update-ref", "-m", in.message, "--stdin"},
		stdin: strings.NewReader(fmt.Sprintf("option no-deref\nupdate HEAD %s %s\nupdate ORIG_HEAD %s\n", in.new, in.old, in.old)),
	})
	if gitErr == nil {
		return nil
	}
	moved, err := r.headIs(context.WithoutCancel(ctx), p, at, in.new)
	if moved {
		return nil
	}
	return failure("", fmt.Sprintf("the HEAD of %s could not be moved; it is where it was", at.name()),
		"see what git or its reference-transaction hook says, then try again", errors.Join(err, gitErr))
}

// headIs reports whether the HEAD of a checkout is detached at a commit.
func (r *Repository) headIs(ctx context.Context, p workspace.Project, at checkout, sha string) (bool, error) {
	h, err := r.headOf(ctx, at.gitDir)
	if err != nil {
		return false, err
	}
	now, branch, err := r.openRefs(p.ID).checkedOut(ctx, h)
	return branch == "" && now == sha, err
}
