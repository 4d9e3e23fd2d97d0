package gitops

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// modeSubmodule is the mode of a submodule's commit in a tree.
const modeSubmodule = 0o160000

// treeChange is a path in which two commits differ.
type treeChange struct {
	path string
	// oldMode and newMode are 0 where the commit doesn't have the path.
	oldMode, newMode uint32
	// oldID and newID are the objects.
	oldID, newID string
}

// parseTreeChanges reads the output of "git diff-tree -r -z --raw" without
// renames.
func parseTreeChanges(out []byte) ([]treeChange, error) {
	var all []treeChange
	for len(out) > 0 {
		meta, rest, ok := bytes.Cut(out, []byte{0})
		path, after, ended := bytes.Cut(rest, []byte{0})
		fields := strings.Fields(string(meta))
		if !ok || !ended || len(path) == 0 || len(fields) != 5 || fields[0][0] != ':' {
			return nil, fmt.Errorf("a line of the comparison can't be read: %q", clip(meta))
		}
		oldMode, err := strconv.ParseUint(fields[0][1:], 8, 32)
		if err != nil {
			return nil, fmt.Errorf("a line of the comparison can't be read: %q", clip(meta))
		}
		newMode, err := strconv.ParseUint(fields[1], 8, 32)
		if err != nil {
			return nil, fmt.Errorf("a line of the comparison can't be read: %q", clip(meta))
		}
		all = append(all, treeChange{path: string(path), oldMode: uint32(oldMode), newMode: uint32(newMode), oldID: fields[2], newID: fields[3]})
		out = after
	}
	return all, nil
}

// parents returns the directories above a path, outermost first.
func parents(path string) []string {
	var all []string
	for i := range len(path) {
		if path[i] == '/' {
			all = append(all, path[:i])
		}
	}
	return all
}

// path returns where a path of the tree is in the checkout.
func (c checkout) path(path string) string {
	return filepath.Join(c.top, filepath.FromSlash(path))
}

// treesToRead are the commits by which git moves the index to be. Where that
// is the old commit's tree and no more, the new one says all: what is changed
// on disk is in the way just the same, and git has but one tree to read.
func (m *move) treesToRead(ctx context.Context) []string {
	both := []string{m.in.old, m.in.new}
	content, err := os.ReadFile(m.files.next())
	if err != nil {
		return both
	}
	tree, ok := indexTree(content)
	if !ok {
		return both
	}
	old := m.in.oldTree
	if old == "" {
		if old, err = m.r.git.line(ctx, m.command("rev-parse", "--verify", "-q", m.in.old+"^{tree}")); err != nil {
			return both
		}
	}
	if old != tree {
		return both
	}
	return both[1:]
}
