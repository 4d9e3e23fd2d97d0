package gitops

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// undone is what became of an undo.
type undone struct {
	// any is true where anything had to be put back.
	any bool
	// left are the paths that somebody edited since, and that were left.
	left []string
}

// undoing puts back what a move has written. A path is touched only where it
// isn't what the journal has, and is what the move may have made of it: gone,
// or the new content, or the beginning of that. What was there comes from the
// checkout's own index. All of it can be done again after it was interrupted.
type undoing struct {
	m      *move
	differ []differing
	// index is what the checkout's index has.
	index map[string]string
	// remove, restore and mkdir are what there is to do, in this order.
	remove, restore, mkdir []differing
	left                   []string
}

// differing is a path that isn't what it was.
type differing struct {
	pathMark
	path string
	now  fileMark
}

// undo takes back what the move has written to the files of the checkout. An
// error means that some of it is still there.
func (m *move) undo(ctx context.Context) (undone, error) {
	u := &undoing{m: m}
	if err := u.compare(); err != nil || len(u.differ) == 0 {
		return undone{}, err
	}
	ctx, cancel := settling(ctx)
	defer cancel()
	steps := []func(context.Context) error{u.judge, u.edited, u.removeNew, u.restoreOld, u.makeDirectories}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return undone{any: true}, err
		}
	}
	slices.Sort(u.left)
	return undone{any: len(u.remove)+len(u.restore)+len(u.mkdir) > 0, left: u.left}, nil
}

func (u *undoing) compare() error {
	for _, p := range u.m.journal.Paths {
		d := differing{pathMark: p, path: string(p.Path)}
		var err error
		if d.now, err = markOf(u.m.at.path(d.path)); err != nil {
			return err
		}
		if !d.now.same(d.Was) {
			u.differ = append(u.differ, d)
		}
	}
	return nil
}

// judge decides for each path what is to be done.
func (u *undoing) judge(ctx context.Context) error {
	var err error
	if u.index, err = u.m.indexed(ctx, u.m.command); err != nil {
		return err
	}
	made, err := u.m.materialise(ctx, u.differ)
	if err != nil {
		return err
	}
	defer made.remove()
	for _, d := range u.differ {
		ours, err := u.ours(d, made)
		switch {
		case err != nil:
			return err
		case !ours:
			u.left = append(u.left, d.path)
		default:
			u.plan(d)
		}
	}
	return nil
}

// ours reports whether the move can have made of the path what is there.
func (u *undoing) ours(d differing, made *materialised) (bool, error) {
	switch d.now.Kind {
	case kindAbsent:
		return true, nil
	case kindDirectory:
		// One that the move made for a submodule, or for files below, which
		// are removed before.
		return d.Mode == modeSubmodule || d.Mode == 0, nil
	case kindFile, kindLink:
		if d.Mode == 0 || d.Mode == modeSubmodule {
			return false, nil
		}
		if d.Was.Kind == kindAbsent && u.index[d.path] == d.ID {
			return false, nil // the user has taken it over since
		}
		return made.begins(d, u.m.at.path(d.path))
	}
	return false, nil
}

func (u *undoing) plan(d differing) {
	if d.now.Kind != kindAbsent && (d.now.Kind != kindDirectory || d.Mode == modeSubmodule) {
		u.remove = append(u.remove, d)
	}
	switch d.Was.Kind {
	case kindFile, kindLink:
		if u.index[d.path] == "" {
			u.left = append(u.left, d.path) // the user has dropped it since
			return
		}
		u.restore = append(u.restore, d)
	case kindDirectory:
		u.mkdir = append(u.mkdir, d)
	}
}

// edited drops from what is left the paths that are as the index has them:
// an undo that was interrupted has put them back.
func (u *undoing) edited(ctx context.Context) error {
	if len(u.left) == 0 {
		return nil
	}
	report, err := u.m.r.status(ctx, u.m.at.gitDir, u.m.at.top, "no")
	if err != nil {
		return err
	}
	modified := make(map[string]bool)
	for _, c := range report.changes {
		modified[c.path] = c.modified || c.conflicted
	}
	u.left = slices.DeleteFunc(u.left, func(path string) bool { return u.index[path] != "" && !modified[path] })
	return nil
}

// removeNew removes what the move has written, and the directories it made.
func (u *undoing) removeNew(context.Context) error {
	for _, d := range u.remove {
		err := os.Remove(u.m.at.path(d.path))
		if err != nil && d.now.Kind == kindDirectory && !errors.Is(err, fs.ErrPermission) {
			u.left = append(u.left, d.path) // there is something in it by now
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, made := range slices.Backward(u.m.journal.Made) {
		// Those with something in them stay.
		if mark, err := markOf(u.m.at.path(string(made))); err == nil && mark.Kind == kindDirectory {
			_ = os.Remove(u.m.at.path(string(made)))
		}
	}
	return nil
}

// restoreOld writes the files anew that the move has removed or written over,
// never over anything. What the move has written is gone by now, files with
// attributes among it: they are taken from the index then.
func (u *undoing) restoreOld(ctx context.Context) error {
	var paths []string
	for _, d := range u.restore {
		free, err := u.free(d.path)
		switch {
		case err != nil:
			return err
		case free:
			paths = append(paths, d.path)
		default:
			u.left = append(u.left, d.path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	c := u.m.command("checkout-index", "-q", "-z", "--stdin")
	c.stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	_, err := u.m.r.git.run(ctx, c)
	return err
}

// free reports whether there is nothing at a path, and nothing but
// directories above it.
func (u *undoing) free(path string) (bool, error) {
	for _, parent := range parents(path) {
		mark, err := markOf(u.m.at.path(parent))
		switch {
		case err != nil:
			return false, err
		case mark.Kind == kindAbsent:
			return true, nil
		case mark.Kind != kindDirectory:
			return false, nil
		}
	}
	mark, err := markOf(u.m.at.path(path))
	return mark.Kind == kindAbsent, err
}

// makeDirectories makes those again that had to give way to a file, or that a
// submodule left.
func (u *undoing) makeDirectories(context.Context) error {
	for _, d := range u.mkdir {
		if err := os.Mkdir(u.m.at.path(d.path), d.Was.Perm); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
