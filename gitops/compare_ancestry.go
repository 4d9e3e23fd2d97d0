package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// maxWalked is how many commits are walked to compare all heads at once;
	// past it each is compared on its own.
	maxWalked = 50_000
	// walkSlack is how many more commits are walked after all is known: a
	// commit may be older, by its date, than its parent.
	walkSlack = 64
)

// errTooMany ends a walk.
var errTooMany = errors.New("too many commits would have to be walked")

// commitPair is two commits that are to be compared, by their object ids.
type commitPair struct{ base, head string }

// ancestry is what of the commits lies between the two sides of some pairs, and
// where the sides meet. Each commit has a bit for every side that reaches it.
type ancestry struct {
	pairs   []commitPair
	sides   map[string]int
	numbers map[string]int32
	ids     []string
	parents [][]int32
	walked  []bool
	// reach has words words for each commit.
	reach []uint64
	words int
	// heads has, by the side of a base, the sides of its heads.
	heads map[int][]uint64
	// open counts the commits yet to be walked that one side of a pair
	// reaches and the other doesn't.
	open   int
	isOpen []bool
	slack  int
}

// ancestry walks from the commits of all pairs, newest first, until all sides
// have met, with one process of git's, which is ended then.
func (c *comparer) ancestry(ctx context.Context, pairs []commitPair) (*ancestry, error) {
	h := newAncestry(pairs)
	cmd := c.refs.command("rev-list", "--parents", "--stdin")
	cmd.stdin = strings.NewReader(strings.Join(h.ids, "\n") + "\n")
	var bad error
	err := c.r.git.lines(ctx, cmd, func(line []byte) bool {
		bad = h.add(line)
		return bad == nil && !h.met()
	})
	if err == nil {
		err = bad
	}
	return h, err
}

func newAncestry(pairs []commitPair) *ancestry {
	h := &ancestry{pairs: pairs, sides: make(map[string]int), numbers: make(map[string]int32), heads: make(map[int][]uint64)}
	for _, p := range pairs {
		for _, id := range []string{p.base, p.head} {
			if _, ok := h.sides[id]; !ok {
				h.sides[id] = len(h.sides)
			}
		}
	}
	h.words = (len(h.sides) + 63) / 64
	for _, p := range pairs {
		base, head := h.sides[p.base], h.sides[p.head]
		if h.heads[base] == nil {
			h.heads[base] = make([]uint64, h.words)
		}
		h.heads[base][head/64] |= 1 << (head % 64)
	}
	for id, side := range h.sides {
		n := h.numberOf(id)
		h.bits(n)[side/64] |= 1 << (side % 64)
		h.judge(n)
	}
	return h
}

func (h *ancestry) numberOf(id string) int32 {
	n, ok := h.numbers[id]
	if !ok {
		n = int32(len(h.ids))
		h.numbers[id] = n
		h.ids = append(h.ids, id)
		h.parents = append(h.parents, nil)
		h.walked, h.isOpen = append(h.walked, false), append(h.isOpen, false)
		h.reach = append(h.reach, make([]uint64, h.words)...)
	}
	return n
}

// bits are the sides that reach a commit.
func (h *ancestry) bits(n int32) []uint64 {
	return h.reach[int(n)*h.words : (int(n)+1)*h.words]
}

func has(bits []uint64, side int) bool { return bits[side/64]&(1<<(side%64)) != 0 }

// add takes one line of the walk: a commit and its parents.
func (h *ancestry) add(line []byte) error {
	fields := bytes.Fields(line)
	if len(fields) == 0 || !isObjectID(string(fields[0])) {
		return fmt.Errorf("a line of the history can't be read: %q", clip(line))
	}
	n := h.numberOf(string(fields[0]))
	if len(h.ids) > maxWalked {
		return errTooMany
	}
	h.walked[n] = true
	h.judge(n)
	h.parents[n] = make([]int32, 0, len(fields)-1)
	for _, id := range fields[1:] {
		h.parents[n] = append(h.parents[n], h.numberOf(string(id)))
	}
	h.passOn(n)
	return nil
}

// passOn has the sides of a commit reach its parents, and further where those
// have been walked already.
func (h *ancestry) passOn(n int32) {
	next := []int32{n}
	for len(next) > 0 {
		n, next = next[len(next)-1], next[:len(next)-1]
		for _, parent := range h.parents[n] {
			from, to, more := h.bits(n), h.bits(parent), false
			for i := range to {
				more = more || from[i]&^to[i] != 0
				to[i] |= from[i]
			}
			if more && h.walked[parent] {
				next = append(next, parent)
			} else if more {
				h.judge(parent)
			}
		}
	}
}

// judge notes whether a commit has to be walked.
func (h *ancestry) judge(n int32) {
	open := false
	if bits := h.bits(n); !h.walked[n] {
		for base, heads := range h.heads {
			// All its heads are to be like the base.
			var want uint64
			if has(bits, base) {
				want = ^uint64(0)
			}
			for i, mask := range heads {
				open = open || bits[i]&mask != want&mask
			}
		}
	}
	if open != h.isOpen[n] {
		h.isOpen[n] = open
		if open {
			h.open++
		} else {
			h.open--
		}
	}
}

// met reports whether the sides of all pairs have met.
func (h *ancestry) met() bool {
	if h.open > 0 {
		h.slack = 0
		return false
	}
	h.slack++
	return h.slack > walkSlack
}

// divergence is how a pair lies in the history.
type divergence struct {
	commitPair
	// own are the commits that head alone has, theirs those of the base.
	own, theirs []int32
	// forks are where the two meet: commits of both of which none is known to
	// be an ancestor of another.
	forks []int32
}

// between returns how the commits of a pair lie.
func (h *ancestry) between(p commitPair) divergence {
	d := divergence{commitPair: p}
	base, head := h.sides[p.base], h.sides[p.head]
	both := func(n int32) bool { bits := h.bits(n); return has(bits, base) && has(bits, head) }
	met := make(map[int32]bool)
	for _, id := range []string{p.base, p.head} {
		if n := h.numbers[id]; both(n) {
			met[n] = true
		}
	}
	for i := range h.ids {
		n := int32(i)
		bits := h.bits(n)
		inBase, inHead := has(bits, base), has(bits, head)
		switch {
		case inBase == inHead:
			continue
		case inHead:
			d.own = append(d.own, n)
		default:
			d.theirs = append(d.theirs, n)
		}
		for _, parent := range h.parents[n] {
			if both(parent) {
				met[parent] = true
			}
		}
	}
	for n := range met {
		d.forks = append(d.forks, n)
	}
	if len(d.forks) > 1 {
		older := make(map[int32]bool)
		for i := range h.ids {
			if n := int32(i); both(n) {
				for _, parent := range h.parents[n] {
					older[parent] = true
				}
			}
		}
		d.forks = slices.DeleteFunc(d.forks, func(n int32) bool { return older[n] })
	}
	return d
}
