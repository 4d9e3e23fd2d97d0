package gitops

import (
	"context"
	"fmt"
	"slices"

	"github.com/threadtree/threadtree/workspace"
)

// unfinished reports whether a merge that was interrupted or left paused has
// neither been finished nor undone, given what the workspace has checked out.
func (j *mergeJournal) unfinished(ctx context.Context, c *comparer, branch, head string) (bool, error) {
	if j.Phase != mergePaused {
		return true, nil
	}
	if branch != j.Branch || head == j.Paused.Before {
		return false, nil
	}
	onto, err := c.ancestor(ctx, j.Paused.Onto, head)
	if err != nil && exitCode(err) >= 0 {
		err = nil // one of them is gone
	}
	return onto, err
}

// unfinishedMerge names a merge of ours in a worktree that is neither finished
// nor undone, and that git has no operation under way for; "" for none.
func (r *Repository) unfinishedMerge(ctx context.Context, c *comparer, admin, branch, head string) (string, error) {
	if operation(admin) != "" {
		return "", nil
	}
	journal, err := readMergeJournal(admin)
	if err != nil || journal == nil {
		return "", err
	}
	open, err := journal.unfinished(ctx, c, branch, head)
	if err == nil && !open {
		open, err = journal.quit(ctx, c, branch, head)
	}
	if err != nil || !open {
		return "", err
	}
	return journal.what(), nil
}

// what names the merge for people.
func (j *mergeJournal) what() string {
	what := "the detached HEAD"
	if j.Branch != "" {
		what = j.Branch
	}
	state := "was interrupted"
	if j.Phase == mergePaused {
		state = "was paused for its conflict"
	}
	return fmt.Sprintf("a merge of %s into %s, which %s,", what, j.Now.Target, state)
}

// findDropped finds the commits that a rebase which was paused no longer has:
// those that became empty by how they were resolved, or were skipped. One that
// the target has on its own isn't among them.
func (m *merging) findDropped(ctx context.Context) error {
	j := m.journal
	m.lost, m.lostIn = nil, ""
	if j.Paused.Strategy != workspace.StrategyRebase {
		return nil
	}
	const all = -1
	before, err := m.r.commitInfos(ctx, m.refs, all, "--no-merges", "--cherry-pick", "--right-only", j.Paused.Onto+"..."+j.Tip, "--")
	if err != nil {
		return failure("", "the resolved commits can't be compared with those of before; nothing was changed", "see what git says there", err)
	}
	now, err := m.r.commitInfos(ctx, m.refs, all, "--no-merges", m.tip, "^"+j.Paused.Onto, "--")
	if err != nil {
		return failure("", "the resolved commits can't be listed; nothing was changed", "see what git says there", err)
	}
	// Whoever resolves may word the subject anew; author and date stay.
	for _, exact := range []bool{true, false} {
		before = slices.DeleteFunc(before, func(old workspace.CommitInfo) bool {
			i := slices.IndexFunc(now, func(n workspace.CommitInfo) bool {
				return n.Author == old.Author && n.When.Equal(old.When) && (!exact || n.Subject == old.Subject)
			})
			if i >= 0 {
				now = slices.Delete(now, i, i+1)
			}
			return i >= 0
		})
	}
	slices.Reverse(before)
	if m.lost = before; len(before) == 0 {
		return nil
	}
	m.lostIn, err = m.keptAs(ctx, j.Tip)
	return err
}

// keptAs returns the newest backup ref that keeps a commit, "" for none.
func (m *merging) keptAs(ctx context.Context, sha string) (string, error) {
	b, err := m.backups(ctx)
	if err != nil {
		return "", err
	}
	for n := b.last; n > 0; n-- {
		for _, ref := range b.refs[n] {
			if ref.sha == sha {
				return ref.name, nil
			}
		}
	}
	return "", nil
}

// dropped says which commits are gone by how they were resolved, and what keeps
// them.
func (m *merging) dropped() string {
	const most = 3
	first := m.lost[:min(len(m.lost), most)]
	text := fmt.Sprintf("%s became empty and was dropped", plural(len(m.lost), "commit"))
	if len(m.lost) > 1 {
		text = fmt.Sprintf("%s became empty and were dropped", plural(len(m.lost), "commit"))
	}
	open := " ("
	for _, c := range first {
		text += open + short(c.SHA) + " " + c.Subject
		open = ", "
	}
	if more := len(m.lost) - len(first); more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	text += ")"
	kept := " it is kept as "
	if len(m.lost) > 1 {
		kept = " they are kept by "
	}
	if m.lostIn != "" {
		text += ";" + kept + m.lostIn
	}
	return text
}
