package gitops

import (
	"encoding/hex"
	"errors"
	"path"
)

// overlay is the three-way merge of trees for the cases in which no rename can
// count: whatever theirs changed, ours has as the base has it, or both changed
// the content of one file.
//
// Nothing else of what git merge-tree does is more than to compare paths. A
// file that one side renamed has, under its old name, no change on the other:
// what theirs changed, ours left alone or kept under its name. A directory
// counts as renamed only where one side removed it and the other added to it.
// One that ours removed or replaced is never entered, so theirs added nothing
// below it; one that theirs removed is in ours as in the base, so ours added
// nothing. Attributes and merge drivers come in only for the files that both
// sides changed.
type overlay struct {
	trees *treeStore
	// contended are the files that both sides changed.
	contended []contended
	// merged is what they became, by path, once that is known.
	merged map[string]treeEntry
	// guess has them be as theirs for the time being.
	guess bool
}

// contended is a file as base, ours and theirs have it.
type contended struct {
	path string
	row  [3]treeEntry
	// attributes are the attributes that it is merged by, as ids.
	attributes string
}

// merge returns the merged tree. ok is false where git has to do it. Where
// files are contended it finds them and returns no tree: it is then to be
// called again with what they became. The ids are in hex.
func (o *overlay) merge(base, ours, theirs string) (id string, ok bool, err error) {
	var raw [3]string
	for i, id := range []string{base, ours, theirs} {
		if raw[i], err = unhex(id); err != nil {
			return "", false, err
		}
	}
	merged, ok, err := o.mergeTrees("", raw)
	switch {
	case errors.Is(err, errOddTree):
		return "", false, nil
	case err != nil || !ok || o.waiting():
		return "", ok, err
	case merged == "":
		return o.trees.quarantine.put("tree", nil), true, nil
	}
	return hex.EncodeToString([]byte(merged)), true, nil
}

// waiting reports whether there are files of which it isn't known yet what
// they become.
func (o *overlay) waiting() bool { return len(o.contended) > 0 && o.merged == nil && !o.guess }

// mergeTrees merges three trees that exist, by their raw ids.
func (o *overlay) mergeTrees(dir string, ids [3]string) (string, bool, error) {
	switch {
	case ids[0] == ids[2]:
		return ids[1], true, nil
	case ids[0] == ids[1]:
		return ids[2], true, nil
	}
	var sides [3][]treeEntry
	for i, id := range ids {
		var err error
		if sides[i], err = o.trees.load(id); err != nil {
			return "", false, err
		}
	}
	if dir == "" && !sameAttributes(sides) {
		return "", false, nil
	}
	merged := make([]treeEntry, 0, len(sides[1])+1)
	for row := range aligned(sides) {
		e, ok, err := o.mergeEntry(dir, row, sides[1])
		if err != nil || !ok {
			return "", false, err
		}
		if e.id != "" {
			merged = append(merged, e)
		}
	}
	if o.waiting() {
		return ids[1], true, nil
	}
	id, err := o.trees.save(merged)
	return id, true, err
}

// mergeEntry merges one entry. It is zero where nothing is left of it.
func (o *overlay) mergeEntry(dir string, row [3]treeEntry, siblings []treeEntry) (treeEntry, bool, error) {
	base, ours, theirs := row[0], row[1], row[2]
	switch {
	case base == theirs:
		return ours, true, nil
	case base.id == "":
		_, inTheWay := entryNamed(siblings, theirs.name, !theirs.isTree())
		return theirs, ours.id == "" && !inTheWay, nil
	case base == ours:
		return theirs, true, nil
	case theirs.id == "" || ours.id == "":
		return treeEntry{}, false, nil
	case !base.isTree():
		e, ok := o.mergeFile(path.Join(dir, ours.name), row)
		return e, ok, nil
	}
	id, ok, err := o.mergeTrees(path.Join(dir, ours.name), [3]string{base.id, ours.id, theirs.id})
	return treeEntry{ours.mode, ours.name, id}, ok, err
}

// mergeFile merges a file that is there on all three sides.
func (o *overlay) mergeFile(name string, row [3]treeEntry) (treeEntry, bool) {
	if row[1] == row[2] {
		return row[1], true
	}
	for _, e := range row {
		if !e.isFile() {
			return treeEntry{}, false
		}
	}
	if o.merged == nil {
		o.contended = append(o.contended, contended{path: name, row: row})
		return row[2], true
	}
	e, ok := o.merged[name]
	return e, ok
}

// sameAttributes reports whether the attributes at the top are ours, whichever
// way git comes to them: with merge.renormalize it looks at what they become.
func sameAttributes(sides [3][]treeEntry) bool {
	var row [3]treeEntry
	for i, entries := range sides {
		row[i], _ = entryNamed(entries, attributesName, false)
	}
	return row[0] == row[2] && (row[0].id == "" || row[1].id != "")
}

// aligned yields the entries of base, ours and theirs that have one name and
// are alike in being a tree or none, in order. One that is absent is zero.
func aligned(sides [3][]treeEntry) func(yield func([3]treeEntry) bool) {
	return func(yield func([3]treeEntry) bool) {
		for {
			var first *treeEntry
			for i := range sides {
				if len(sides[i]) > 0 && (first == nil || compareEntries(sides[i][0], *first) < 0) {
					first = &sides[i][0]
				}
			}
			if first == nil {
				return
			}
			least := *first
			var row [3]treeEntry
			for i := range sides {
				if len(sides[i]) > 0 && compareEntries(sides[i][0], least) == 0 {
					row[i], sides[i] = sides[i][0], sides[i][1:]
				}
			}
			if !yield(row) {
				return
			}
		}
	}
}
