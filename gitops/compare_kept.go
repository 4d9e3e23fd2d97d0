package gitops

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// keptKey asks whether refs other than a branch, "" for none, have a commit.
type keptKey struct{ head, branch string }

// keepers are the refs by which commits are kept, and the main checkout's
// HEAD where it is detached.
type keepers struct {
	// names has the full names of the refs by what they stand for, tags by
	// what they lead to.
	names map[string][]string
	// print is the same for the same refs.
	print [sha256.Size]byte
}

// keepers reads the refs. ok is false where git has to be asked.
func (c *comparer) keepers(ctx context.Context) (k keepers, ok bool) {
	if c.refs.store == nil {
		return k, false
	}
	names, err := c.refs.store.refNames(localRefs, remoteRefs, "refs/tags/")
	if err != nil {
		return k, false
	}
	k.names = make(map[string][]string, len(names))
	sum := sha256.New()
	note := func(name, id string) {
		k.names[id] = append(k.names[id], name)
		for _, part := range []string{name, id} {
			sum.Write([]byte(part + "\x00"))
		}
	}
	for _, name := range names {
		_, id, err := c.refs.resolve(ctx, name)
		if err != nil {
			return k, false
		}
		if id != "" {
			note(name, id)
		}
	}
	h, err := c.r.headOf(ctx, c.project.ID)
	if err != nil {
		return k, false
	}
	if h.sha != "" {
		note("HEAD", h.sha)
	}
	sum.Sum(k.print[:0])
	return k, true
}

// surveyKept finds out of all commits at once whether other refs have them.
// Where it fails nothing is lost but time.
func (c *comparer) surveyKept(ctx context.Context, asked []keptKey) {
	if len(asked) == 0 {
		return
	}
	k, ok := c.keepers(ctx)
	if !ok {
		return
	}
	kept := make(map[keptKey]bool)
	open := slices.DeleteFunc(slices.Clone(asked), func(key keptKey) bool {
		answer, ok := c.r.kept.get(keptIn{c.project.ID, k.print, key})
		if ok && c.lasting() {
			kept[key] = answer
		}
		return ok
	})
	if len(open) > 0 && c.findKept(ctx, k, open, kept) != nil {
		return
	}
	c.surveyed.kept = kept
}

// findKept has git walk from all refs, newest first, as far as the commits in
// question. A commit is kept by a ref that stands for it, or by one that
// another is the child of: the branch that doesn't count stands for the commit
// itself, and has no child of it.
func (c *comparer) findKept(ctx context.Context, k keepers, open []keptKey, answers map[keptKey]bool) error {
	// A detached HEAD is walked from as well, so that the walk comes by it,
	// but keeps nothing.
	waiting, kept := make(map[string]bool), make(map[string]bool)
	var input strings.Builder
	for _, key := range open {
		waiting[key.head] = true
		input.WriteString(key.head + "\n")
	}
	reached := make(map[string]bool)
	for id, names := range k.names {
		input.WriteString(id + "\n")
		reached[id] = true
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "refs/tags/") }) {
			if target := c.refs.tagged(id); target != "" {
				reached[target], kept[target] = true, true
			}
		}
	}
	cmd := c.refs.command("rev-list", "--parents", "--stdin")
	cmd.stdin = strings.NewReader(input.String())
	slack, walked := 0, 0
	err := c.r.git.lines(ctx, cmd, func(line []byte) bool {
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			return true
		}
		delete(waiting, string(fields[0]))
		if reached[string(fields[0])] {
			for _, parent := range fields[1:] {
				reached[string(parent)], kept[string(parent)] = true, true
			}
		}
		if walked++; len(waiting) > 0 {
			return walked < maxWalked
		}
		slack++
		return slack < walkSlack
	})
	if err == nil && walked == maxWalked {
		err = errTooMany
	}
	if err != nil {
		return err
	}
	for _, key := range open {
		others := slices.ContainsFunc(k.names[key.head], func(name string) bool { return name != localRefs+key.branch })
		answers[key] = others || kept[key.head]
		if c.lasting() {
			c.r.kept.put(keptIn{c.project.ID, k.print, key}, answers[key])
		}
	}
	return nil
}

// tagged returns what a tag with a message leads to, "" for what is none.
func (x *refs) tagged(id string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	found := ""
	for range maxSymref {
		tag, err := x.repo.TagObject(plumbing.NewHash(id))
		if err != nil {
			break
		}
		id = tag.Target.String()
		found = id
	}
	return found
}

// keptIn is a question about kept commits among certain refs.
type keptIn struct {
	common string
	refs   [sha256.Size]byte
	keptKey
}
