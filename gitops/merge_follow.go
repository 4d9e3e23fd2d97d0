package gitops

import (
	"context"
	"errors"
	"fmt"

	"github.com/threadtree/threadtree/workspace"
)

// follow brings the workspace and its branch after the target, as the journal
// says, and then removes that. It reports whether the branch is still there.
// It can be called again after it was interrupted at any point.
func (m *merging) follow(ctx context.Context) (kept bool, err error) {
	if err := m.followNotes(ctx); err != nil {
		m.warn(workspace.PhaseMerge, "%s", err.Error())
	}
	m.did(stepNotesDone)
	if err := m.followWorkspace(ctx); err != nil {
		return false, err
	}
	m.did(stepSettled)
	if kept, err = m.followBranch(ctx); err != nil {
		return kept, err
	}
	m.did(stepBranchDone)
	if err := m.noteMerged(kept); err != nil {
		return kept, err
	}
	err = dropMergeJournal(m.at.gitDir)
	m.did(stepForgotten)
	return kept, err
}

// followNotes has the notes follow the commits, once: that it begins is written
// down before.
func (m *merging) followNotes(ctx context.Context) error {
	land := m.journal.Landing
	if len(land.Notes) == 0 {
		return nil
	}
	done := composed{copyNotes: true}
	for _, pair := range land.Notes {
		done.rewritten = append(done.rewritten, rewritten{pair[0], pair[1]})
	}
	again := land.Copying
	land.Copying = true
	if err := m.journal.write(m.at.gitDir); err != nil {
		return err
	}
	err := m.r.copyNotes(ctx, composeInput{project: m.req.Project, gitDir: m.at.gitDir, inherit: m.inherit()}, done, again)
	land.Notes, land.Copying = nil, false
	return errors.Join(err, m.journal.write(m.at.gitDir))
}

// followWorkspace moves the workspace to the target's tip, detached. Where
// somebody has been at work there meanwhile it stays as it is.
func (m *merging) followWorkspace(ctx context.Context) error {
	j := m.journal
	sha, on, err := m.checkedOut(ctx)
	if err != nil {
		return err
	}
	switch op := operation(m.at.gitDir); {
	case op != "":
		m.warn(workspace.PhaseMerge, "a %s is under way in %s, which was left as it is", op, m.at.top)
		return nil
	case on == "" && sha == j.Landing.Result:
		m.lookBehind(ctx)
		return nil
	case on != j.Branch || sha != j.Now.Before && sha != j.Landing.Result:
		m.warn(workspace.PhaseMerge, "%s has other work checked out by now and was left as it is", m.at.top)
		return nil
	}
	err = m.detach(ctx, sha, on)
	if workspace.CodeOf(err) == workspace.ErrTargetDirty {
		m.warn(workspace.PhaseMerge, "%s stays on its old commits, because somebody is at work there: %s", m.at.top, because(err))
		return nil
	}
	if err != nil {
		return err
	}
	m.lookBehind(ctx)
	return nil
}

// lookBehind warns of what doesn't follow with the workspace.
func (m *merging) lookBehind(ctx context.Context) {
	changes, err := m.between(ctx, m.journal.Now.Before, m.journal.Landing.Result)
	if err != nil {
		m.warn(workspace.PhaseMerge, "whether a submodule stays behind could not be found out: %s", because(err))
		return
	}
	m.warnOfSubmodules(ctx, m.at, changes)
}

// between returns the paths in which the workspace's old and new commit
// differ. It remembers those of the last way.
func (m *merging) between(ctx context.Context, from, to string) ([]treeChange, error) {
	if m.onWay.from == from && m.onWay.to == to {
		return m.onWay.changes, nil
	}
	changes, err := m.r.treeChanges(ctx, m.refs, from, to)
	if err != nil {
		return nil, failure("", "the workspace can't be compared with the merged commits", "see what git says there", err)
	}
	m.onWay = wayBetween{from: from, to: to, changes: changes}
	return changes, nil
}

// mergedAt begins the line in the log of HEAD that says that the workspace was
// brought home.
const mergedAt = "merge: at "

// detach moves the workspace's HEAD and files from a commit to the merged one.
func (m *merging) detach(ctx context.Context, from, on string) error {
	to := m.journal.Landing.Result
	changes, err := m.between(ctx, from, to)
	if err != nil {
		return err
	}
	in := advanceInput{
		ref: "refs/heads/" + on, old: from, new: to, oldTree: m.onWay.fromTree, detach: true, message: mergedAt + m.journal.Now.Target, set: m.set,
		hookTimeout: m.g.o.HookTimeout, ownHooks: m.g.o.RepositoryHooks, inherit: m.inherit(), step: m.g.o.step,
	}
	if on == "" {
		in.ref = "HEAD"
	}
	return m.r.relocate(ctx, m.req.Project, in, m.at, changes)
}

// followBranch lets the branch go, or brings it to the merged commits.
func (m *merging) followBranch(ctx context.Context) (kept bool, err error) {
	j := m.journal
	if j.Branch == "" {
		return false, nil
	}
	tip, err := m.r.tip(ctx, m.req.Project, "refs/heads/"+j.Branch)
	if err != nil || tip == "" {
		return false, err
	}
	_, on, err := m.checkedOut(ctx)
	switch {
	case err != nil || on == j.Branch:
		return true, err
	case tip != j.Now.Before && tip != j.Landing.Result:
		m.warn(workspace.PhaseMerge, "the branch %s has moved to %s meanwhile and was left there", j.Branch, short(tip))
		return true, nil
	}
	switch j.Landing.Fate {
	case fateDelete:
		return m.deleteOwn(ctx, tip)
	case fateFollow:
		return true, m.moveOwn(ctx, tip)
	}
	m.warn(workspace.PhaseMerge, "the branch %s was left where it is: its commits are on %s as one", j.Branch, j.Now.Target)
	return true, nil
}

func (m *merging) deleteOwn(ctx context.Context, tip string) (kept bool, err error) {
	branch := m.journal.Branch
	err = m.r.deleteBranchBy(ctx, m.req.Project, m.set, branch, tip, func(format string, args ...any) {
		kept = true
		m.warn(workspace.PhaseMerge, format, args...)
	})
	if err != nil {
		// Its commits are merged; a name more is no harm.
		m.warn(workspace.PhaseMerge, "%s", because(err))
		return true, nil
	}
	if kept {
		return true, nil
	}
	if err := m.r.forgetBranch(ctx, m.req.Project, branch); err != nil {
		m.warn(workspace.PhaseMerge, "%s", because(err))
	}
	return false, nil
}

// moveOwn brings a branch that is kept to the merged commits.
func (m *merging) moveOwn(ctx context.Context, tip string) error {
	j := m.journal
	if tip == j.Landing.Result {
		return nil
	}
	held, err := m.r.heldBy(ctx, m.req.Project, m.set.mainTop, j.Branch, "")
	if err != nil {
		return unreadable(m.req.Project.ID, err)
	}
	if held != "" {
		m.warn(workspace.PhaseMerge, "the branch %s is checked out in %s and was left where it is", j.Branch, held)
		return nil
	}
	_, err = m.r.git.run(ctx, command{
		dir: workDir(m.req.Project), write: true, inherit: m.inherit(), timeout: m.g.o.HookTimeout,
		args:   []string{"update-ref", "--no-deref", "-m", "merge: merged into " + j.Now.Target, "refs/heads/" + j.Branch, j.Landing.Result, tip},
		config: m.set.hooksOff(m.g.o.RepositoryHooks),
	})
	if err != nil {
		m.warn(workspace.PhaseMerge, "the branch %s was left where it is: %s", j.Branch, because(err))
	}
	return nil
}

// settleLanding finishes a merge whose target has moved, and undoes it
// otherwise. It returns what it did.
func (m *merging) settleLanding(ctx context.Context) (string, error) {
	j := m.journal
	what := fmt.Sprintf("the interrupted merge of %s into %s", m.what(), j.Now.Target)
	tip, err := m.r.tip(ctx, m.req.Project, "refs/heads/"+j.Now.Target)
	if err != nil {
		return "", err
	}
	moved := tip == j.Landing.Result
	if !moved && tip != "" && tip != j.Now.Onto {
		if moved, err = (&comparer{r: m.r, refs: m.refs}).ancestor(ctx, j.Landing.Result, tip); exitCode(err) < 0 {
			return "", err
		}
	}
	if moved {
		// Nobody is told here whose record names the branch: it stays.
		if j.Landing.Fate == fateDelete {
			j.Landing.Fate = fateFollow
		}
		_, err := m.follow(ctx)
		return what + " was finished", err
	}
	if j.Landing.InPlace {
		err = m.stepBack(ctx, true)
	} else {
		err = m.forget(j)
	}
	return what + " was undone: nothing of it had reached " + j.Now.Target, err
}
