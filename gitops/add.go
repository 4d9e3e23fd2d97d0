package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// addTries is how often git is asked for a worktree. It fails where another
// git process of somebody else's is writing an entry at that moment.
const addTries = 3

// claimAndAdd settles and claims what is made, and makes branch and entry,
// all under the repository's lock.
func (m *making) claimAndAdd(ctx context.Context, c *chooser) (choice, string, error) {
	lock, err := m.r.lock(ctx, m.req.Project)
	if err != nil {
		return choice{}, "", err
	}
	defer lock.release()
	c.claim = func(plan workspace.Plan) error { return m.req.Claim(ctx, plan) }
	made, err := c.choose(ctx)
	if err != nil {
		return choice{}, "", err
	}
	m.req.Progress(workspace.Event{Phase: workspace.PhaseAdd, Message: "Adding a worktree on " + made.plan.Branch})
	admin, ok := m.claimSpare(ctx, lock, made)
	if !ok {
		admin, err = m.add(ctx, lock, made)
	}
	if err != nil {
		return choice{}, "", err
	}
	if !m.written && m.claimed == "" {
		err = writeMarker(admin, m.marker(made))
	}
	if err == nil {
		m.setUpstream(ctx, &made)
	}
	return made, admin, m.failed(made.plan, "the worktree's entry can't be written to", "see that the repository can be written to", err)
}

func (m *making) marker(made choice) marker {
	return marker{Attempt: m.req.Attempt, Thread: m.req.ThreadID, Start: made.start}
}

// add makes branch and entry, again where that failed and left nothing that
// couldn't be cleared.
func (m *making) add(ctx context.Context, lock *repoLock, made choice) (admin string, err error) {
	directory := made.plan.Directory
	if err := os.MkdirAll(filepath.Dir(directory), 0o755); err != nil {
		return "", cantHold(filepath.Dir(directory), "", err)
	}
	once := m.addOnce
	if made.plan.BranchCreated && m.set.writable(m.r.openRefs(m.req.Project.ID)) {
		once, m.written = m.writeOnce, true
	}
	for try := 1; ; try++ {
		admin, err = once(ctx, lock, made)
		if err == nil || ctx.Err() != nil || try == addTries {
			break
		}
		if clearErr := m.clearTry(ctx, made); clearErr != nil {
			err = errors.Join(err, clearErr)
			break
		}
		select {
		case <-time.After(time.Duration(try*try) * 30 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	if err != nil {
		err = m.failed(made.plan, "the worktree could not be added", m.addHint(), err)
	}
	return admin, err
}

// addOnce has git make branch and entry, and no files.
func (m *making) addOnce(ctx context.Context, lock *repoLock, made choice) (admin string, err error) {
	args := []string{"worktree", "add", "-q", "--no-checkout", "--lock", "--reason=" + makingReason + m.req.Attempt}
	if made.plan.BranchCreated {
		args = append(args, "--no-track", "-b", made.plan.Branch, "--", made.plan.Directory, made.start)
	} else {
		// Only the short name attaches the branch.
		args = append(args, "--", made.plan.Directory, made.plan.Branch)
	}
	_, err = m.r.git.run(ctx, command{
		dir: workDir(m.req.Project), args: args, write: true,
		config: m.set.hooksOff(m.req.Setup), inherit: append(lock.inherit(), m.req.Inherit...),
	})
	if err != nil {
		return "", err
	}
	admin = gitDirOf(made.plan.Directory)
	if e := readEntry(admin); admin == "" || filepath.Dir(resolveExisting(admin)) != filepath.Join(m.req.Project.ID, "worktrees") || !e.of(made.plan.Directory) {
		return "", fmt.Errorf("git made an entry for %s that doesn't lead back to it", made.plan.Directory)
	}
	return admin, nil
}

// clearTry takes back what a failed try left, so that the next one finds
// things as they were.
func (m *making) clearTry(ctx context.Context, made choice) error {
	w := workspace.Workspace{
		Branch: made.plan.Branch, BranchCreated: made.plan.BranchCreated, BaseCommit: made.start,
		Directory: made.plan.Directory, Attempt: workspace.Attempt{ID: m.req.Attempt},
	}
	left, aside, err := m.r.clearLocked(ctx, m.req.Project, w)
	if err == nil {
		err = removeTrees(aside)
	}
	if err == nil && len(left) > 0 {
		err = errors.New(left[0])
	}
	return err
}

// addHint names an entry that keeps git from working in the repository.
func (m *making) addHint() string {
	entries, _ := readEntries(m.req.Project.ID)
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(e.path, "commondir"))
		if e.directory != "" && (err != nil || len(content) == 0) {
			return fmt.Sprintf("the entry %s is half written and keeps git from working; if no git command is running, move it away and try again", e.path)
		}
	}
	return "see what git says, then try again"
}
