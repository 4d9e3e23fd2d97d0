package gitops

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// shortLine is how many commits are followed on each side to see where the two
// parted, before git is asked for what lies between.
const shortLine = 32

// line is a line of commits of one parent each, newest first.
type line struct {
	ids []string
	at  map[string]int
	// ended is true where it can't be followed any further.
	ended bool
}

func (l *line) add(id string) {
	l.at[id] = len(l.ids)
	l.ids = append(l.ids, id)
}

func (l *line) last() string { return l.ids[len(l.ids)-1] }

// listShort is list where both sides are short lines of commits. ok is false
// where git has to list them.
func (c *composer) listShort(marks bool) (list []rangeCommit, ok bool, err error) {
	// What git takes for a commit's parents may be others than it says.
	for _, path := range []string{"shallow", "info/grafts", "refs/replace"} {
		if _, err := os.Lstat(filepath.Join(c.in.project.ID, path)); !isAbsent(err) {
			return nil, false, nil
		}
	}
	ours, theirs := &line{at: make(map[string]int)}, &line{at: make(map[string]int)}
	ours.add(c.in.tip)
	theirs.add(c.in.onto)
	parted, ok, err := c.follow(ours, theirs)
	if err != nil || !ok {
		return nil, false, err
	}
	mine, other := ours.ids[:ours.at[parted]+1], theirs.ids[:theirs.at[parted]+1]
	if marks && len(mine) > 1 && len(other) > 1 {
		if twice, err := c.mayRepeat(mine, other); err != nil || twice {
			return nil, false, err
		}
	}
	for i := len(mine) - 2; i >= 0; i-- {
		list = append(list, rangeCommit{id: mine[i], parents: []string{mine[i+1]}})
	}
	return list, true, nil
}

// follow follows two lines to the commit at which they parted.
func (c *composer) follow(ours, theirs *line) (parted string, ok bool, err error) {
	for range shortLine {
		if _, met := theirs.at[ours.last()]; met {
			return ours.last(), true, nil
		}
		if _, met := ours.at[theirs.last()]; met {
			return theirs.last(), true, nil
		}
		var ids []string
		for _, l := range []*line{ours, theirs} {
			if !l.ended {
				ids = append(ids, l.last())
			}
		}
		if len(ids) == 0 {
			break
		}
		if err := c.objects.knowLines(ids); err != nil {
			return "", false, err
		}
		for _, l := range []*line{ours, theirs} {
			if l.ended {
				continue
			}
			if parents := c.objects.commits[l.last()].parents; len(parents) == 1 {
				l.add(parents[0])
			} else {
				l.ended = true
			}
		}
	}
	return "", false, nil
}

// mayRepeat reports whether a commit of one line may be the same change as one
// of the other. The last of each is where they parted.
func (c *composer) mayRepeat(mine, other []string) (bool, error) {
	if err := c.objects.prefetch([]string{mine[len(mine)-1]}); err != nil {
		return false, err
	}
	var pairs [][2]string
	for _, ids := range [][]string{mine, other} {
		for i := range len(ids) - 1 {
			pairs = append(pairs, [2]string{c.objects.commits[ids[i+1]].tree, c.objects.commits[ids[i]].tree})
		}
	}
	d, err := c.trees.descend(pairs)
	var groups [][2][]int
	for err == nil {
		// Most commits are told apart by the directories that they change.
		if groups = d.alike(len(mine) - 1); len(d.level) == 0 {
			break
		}
		err = d.down()
	}
	if errors.Is(err, errOddTree) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	all := d.changes()
	for _, group := range groups {
		for _, theirs := range group[1] {
			for _, ours := range group[0] {
				if same, err := c.maySay(all[ours], all[theirs]); err != nil || same {
					return same, err
				}
			}
		}
	}
	return false, nil
}

// maySay reports whether two commits that change the same paths may be the same
// change: whatever the difference between two texts is taken for, it adds and
// takes away as often what the one has more often than the other. White space
// doesn't count for git.
func (c *composer) maySay(ours, theirs []treeChange) (bool, error) {
	if len(ours) > countFiles {
		return true, nil
	}
	for i := range ours {
		both := []treeChange{ours[i], theirs[i]}
		if slices.ContainsFunc(both, func(t treeChange) bool { return t.oldMode == modeSubmodule || t.newMode == modeSubmodule }) {
			return true, nil
		}
		contents, err := c.contents(both)
		if err != nil || contents == nil {
			return true, err
		}
		a := balance(contents[ours[i].oldID], contents[ours[i].newID])
		if !maps.Equal(a, balance(contents[theirs[i].oldID], contents[theirs[i].newID])) {
			return false, nil
		}
	}
	return true, nil
}

// balance is how often each line, without its white space, comes more often in
// the second text.
func balance(before, after []byte) map[string]int {
	count := make(map[string]int)
	for by, text := range map[int][]byte{-1: before, 1: after} {
		for line := range bytes.Lines(text) {
			count[string(bytes.Join(bytes.Fields(line), nil))] += by
		}
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n == 0 })
	return count
}
