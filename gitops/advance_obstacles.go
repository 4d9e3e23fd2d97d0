package gitops

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/threadtree/threadtree/workspace"
)

// maxObstacles is how many files in one directory are named at most.
const maxObstacles = 20

// lookout finds what git doesn't know of and a move would overwrite. git
// itself refuses some of it, and takes what is ignored for expendable.
type lookout struct {
	m *move
	// deleted has the paths that the move takes away, by their folded name
	// too: on some disks two spellings are one file.
	deleted, folded map[string]bool
	// seen has the directories that were looked at, true where nothing can
	// lie below them.
	seen map[string]bool
	// own are at a path that changes, and in the way unless the index has
	// them: then it is for git to compare. around are above or below one, and
	// in the way in any case.
	own, around []string
	// readOnly are paths in directories that can't be written to.
	readOnly []string
}

// lookAhead refuses a move with files in the way, or one that can't be
// written. Nothing is changed.
func (m *move) lookAhead(ctx context.Context) error {
	l := &lookout{m: m, deleted: make(map[string]bool), folded: make(map[string]bool), seen: make(map[string]bool)}
	for _, c := range m.changes {
		if c.newMode == 0 {
			l.deleted[c.path] = true
			l.folded[workspace.Fold(c.path)] = true
		}
	}
	for _, c := range m.changes {
		if err := l.look(c); err != nil {
			return m.cant("what is in "+m.at.name()+" can't be looked at", err)
		}
	}
	if len(l.readOnly) > 0 {
		return &workspace.Error{
			Code: workspace.ErrPermissionDenied, Files: l.readOnly, Err: fs.ErrPermission,
			Message: fmt.Sprintf("in %s this user may not write %s; nothing was changed", m.at.name(), nameSome(l.readOnly)),
			Hint:    "see that the directories can be written to, then try again",
		}
	}
	if len(l.own)+len(l.around) == 0 {
		return nil
	}
	return l.judge(ctx)
}

func (l *lookout) look(c treeChange) error {
	blocked, err := l.above(c)
	if err != nil || blocked {
		return err
	}
	changed := c.newMode != 0 && c.oldMode != 0 && c.oldMode != modeSubmodule
	if changed {
		return nil // git compares it with the index, where it must be
	}
	mark, err := markOf(l.m.at.path(c.path))
	switch {
	case err != nil || mark.Kind == kindAbsent:
		return err
	case mark.Kind != kindDirectory:
		if c.newMode == 0 || !l.otherSpelling(c.path, mark) {
			l.own = append(l.own, c.path)
		}
		return nil
	case c.newMode == 0 || c.newMode == modeSubmodule:
		return nil // nothing is removed with what is in it
	}
	return l.inside(c.path)
}

// above looks at the directories above a path. blocked is true where one of
// them is something else, which is then noted.
func (l *lookout) above(c treeChange) (blocked bool, err error) {
	last := ""
	for _, parent := range parents(c.path) {
		blocked, seen := l.seen[parent]
		if !seen {
			if blocked, err = l.block(parent, c); err != nil {
				return false, err
			}
		}
		if blocked {
			return true, nil
		}
		if info, err := os.Lstat(l.m.at.path(parent)); err != nil || !info.IsDir() {
			break
		}
		last = parent
	}
	if !writable(l.m.at.path(last)) {
		l.readOnly = append(l.readOnly, c.path)
	}
	return false, nil
}

func (l *lookout) block(parent string, c treeChange) (bool, error) {
	mark, err := markOf(l.m.at.path(parent))
	if err != nil {
		return false, err
	}
	blocked := mark.Kind != kindAbsent && mark.Kind != kindDirectory && !l.deleted[parent]
	if c.newMode == 0 {
		return blocked, nil // nothing is going to be made there
	}
	l.seen[parent] = blocked
	if blocked {
		l.around = append(l.around, parent)
	}
	return blocked, nil
}

// otherSpelling reports whether the file is one that the move takes away and
// that the disk finds by this name as well.
func (l *lookout) otherSpelling(path string, mark fileMark) bool {
	if !l.folded[workspace.Fold(path)] {
		return false
	}
	for deleted := range l.deleted {
		if deleted == path || workspace.Fold(deleted) != workspace.Fold(path) {
			continue
		}
		if twin, err := markOf(l.m.at.path(deleted)); err == nil && twin == mark {
			return true
		}
	}
	return false
}

// inside looks for files in a directory that is to become a file.
func (l *lookout) inside(path string) error {
	top := l.m.at.path(path)
	found := 0
	return filepath.WalkDir(top, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(l.m.at.top, at)
		if err != nil {
			return err
		}
		if name := filepath.ToSlash(rel); !l.deleted[name] {
			l.around = append(l.around, name)
			if found++; found == maxObstacles {
				return filepath.SkipAll
			}
		}
		return nil
	})
}

// writable reports whether files can be made and removed in a directory.
func writable(directory string) bool {
	return unix.Faccessat(unix.AT_FDCWD, directory, unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil
}

// judge drops what the index has, and tells of the others whether they are
// ignored.
func (l *lookout) judge(ctx context.Context) error {
	m := l.m
	tracked, err := m.tracked(ctx, append(slices.Clone(l.own), l.around...))
	if err != nil {
		return m.cant("what is in "+m.at.name()+" can't be compared", err)
	}
	var found obstacles
	for _, path := range l.own {
		if !tracked[path] {
			found.add(kindUntracked, path)
		}
	}
	for _, path := range l.around {
		kind := kindUntracked
		if tracked[path] {
			kind = kindStaged
		}
		found.add(kind, path)
	}
	if found.empty() {
		return nil
	}
	c := m.onNext("check-ignore", "-z", "--stdin")
	c.stdin = strings.NewReader(strings.Join(found[kindUntracked], "\x00") + "\x00")
	out, err := m.r.git.run(ctx, c)
	if err != nil && exitCode(err) < 0 {
		return m.cant("what is in "+m.at.name()+" can't be compared", err)
	}
	// Where git can't tell, they are in the way all the same.
	for ignored := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		found.turn(ignored, kindUntracked, kindIgnored)
	}
	return found.refuse(m.at.name())
}

// tracked returns which of the paths the index to be has.
func (m *move) tracked(ctx context.Context, paths []string) (map[string]bool, error) {
	wanted := make(map[string]bool, len(paths))
	for _, path := range paths {
		wanted[path] = true
	}
	content, err := os.ReadFile(m.files.next())
	if err != nil {
		return nil, err
	}
	if found, ok := findIndexed(content, wanted); ok {
		return found, nil
	}
	all, err := m.indexed(ctx, m.onNext)
	found := make(map[string]bool)
	for path := range wanted {
		_, found[path] = all[path]
	}
	return found, err
}

// findIndexed is tracked for the content of an index. ok is false where git
// has to be asked, as for scanIndex.
func findIndexed(content []byte, wanted map[string]bool) (found map[string]bool, ok bool) {
	found = make(map[string]bool)
	_, ok = walkIndex(content, func(name, _ []byte) {
		if wanted[string(name)] {
			found[string(name)] = true
		}
	})
	return found, ok
}

// indexed returns the object of each path that an index has, which is the
// checkout's or, by m.onNext, the index to be.
func (m *move) indexed(ctx context.Context, by func(...string) command) (map[string]string, error) {
	out, err := m.r.git.run(ctx, by("ls-files", "-s", "-z"))
	if err != nil {
		return nil, err
	}
	all := make(map[string]string)
	for line := range strings.SplitSeq(string(out), "\x00") {
		meta, path, ok := strings.Cut(line, "\t")
		if fields := strings.Fields(meta); ok && len(fields) == 3 {
			all[path] = fields[1]
		}
	}
	return all, nil
}
