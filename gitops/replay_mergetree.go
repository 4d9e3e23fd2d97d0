package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mergeResult is what "git merge-tree --write-tree -z" says.
type mergeResult struct {
	clean bool
	tree  string
	// entries are the versions of the files in conflict.
	entries []mergeEntry
	notes   []mergeNote
}

// mergeEntry is one version of a file in conflict: stage 1 is the base's, 2
// ours, 3 theirs.
type mergeEntry struct {
	mode, id string
	stage    int
	path     string
}

// mergeNote is what git says about some paths. Its kind begins with
// "CONFLICT", or is another such as "Auto-merging".
type mergeNote struct {
	paths      []string
	kind, text string
}

// errNoMergeTree is a git that can't merge trees, one older than 2.38.
var errNoMergeTree = errors.New("this git has no merge-tree --write-tree")

// usageExit is what git ends with where it doesn't know an option.
const usageExit = 129

// mergeTree merges two commits, by the attributes that were checked out.
// unrelated allows them to have no common history.
func (c *composer) mergeTree(ctx context.Context, ours, theirs string, unrelated bool) (mergeResult, error) {
	args := []string{"merge-tree", "--write-tree", "-z"}
	if unrelated {
		args = append(args, "--allow-unrelated-histories")
	}
	cmd, err := c.inside(append(args, ours, theirs)...)
	if err != nil {
		return mergeResult{}, err
	}
	// Attributes are read from the work tree that git stands in.
	cmd.dir, cmd.env = c.workTree(), append(cmd.env, "GIT_WORK_TREE="+c.workTree())
	out, err := c.r.git.run(ctx, cmd)
	switch code := exitCode(err); {
	case code == usageExit:
		return mergeResult{}, errNoMergeTree
	case code > 1, code < 0, code == 1 && len(out) == 0:
		return mergeResult{}, err
	}
	merged, parseErr := parseMergeTree(out)
	if parseErr != nil {
		return mergeResult{}, parseErr
	}
	merged.clean = err == nil
	return merged.relabelled(ours, theirs), nil
}

// parseMergeTree reads the output of "git merge-tree --write-tree -z": the
// tree, the versions of the files in conflict, and what git says about it.
func parseMergeTree(out []byte) (mergeResult, error) {
	tree, rest, ok := bytes.Cut(out, []byte{0})
	merged := mergeResult{tree: string(tree)}
	if !ok || !isObjectID(merged.tree) {
		return mergeResult{}, fmt.Errorf("what git has merged begins with no tree: %q", clip(out))
	}
	for len(rest) > 0 {
		var record []byte
		if record, rest, ok = bytes.Cut(rest, []byte{0}); !ok {
			return mergeResult{}, fmt.Errorf("the conflicts end within a record: %q", clip(record))
		}
		if len(record) == 0 {
			break
		}
		e, err := parseMergeEntry(string(record))
		if err != nil {
			return mergeResult{}, err
		}
		merged.entries = append(merged.entries, e)
	}
	var err error
	merged.notes, err = parseMergeNotes(rest)
	return merged, err
}

func parseMergeEntry(record string) (mergeEntry, error) {
	info, path, ok := strings.Cut(record, "\t")
	fields := strings.Split(info, " ")
	if !ok || path == "" || len(fields) != 3 || !isObjectID(fields[1]) || len(fields[2]) != 1 || fields[2] < "1" || fields[2] > "3" {
		return mergeEntry{}, fmt.Errorf("a file in conflict can't be read: %q", clip([]byte(record)))
	}
	return mergeEntry{mode: fields[0], id: fields[1], stage: int(fields[2][0] - '0'), path: path}, nil
}

// parseMergeNotes reads what git says: for each the number of its paths, the
// paths, the kind and the text. Advice about submodules, which is no record,
// may follow.
func parseMergeNotes(out []byte) ([]mergeNote, error) {
	if len(out) == 0 {
		return nil, nil
	}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	var notes []mergeNote
	for len(fields) > 0 {
		n, err := strconv.Atoi(fields[0])
		if err != nil && len(fields) == 1 {
			break
		}
		if err != nil || n < 0 || n > len(fields)-3 {
			return nil, fmt.Errorf("what git says of the conflicts can't be read at %q", clip([]byte(fields[0])))
		}
		notes = append(notes, mergeNote{paths: fields[1 : n+1], kind: fields[n+1], text: strings.TrimSuffix(fields[n+2], "\n")})
		fields = fields[n+3:]
	}
	return notes, nil
}

// relabelled takes the ids of the two sides off the names that git invents for
// files that are in each other's way.
func (m mergeResult) relabelled(ours, theirs string) mergeResult {
	plain := func(path string) string {
		for _, side := range []string{ours, theirs} {
			if name, number, ok := strings.Cut(path, "~"+side); ok && strings.Trim(number, "_0123456789") == "" {
				return name
			}
		}
		return path
	}
	for i := range m.entries {
		m.entries[i].path = plain(m.entries[i].path)
	}
	for _, n := range m.notes {
		for i := range n.paths {
			n.paths[i] = plain(n.paths[i])
		}
	}
	return m
}

// files returns the paths in conflict, sorted: those that have versions, and
// those that git only speaks of, such as a directory that was renamed to two.
func (m mergeResult) files() []string {
	var files []string
	for _, e := range m.entries {
		files = append(files, e.path)
	}
	for _, n := range m.notes {
		if len(m.entries) == 0 && strings.HasPrefix(n.kind, "CONFLICT") {
			files = append(files, n.paths...)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}
