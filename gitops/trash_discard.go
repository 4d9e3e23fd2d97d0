package gitops

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// Discard lets go of what was kept of a deleted workspace: the directory
// alone, after its snapshot was brought up to date, or all. With all, a
// directory in which something was done since it was deleted is refused with
// the code dirty_worktree, as nothing else has that. Where it was restored the
// living directory is not touched. A directory in which a process
// works, or in which a file system is mounted, is refused with the code locked;
// one whose removal or restore was interrupted, with in_progress. See
// [workspace.Restorer].
func (p *Provider) Discard(ctx context.Context, project workspace.Project, t workspace.Trashed, all bool) error {
	return withOp("discard", p.r.withTrash(ctx, project, t, func(j *trashJournal, lock *trashLock) error {
		d := &discarding{r: p.r, p: project, j: j, lock: lock}
		if err := d.directory(ctx, all); err != nil || !all {
			return err
		}
		return d.rest(ctx)
	}))
}

// withTrash does something with a deleted workspace, of which it has the lock.
func (r *Repository) withTrash(ctx context.Context, p workspace.Project, t workspace.Trashed, do func(*trashJournal, *trashLock) error) error {
	id := t.ID
	if name, ok := strings.CutPrefix(t.Kept.Ref, trashRefs); ok {
		id = name
	}
	if err := checkTrashID(id); err != nil {
		return err
	}
	lock, err := r.lockTrash(ctx, p, id)
	if err != nil {
		return err
	}
	defer lock.release()
	j, err := r.trashOf(ctx, p, id, t)
	if err == nil {
		err = failure("", "the kept directory can't be looked at; nothing was changed", "see that it can be written to", j.findAgain())
	}
	if err != nil {
		return err
	}
	return do(j, lock)
}

// trashOf returns the journal of a deleted workspace; one that is lost is made
// up from the record and from what there is.
func (r *Repository) trashOf(ctx context.Context, p workspace.Project, id string, t workspace.Trashed) (*trashJournal, error) {
	j, err := readTrash(p.ID, id)
	if err != nil || j != nil {
		return j, err
	}
	j = &trashJournal{
		ID: id, Thread: t.Workspace.ThreadID, Phase: trashKept, Directory: resolvedParent(t.Workspace.Directory),
		Hidden: t.Kept.Directory, Head: t.Kept.Tip, Branch: t.Kept.Branch, Ref: trashRefs + id, Lacks: t.Kept.Missing,
	}
	if j.Snapshot, err = r.tip(ctx, p, j.Ref); err != nil {
		return nil, err
	}
	if own := t.Workspace.Branch; t.Workspace.BranchCreated && own != "" && own == t.Kept.Branch {
		tip, err := r.tip(ctx, p, "refs/heads/"+own)
		if err != nil {
			return nil, err
		}
		j.Own, j.OwnTip, j.OwnGone = own, t.Kept.Tip, tip == ""
	}
	if admin := gitDirOf(j.Hidden); j.Hidden != "" && admin != "" && within(resolveExisting(admin), filepath.Join(p.ID, "worktrees")) {
		j.Admin = resolveExisting(admin)
	}
	return j, nil
}

// discarding lets go of one deleted workspace.
type discarding struct {
	r    *Repository
	p    workspace.Project
	j    *trashJournal
	lock *trashLock
	set  *settings
}

func (d *discarding) refuse(code workspace.Code, hint, format string, args ...any) error {
	return &workspace.Error{
		Code: code, ThreadID: d.j.Thread, Hint: hint,
		Message: fmt.Sprintf(format, args...) + "; nothing was let go",
	}
}

// directory lets the directory go, and the entry.
func (d *discarding) directory(ctx context.Context, all bool) error {
	switch {
	case d.j.Phase == trashBegun:
		return d.refuse(workspace.ErrInProgress, "delete it again, to its end", "the removal of %s was interrupted", d.j.Directory)
	case d.j.Phase == trashRestored, d.j.Hidden == "", d.j.InPlace:
		return nil
	case d.j.Phase == trashRestoring && (!all || !d.j.moved()):
		return d.refuse(workspace.ErrInProgress, "restore it again, to its end", "the restore of %s was interrupted", d.j.Directory)
	}
	if !d.j.moved() {
		d.j.Discarded = true
		return d.bury(ctx)
	}
	if err := d.check(all); err != nil {
		return err
	}
	if !d.j.Discarded {
		if err := d.keepSince(ctx, all); err != nil {
			return err
		}
	}
	// From here on it is not whole any more.
	d.j.Discarded = true
	if err := d.j.write(d.p.ID); err != nil {
		return noJournal(err, "; nothing was let go")
	}
	d.r.at("discarding")
	if err := d.bury(ctx); err != nil {
		return err
	}
	d.r.at("buried")
	return cantRemove("", d.j.Hidden, removeTrees(append(buried(d.p.ID), d.j.Hidden)))
}

// check sees to it that the hidden directory is what was put there, and that
// nobody uses it.
func (d *discarding) check(all bool) error {
	hidden := d.j.Hidden
	resolved := resolveExisting(hidden)
	// Without its entry it can go with the snapshot alone, or to its end.
	ours := d.j.paired(hidden) || (all || d.j.Discarded) && d.j.claims(hidden) || d.j.Discarded && d.j.sameFile(hidden)
	if !ours {
		return d.refuse(workspace.ErrLocked, "see what it is; remove it by hand if it can go", "%s is not what was put there", hidden)
	}
	if mounts := mountsWithin(resolved); len(mounts) > 0 {
		return d.refuse(workspace.ErrLocked, "unmount it first", "a file system is mounted at %s", mounts[0])
	}
	if p, ok := processWithin(resolved); ok {
		return d.refuse(workspace.ErrLocked, "end it first, or let it change its directory", "the process %d (%s) works in %s", p.pid, p.command, p.directory)
	}
	return nil
}

// bury takes the entry away, if it is that of the hidden directory.
func (d *discarding) bury(ctx context.Context) error {
	if d.j.Admin == "" || !readEntry(d.j.Admin).of(d.j.Hidden) {
		return nil
	}
	lock, err := d.r.lock(ctx, d.p)
	if err != nil {
		return err
	}
	defer lock.release()
	_, err = buryEntry(d.p.ID, d.j.Admin)
	return cantRemove("", "the worktree's entry", err)
}

// rest lets the snapshot and the journal go.
func (d *discarding) rest(ctx context.Context) error {
	var err error
	if d.set, err = d.r.settings(ctx, d.p); err != nil {
		return err
	}
	if plan := d.j.Restore; d.j.Phase == trashRestoring && plan != nil && plan.Anew {
		if err := d.clearAnew(ctx, plan); err != nil {
			return err
		}
	}
	if err := d.r.dropRef(ctx, d.p, d.set, d.lock.inherit(), d.j); err != nil {
		return failure("", "the snapshot could not be let go", "see what git says, then try again", err)
	}
	d.r.at("unreferenced")
	if err := removeTrees(buried(d.p.ID)); err != nil {
		return cantRemove("", "the worktree's entry", err)
	}
	return cantRemove("", "the journal of the deleted workspace", d.j.forget(d.p.ID))
}

// clearAnew removes what a restore that was never finished made.
func (d *discarding) clearAnew(ctx context.Context, plan *restorePlan) error {
	lock, err := d.r.lock(ctx, d.p)
	if err != nil {
		return err
	}
	defer lock.release()
	return d.r.clearAnew(ctx, d.p, plan)
}
