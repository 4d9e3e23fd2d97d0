package gitops

import (
	"context"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// renew takes the snapshot again if something was done in the directory since.
func (d *discarding) renew(ctx context.Context) error {
	unknown := func(err error) error {
		return failure("", "whether something was done in "+d.j.Hidden+" since it was deleted could not be found out; nothing was let go", "see what git says, then try again", err)
	}
	head, err := d.r.headOf(ctx, d.j.Admin)
	if err != nil {
		return unknown(err)
	}
	sha, _, err := d.r.openRefs(d.p.ID).checkedOut(ctx, head)
	if err != nil {
		return unknown(err)
	}
	v := verdict{directory: d.j.Hidden, admin: d.j.Admin, head: sha, branch: d.j.Own, tip: d.j.OwnTip}
	s := d.r.newSnapshotter(d.p, v, d.lock.inherit())
	old, oldErr := d.r.readSnapshot(ctx, d.p, d.j.Snapshot)
	s.previous, s.exact = d.j.Snapshot, true
	look, err := d.r.lookHard(ctx, d.j.Admin, d.j.Hidden, statusOptions{withoutSubmodules: true})
	var taken snapshotTaken
	if err == nil {
		taken, err = s.take(ctx, look)
	}
	switch {
	case err != nil && oldErr != nil && ctx.Err() == nil:
		return nil // It could not be taken before either.
	case err != nil:
		return unknown(err)
	}
	if oldErr == nil && old.Head == sha {
		same, err := d.r.sameTrees(ctx, d.p, [2]string{d.j.Snapshot, taken.commit}, [2]string{old.Index, taken.message.Index}, [2]string{old.State, taken.message.State})
		if err != nil {
			return unknown(err)
		}
		if same {
			return nil
		}
	}
	return d.replaceSnapshot(ctx, taken)
}

// replaceSnapshot has the ref keep another snapshot, which has the one before
// in its history.
func (d *discarding) replaceSnapshot(ctx context.Context, taken snapshotTaken) error {
	cant := func(err error) error {
		return failure("", "the snapshot could not be brought up to date; nothing was let go", "see what git says, then try again", err)
	}
	var err error
	if d.set, err = d.r.settings(ctx, d.p); err != nil {
		return cant(err)
	}
	if err := d.r.updateRef(ctx, d.p, d.set, d.lock.inherit(), d.j.Ref, taken.commit, d.j.Snapshot); err != nil {
		return cant(err)
	}
	d.j.Snapshot = taken.commit
	for _, line := range taken.lacks {
		if !slices.Contains(d.j.Lacks, line) {
			d.j.Lacks = append(d.j.Lacks, line)
		}
	}
	return noJournal(d.j.write(d.p.ID), "; nothing was let go")
}

// sameTrees reports whether the commits of each pair have the same tree. No
// commit is the same as no commit.
func (r *Repository) sameTrees(ctx context.Context, p workspace.Project, pairs ...[2]string) (bool, error) {
	args := []string{"rev-parse"}
	for _, pair := range pairs {
		if (pair[0] == "") != (pair[1] == "") {
			return false, nil
		}
		if pair[0] != "" {
			args = append(args, pair[0]+"^{tree}", pair[1]+"^{tree}")
		}
	}
	out, err := r.git.line(ctx, r.openRefs(p.ID).command(args...))
	if err != nil {
		return false, err
	}
	trees := strings.Split(out, "\n")
	for i := 1; i < len(trees); i += 2 {
		if trees[i] != trees[i-1] {
			return false, nil
		}
	}
	return true, nil
}
