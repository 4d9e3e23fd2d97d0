package gitops

import (
	"context"
	"slices"
	"sync"

	"github.com/threadtree/threadtree/workspace"
)

const (
	// maxOwn is how many commits of its own a head may have to be compared
	// together with others.
	maxOwn = 200
	// maxTogether is how many commits are compared together.
	maxTogether = 4000
)

// surveyed is what has been found out about many commits at once. What isn't
// in it is found out where it is needed, one by one.
type surveyed struct {
	// counts are known but for merged, relations wholly.
	counts, relations map[commitPair]relation
	// kept tells of the commits that other refs have.
	kept map[keptKey]bool
}

// survey finds out together what is asked about the commits of all queries. It
// may take as long as one of them.
func (c *comparer) survey(ctx context.Context, queries []workspace.StateQuery) {
	ctx, cancel := context.WithTimeout(ctx, c.r.stateTimeout)
	defer cancel()
	var pairs []commitPair
	var kept []keptKey
	seen, asked := make(map[commitPair]bool), make(map[keptKey]bool)
	for _, q := range queries {
		head, branch := q.Worktree.Head, q.Worktree.Branch
		if head == "" {
			continue
		}
		for _, base := range slices.Compact([]string{q.Base, ""}) {
			p := commitPair{base: c.side(ctx, base).sha, head: head}
			if _, known := c.known(p); !known && p.base != "" && !seen[p] {
				seen[p] = true
				pairs = append(pairs, p)
			}
		}
		if key := (keptKey{head, branch}); (branch == "" || branch == q.Own) && !asked[key] {
			asked[key] = true
			kept = append(kept, key)
		}
	}
	var group sync.WaitGroup
	group.Go(func() { c.surveyKept(ctx, kept) })
	c.surveyPairs(ctx, pairs)
	group.Wait()
}

// surveyPairs compares all pairs with as few processes as that takes, whatever
// their number. Where it fails nothing is lost but time.
func (c *comparer) surveyPairs(ctx context.Context, pairs []commitPair) {
	if len(pairs) == 1 {
		// A few commits ahead are counted without any process.
		if ahead, ok := c.refs.linear(pairs[0].base, pairs[0].head); ok {
			c.remember(pairs[0], relation{ahead: ahead, merged: new(false)})
			return
		}
	}
	if len(pairs) == 0 {
		return
	}
	h, err := c.ancestry(ctx, pairs)
	if err != nil {
		return
	}
	c.surveyed.counts, c.surveyed.relations = make(map[commitPair]relation), make(map[commitPair]relation)
	var all []*diverged
	commits := 0
	for _, p := range pairs {
		d := h.between(p)
		rel := relation{ahead: len(d.own), behind: len(d.theirs)}
		switch {
		case rel.ahead == 0:
			rel.merged = new(true)
		case rel.behind == 0, len(d.forks) == 0:
			rel.merged = new(false)
		default:
			c.surveyed.counts[p] = rel
			many := rel.ahead > maxOwn || rel.behind > maxSearched || commits+rel.ahead+rel.behind > maxTogether
			if len(d.forks) == 1 && !many && !c.config.promisor() {
				commits += rel.ahead + rel.behind
				all = append(all, h.diverged(d))
			}
			continue
		}
		c.found(p, rel)
	}
	if len(all) == 0 || c.comparePatches(ctx, all) != nil {
		return
	}
	for _, d := range all {
		if merged, known := d.merged(); known {
			rel := c.surveyed.counts[d.commitPair]
			rel.merged = &merged
			c.found(d.commitPair, rel)
		}
	}
}

// found notes a relation that is known wholly.
func (c *comparer) found(p commitPair, rel relation) {
	c.surveyed.relations[p] = rel
	c.remember(p, rel)
}

// diverged returns a divergence by the ids of its commits.
func (h *ancestry) diverged(d divergence) *diverged {
	p := &diverged{commitPair: d.commitPair, fork: h.ids[d.forks[0]]}
	for _, n := range d.own {
		if len(h.parents[n]) > 1 {
			p.mine.merges = true
			continue
		}
		p.own = append(p.own, h.ids[n])
	}
	for _, n := range d.theirs {
		if len(h.parents[n]) < 2 {
			p.theirs = append(p.theirs, h.ids[n])
		}
	}
	return p
}
