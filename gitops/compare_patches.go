package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// maxRaw bounds what git tells about the paths of many commits.
const maxRaw = 32 << 20

// diverged is a head and a base of which each has commits that the other has
// not, and one fork.
type diverged struct {
	commitPair
	fork string
	// own are the commits of head alone, theirs those of the base, without
	// merge commits.
	own, theirs []string
	mine        ownPatches
	// edits are those of head and of the base since the fork.
	edits, baseEdits map[string]edit
	// candidates are the commits of theirs that are to be compared.
	candidates []string
	inBase     bool
}

// comparePatches finds out of all of them together what merged finds out of
// one: by three processes.
func (c *comparer) comparePatches(ctx context.Context, list []*diverged) error {
	touched := make(map[string]map[string]edit)
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error { return c.ownTogether(both, list) })
	group.Go(func() error { return c.editsTogether(both, list, touched) })
	if err := group.Wait(); err != nil {
		return err
	}
	var input []string
	asked := make(map[string]bool)
	for _, d := range list {
		if d.pick(touched); d.candidates == nil {
			continue
		}
		for _, id := range d.candidates {
			if !asked[id] {
				asked[id] = true
				input = append(input, id)
			}
		}
	}
	if len(input) == 0 {
		return nil
	}
	patches, err := c.patchesOf(ctx, input)
	if err != nil {
		return err
	}
	known := make(map[string]patch, len(input))
	for i, id := range input {
		known[id] = patches[i]
	}
	for _, d := range list {
		var theirs []patch
		for _, id := range d.candidates {
			theirs = append(theirs, known[id])
		}
		d.inBase = d.mine.among(theirs)
	}
	return nil
}

// patchesOf is patches that has one for each line of the input.
func (c *comparer) patchesOf(ctx context.Context, input []string) ([]patch, error) {
	patches, err := c.patches(ctx, input)
	if err == nil && len(patches) != len(input) {
		err = fmt.Errorf("git told %d changes of %d", len(patches), len(input))
	}
	return patches, err
}

// ownTogether finds the patches that each head brings.
func (c *comparer) ownTogether(ctx context.Context, list []*diverged) error {
	var input []string
	at := make(map[string]int)
	for _, d := range list {
		for _, id := range d.own {
			if _, ok := at[id]; !ok {
				at[id] = len(input)
				input = append(input, id)
			}
		}
	}
	// They come last: git keeps the parent for what follows.
	wholes := len(input)
	for _, d := range list {
		input = append(input, d.head+" "+d.fork)
	}
	patches, err := c.patchesOf(ctx, input)
	if err != nil {
		return err
	}
	for i, d := range list {
		d.mine.whole = patches[wholes+i]
		for _, id := range d.own {
			d.mine.single = append(d.mine.single, patches[at[id]])
		}
	}
	return nil
}

// editsTogether finds the edits of both sides of each, and what each commit of
// the bases touches.
func (c *comparer) editsTogether(ctx context.Context, list []*diverged, touched map[string]map[string]edit) error {
	var input []string
	for _, d := range list {
		for _, id := range d.theirs {
			if _, ok := touched[id]; !ok {
				touched[id] = nil
				input = append(input, id)
			}
		}
	}
	single := slices.Clone(input)
	at := make(map[string]int)
	for _, d := range list {
		for _, id := range []string{d.head, d.base} {
			if line := id + " " + d.fork; at[line] == 0 {
				at[line] = len(input)
				input = append(input, line)
			}
		}
	}
	edits, err := c.editsOf(ctx, input)
	if err != nil {
		return err
	}
	for i, id := range single {
		touched[id] = edits[i]
	}
	for _, d := range list {
		d.edits, d.baseEdits = edits[at[d.head+" "+d.fork]], edits[at[d.base+" "+d.fork]]
	}
	return nil
}

// editsOf returns the edits of each commit against its parent, or against
// another that stands after it.
func (c *comparer) editsOf(ctx context.Context, input []string) ([]map[string]edit, error) {
	cmd := c.refs.command("diff-tree", "--stdin", "-r", "-z", "--raw", "--root", "--always", "--no-renames", "--no-abbrev",
		"--ignore-submodules=none")
	cmd.stdin = strings.NewReader(strings.Join(input, "\n") + "\n")
	out := &limitedBuffer{limit: maxRaw}
	if err := c.r.git.stream(ctx, cmd, out); err != nil {
		return nil, err
	}
	edits, err := parseRawCommits(out.Bytes())
	if err == nil && len(edits) != len(input) {
		err = fmt.Errorf("git told %d changes of %d", len(edits), len(input))
	}
	return edits, err
}

// parseRawCommits reads the output of "git diff-tree --stdin -r -z --raw
// --always": the edits of each commit, in the order of the input.
func parseRawCommits(out []byte) ([]map[string]edit, error) {
	var all []map[string]edit
	for len(out) > 0 {
		id, rest, ok := bytes.Cut(out, []byte{0})
		if !ok || !isObjectID(string(id)) {
			return nil, fmt.Errorf("the name of a commit can't be read: %q", clip(id))
		}
		edits := make(map[string]edit)
		for len(rest) > 0 && rest[0] == ':' {
			path, e, after, err := parseRawRecord(rest)
			if err != nil {
				return nil, err
			}
			edits[path], rest = e, after
		}
		all, out = append(all, edits), rest
	}
	return all, nil
}

// limitedBuffer is a buffer that fails when it gets too much.
type limitedBuffer struct {
	bytes.Buffer
	limit int
}

// Write adds to the buffer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.limit {
		return 0, errors.New("git tells too much")
	}
	return b.Buffer.Write(p)
}

// pick chooses the commits of the base that may make a change of head's.
func (d *diverged) pick(touched map[string]map[string]edit) {
	if d.mine.hopeless() {
		return
	}
	if verdict, _ := d.contents(); verdict == contentsAlike {
		return
	}
	paths := firstPaths(d.mine.wanted())
	for _, id := range d.theirs {
		if len(paths) == 0 || slices.ContainsFunc(paths, func(path string) bool { _, ok := touched[id][path]; return ok }) {
			d.candidates = append(d.candidates, id)
		}
	}
}

// contents compares the two sides' edits.
func (d *diverged) contents() (contentsVerdict, []contentMerge) {
	if d.mine.whole.empty {
		return contentsDiffer, nil
	}
	return compareContents(d.edits, d.baseEdits)
}

// merged is what merged finds out, unless files have to be merged for it.
func (d *diverged) merged() (merged, known bool) {
	verdict, _ := d.contents()
	switch {
	case verdict == contentsAlike, d.inBase:
		return true, true
	case verdict == contentsDiffer:
		return false, true
	}
	return false, false
}
