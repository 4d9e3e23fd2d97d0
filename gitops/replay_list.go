package gitops

import (
	"context"
	"fmt"
	"strings"
)

// rangeCommit is a commit as "git rev-list --cherry-mark --parents" lists it.
type rangeCommit struct {
	id      string
	parents []string
	// same is true where the other side has a commit with the same change.
	same bool
}

// pick is a commit that is to be applied, and all of it that counts.
type pick struct {
	rangeCommit
	commit commitObject
	// base is the tree of its parent, that without files for a first commit.
	base string
}

// empty reports whether the commit changes nothing.
func (p pick) empty() bool { return p.commit.tree == p.base }

// list returns the commits that the target lacks, oldest first and in the
// order in which git rebase takes them, merge commits among them.
func (c *composer) list(ctx context.Context, marks bool) ([]rangeCommit, error) {
	if list, ok, err := c.listShort(marks); ok || err != nil {
		return list, err
	}
	args := []string{"rev-list", "--topo-order", "--reverse", "--parents"}
	if marks {
		args = append(args, "--cherry-mark", "--right-only", c.in.onto+"..."+c.in.tip)
	} else {
		args = append(args, c.in.onto+".."+c.in.tip)
	}
	out, err := c.r.git.run(ctx, c.plain(append(args, "--")...))
	if err != nil {
		return nil, err
	}
	return parseRevList(out)
}

// parseRevList reads the output of "git rev-list --parents", with or without
// the marks of --cherry-mark.
func parseRevList(out []byte) ([]rangeCommit, error) {
	var list []rangeCommit
	for line := range strings.Lines(string(out)) {
		text := strings.TrimSuffix(line, "\n")
		ids := strings.Split(strings.TrimLeft(text, "=+"), " ")
		for _, id := range ids {
			if !isObjectID(id) {
				return nil, fmt.Errorf("a line of the list of commits can't be read: %q", clip([]byte(line)))
			}
		}
		list = append(list, rangeCommit{id: ids[0], parents: ids[1:], same: text[0] == '='})
	}
	return list, nil
}

// readPicks reads the listed commits. Those that the target has already are
// left out and counted, as the merge commits are.
func (c *composer) readPicks(list []rangeCommit) ([]pick, error) {
	ids := make([]string, 0, len(list)+1)
	for _, l := range list {
		ids = append(ids, l.id)
	}
	if len(list) > 0 && len(list[0].parents) == 1 {
		ids = append(ids, list[0].parents[0])
	}
	if err := c.objects.prefetch(ids); err != nil {
		return nil, err
	}
	picks := make([]pick, 0, len(list))
	for _, l := range list {
		if len(l.parents) > 1 {
			c.out.merges++
			continue
		}
		p, err := c.readPick(l)
		if err != nil {
			return nil, err
		}
		// What was made empty on purpose is kept though the target has one.
		if l.same && !p.empty() {
			c.out.dropped++
			continue
		}
		picks = append(picks, p)
		c.out.source = append(c.out.source, p.commit.info())
	}
	return picks, nil
}

func (c *composer) readPick(l rangeCommit) (pick, error) {
	p := pick{rangeCommit: l, base: c.trees.emptyTree()}
	var err error
	if p.commit, err = c.objects.commit(l.id); err != nil {
		return p, err
	}
	if len(l.parents) > 0 {
		parent, err := c.objects.commit(l.parents[0])
		if err != nil {
			return p, err
		}
		p.base = parent.tree
	}
	return p, nil
}
