package gitops

import (
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
)

// compareTip notes how the new tip differs from the target, where the trees
// say so: they mostly were read anyway.
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
	if errors.Is(err, errOddTree) {
		return nil
	}
	c.out.ontoTree, c.out.sourceTree, c.out.changes = onto.tree, source.tree, changes
	return err
}

// changes returns the paths in which two trees differ, as parseTreeChanges
// does of what git says of them. It isn't nil unless there is an error. The
// ids are in hex.
func (t *treeStore) changes(from, to string) ([]treeChange, error) {
	var sides [2]string
	for i, id := range []string{from, to} {
		var err error
		if sides[i], err = unhex(id); err != nil {
			return nil, err
		}
	}
	found := []treeChange{}
	err := t.collectChanges("", sides, &found)
	return found, err
}

// collectChanges finds the changes below a directory, whose name ends in a
// slash. The ids are raw, "" for a tree that isn't there.
func (t *treeStore) collectChanges(dir string, ids [2]string, found *[]treeChange) error {
	var sides [3][]treeEntry
	for i, id := range ids {
		var err error
		if sides[i], err = t.load(id); err != nil {
			return err
		}
	}
	for row := range aligned(sides) {
		before, after := row[0], row[1]
		name := dir + max(before.name, after.name) // one of them may be none
		switch {
		case before == after:
		case before.isTree() || after.isTree():
			if err := t.collectChanges(name+"/", [2]string{before.id, after.id}, found); err != nil {
				return err
			}
		default:
			c := treeChange{path: name}
			var errs [2]error
			c.oldMode, c.oldID, errs[0] = t.modeAndID(before)
			c.newMode, c.newID, errs[1] = t.modeAndID(after)
			if err := errors.Join(errs[:]...); err != nil {
				return err
			}
			*found = append(*found, c)
		}
	}
	return nil
}

// modeAndID returns mode and id of an entry as a comparison has them.
func (t *treeStore) modeAndID(e treeEntry) (uint32, string, error) {
	if e.id == "" {
		return 0, strings.Repeat("0", 2*len(t.empty)), nil
	}
	mode, err := strconv.ParseUint(e.mode, 8, 32)
	return uint32(mode), hex.EncodeToString([]byte(e.id)), err
}
