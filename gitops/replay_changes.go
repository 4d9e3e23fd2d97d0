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
	d, err := t.descend(pairs)
	for err == nil && len(d.level) > 0 {
		err = d.down()
	}
	if err != nil {
		return nil, err
	}
	return d.changes(), nil
}

// descent compares pairs of trees level by level, so that git can be asked for
// all of one at once.
type descent struct {
	t     *treeStore
	level []twoTrees
	found [][]treeChange
	// left are the pairs that are looked at no further.
	left []bool
}

func (t *treeStore) descend(pairs [][2]string) (*descent, error) {
	d := &descent{t: t, found: make([][]treeChange, len(pairs)), left: make([]bool, len(pairs))}
	for n, pair := range pairs {
		top := twoTrees{of: n}
		for i, id := range pair {
			var err error
			if top.ids[i], err = unhex(id); err != nil {
				return nil, err
			}
		}
		d.level, d.found[n] = append(d.level, top), []treeChange{}
	}
	return d, nil
}

// down compares the trees of a level, which leads to the next.
func (d *descent) down() error {
	var ids []string
	for _, both := range d.level {
		ids = append(ids, both.ids[:]...)
	}
	if err := d.t.prefetch(ids); err != nil {
		return err
	}
	var below []twoTrees
	for _, both := range d.level {
		var err error
		if below, err = d.t.compare(both, below, &d.found[both.of]); err != nil {
			return err
		}
	}
	d.level = below
	return nil
}

// changes are those that were found for each pair.
func (d *descent) changes() [][]treeChange {
	for _, changes := range d.found {
		slices.SortFunc(changes, func(a, b treeChange) int { return strings.Compare(a.path, b.path) })
	}
	return d.found
}

// alike groups the pairs of which the same differs so far, those before n on the
// one side and the others on the other. Such as nothing on the other side is like
// are looked at no further.
func (d *descent) alike(n int) (groups [][2][]int) {
	by := make(map[string]*[2][]int)
	for of, differs := range d.differing() {
		if d.left[of] {
			continue
		}
		if by[differs] == nil {
			by[differs] = new([2][]int)
		}
		side := 0
		if of >= n {
			side = 1
		}
		by[differs][side] = append(by[differs][side], of)
	}
	for _, group := range by {
		if len(group[0]) > 0 && len(group[1]) > 0 {
			groups = append(groups, *group)
			continue
		}
		for _, of := range slices.Concat(group[0], group[1]) {
			d.left[of] = true
		}
	}
	d.level = slices.DeleteFunc(d.level, func(both twoTrees) bool { return d.left[both.of] })
	return groups
}

// differing is for each pair what differs so far: paths, and directories that
// are still to be looked into.
func (d *descent) differing() []string {
	all := make([][]string, len(d.found))
	for of, changes := range d.found {
		for _, change := range changes {
			all[of] = append(all[of], change.path)
		}
	}
	for _, both := range d.level {
		all[both.of] = append(all[both.of], both.dir)
	}
	joined := make([]string, len(all))
	for of, paths := range all {
		slices.Sort(paths)
		joined[of] = strings.Join(paths, "\x00")
	}
	return joined
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
