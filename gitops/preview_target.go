package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// foresee says what would keep the target from moving in the checkout that has
// it, nil for nothing. objects makes a command that sees the new commits.
// Nothing is written but to a directory for temporary files.
func (v *previewing) foresee(ctx context.Context, to string, changes []treeChange, objects func() (command, error)) error {
	at, err := v.r.checkouts(ctx, v.req.Project, v.target)
	if err != nil || len(at) == 0 {
		return err
	}
	if err := movable(v.target, at); err != nil {
		return err
	}
	in := advanceInput{ref: "refs/heads/" + v.target, old: v.onto, new: to}
	return v.onlyLook(at[0], in, changes, func(m *move) error {
		if err := m.lookAhead(ctx); err != nil {
			return err
		}
		if m.untouched() {
			return nil
		}
		// By a link, git would lock the index itself.
		if err := errors.Join(os.Remove(m.files.next()), copyFile(filepath.Join(m.at.gitDir, "index"), m.files.next())); err != nil {
			return m.cant("the index of "+m.at.name()+" can't be copied", err)
		}
		seeing, err := objects()
		if err != nil {
			return err
		}
		return m.tryMove(ctx, seeing.env)
	})
}

// onlyLook calls look with a move that is only looked at: its index to be is a
// link to the one that is.
func (m *merging) onlyLook(at checkout, in advanceInput, changes []treeChange, look func(*move) error) error {
	scratch, err := os.MkdirTemp("", "threadtree-look-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	in.inherit = m.inherit()
	ahead := &move{r: m.r, p: m.req.Project, at: at, files: moveFiles(scratch), changes: changes, in: in}
	if err := os.Symlink(filepath.Join(at.gitDir, "index"), ahead.files.next()); err != nil {
		return ahead.cant("the index of "+at.name()+" can't be looked at", err)
	}
	return look(ahead)
}

// tryMove has git try the move on a copy of the index, without writing a file.
func (m *move) tryMove(ctx context.Context, objects []string) error {
	for refreshed := false; ; refreshed = true {
		c := m.onNext("read-tree", "-m", "-u", "-n", m.in.old, m.in.new)
		for _, kv := range objects {
			if strings.HasPrefix(kv, "GIT_OBJECT_DIRECTORY=") || strings.HasPrefix(kv, "GIT_ALTERNATE_OBJECT_DIRECTORIES=") {
				c.env = append(c.env, kv)
			}
		}
		_, err := m.r.git.run(ctx, c)
		switch {
		case err == nil:
			return nil
		case exitCode(err) < 0:
			return m.cant("what would be in the way in "+m.at.name()+" can't be found out", err)
		case refreshed:
			return m.refused(ctx, err)
		}
		if _, err := m.r.git.run(ctx, m.onNext("update-index", "-q", "--refresh")); exitCode(err) < 0 {
			return m.cant("the index of "+m.at.name()+" can't be refreshed", err)
		}
	}
}
