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

// maxContents is how many files are compared by their content to find out
// whether a merge would change nothing.
const maxContents = 20

// version is one side of a changed path: a file's mode and object id.
type version struct{ mode, id string }

// edit is how one path differs between two trees.
type edit struct{ before, after version }

// parseRaw reads the output of "git diff-tree -r -z --raw --no-renames".
func parseRaw(out []byte) (map[string]edit, error) {
	edits := make(map[string]edit)
	for len(out) > 0 {
		path, e, rest, err := parseRawRecord(out)
		if err != nil {
			return nil, err
		}
		edits[path], out = e, rest
	}
	return edits, nil
}

// parseRawRecord reads the first record of such an output.
func parseRawRecord(out []byte) (path string, e edit, rest []byte, err error) {
	record, rest, ok := bytes.Cut(out, []byte{0})
	fields := strings.Fields(strings.TrimPrefix(string(record), ":"))
	if !ok || len(fields) != 5 {
		return "", edit{}, nil, fmt.Errorf("a line of the differences can't be read: %q", clip(record))
	}
	name, rest, ok := bytes.Cut(rest, []byte{0})
	if !ok {
		return "", edit{}, nil, fmt.Errorf("the differences end within a record: %q", clip(record))
	}
	return string(name), edit{version{fields[0], fields[2]}, version{fields[1], fields[3]}}, rest, nil
}

func (c *comparer) edits(ctx context.Context, from, to string) (map[string]edit, error) {
	out, err := c.r.git.run(ctx, c.refs.command("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev",
		"--ignore-submodules=none", from, to, "--"))
	if err != nil {
		return nil, err
	}
	return parseRaw(out)
}

// bringsNothing reports whether merging head would leave the base's files as
// they are. It is not left to git's merge, which a driver could make drop the
// branch's side, and which writes objects: a file counts where both sides have
// it alike, or where merging the three versions gives the base's.
func (c *comparer) bringsNothing(ctx context.Context, base, head, fork string) (bool, error) {
	own, err := c.edits(ctx, fork, head)
	if err != nil {
		return false, err
	}
	theirs, err := c.edits(ctx, fork, base)
	if err != nil {
		return false, err
	}
	verdict, merges := compareContents(own, theirs)
	for _, m := range merges {
		if same, err := c.mergesTo(ctx, m.mine, m.base); err != nil || !same {
			return false, err
		}
	}
	return verdict != contentsDiffer, nil
}

// contentsVerdict tells whether a base has the files as head has them.
type contentsVerdict int

const (
	// contentsDiffer: merging head would change a file.
	contentsDiffer contentsVerdict = iota
	// contentsAlike: it would change none.
	contentsAlike
	// contentsMerge: some files have to be merged to know.
	contentsMerge
)

// contentMerge is an edit of head's, and the base's version of the file.
type contentMerge struct {
	mine edit
	base version
}

// compareContents compares what both sides have made of the fork's files, and
// returns which have to be merged to know.
func compareContents(own, theirs map[string]edit) (contentsVerdict, []contentMerge) {
	var merges []contentMerge
	for path, mine := range own {
		other, changed := theirs[path]
		switch {
		case !changed:
			return contentsDiffer, nil
		case other.after == mine.after:
		case !mergeable(mine, other):
			return contentsDiffer, nil
		default:
			merges = append(merges, contentMerge{mine, other.after})
		}
	}
	switch {
	case len(merges) > maxContents:
		return contentsDiffer, nil // the search decides
	case len(merges) > 0:
		return contentsMerge, merges
	}
	return contentsAlike, nil
}

// mergeable reports whether the three versions of a path are files, and the
// base has the mode that head gave it.
func mergeable(mine, base edit) bool {
	for _, v := range []version{mine.before, mine.after, base.after} {
		if !strings.HasPrefix(v.mode, "100") {
			return false
		}
	}
	return mine.after.mode == mine.before.mode || mine.after.mode == base.after.mode
}

// mergesTo reports whether merging an edit into the base's version of a file
// gives that version.
func (c *comparer) mergesTo(ctx context.Context, mine edit, base version) (bool, error) {
	dir, err := os.MkdirTemp("", "threadtree-merge-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	contents, err := c.blobs(ctx, base.id, mine.before.id, mine.after.id)
	if err != nil {
		return false, err
	}
	names := []string{"base", "fork", "head"}
	for i, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), contents[i], 0o600); err != nil {
			return false, err
		}
	}
	out, err := c.r.git.run(ctx, command{
		dir: dir, env: []string{"GIT_DIR=" + c.project.ID},
		args: append([]string{"merge-file", "-p", "-q", "--"}, names...),
	})
	if exitCode(err) > 0 {
		return false, nil // conflicts, or no text
	}
	return err == nil && bytes.Equal(out, contents[0]), err
}

// blobs reads files of the repository by their ids.
func (c *comparer) blobs(ctx context.Context, ids ...string) ([][]byte, error) {
	cmd := c.refs.command("cat-file", "--batch")
	cmd.stdin = strings.NewReader(strings.Join(ids, "\n") + "\n")
	out, err := c.r.git.run(ctx, cmd)
	if err != nil {
		return nil, err
	}
	contents := make([][]byte, 0, len(ids))
	for _, id := range ids {
		header, rest, _ := bytes.Cut(out, []byte("\n"))
		fields := strings.Fields(string(header))
		if len(fields) != 3 {
			return nil, fmt.Errorf("the object %s can't be read", id)
		}
		size, err := strconv.Atoi(fields[2])
		if err != nil || size < 0 || size >= len(rest) {
			return nil, fmt.Errorf("the object %s can't be read", id)
		}
		contents, out = append(contents, rest[:size]), rest[size+1:]
	}
	return contents, nil
}
