package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/threadtree/threadtree/workspace"
)

// branches decides which branch goes, and sees to it that no commit is lost.
func (j *judge) branches(ctx context.Context) error {
	if err := j.ownBranch(ctx); err != nil {
		return err
	}
	if j.v.admin == "" || j.v.head == "" {
		return nil
	}
	if b := j.worktree.Branch; b != "" {
		if b != j.w.Branch {
			j.v.left = append(j.v.left, fmt.Sprintf("the branch %s, which is checked out there, was left", b))
		}
		return nil
	}
	if j.force {
		return nil
	}
	n, err := j.comparer.only(ctx, j.v.head, j.v.branch)
	if err != nil || n == 0 {
		return err
	}
	return j.unmerged(ctx, "the detached HEAD", j.v.head, n)
}

// ownBranch decides about the branch that was made with the workspace.
func (j *judge) ownBranch(ctx context.Context) error {
	branch := j.w.Branch
	if branch == "" {
		return nil
	}
	tip, err := j.r.tip(ctx, j.project, "refs/heads/"+branch)
	if err != nil || tip == "" {
		return err
	}
	keep := func(why string) error {
		j.v.left = append(j.v.left, fmt.Sprintf("the branch %s was left: %s", branch, why))
		return nil
	}
	switch {
	case !j.w.BranchCreated:
		return keep("it was there before the workspace")
	case branch == j.main || branch == j.w.Base:
		return keep("it is the default or base branch")
	case j.needed != "":
		return keep(j.needed)
	}
	holder, err := j.r.heldBy(ctx, j.project, j.mainTop, branch, j.v.admin)
	if err != nil {
		return err
	}
	if holder != "" {
		return keep("it is checked out in " + holder)
	}
	here := !j.v.missing && (j.worktree.Branch == branch || j.v.admin != "" && j.r.holds(ctx, j.comparer.refs, j.v.admin, []string{branch}))
	if !here || !j.force {
		n, err := j.comparer.only(ctx, tip, branch)
		if err != nil {
			return err
		}
		if n > 0 && !here {
			// Nothing but the name would be gained by deleting it.
			if merged, _, err := j.merged(ctx, tip); err != nil || !merged {
				return errors.Join(err, keep(fmt.Sprintf("no other branch has %s of it, up to %s", plural(n, "commit"), short(tip))))
			}
		} else if n > 0 {
			if err := j.unmerged(ctx, "the branch "+branch, tip, n); err != nil {
				return err
			}
		}
	}
	j.v.branch, j.v.tip = branch, tip
	return nil
}

// unmerged objects unless the base or the default branch has what the commits
// bring, as after a squash merge.
func (j *judge) unmerged(ctx context.Context, what, sha string, n int) error {
	merged, why, err := j.merged(ctx, sha)
	if err == nil && !merged {
		j.object(rankUnmerged, workspace.ErrUnmerged, "merge or push them first",
			"%s has %s, up to %s, that no other branch has%s", what, plural(n, "commit"), sha, why)
	}
	return err
}

// merged reports whether the base or the default branch has what the commits
// bring, and why that may not be known.
func (j *judge) merged(ctx context.Context, sha string) (merged bool, why string, err error) {
	for _, name := range slices.Compact([]string{j.w.Base, ""}) {
		side := j.comparer.side(ctx, name)
		if side.unknown != "" {
			continue
		}
		rel, err := j.comparer.relation(ctx, side.sha, sha)
		switch {
		case err != nil:
			return false, "", err
		case rel.merged != nil && *rel.merged:
			return true, "", nil
		case rel.unknown != "":
			why = ", and whether they were merged otherwise is not known: " + rel.unknown
		}
	}
	return false, why, nil
}

// moved refuses to take a worktree for gone that lies in another place now: its
// record would go, and the work stay without one.
func (j *judge) moved() error {
	if j.w.Attempt.ID == "" {
		return nil // nothing marks it as this one
	}
	entries, err := readEntries(j.project.ID)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.attempt != j.w.Attempt.ID || e.directory == "" {
			continue
		}
		if reason, _, err := lockReason(e.path); err != nil || isTrash(reason) {
			continue
		}
		if info, err := os.Lstat(e.directory); err == nil && info.IsDir() {
			return j.refuse(workspace.ErrLocked, "reconcile the project, so that the record follows it, then delete it",
				"the worktree was moved: it is at %s", e.directory)
		}
	}
	return nil
}
