package gitops

import (
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// compareTip notes how the new tip differs from the target and from what was
// merged, where the trees say so: they mostly were read anyway.
func (c *composer) compareTip() error {
	if c.out.tip == "" || c.out.tip == c.in.onto {
		return nil
	}
	onto, err := c.objects.commit(c.in.onto)
	if err != nil {
		return err
	}
	source, err := c.objects.commit(c.in.tip)
	if err != nil {
		return err
	}
	changes, err := c.trees.changes(onto.tree, c.out.tree)
	var onWay []treeChange
	if err == nil && !c.in.alone {
		onWay, err = c.trees.changes(source.tree, c.out.tree)
	}
	if errors.Is(err, errOddTree) {
		return nil
	}
	c.out.ontoTree, c.out.sourceTree, c.out.changes, c.out.onWay = onto.tree, source.tree, changes, onWay
	return err
}

// changes returns the paths in which two trees differ, as parseTreeChanges
// does of what git says of them. It isn't nil unless there is an error. The
// ids are in hex.
func (t *treeStore) changes(from, to string) ([]treeChange, error) {
	all, err := t.changesOf([][2]string{{from, to}})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// changesOf is changes for several pairs of trees at once.
func (t *treeStore) changesOf(pairs [][2]string) ([][]treeChange, error) {
	var level []twoTrees
	found := make([][]treeChange, len(pairs))
	for n, pair := range pairs {
		top := twoTrees{of: n}
		for i, id := range pair {
			var err error
			if top.ids[i], err = unhex(id); err != nil {
				return nil, err
			}
		}
		level, found[n] = append(level, top), []treeChange{}
	}
	// Level by level, so that git can be asked for all of one at once.
	for len(level) > 0 {
		var ids []string
		for _, both := range level {
			ids = append(ids, both.ids[:]...)
		}
		if err := t.prefetch(ids); err != nil {
			return nil, err
		}
		var below []twoTrees
		for _, both := range level {
			var err error
			if below, err = t.compare(both, below, &found[both.of]); err != nil {
				return nil, err
			}
		}
		level = below
	}
	for _, changes := range found {
		slices.SortFunc(changes, func(a, b treeChange) int { return strings.Compare(a.path, b.path) })
	}
	return found, nil
}

// twoTrees are the trees that two commits have at a directory, whose name ends
// in a slash. The ids are raw, "" for a tree that isn't there. of is the number
// of the pair.
type twoTrees struct {
	of  int
	dir string
	ids [2]string
}

// compare finds what differs in two trees, and adds those below to a list.
func (t *treeStore) compare(both twoTrees, below []twoTrees, found *[]treeChange) ([]twoTrees, error) {
	var sides [3][]treeEntry
	for i, id := range both.ids {
		var err error
		if sides[i], err = t.load(id); err != nil {
			return nil, err
		}
	}
	for row := range aligned(sides) {
		before, after := row[0], row[1]
		name := both.dir + max(before.name, after.name) // one of them may be none
		switch {
		case before == after:
		case before.isTree() || after.isTree():
			below = append(below, twoTrees{both.of, name + "/", [2]string{before.id, after.id}})
		default:
			c := treeChange{path: name}
			var errs [2]error
			c.oldMode, c.oldID, errs[0] = t.modeAndID(before)
			c.newMode, c.newID, errs[1] = t.modeAndID(after)
			if err := errors.Join(errs[:]...); err != nil {
				return nil, err
			}
			*found = append(*found, c)
		}
	}
	return below, nil
}

// modeAndID returns mode and id of an entry as a comparison has them.
func (t *treeStore) modeAndID(e treeEntry) (uint32, string, error) {
	if e.id == "" {
		return 0, strings.Repeat("0", 2*len(t.empty)), nil
	}
	mode, err := strconv.ParseUint(e.mode, 8, 32)
	return uint32(mode), hex.EncodeToString([]byte(e.id)), err
}
