package gitops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// Kinds of what can be in the way of a move, as they are told.
const (
	kindConflicted = "unmerged"
	kindStaged     = "staged"
	kindModified   = "modified"
	kindUntracked  = "untracked"
	kindIgnored    = "ignored"
)

// obstacles are the paths in the way, by kind.
type obstacles map[string][]string

func (o *obstacles) add(kind, path string) {
	if *o == nil {
		*o = make(obstacles)
	}
	(*o)[kind] = append((*o)[kind], path)
}

// turn makes a path another kind's.
func (o obstacles) turn(path, from, to string) {
	if i := slices.Index(o[from], path); i >= 0 {
		o[from] = slices.Delete(slices.Clone(o[from]), i, i+1)
		o.add(to, path)
	}
}

func (o obstacles) empty() bool { return len(o.files()) == 0 }

func (o obstacles) files() []string {
	var files []string
	for _, paths := range o {
		files = append(files, paths...)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// refuse is the error that names them.
func (o obstacles) refuse(where string) error {
	var parts []string
	for _, kind := range []string{kindConflicted, kindStaged, kindModified, kindUntracked, kindIgnored} {
		if paths := o[kind]; len(paths) > 0 {
			parts = append(parts, kind+": "+nameSome(paths))
		}
	}
	files := o.files()
	return &workspace.Error{
		Code:    workspace.ErrTargetDirty,
		Message: fmt.Sprintf("%s in %s would be overwritten (%s); nothing was changed", plural(len(files), "file"), where, strings.Join(parts, "; ")),
		Hint:    "commit them there, or move them out of the way, and try again",
		Files:   files,
	}
}

// refused finds out why git refused a move before it wrote anything.
func (m *move) refused(ctx context.Context, gitErr error) error {
	why := failure("", fmt.Sprintf("git refuses to move the files in %s; nothing was changed", m.at.name()), "see what git says, then try again", gitErr)
	report, err := m.r.status(ctx, m.at.gitDir, m.at.top, "all")
	if err != nil {
		return why
	}
	hidden, err := m.r.hiddenEdits(ctx, m.at.gitDir, m.at.top)
	if err != nil {
		return why
	}
	index, err := m.indexed(ctx, m.command)
	if err != nil {
		return why
	}
	touched := newOverlap(m.changes)
	var found obstacles
	for _, c := range report.changes {
		switch {
		case c.conflicted:
			found.add(kindConflicted, c.path)
		case !touched.with(c.path), !c.untracked && touched.agrees(c.path, index):
		case c.untracked:
			found.add(kindUntracked, c.path)
		case c.modified:
			found.add(kindModified, c.path)
		case c.staged:
			found.add(kindStaged, c.path)
		}
	}
	for _, path := range hidden {
		if touched.with(path) {
			found.add(kindModified, path)
		}
	}
	if found.empty() {
		return why
	}
	return found.refuse(m.at.name())
}

// overlap tells which paths a set of changes touches: those that it changes,
// and those that lie above or below one of them.
type overlap struct {
	paths map[string]treeChange
	above map[string]bool
}

func newOverlap(changes []treeChange) overlap {
	o := overlap{paths: make(map[string]treeChange), above: make(map[string]bool)}
	for _, c := range changes {
		o.paths[c.path] = c
		for _, parent := range parents(c.path) {
			o.above[parent] = true
		}
	}
	return o
}

func (o overlap) with(path string) bool {
	path = strings.TrimSuffix(path, "/")
	_, ok := o.paths[path]
	return ok || o.above[path] || slices.ContainsFunc(parents(path), func(parent string) bool {
		_, ok := o.paths[parent]
		return ok
	})
}

// agrees reports whether the index has at a path what the new commit has:
// then git leaves index and file as they are.
func (o overlap) agrees(path string, index map[string]string) bool {
	c, ok := o.paths[path]
	return ok && index[path] == newObject(c)
}

func newObject(c treeChange) string {
	if c.newMode == 0 {
		return ""
	}
	return c.newID
}
