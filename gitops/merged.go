package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// maxSearched is how many commits of a base are looked through for a
	// squash merge.
	maxSearched = 2000
	// maxPaths is how many paths a search is narrowed to; past it all commits
	// are compared.
	maxPaths = 100
)

// merged reports whether the base has all that the commits of head bring: by
// ancestry, because merging them would change nothing, or because the base's
// history since has one commit that makes the whole change, or one for each.
// What a later commit of the base changes again doesn't matter. The error says
// why it isn't known.
func (c *comparer) merged(ctx context.Context, base, head string, rel relation) (bool, error) {
	if rel.ahead == 0 {
		return true, nil
	}
	if rel.behind == 0 {
		return false, nil
	}
	if c.config.promisor() {
		return false, errors.New("the repository is a partial clone, and to compare contents would fetch them")
	}
	fork, err := c.r.git.line(ctx, c.refs.command("merge-base", base, head))
	if exitCode(err) == 1 {
		return false, nil // no common history
	}
	if err != nil {
		return false, err
	}
	own, err := c.ownPatches(ctx, base, head, fork)
	if err != nil {
		return false, err
	}
	if !own.whole.empty {
		same, err := c.bringsNothing(ctx, base, head, fork)
		if err != nil || same {
			return same, err
		}
	}
	if own.hopeless() {
		return false, nil
	}
	if rel.behind > maxSearched {
		return false, tooFar(rel.behind)
	}
	return c.search(ctx, base, fork, own)
}

// ownPatches are the changes of a branch: as a whole and commit by commit.
type ownPatches struct {
	whole  patch
	single []patch
	// merges is true where the branch has merge commits, of which what they
	// change can't be told apart.
	merges bool
}

// hopeless reports whether there is nothing that could be found in the base:
// commits without a change, such as a message alone, are nowhere else.
func (o ownPatches) hopeless() bool {
	return o.whole.empty && (o.merges || !slices.ContainsFunc(o.single, func(p patch) bool { return !p.empty }))
}

func (c *comparer) ownPatches(ctx context.Context, base, head, fork string) (ownPatches, error) {
	out, err := c.r.git.line(ctx, c.refs.command("rev-list", "--parents", base+".."+head, "--"))
	if err != nil {
		return ownPatches{}, err
	}
	var own ownPatches
	var input []string
	for line := range strings.Lines(out) {
		ids := strings.Fields(line)
		if len(ids) > 2 {
			own.merges = true
			continue
		}
		input = append(input, ids[0])
	}
	if len(input) > maxSearched {
		input, own.merges = nil, true
	}
	// With a parent after it, a commit is compared with that one. It comes
	// last: git keeps the parent for what follows.
	input = append(input, head+" "+fork)
	patches, err := c.patches(ctx, input)
	if err != nil {
		return ownPatches{}, err
	}
	if len(patches) != len(input) {
		return ownPatches{}, fmt.Errorf("git told %d changes of %d", len(patches), len(input))
	}
	last := len(patches) - 1
	own.whole, own.single = patches[last], patches[:last]
	return own, nil
}

// patches returns the change of each commit. The options make it the same
// whatever the configuration says.
func (c *comparer) patches(ctx context.Context, commits []string) ([]patch, error) {
	cmd := c.refs.command("diff-tree", "--stdin", "-r", "-p", "--always", "--root", "--no-renames", "--full-index",
		"--no-ext-diff", "--no-textconv", "--no-color", "-U3", "--inter-hunk-context=0", "--diff-algorithm=myers",
		"--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--ignore-submodules=none")
	cmd.config = []string{"core.quotePath=false", "diff.suppressBlankEmpty=false"}
	cmd.env = append(cmd.env, "GIT_ATTR_NOSYSTEM=1")
	cmd.stdin = strings.NewReader(strings.Join(commits, "\n") + "\n")
	var scanner patchScanner
	if err := c.r.git.stream(ctx, cmd, &scanner); err != nil {
		return nil, err
	}
	return scanner.finish(), nil
}

// wanted are the changes of which one, or all but the first, are looked for.
func (o ownPatches) wanted() []patch {
	if o.whole.empty {
		return o.single
	}
	return append([]patch{o.whole}, o.single...)
}

// search looks for the changes among the base's commits since the fork.
func (c *comparer) search(ctx context.Context, base, fork string, own ownPatches) (bool, error) {
	cmd := c.refs.command("rev-list", "--no-merges", "--full-history", base, "^"+fork, "--")
	cmd.args = append(cmd.args, firstPaths(own.wanted())...)
	cmd.env = append(cmd.env, "GIT_LITERAL_PATHSPECS=1")
	out, err := c.r.git.line(ctx, cmd)
	if err != nil || out == "" {
		return false, err
	}
	patches, err := c.patches(ctx, strings.Fields(out))
	return err == nil && own.among(patches), err
}

// among reports whether one of the patches makes the whole change, or some
// make each its part.
func (o ownPatches) among(patches []patch) bool {
	seen := make(map[[32]byte]bool, len(patches))
	for _, p := range patches {
		if !p.empty {
			seen[p.id] = true
		}
	}
	if !o.whole.empty && seen[o.whole.id] {
		return true
	}
	if o.merges {
		return false
	}
	any := false
	for _, p := range o.single {
		if p.empty {
			continue
		}
		if !seen[p.id] {
			return false
		}
		any = true
	}
	return any
}

// tooFar is the error that a base has too many commits to be looked through.
type tooFar int

func (n tooFar) Error() string {
	return fmt.Sprintf("the base has %d commits since, more than the %d that are looked through for a squash merge", int(n), maxSearched)
}

// firstPaths returns a path of each change: a commit that makes the same one
// touches it. It is empty, and nothing is narrowed, where one isn't known or
// there are too many.
func firstPaths(patches []patch) []string {
	var paths []string
	for _, p := range patches {
		if p.empty || slices.Contains(paths, p.path) {
			continue
		}
		if p.path == "" || len(paths) == maxPaths {
			return nil
		}
		paths = append(paths, p.path)
	}
	return paths
}
