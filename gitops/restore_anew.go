package gitops

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// thatIsUnderWay ends what is said of an operation that a snapshot lacks.
const thatIsUnderWay = " that is under way"

// warnAnew says what a working copy from the snapshot lacks.
func (re *restoring) warnAnew(plan *restorePlan) {
	if re.unusable != "" {
		plan.warn("what is at %s is not the directory that was kept there, and was left: the workspace was made anew from the snapshot, without ignored files", re.unusable)
	} else {
		plan.warn("its directory is not kept any more: it was made anew from the snapshot, without ignored files")
	}
	for _, what := range re.j.Lacks {
		plan.warn("lost with the directory: %s", what)
	}
	underWay := slices.ContainsFunc(re.j.Lacks, func(what string) bool { return strings.HasSuffix(what, thatIsUnderWay) })
	if underWay && plan.Attach == "" && plan.Record != "" {
		plan.warn("HEAD is detached in the middle of it; the commits from before it are on the branch %[1]s: to go on from there, and drop what is in the files, run in the workspace: git switch --discard-changes %[2]s",
			plan.Record, quoted(plan.Record))
	}
}

// anew makes the worktree from its snapshot. Until it is complete its entry is
// locked, with the attempt in the reason.
func (re *restoring) anew(ctx context.Context) error {
	parts, err := re.parts(ctx)
	if err != nil {
		return err
	}
	if err := re.addAnew(ctx, parts, ""); err != nil {
		return err
	}
	re.r.at("added")
	w := &writing{
		r: re.r, p: re.p, admin: re.j.Admin, directory: re.j.Restore.Directory, parts: parts,
		inherit: re.lock.inherit(), plan: re.j.Restore, set: re.set,
	}
	if err := w.write(ctx); err != nil {
		return cantRestore(err)
	}
	re.r.at("written")
	return re.mark()
}

// parts returns what the snapshot is made of.
func (re *restoring) parts(ctx context.Context) (snapshotMessage, error) {
	now, err := re.r.tip(ctx, re.p, re.j.Ref)
	if err != nil {
		return snapshotMessage{}, err
	}
	if now == "" {
		return snapshotMessage{}, re.refuse(workspace.ErrNotFound, "create a new workspace", "the snapshot %s is gone, and so is the directory", re.j.Ref)
	}
	re.j.Snapshot = now
	parts, err := re.r.readSnapshot(ctx, re.p, now)
	if err != nil && now != re.j.Head {
		return parts, failure("", "the snapshot can't be read; nothing was restored", "see it with: git show "+now, err)
	}
	if err != nil {
		// Only the commit could be kept.
		return snapshotMessage{Head: now, Index: now}, nil
	}
	parts.Work = now
	return parts, nil
}

// addAnew makes the entry, without files, and the branch, after what an
// interrupted restore left is cleared. kept is the hidden directory that is to
// have the entry, "" for none.
func (re *restoring) addAnew(ctx context.Context, parts snapshotMessage, kept string) error {
	lock, err := re.r.lock(ctx, re.p)
	if err != nil {
		return err
	}
	defer lock.release()
	if err := re.clearAnew(ctx); err != nil {
		return err
	}
	if re.j.Discarded && re.j.moved() && inodeOf(re.j.Hidden) == re.j.Inode {
		if err := removeTree(re.j.Hidden); err != nil {
			return cantRestore(err)
		}
	}
	re.j.Hidden = kept // "": there is no such directory, or not a whole one
	if err := re.plan(ctx, parts.Head, true); err != nil {
		return err
	}
	start := parts.Head
	if start == "" {
		start = re.j.Snapshot // HEAD is put on its branch, which has no commit
	}
	m := &making{r: re.r, set: re.set, req: workspace.CreateRequest{
		Project: re.p, ThreadID: re.j.Thread, Attempt: re.req.Attempt, Inherit: re.lock.inherit(), Progress: re.req.Progress,
	}}
	admin, err := m.add(ctx, lock, choice{plan: workspace.Plan{Directory: re.j.Restore.Directory, Branch: start}})
	if err != nil {
		return cantRestore(err)
	}
	re.r.at("entry")
	re.j.Admin = admin
	if err := writeMarker(admin, marker{Attempt: re.req.Attempt, Thread: re.j.Thread, Start: parts.Head}); err != nil {
		return cantRestore(err)
	}
	if err := re.j.write(re.p.ID); err != nil {
		return noJournal(err, "; the workspace can be restored again")
	}
	return cantRestore(re.attach(ctx, lock))
}

// clearAnew removes what an interrupted restore made, but for the branch.
func (re *restoring) clearAnew(ctx context.Context) error {
	plan := re.j.Restore
	if plan == nil || !plan.Anew || re.j.Phase != trashRestoring {
		return nil
	}
	return re.r.clearAnew(ctx, re.p, plan)
}

func (r *Repository) clearAnew(ctx context.Context, p workspace.Project, plan *restorePlan) error {
	w := workspace.Workspace{Directory: plan.Directory, Attempt: workspace.Attempt{ID: plan.Attempt}}
	_, aside, err := r.clearLocked(ctx, p, w)
	if err == nil {
		err = removeTrees(aside)
	}
	return cantRemove("restore", "what an interrupted restore left", err)
}

// writing writes index and files of a worktree from a snapshot.
type writing struct {
	r         *Repository
	p         workspace.Project
	set       *settings
	admin     string
	directory string
	parts     snapshotMessage
	inherit   []*os.File
	plan      *restorePlan
}

// command is a git command on the worktree.
func (w *writing) command(args ...string) command {
	return command{
		dir: w.directory, args: args, write: true, inherit: w.inherit,
		env:    []string{"GIT_DIR=" + w.admin, "GIT_WORK_TREE=" + w.directory},
		config: append([]string{"core.fsmonitor=false"}, w.set.hooksOff(false)...),
	}
}

func (w *writing) write(ctx context.Context) error {
	state, err := w.readState(ctx)
	if err != nil {
		return err
	}
	if err := w.writeIndex(ctx, state); err != nil {
		return err
	}
	w.r.at("index")
	if err := w.checkout(ctx, state); err != nil {
		return err
	}
	w.r.at("checkout")
	if err := w.difference(ctx, state); err != nil {
		return err
	}
	// Where something differs, as it did, or a filter fails, git refreshes what
	// it can.
	refresh := w.command("update-index", "-q", "--refresh")
	if isLarge(w.admin) {
		refresh.config = append(refresh.config, w.set.cachesUntracked()...)
	}
	if _, err = w.r.git.run(ctx, refresh); exitCode(err) > 0 {
		err = nil
	}
	return err
}

// writeIndex makes the index, and what else of the entry was kept.
func (w *writing) writeIndex(ctx context.Context, state readState) error {
	for name, file := range stateSources {
		path := filepath.Join(w.admin, filepath.FromSlash(file))
		content, ok := state.files[name]
		if !ok {
			// git may have copied those of the main checkout.
			if err := removeIfThere(path); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := replaceFile(path, content); err != nil {
			return err
		}
	}
	if index, ok := state.files[stateIndex]; ok {
		return replaceFile(filepath.Join(w.admin, "index"), index)
	}
	if _, err := w.r.git.run(ctx, w.command("read-tree", w.parts.Index+"^{tree}")); err != nil {
		return err
	}
	return w.skip(ctx, state.skipped)
}

// skip gives entries of the index the flag that they aren't on disk.
func (w *writing) skip(ctx context.Context, runs []indexRun) error {
	if len(runs) == 0 {
		return nil
	}
	out, err := w.r.git.run(ctx, w.command("ls-files", "-z"))
	if err != nil {
		return err
	}
	var skipped []string
	for _, path := range splitNUL(out) {
		for len(runs) > 0 && path > runs[0].last && !runs[0].has(path) {
			runs = runs[1:]
		}
		if len(runs) > 0 && runs[0].has(path) {
			skipped = append(skipped, path)
		}
	}
	cmd := w.command("update-index", "-z", "--skip-worktree", "--stdin")
	cmd.stdin = bytes.NewReader(joinNUL(skipped))
	_, err = w.r.git.run(ctx, cmd)
	return err
}
