package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/threadtree/threadtree/workspace"
)

// side is what a working copy is compared with.
type side struct {
	// branch is the short name of the base, as it was asked for.
	branch string
	sha    string
	// unknown says why there is nothing to compare with, "" if there is.
	unknown string
}

// comparer compares commits of one project with the bases of one query of
// states. It is safe for concurrent use and finds each base out once.
type comparer struct {
	r       *Repository
	project workspace.Project
	refs    *refs
	config  *repoConfig
	// main is the default branch, or unknown says why it isn't known.
	main, unknown string

	// shallow is true where the history was cut off to begin with.
	shallow bool

	// working finds the processes and where they work.
	working func() []usingProcess

	// around is looked at before the worktrees are.
	around outside
	// surveyed is written before the comparer is used by others.
	surveyed surveyed

	mu    sync.Mutex
	sides map[string]func() side
}

func (r *Repository) newComparer(ctx context.Context, p workspace.Project) (*comparer, error) {
	config, err := r.config(ctx, p.ID)
	if err != nil {
		return nil, unreadable(p.ID, err)
	}
	c := &comparer{r: r, project: p, refs: r.openRefs(p.ID), config: config, sides: make(map[string]func() side), around: outside{done: make(chan struct{})}, working: sync.OnceValue(processes)}
	c.shallow = cutOff(p)
	c.main, err = r.defaultBranch(ctx, p)
	switch {
	case err != nil:
		c.unknown = "the project's default branch can't be read: " + because(err)
	case c.main == "":
		c.unknown = "the project has no default branch: neither origin's HEAD nor what is checked out is one"
	}
	return c, nil
}

// side returns the fresher side of a base, "" standing for the default branch.
func (c *comparer) side(ctx context.Context, base string) side {
	c.mu.Lock()
	find, ok := c.sides[base]
	if !ok {
		find = sync.OnceValue(func() side {
			// Bounded apart from who happens to ask first.
			ctx, cancel := context.WithTimeout(ctx, c.r.stateTimeout)
			defer cancel()
			return c.find(ctx, base)
		})
		c.sides[base] = find
	}
	c.mu.Unlock()
	return find()
}

func (c *comparer) find(ctx context.Context, base string) side {
	name := strings.TrimPrefix(base, "refs/heads/")
	if name == "" {
		if c.unknown != "" {
			return side{unknown: c.unknown}
		}
		name = c.main
	}
	sha, err := c.resolve(ctx, name)
	s := side{branch: name, sha: sha}
	switch {
	case err != nil:
		s.unknown = fmt.Sprintf("the base %s can't be read: %s", name, because(err))
	case sha == "":
		s.unknown = fmt.Sprintf("the base %s is gone", name)
	}
	return s
}

// resolve returns the commit of a base: of a branch its fresher side, else
// that of a remote branch, a tag or a commit; "" if there is none.
func (c *comparer) resolve(ctx context.Context, name string) (string, error) {
	if name == "HEAD" {
		sha, _, err := c.r.head(ctx, c.project)
		return sha, err
	}
	local, err := c.refs.lookup(ctx, "refs/heads/"+name)
	if err != nil {
		return "", err
	}
	for _, ref := range c.config.tracking(name) {
		remote, err := c.refs.lookup(ctx, ref)
		if err != nil {
			return "", err
		}
		if remote == "" || remote == local {
			continue
		}
		if local == "" {
			return remote, nil
		}
		if fresher, err := c.ancestor(ctx, local, remote); err != nil || fresher {
			return remote, err
		}
	}
	if local != "" {
		return local, nil
	}
	if sha, err := c.refs.lookup(ctx, "refs/remotes/"+strings.TrimPrefix(name, "refs/remotes/")); err != nil || sha != "" {
		return sha, err
	}
	return c.commit(ctx, name)
}

// commit returns the commit that a tag or an object id stands for.
func (c *comparer) commit(ctx context.Context, name string) (string, error) {
	spec := name
	if tag, err := c.refs.lookup(ctx, "refs/tags/"+strings.TrimPrefix(name, "refs/tags/")); err != nil {
		return "", err
	} else if tag != "" {
		spec = tag
	} else if len(name) < 7 || strings.Trim(name, "0123456789abcdef") != "" {
		return "", nil
	}
	sha, err := c.r.git.line(ctx, c.refs.command("rev-parse", "--verify", "-q", "--end-of-options", spec+"^{commit}"))
	if exitCode(err) > 0 {
		return "", nil
	}
	return sha, err
}

// ancestor reports whether the newer commit has all of the older one's history.
func (c *comparer) ancestor(ctx context.Context, older, newer string) (bool, error) {
	_, err := c.r.git.run(ctx, c.refs.command("merge-base", "--is-ancestor", older, newer))
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// relation is how a commit stands to a base.
type relation struct {
	ahead, behind int
	// merged is nil where it isn't known, which unknown then explains.
	merged  *bool
	unknown string
}

// relation compares a commit with a base. Both are object ids.
func (c *comparer) relation(ctx context.Context, base, head string) (relation, error) {
	p := commitPair{base: base, head: head}
	if rel, ok := c.known(p); ok {
		return rel, nil
	}
	if ahead, ok := c.refs.linear(base, head); ok {
		rel := relation{ahead: ahead, merged: new(false)}
		c.remember(p, rel)
		return rel, nil
	}
	rel, ok := c.surveyed.counts[p]
	if !ok {
		out, err := c.r.git.line(ctx, c.refs.command("rev-list", "--left-right", "--count", base+"..."+head, "--"))
		if err != nil {
			return relation{}, err
		}
		behind, ahead, _ := strings.Cut(out, "\t")
		if rel.behind, err = strconv.Atoi(behind); err != nil {
			return relation{}, err
		}
		if rel.ahead, err = strconv.Atoi(ahead); err != nil {
			return relation{}, err
		}
	}
	merged, err := c.merged(ctx, base, head, rel)
	if err != nil {
		rel.unknown = because(err)
		if _, ok := errors.AsType[tooFar](err); !ok {
			return rel, nil
		}
	} else {
		rel.merged = &merged
	}
	c.remember(p, rel)
	return rel, nil
}

// known returns a relation that needs no process.
func (c *comparer) known(p commitPair) (relation, bool) {
	if p.base == p.head {
		return relation{merged: new(true)}, true
	}
	if rel, ok := c.surveyed.relations[p]; ok {
		return rel, true
	}
	if !c.lasting() {
		return relation{}, false
	}
	return c.r.relations.get(relationKey{c.project.ID, p})
}

// remember keeps a relation that can't change.
func (c *comparer) remember(p commitPair, rel relation) {
	if c.lasting() {
		c.r.relations.put(relationKey{c.project.ID, p}, rel)
	}
}

// lasting reports whether how two commits stand to each other can't change. A
// shallow history may yet become deeper, as it may have since commits were
// compared, and replaced commits change it.
func (c *comparer) lasting() bool {
	return !c.shallow && !cutOff(c.project) && !c.refs.rewritten()
}

// cutOff reports whether the history is shallow.
func cutOff(p workspace.Project) bool {
	_, err := os.Lstat(filepath.Join(p.ID, "shallow"))
	return !isAbsent(err)
}

// relationCache remembers how two commits stand to each other.
type relationCache = memo[relationKey, relation]

type relationKey struct {
	common string
	commitPair
}

// because says in a few words why something could not be found out.
func because(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	case errors.Is(err, context.Canceled):
		return "it was cancelled"
	}
	if g, ok := errors.AsType[*GitError](err); ok {
		if line := lastLine(g.Stderr); line != "" {
			return "git says: " + line
		}
	}
	return err.Error()
}
