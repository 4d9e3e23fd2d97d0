package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/threadtree/threadtree/workspace"
)

var _ workspace.Restorer = (*Provider)(nil)

// trashHookTimeout bounds a command on refs, which a hook may hold up.
const trashHookTimeout = time.Minute

// Resume finishes a removal of the workspace that was begun with the same
// TrashID and interrupted: where its directory had left its place already it
// is carried on, and else judged anew, with the force that it was begun with.
// A refusal then leaves everything as it was before. See [workspace.Restorer].
func (p *Provider) Resume(ctx context.Context, req workspace.RemoveRequest) (workspace.Removed, bool, error) {
	if err := checkTrashID(req.TrashID); err != nil {
		return workspace.Removed{}, false, withOp("remove", err)
	}
	if _, err := os.Lstat(trashPath(req.Project.ID, req.TrashID)); isAbsent(err) {
		return workspace.Removed{}, false, nil
	}
	removed, found, err := p.r.trash(ctx, req, true)
	return removed, found, withOp("remove", err)
}

// trashing is one removal that keeps what it removes.
type trashing struct {
	r    *Repository
	req  workspace.RemoveRequest
	p    workspace.Project
	set  *settings
	lock *repoLock
	j    *trashJournal
	// aside still has to be deleted once the lock is given up.
	aside []string
}

// trash removes a workspace and keeps it. With resume it only goes on with a
// removal that was begun; found is false where none was.
func (r *Repository) trash(ctx context.Context, req workspace.RemoveRequest, resume bool) (removed workspace.Removed, found bool, err error) {
	if req.Workspace.Directory == "" {
		return removed, false, nil
	}
	if err := checkTrashID(req.TrashID); err != nil {
		return removed, false, err
	}
	t := &trashing{r: r, req: req, p: req.Project}
	if t.lock, err = r.lock(ctx, t.p); err != nil {
		return removed, false, err
	}
	removed, found, err = t.locked(ctx, resume)
	t.lock.release()
	if removeErr := removeTrees(t.aside); removeErr != nil {
		// It is out of the way and out of git's sight.
		removed.Left = append(removed.Left, fmt.Sprintf("not all files could be deleted: %v", removeErr))
	}
	return removed, found, err
}

func (t *trashing) locked(ctx context.Context, resume bool) (removed workspace.Removed, found bool, err error) {
	if t.set, err = t.r.settings(ctx, t.p); err != nil {
		return removed, false, err
	}
	if t.j, err = readTrash(t.p.ID, t.req.TrashID); err != nil {
		return removed, false, err
	}
	if t.j != nil {
		if err := t.j.dropDeadPackedLock(ctx, t.r, t.p); err != nil {
			return removed, true, err
		}
	}
	switch {
	case t.j == nil && resume:
		return removed, false, nil
	case t.j == nil:
	case t.j.Phase == trashKept:
		return t.j.removed(), true, nil
	case t.j.Phase != trashBegun:
		return removed, true, beingRestored(t.req.Workspace)
	case t.gone():
		// From here on it can only go forward.
		return t.finish(context.WithoutCancel(ctx))
	default:
		if resume {
			t.req.Force = t.j.Force
		}
		if err := t.takeBack(context.WithoutCancel(ctx)); err != nil {
			return removed, true, err
		}
	}
	return t.begin(ctx)
}

// gone reports whether a removal that was begun has taken the directory away,
// or would only find out that it is gone.
func (t *trashing) gone() bool {
	_, err := os.Lstat(t.j.Directory)
	return t.j.moved() || t.j.InPlace || isAbsent(err)
}

func beingRestored(w workspace.Workspace) error {
	return &workspace.Error{
		Code: workspace.ErrInProgress, ThreadID: w.ThreadID,
		Message: fmt.Sprintf("the workspace that was at %s is being restored; nothing was removed", w.Directory),
		Hint:    "restore it again, to its end",
	}
}

// begin judges, takes the snapshot and writes down what will be done.
func (t *trashing) begin(ctx context.Context) (workspace.Removed, bool, error) {
	none := workspace.Removed{}
	v, err := t.r.judge(ctx, t.req)
	if err != nil {
		return none, true, err
	}
	if v.admin == "" && v.branch == "" {
		// There is nothing of it any more.
		return workspace.Removed{Left: v.left}, true, nil
	}
	if !utf8.ValidString(v.directory + v.admin) {
		return none, true, &workspace.Error{
			Code: workspace.ErrInternal, ThreadID: t.req.Workspace.ThreadID,
			Message: fmt.Sprintf("the path %q is no valid text, and can't be written down%s", v.directory, nothingRemoved),
			Hint:    "move the worktree to another place: git worktree move",
		}
	}
	t.j = t.planned(v)
	t.req.Progress(workspace.Event{Phase: workspace.PhaseSnapshot, Message: "Taking a snapshot of " + t.req.Workspace.Directory})
	if err := t.snapshot(ctx, v); err != nil {
		return none, true, err
	}
	if v.mount && !t.req.Force {
		return none, true, t.cantKeep(t.r.lost(ctx, t.j, errMountPoint), errMountPoint)
	}
	if err := t.j.write(t.p.ID); err != nil {
		return none, true, noJournal(err, nothingRemoved)
	}
	t.r.at("journal")
	t.req.Progress(workspace.Event{Phase: workspace.PhaseRemove, Message: "Putting " + t.req.Workspace.Directory + " aside"})
	// From here on it is carried through, whatever becomes of the caller.
	ctx = context.WithoutCancel(ctx)
	if err := t.putAway(ctx, v); err != nil {
		return none, true, err
	}
	return t.finish(ctx)
}

// planned is the journal of what was judged.
func (t *trashing) planned(v verdict) *trashJournal {
	j := &trashJournal{
		ID: t.req.TrashID, Thread: t.req.Workspace.ThreadID, Phase: trashBegun, Force: t.req.Force,
		Directory: v.directory, Admin: v.admin, Head: v.head, Branch: v.checkedOut,
		Own: v.branch, OwnTip: v.tip, Ref: trashRefs + t.req.TrashID, Left: v.left,
	}
	if v.admin != "" {
		if reason, locked, err := lockReason(v.admin); err == nil && locked && !isTrash(reason) {
			j.Locked = &reason
		}
	}
	if v.admin == "" {
		j.Head, j.Branch = v.tip, v.branch
	}
	if v.missing {
		return j
	}
	j.Inode = inodeOf(v.directory)
	j.Hidden = asideName(v.directory, asideDeleted, j.ID)
	for n := 2; j.moved(); n++ {
		// Somebody else's, under a name that is as good as ours.
		j.Hidden = asideName(v.directory, asideDeleted, fmt.Sprintf("%s %d", j.ID, n))
	}
	return j
}

// snapshot takes the snapshot and notes it. Where that can't be done it is
// refused, or, with force, the commit alone is kept.
func (t *trashing) snapshot(ctx context.Context, v verdict) error {
	s := t.r.newSnapshotter(t.p, v, t.lock.inherit())
	err := v.lookErr
	if err == nil {
		var taken snapshotTaken
		if taken, err = s.take(ctx, v.look); err == nil {
			t.j.Snapshot, t.j.Lacks = taken.commit, taken.lacks
			return nil
		}
	}
	if ctx.Err() != nil || !t.req.Force {
		err = failure("remove", "no snapshot of the worktree could be taken"+nothingRemoved,
			"make room or mend what git says; or force the delete: only the directory is kept then, for a shorter time", err)
		return offering(workspace.OptionForce, err)
	}
	t.j.Snapshot = s.head
	t.j.Lacks = append(s.lacks, "uncommitted work: no snapshot could be taken: "+because(err))
	return nil
}

// newSnapshotter prepares the snapshot of what was judged.
func (r *Repository) newSnapshotter(p workspace.Project, v verdict, inherit []*os.File) *snapshotter {
	s := &snapshotter{r: r, p: p, admin: v.admin, dir: v.directory, head: v.head, inherit: inherit}
	if v.missing {
		s.dir = ""
	}
	if v.admin == "" {
		s.head = v.tip
		return s
	}
	if v.branch != "" && v.tip != v.head {
		s.tip = v.tip
	}
	for _, what := range slices.Concat(v.submodules, v.embedded) {
		s.lack("%s", what)
	}
	if v.missing {
		s.lack("what was in the files and not staged: the directory was gone already")
	}
	if op := operation(v.admin); op != "" {
		s.lack("the %s"+thatIsUnderWay, op)
	}
	for _, name := range []string{"bisect", "worktree"} {
		if refs, _ := os.ReadDir(filepath.Join(v.admin, "refs", name)); len(refs) > 0 && operation(v.admin) != opBisect {
			s.lack("the worktree's own refs/%s", name)
		}
	}
	return s
}

// noJournal is the error for a journal that could not be written, nil for nil.
func noJournal(err error, left string) error {
	return failure("", "the journal of what was to be done could not be written"+left, "see that the repository can be written to and has room", err)
}
