package gitops

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
)

const attributesName = ".gitattributes"

// attributeTree keeps the files of attributes of one tree in the quarantined
// work tree, and nothing else: git merges by those that it finds on the disk.
type attributeTree struct {
	c *composer
	// tree is the one all of whose files are there, raw, "" if there is none.
	tree string
	// files are the ids of the files that are there, raw, by path.
	files map[string]string
}

func newAttributeTree(c *composer) *attributeTree {
	return &attributeTree{c: c, files: make(map[string]string)}
}

// checkout puts the files of a tree there.
func (a *attributeTree) checkout(ctx context.Context, tree string) error {
	raw, err := unhex(tree)
	if err != nil || raw == a.tree {
		return err
	}
	wanted := maps.Clone(a.files)
	if a.tree == "" {
		err = errOddTree
	} else {
		err = a.differences(a.tree, raw, "", wanted)
	}
	if errors.Is(err, errOddTree) {
		wanted, err = a.list(ctx, tree)
	}
	if err != nil {
		return err
	}
	a.tree = raw
	return a.replace(wanted)
}

// foundAttributes is a place where a file of attributes may be, and the raw id
// of the one that is there, "" for none.
type foundAttributes struct{ path, id string }

// below looks in a tree for the attributes of one of its files.
func (a *attributeTree) below(tree, file string) ([]foundAttributes, error) {
	var all []foundAttributes
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		at := foundAttributes{path: path.Join(dir, attributesName)}
		e, there, err := a.c.trees.find(tree, at.path)
		if err != nil {
			return nil, err
		}
		if there && e.isFile() {
			at.id = e.id
		}
		all = append(all, at)
		if dir == "." {
			return all, nil
		}
	}
}

// checkoutOnly puts some files there and no other. Those without an id aren't
// to be there.
func (a *attributeTree) checkoutOnly(wanted map[string]string) error {
	a.tree = ""
	there := maps.Clone(wanted)
	maps.DeleteFunc(there, func(_, id string) bool { return id == "" })
	return a.replace(there)
}

// list finds all of a tree's files of attributes.
func (a *attributeTree) list(ctx context.Context, tree string) (map[string]string, error) {
	cmd, err := a.c.inside("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev",
		a.c.trees.emptyTree(), tree, "--", ":(glob)**/"+attributesName)
	if err != nil {
		return nil, err
	}
	out, err := a.c.r.git.run(ctx, cmd)
	if err != nil {
		return nil, err
	}
	found, err := parseRaw(out)
	if err != nil {
		return nil, err
	}
	wanted := make(map[string]string)
	for path, e := range found {
		id, err := unhex(e.after.id)
		if err != nil {
			return nil, err
		}
		if (treeEntry{mode: e.after.mode}).isFile() {
			wanted[path] = id
		}
	}
	return wanted, nil
}

// differences brings wanted from what it is for one tree to what it is for the
// other. The trees are raw ids, "" for none.
func (a *attributeTree) differences(from, to, dir string, wanted map[string]string) error {
	if from == to {
		return nil
	}
	var sides [3][]treeEntry
	for i, id := range []string{from, to} {
		var err error
		if sides[i], err = a.c.trees.load(id); err != nil {
			return err
		}
	}
	for row := range aligned(sides) {
		before, after := row[0], row[1]
		name := cmp.Or(before.name, after.name)
		switch {
		case before == after:
		case before.isTree() || after.isTree():
			// Both are trees, or one of them is nothing at all.
			if err := a.differences(before.id, after.id, path.Join(dir, name), wanted); err != nil {
				return err
			}
		case name == attributesName:
			file := path.Join(dir, attributesName)
			delete(wanted, file)
			if after.isFile() {
				wanted[file] = after.id
			}
		}
	}
	return nil
}

// replace puts the wanted files in the place of those that are there. A tree
// may hold any path: none leads out of the work tree.
func (a *attributeTree) replace(wanted map[string]string) error {
	if maps.Equal(a.files, wanted) {
		return nil
	}
	if err := a.c.make(); err != nil {
		return err
	}
	root, err := os.OpenRoot(a.c.workTree())
	if err != nil {
		return err
	}
	defer root.Close()
	for file, id := range a.files {
		if wanted[file] == id {
			continue
		}
		if err := root.Remove(file); err != nil {
			return err
		}
		// A file may come where the directory was.
		for dir := path.Dir(file); dir != "." && root.Remove(dir) == nil; {
			dir = path.Dir(dir)
		}
	}
	for file, id := range wanted {
		if a.files[file] == id {
			continue
		}
		if err := a.write(root, file, id); err != nil {
			return err
		}
	}
	a.files = wanted
	return nil
}

func (a *attributeTree) write(root *os.Root, file, id string) error {
	content, err := a.c.trees.read("blob", id)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(path.Dir(file), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return root.WriteFile(file, content, 0o600)
}
