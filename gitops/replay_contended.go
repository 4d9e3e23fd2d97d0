package gitops

import (
	"context"
	"encoding/hex"
	"path"
	"slices"
	"strings"
)

// mergeContended settles what the contended files of a pick become. What isn't
// known yet git merges, in trees of nothing else: with it, once, what the
// picks after it will need as far as that can be foreseen. ok is false where a
// file is in conflict, of which the whole trees tell more.
func (c *composer) mergeContended(ctx context.Context, o *overlay, tree string, picks []pick, i int) (ok bool, err error) {
	batch := newBatch(c.attributes)
	for n := range o.contended {
		f := &o.contended[n]
		if err := batch.add(f, tree); err != nil {
			return false, err
		}
	}
	if slices.ContainsFunc(o.contended, func(f contended) bool { return !c.knows(f) }) {
		if i >= c.foreseen {
			if c.foreseen, err = c.foresee(batch, tree, picks, i); err != nil {
				return false, err
			}
		}
		if err := c.mergeBatch(ctx, batch); err != nil {
			return false, err
		}
	}
	o.merged = make(map[string]treeEntry, len(o.contended))
	for _, f := range o.contended {
		if o.merged[f.path] = c.merged[f]; c.merged[f].id == "" {
			return false, nil
		}
	}
	return true, nil
}

func (c *composer) knows(f contended) bool {
	_, known := c.merged[f]
	return known
}

// foresee adds the files that the picks from i on will have contended, each
// once: what becomes of it the next time depends on what it is then. It
// returns the first pick of which nothing can be foreseen.
func (c *composer) foresee(batch *batch, tree string, picks []pick, i int) (int, error) {
	for ; i < len(picks); i++ {
		o := &overlay{trees: c.trees, guess: true}
		next, ok, err := o.merge(picks[i].base, tree, picks[i].commit.tree)
		if err != nil || !ok {
			return i, err
		}
		for _, f := range o.contended {
			if err := batch.add(&f, tree); err != nil {
				return i, err
			}
		}
		tree = next
	}
	return i, nil
}

// mergeBatch has git merge the files of a batch. One that is in conflict is
// known as an entry without an id.
func (c *composer) mergeBatch(ctx context.Context, b *batch) error {
	files := slices.DeleteFunc(b.files, c.knows)
	slices.SortFunc(files, func(x, y contended) int { return strings.Compare(x.path, y.path) })
	if err := c.attributes.checkoutOnly(b.attributes); err != nil {
		return err
	}
	var trees [3]string
	for i := range trees {
		var err error
		if trees[i], err = c.trees.small(files, i); err != nil {
			return err
		}
	}
	base := []string{c.throwaway(trees[0], nil)}
	merged, err := c.mergeTree(ctx, c.throwaway(trees[1], base), c.throwaway(trees[2], base), false)
	if err != nil {
		return err
	}
	conflicts := merged.files()
	for _, f := range files {
		e, found, err := c.trees.find(merged.tree, f.path)
		if err != nil {
			return err
		}
		if !found || slices.Contains(conflicts, f.path) {
			e = treeEntry{}
		}
		c.merged[f] = e
	}
	return nil
}

// batch are contended files that can be merged at once.
type batch struct {
	source *attributeTree
	files  []contended
	// taken are the paths of the files and the directories above them: no
	// file is both.
	taken map[string]bool
	// attributes are the files of attributes that count for them, as raw ids
	// by path. One that must not be there has none.
	attributes map[string]string
}

func newBatch(source *attributeTree) *batch {
	return &batch{source: source, taken: make(map[string]bool), attributes: make(map[string]string)}
}

// add adds a file of a tree and completes it by the attributes that count for
// it there. It leaves out one that can't be merged along with the others.
func (b *batch) add(f *contended, tree string) error {
	attributes, err := b.source.below(tree, f.path)
	if err != nil {
		return err
	}
	above := []string{f.path}
	for dir := path.Dir(f.path); dir != "."; dir = path.Dir(dir) {
		above = append(above, dir)
	}
	var key strings.Builder
	agree := !b.taken[f.path] && !slices.ContainsFunc(b.files, func(other contended) bool { return slices.Contains(above, other.path) })
	for _, a := range attributes {
		key.WriteString(hex.EncodeToString([]byte(a.id)) + "\n")
		id, known := b.attributes[a.path]
		agree = agree && (!known || id == a.id)
	}
	f.attributes = key.String()
	if !agree {
		return nil
	}
	for _, a := range attributes {
		b.attributes[a.path] = a.id
	}
	for _, name := range above {
		b.taken[name] = true
	}
	b.files = append(b.files, *f)
	return nil
}

// small makes a tree of one side of some files, which are in the order of
// their paths.
func (t *treeStore) small(files []contended, side int) (string, error) {
	raw, err := t.smallBelow(files, side, "")
	return hex.EncodeToString([]byte(raw)), err
}

func (t *treeStore) smallBelow(files []contended, side int, prefix string) (string, error) {
	var entries []treeEntry
	for len(files) > 0 {
		name, _, below := strings.Cut(files[0].path[len(prefix):], "/")
		if !below {
			entries, files = append(entries, files[0].row[side]), files[1:]
			continue
		}
		n := 0
		for n < len(files) && strings.HasPrefix(files[n].path, prefix+name+"/") {
			n++
		}
		id, err := t.smallBelow(files[:n], side, prefix+name+"/")
		if err != nil {
			return "", err
		}
		entries, files = append(entries, treeEntry{modeTree, name, id}), files[n:]
	}
	slices.SortFunc(entries, compareEntries)
	return t.save(entries)
}
