package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/threadtree/threadtree/workspace"
)

// look finds out what there is to merge, and into what. A paused merge comes
// back as its conflict.
func (m *merging) look(ctx context.Context) error {
	if err := m.lookAtWorkspace(ctx); err != nil {
		return err
	}
	if err := m.lookAtOperation(ctx); err != nil {
		return err
	}
	return m.lookAtTarget(ctx)
}

// lookAtWorkspace sees to it that the workspace is in its place, and reads
// what is checked out there.
func (m *merging) lookAtWorkspace(ctx context.Context) error {
	directory := resolvedParent(m.req.Workspace.Directory)
	w, admin, err := m.r.worktreeAdmin(ctx, m.req.Project, directory)
	switch {
	case errors.Is(err, workspace.ErrNotFound):
		return m.notReady("it is no worktree of the project", err)
	case err != nil:
		return err
	case w.Missing:
		return m.notReady("the directory is gone", nil)
	case w.Broken != "":
		return m.notReady(w.Broken, nil)
	case resolveExisting(gitDirOf(directory)) != resolveExisting(admin):
		return m.notReady("it belongs to another repository or worktree", nil)
	case w.Head == "":
		return &workspace.Error{
			Code: workspace.ErrNothingToMerge, Hint: "commit the work first",
			Message: fmt.Sprintf("there is no commit in %s yet; nothing was changed", m.req.Workspace.Directory),
		}
	}
	m.at = checkout{gitDir: admin, top: directory, operation: operation(admin)}
	m.branch, m.tip = w.Branch, w.Head
	return nil
}

func (m *merging) notReady(why string, err error) error {
	return &workspace.Error{
		Code: workspace.ErrNotReady, Err: err, Hint: "see the workspace in the list, and make it anew if it is lost",
		Message: fmt.Sprintf("the workspace %s can't be merged: %s; nothing was changed", m.req.Workspace.Directory, why),
	}
}

// lookAtOperation tells an operation of somebody else's from a paused merge of
// ours, and takes up one that was resolved by hand.
func (m *merging) lookAtOperation(ctx context.Context) error {
	var err error
	m.resolved, m.lost = false, nil
	if m.journal, err = readMergeJournal(m.at.gitDir); err != nil {
		return err
	}
	switch j := m.journal; {
	case j != nil && j.Phase != mergePaused:
		return m.interruptedNow()
	case j != nil && j.waits(m.at):
		return m.pausedConflict(ctx, "is paused")
	case m.at.operation != "":
		return &workspace.Error{
			Code: workspace.ErrOperationInProgress, Hint: "finish or abort it first",
			Message: fmt.Sprintf("a %s is under way in %s; nothing was changed", m.at.operation, m.at.top),
		}
	case j != nil:
		return m.takeUp(ctx)
	}
	return nil
}

// interruptedNow is met where another process has begun, or was killed, since
// this one looked for leftovers.
func (m *merging) interruptedNow() error {
	if e, ok := errors.AsType[*workspace.Error](m.unsettled); ok {
		return e
	}
	return &workspace.Error{
		Code: workspace.ErrInProgress, Hint: "try again", Err: m.unsettled,
		Message: fmt.Sprintf("another merge of %s is under way, or was just interrupted; nothing was changed", m.at.top),
	}
}

// clean refuses work that isn't committed: people would believe afterwards
// that it is merged.
func (m *merging) clean(ctx context.Context) error {
	var report statusReport
	var hidden []string
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		// Whole directories at first: git knows them faster.
		report, err = m.r.status(inner, m.at.gitDir, m.at.top, "normal")
		if err == nil && report.counts().untracked > 0 {
			report, err = m.r.status(inner, m.at.gitDir, m.at.top, "all")
		}
		return err
	})
	group.Go(func() (err error) {
		hidden, err = m.r.hiddenEdits(inner, m.at.gitDir, m.at.top)
		return err
	})
	if err := group.Wait(); err != nil {
		return failure("", fmt.Sprintf("whether %s has uncommitted changes could not be found out; nothing was changed", m.at.top),
			"see what git status says there", err)
	}
	files := slices.Clone(hidden)
	for _, c := range report.changes {
		files = append(files, c.path)
	}
	slices.Sort(files)
	if files = slices.Compact(files); len(files) == 0 {
		return nil
	}
	return &workspace.Error{
		Code: workspace.ErrDirtyWorktree, Files: files,
		Message: fmt.Sprintf("there are uncommitted changes in %s (%s); nothing was changed", m.at.top, kinds(report, hidden)),
		Hint:    "commit them, or throw them away, and merge again",
	}
}

// kinds counts the kinds of changes.
func kinds(report statusReport, hidden []string) string {
	n := report.counts()
	for _, path := range hidden {
		if !report.has(path) {
			n.modified++
		}
	}
	var parts []string
	for _, kind := range []struct {
		n    int
		name string
	}{{n.staged, "staged"}, {n.modified, "modified"}, {n.conflicted, "unmerged"}, {n.untracked, "untracked"}} {
		if kind.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", kind.n, kind.name))
		}
	}
	return strings.Join(parts, ", ")
}

// unobstructed refuses to go on where moving the workspace to a commit would
// overwrite a file that git doesn't track. As all else is committed that is an
// ignored one, which git takes for expendable. With steps the commits between
// count too, as git goes through them.
func (m *merging) unobstructed(ctx context.Context, to string, steps bool) error {
	changes, err := m.between(ctx, m.tip, to)
	if err == nil && steps {
		changes, err = m.withSteps(ctx, changes, to)
	}
	if err != nil {
		return failure("", "the commits can't be compared; nothing was changed", "see what git says in the repository", err)
	}
	m.written = changes
	return m.free(ctx, changes)
}

// stillUnobstructed is unobstructed once more, right before git begins, which
// overwrites what is ignored. Where it refuses, all is as it was.
func (m *merging) stillUnobstructed(ctx context.Context) error {
	if err := m.free(ctx, m.written); err != nil {
		return m.turnBack(context.WithoutCancel(ctx), err)
	}
	return nil
}

// free is unobstructed for the paths that differ.
func (m *merging) free(ctx context.Context, changes []treeChange) error {
	err := m.onlyLook(m.at, advanceInput{}, changes, func(ahead *move) error { return ahead.lookAhead(ctx) })
	if e, ok := errors.AsType[*workspace.Error](err); ok && e.Code == workspace.ErrTargetDirty {
		refused := *e
		refused.Code = workspace.ErrDirtyWorktree
		return &refused
	}
	return err
}

// withSteps adds the paths that come into being on the way and are in neither
// end of it.
func (m *merging) withSteps(ctx context.Context, changes []treeChange, to string) ([]treeChange, error) {
	added, err := m.added(ctx, m.tip, to)
	if err != nil {
		return nil, err
	}
	tree, err := m.r.git.run(ctx, m.refs.command("ls-tree", "-r", "-z", "--name-only", m.tip))
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool)
	for path := range strings.SplitSeq(string(tree), "\x00") {
		known[path] = true
	}
	for _, c := range added {
		if !known[c.path] {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// added returns the paths that the commits of tip which aren't in the other one
// add.
func (m *merging) added(ctx context.Context, tip, other string) ([]treeChange, error) {
	out, err := m.r.git.run(ctx, m.refs.command("log", "-z", "--format=", "--raw", "--no-abbrev", "--no-renames", "--diff-filter=A",
		"--no-show-signature", tip, "^"+other, "--"))
	if err != nil {
		return nil, err
	}
	return parseTreeChanges(bytes.ReplaceAll(out, []byte("\x00\x00"), []byte{0}))
}

// treeChanges returns the paths in which two commits differ.
func (r *Repository) treeChanges(ctx context.Context, x *refs, from, to string) ([]treeChange, error) {
	if from == to {
		return nil, nil
	}
	out, err := r.git.run(ctx, x.command("diff-tree", "-r", "-z", "--no-renames", "--raw", "--ignore-submodules=none", from, to, "--"))
	if err != nil {
		return nil, err
	}
	return parseTreeChanges(out)
}
