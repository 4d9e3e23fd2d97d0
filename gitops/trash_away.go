package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/threadtree/threadtree/workspace"
)

// putAway does what can be taken back: the ref, the lock, the new place. Where
// the directory can't be renamed it is refused, or, with force, will be
// emptied where it is.
func (t *trashing) putAway(ctx context.Context, v verdict) error {
	err := t.keepRef(ctx)
	if err == nil {
		t.r.at("ref")
		if t.j.Hidden == "" {
			return nil
		}
		err = t.move(v)
	}
	if err == nil {
		return nil
	}
	stuck, isStuck := errors.AsType[*stuckError](err)
	var refusal error
	if isStuck {
		lost := t.r.lost(ctx, t.j, stuck)
		if t.req.Force {
			t.j.InPlace, t.j.Hidden = true, ""
			t.j.Left = append(t.j.Left, lost...)
			return noJournal(t.j.write(t.p.ID), "; the worktree is as it was, but locked")
		}
		refusal = t.cantKeep(lost, stuck)
	} else {
		refusal = failure("remove", "the worktree could not be put aside"+nothingRemoved, "see what keeps it, then try again", err)
	}
	if err := t.takeBack(ctx); err != nil {
		return errors.Join(refusal, err)
	}
	return refusal
}

// stuckError is that of a directory which can't be renamed.
type stuckError struct{ err error }

func (e *stuckError) Error() string { return e.err.Error() }

func (e *stuckError) Unwrap() error { return e.err }

// move locks the entry, hides the directory and has the entry follow it.
func (t *trashing) move(v verdict) error {
	if err := replaceFile(filepath.Join(t.j.Admin, "locked"), []byte(t.j.reason()+"\n")); err != nil {
		return err
	}
	t.r.at("locked")
	if v.mount {
		return &stuckError{errMountPoint}
	}
	if err := os.Rename(t.j.Directory, t.j.Hidden); err != nil {
		if link, ok := errors.AsType[*os.LinkError](err); ok {
			err = link.Err
		}
		return &stuckError{err}
	}
	t.r.at("renamed")
	return t.point(t.j.Hidden)
}

// point makes the entry that of a directory.
func (t *trashing) point(directory string) error { return pointEntry(t.j.Admin, directory) }

func pointEntry(admin, directory string) error {
	if e := readEntry(admin); e.of(directory) {
		return nil
	}
	return replaceFile(filepath.Join(admin, "gitdir"), []byte(filepath.Join(directory, ".git")+"\n"))
}

// keepRef makes the ref of the snapshot.
func (t *trashing) keepRef(ctx context.Context) error {
	if t.j.Snapshot == "" {
		return nil
	}
	if now, err := t.r.tip(ctx, t.p, t.j.Ref); err != nil || now == t.j.Snapshot {
		return err
	}
	return t.r.updateRef(ctx, t.p, t.set, t.lock.inherit(), t.j.Ref, t.j.Snapshot, "")
}

// updateRef moves a ref by compare-and-swap; "" stands for no such ref.
func (r *Repository) updateRef(ctx context.Context, p workspace.Project, set *settings, inherit []*os.File, ref, to, from string) error {
	args := []string{"update-ref", "--no-deref", "-m", "threadtree: restore", ref, to, from}
	if to == "" {
		args = []string{"update-ref", "--no-deref", "-d", ref, from}
	}
	_, err := r.git.run(ctx, command{
		dir: workDir(p), args: args, write: true, inherit: inherit, config: set.hooksOff(false), timeout: trashHookTimeout,
	})
	return err
}

// takeBack makes everything what it was before the removal began.
func (t *trashing) takeBack(ctx context.Context) error {
	j := t.j
	cant := func(err error) error {
		return failure("remove", "what an interrupted removal of "+j.Directory+" had begun could not be taken back", "delete it again", err)
	}
	if j.moved() {
		if err := os.Rename(j.Hidden, j.Directory); err != nil {
			return cant(err)
		}
	}
	if j.Hidden != "" {
		if err := t.point(j.Directory); err != nil {
			return cant(err)
		}
		if err := giveLockBack(j); err != nil {
			return cant(err)
		}
	}
	if err := t.r.dropRef(ctx, t.p, t.set, t.lock.inherit(), j); err != nil {
		return cant(err)
	}
	if err := j.forget(t.p.ID); err != nil {
		return cant(err)
	}
	_ = os.Remove(trashDir(t.p.ID)) // if it is empty
	return nil
}

// giveLockBack makes the lock of the entry what it was.
func giveLockBack(j *trashJournal) error {
	reason, locked, err := lockReason(j.Admin)
	if err != nil || !locked || reason != j.reason() {
		return err
	}
	if j.Locked == nil {
		return os.Remove(filepath.Join(j.Admin, "locked"))
	}
	return lockAgain(j)
}

// lockAgain gives the entry the lock that it had, if any.
func lockAgain(j *trashJournal) error {
	if j.Locked == nil {
		return nil
	}
	content := *j.Locked
	if content != "" {
		content += "\n"
	}
	return replaceFile(filepath.Join(j.Admin, "locked"), []byte(content))
}

// dropRef deletes the ref of the snapshot, if it is still ours.
func (r *Repository) dropRef(ctx context.Context, p workspace.Project, set *settings, inherit []*os.File, j *trashJournal) error {
	now, err := r.tip(ctx, p, j.Ref)
	if err != nil || now == "" || now != j.Snapshot {
		return err
	}
	return r.updateRef(ctx, p, set, inherit, j.Ref, "", now)
}

// inodeOf returns the number of a file on its disk, 0 if it can't be had.
func inodeOf(path string) uint64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Ino
	}
	return 0
}
