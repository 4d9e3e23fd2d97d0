package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/threadtree/threadtree/workspace"
)

// Restore brings a deleted workspace back: by renaming its directory, with all
// that is in it, or from its snapshot where the directory is gone. What is
// taken by now, place or name, gets another, which the warnings say. It can be
// called again after it was interrupted at any point, and returns the same
// where it had come to its end. See [workspace.Restorer].
func (p *Provider) Restore(ctx context.Context, req workspace.RestoreRequest) (workspace.Restored, error) {
	if req.Free == nil {
		req.Free = func(string, string) bool { return true }
	}
	var restored workspace.Restored
	err := p.r.withTrash(ctx, req.Project, req.Trashed, func(j *trashJournal, lock *trashLock) error {
		re := &restoring{r: p.r, req: req, p: req.Project, j: j, lock: lock}
		err := re.restore(ctx)
		if err == nil {
			restored = re.restored()
		}
		return err
	})
	return restored, withOp("restore", err)
}

// restoring is one restore.
type restoring struct {
	r    *Repository
	req  workspace.RestoreRequest
	p    workspace.Project
	j    *trashJournal
	lock *trashLock
	set  *settings
	// unusable is what is at the hidden directory's place and isn't it.
	unusable string
	// rescued is true where git had forgotten the kept directory.
	rescued bool
}

func (re *restoring) refuse(code workspace.Code, hint, format string, args ...any) error {
	return &workspace.Error{
		Code: code, ThreadID: re.j.Thread, Hint: hint,
		Message: fmt.Sprintf(format, args...) + "; nothing was restored",
	}
}

func (re *restoring) restore(ctx context.Context) error {
	var err error
	if re.set, err = re.r.settings(ctx, re.p); err != nil {
		return err
	}
	if err := re.j.dropDeadPackedLock(ctx, re.r, re.p); err != nil {
		return err
	}
	switch {
	case re.j.Phase == trashBegun:
		return re.refuse(workspace.ErrInProgress, "delete it again, to its end", "the removal of %s was interrupted", re.j.Directory)
	case re.j.Phase == trashRestored && re.alive():
		return re.mark()
	case re.j.Phase == trashRestored:
		// It was back, and is gone again: only the snapshot is left.
		re.j.Phase, re.j.Hidden = trashKept, ""
	}
	re.req.Progress(workspace.Event{Phase: workspace.PhaseRestore, Message: "Restoring " + re.j.Directory})
	switch {
	case !re.j.keepsDirectory():
	case re.j.moved() && re.j.paired(re.j.Hidden), re.cameBack():
		return re.byRename(ctx)
	case re.j.moved() && re.j.claims(re.j.Hidden):
		if err := re.rescue(ctx); err != nil {
			return err
		}
		return re.byRename(ctx)
	default:
		if re.j.moved() {
			re.unusable = re.j.Hidden
		}
		if err := re.buryLost(ctx); err != nil {
			return err
		}
	}
	return re.anew(ctx)
}

// alive reports whether what was restored is there.
func (re *restoring) alive() bool {
	plan := re.j.Restore
	return plan != nil && re.j.Admin != "" && resolveExisting(gitDirOf(plan.Directory)) == resolveExisting(re.j.Admin) &&
		readEntry(re.j.Admin).of(plan.Directory)
}

// cameBack reports whether an interrupted restore had renamed the directory.
func (re *restoring) cameBack() bool {
	plan := re.j.Restore
	return plan != nil && !plan.Anew && leadsTo(plan.Directory, re.j.Admin) &&
		(re.j.Inode == 0 || re.j.sameFile(plan.Directory) || re.j.token())
}

// mark ends the restore: the lock is what it was, and the attempt's mark says
// that the worktree is complete.
func (re *restoring) mark() error {
	m := readMarker(re.j.Admin)
	m.Attempt, m.Thread = re.req.Attempt, re.j.Thread
	err := giveLockBack(re.j)
	re.r.at("unlocked")
	if err == nil {
		err = finishEntry(re.j.Admin, m)
	}
	if err == nil && re.j.Restore.Anew && re.j.Phase != trashRestored {
		err = lockAgain(re.j)
	}
	re.r.at("marked")
	if err == nil {
		re.j.Restore.Attempt, re.j.Phase = re.req.Attempt, trashRestored
		err = re.j.write(re.p.ID)
	}
	re.r.at("restored")
	return failure("", "the worktree is back, but could not be marked as complete", "restore it again", err)
}

func (re *restoring) restored() workspace.Restored {
	plan := re.j.Restore
	restored := workspace.Restored{Directory: plan.Directory, Branch: plan.Record, Warnings: plan.Warnings}
	if w := re.req.Trashed.Workspace; resolvedParent(w.Directory) == plan.Directory {
		restored.Directory = w.Directory // as it was spelled
	}
	return restored
}

// plan decides what is made, and writes it down. head is the commit that is
// checked out, anew says that there is no directory to rename.
func (re *restoring) plan(ctx context.Context, head string, anew bool) error {
	plan := &restorePlan{Attempt: re.req.Attempt, Anew: anew}
	if err := re.planDirectory(plan); err != nil {
		return err
	}
	if err := re.planBranch(ctx, plan, head); err != nil {
		return err
	}
	if head != re.j.Head && re.j.Head != "" {
		plan.warn("HEAD stood at %s when it was deleted and stands at %s now; the work done since is kept", short(re.j.Head), short(head))
	}
	if re.rescued {
		plan.warn("git had forgotten the kept directory: it is back with all its files, and what git knew of it as the snapshot has it; an operation that was under way is lost")
	}
	if anew {
		re.warnAnew(plan)
	} else if len(re.j.Dropped) > 0 {
		plan.warn("%s had to go to save room: make it again", someOf(re.j.Dropped))
	}
	re.j.Restore, re.j.Phase = plan, trashRestoring
	if err := re.j.write(re.p.ID); err != nil {
		return noJournal(err, "; nothing was restored")
	}
	re.r.at("planned")
	return nil
}

func (plan *restorePlan) warn(format string, args ...any) {
	plan.Warnings = append(plan.Warnings, fmt.Sprintf(format, args...))
}

// planDirectory chooses the place: the old one, or one with a number.
func (re *restoring) planDirectory(plan *restorePlan) error {
	if err := os.MkdirAll(filepath.Dir(re.j.place()), 0o755); err != nil {
		return cantRestore(err)
	}
	entries, err := readEntries(re.p.ID)
	if err != nil {
		return unreadable(re.p.ID, err)
	}
	for n := 1; n < maxVariants; n++ {
		directory := re.j.place()
		if n > 1 {
			directory = fmt.Sprintf("%s-%d", directory, n)
		}
		empty, err := emptyOrAbsent(directory)
		if err != nil {
			return cantRestore(err)
		}
		for _, e := range entries {
			empty = empty && (e.path == re.j.Admin || !e.of(directory))
		}
		if !empty || !re.req.Free(directory, "") {
			continue
		}
		if n > 1 {
			plan.warn("%s is taken by now: the workspace is at %s", re.j.Directory, directory)
		}
		plan.Directory = directory
		return nil
	}
	return re.refuse(workspace.ErrDirectoryExists, "move away what is in its place", "%s and all variants of it are taken", re.j.Directory)
}

// planBranch chooses the branch that is made again and the one that HEAD is
// put on.
func (re *restoring) planBranch(ctx context.Context, plan *restorePlan, head string) error {
	gone := ""
	if re.j.OwnGone {
		gone, plan.Tip = re.j.Own, re.j.OwnTip
	} else if re.j.Branch != "" && head != "" {
		tip, err := re.r.tip(ctx, re.p, "refs/heads/"+re.j.Branch)
		if err != nil {
			return err
		}
		if tip == "" {
			gone = re.j.Branch
		}
	}
	if gone != "" {
		if gone == re.j.Branch && head != "" {
			plan.Tip = head
		}
		var err error
		if plan.Branch, err = re.freeBranch(ctx, gone, plan.Tip); err != nil {
			return err
		}
		if plan.Branch != gone {
			plan.warn("the branch %s is taken by now: it is called %s", gone, plan.Branch)
		}
	}
	plan.Record = re.req.Trashed.Workspace.Branch
	if plan.Record == gone {
		plan.Record = plan.Branch
	} else if plan.Record != "" && !re.req.Free("", plan.Record) {
		plan.warn("the branch %s belongs to another thread by now", plan.Record)
		plan.Record = ""
	}
	if gone != "" && gone == re.j.Branch {
		plan.Attach = plan.Branch
		return nil
	}
	return re.planAttach(ctx, plan, head)
}

// freeBranch returns a name for a branch that is made again at tip: that of an
// interrupted restore, which may have made it, or a free one.
func (re *restoring) freeBranch(ctx context.Context, branch, tip string) (string, error) {
	if earlier := re.j.Restore; earlier != nil && earlier.Branch != "" && earlier.Tip == tip {
		made, err := re.r.tip(ctx, re.p, "refs/heads/"+earlier.Branch)
		if err != nil {
			return "", err
		}
		held, err := re.r.heldBy(ctx, re.p, re.set.mainTop, earlier.Branch, re.j.Admin)
		if err != nil || made == tip && held == "" {
			return earlier.Branch, err
		}
	}
	t, err := re.r.taken(ctx, re.p)
	if err != nil {
		return "", err
	}
	for n := 1; n < maxVariants; n++ {
		name := branch
		if n > 1 {
			name = fmt.Sprintf("%s-%d", branch, n)
		}
		if other, _ := t.clash(name); other != "" || !re.req.Free("", name) {
			continue
		}
		if held, err := re.r.heldBy(ctx, re.p, re.set.mainTop, name, re.j.Admin); err != nil || held == "" {
			return name, err
		}
	}
	return "", re.refuse(workspace.ErrAlreadyExists, "delete or rename some of them", "the branch %s and all variants of its name are taken", branch)
}

// planAttach decides whether HEAD is put on the branch that is still there.
func (re *restoring) planAttach(ctx context.Context, plan *restorePlan, head string) error {
	branch := re.j.Branch
	if branch == "" {
		return nil
	}
	tip, err := re.r.tip(ctx, re.p, "refs/heads/"+branch)
	if err != nil {
		return err
	}
	held, err := re.r.heldBy(ctx, re.p, re.set.mainTop, branch, re.j.Admin)
	switch {
	case err != nil:
		return err
	case held != "":
		plan.warn("the branch %s is checked out in %s by now: HEAD is detached at %s", branch, held, short(head))
	case tip != head:
		plan.warn("the branch %s has moved to %s since: HEAD is detached at %s", branch, short(tip), short(head))
	default:
		plan.Attach = branch
	}
	return nil
}

// cantRestore is the error of a restore that goes on when it is called again.
func cantRestore(err error) error {
	err = failure("", "the workspace could not be restored; what is kept of it is kept", "see what keeps it, then restore it again", err)
	if e, ok := errors.AsType[*workspace.Error](err); ok {
		told := *e
		told.Op = ""
		return &told
	}
	return err
}
