package gitops

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// tryOut finds out which of the pairs would conflict.
func (v *Reviewer) tryOut(ctx context.Context, project workspace.Project, pairs []*pair) error {
	var sides []*changing
	for _, p := range pairs {
		for _, s := range []*changing{p.a, p.b} {
			if !slices.Contains(sides, s) {
				sides = append(sides, s)
			}
		}
	}
	// The base, for the attributes that say how to merge.
	base := cmp.Or(sides[0].at.side, sides[0].at.commit)
	in := composeInput{project: project, onto: base}
	return v.r.withComposer(ctx, in, true, func(ctx context.Context, c *composer) error {
		t := &trial{composer: c}
		commit, err := c.objects.commit(base)
		if err != nil {
			return err
		}
		if err := c.attributes.checkout(ctx, commit.tree); err != nil {
			return err
		}
		if err := t.commitAll(ctx, sides); err != nil {
			return err
		}
		if err := t.land(ctx, sides); err != nil {
			return err
		}
		return t.judge(ctx, pairs)
	})
}

// trial is a place in which merges are tried out.
type trial struct{ *composer }

// commitAll makes commits of all that the workspaces have.
func (t *trial) commitAll(ctx context.Context, sides []*changing) error {
	// From here on the quarantine is there, and nothing waits to be written:
	// commands may be made at once.
	if err := t.write(); err != nil {
		return err
	}
	trees := make([]string, len(sides))
	failures := make([]error, len(sides))
	inParallel(len(sides), func(i int) {
		if failures[i] = ctx.Err(); failures[i] == nil && len(sides[i].pending) > 0 {
			trees[i], failures[i] = t.tree(ctx, sides[i])
		}
	})
	for i, s := range sides {
		if err := failures[i]; err != nil {
			return err
		}
		s.tip = s.of.Head
		if trees[i] == "" {
			continue
		}
		var parents []string
		if s.of.Head != "" {
			parents = []string{s.of.Head}
		}
		s.tip = t.throwaway(trees[i], parents)
	}
	return nil
}

// tree writes what a workspace has, as a commit of all of it would.
func (t *trial) tree(ctx context.Context, s *changing) (string, error) {
	index, remove, err := scratchIndex(s.of.gitDir)
	if err != nil {
		return "", err
	}
	defer remove()
	cmd, err := t.inside("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
	if err != nil {
		return "", err
	}
	cmd.dir, cmd.write = s.of.Directory, true
	cmd.env = append(cmd.env, "GIT_DIR="+s.of.gitDir, "GIT_WORK_TREE="+s.of.Directory, "GIT_INDEX_FILE="+index)
	cmd.config = []string{
		"core.fsmonitor=false", "core.splitIndex=false", "core.untrackedCache=false", "core.safecrlf=false",
		"core.looseCompression=0", "core.fsync=none",
	}
	cmd.stdin = strings.NewReader(strings.Join(s.pending, "\x00") + "\x00")
	if _, err := t.r.git.run(ctx, cmd); err != nil {
		return "", err
	}
	cmd.args, cmd.stdin = []string{"write-tree", "--missing-ok"}, nil
	return t.r.git.line(ctx, cmd)
}

// land brings the work of each to its base as that is now.
func (t *trial) land(ctx context.Context, sides []*changing) error {
	var behind []*changing
	var merges [][2]string
	for _, s := range sides {
		switch s.at.side {
		case "":
		case s.at.commit:
			s.landed = s.tip
		default:
			behind, merges = append(behind, s), append(merges, [2]string{s.at.side, s.tip})
		}
	}
	results, err := t.merge(ctx, merges)
	if err != nil {
		return err
	}
	for i, s := range behind {
		if results[i].clean {
			s.landed = t.throwaway(results[i].tree, []string{s.at.side, s.tip})
		}
	}
	return nil
}

// judge merges the two of each pair: as they are on the base, so that what the
// base alone brings is no conflict of theirs, or, where that can't be, as they
// are, for the files that both change.
func (t *trial) judge(ctx context.Context, pairs []*pair) error {
	merges := make([][2]string, len(pairs))
	onBase := func(p *pair) bool { return p.a.landed != "" && p.b.landed != "" && p.a.at.side == p.b.at.side }
	for i, p := range pairs {
		merges[i] = [2]string{p.a.tip, p.b.tip}
		if onBase(p) {
			merges[i] = [2]string{p.a.landed, p.b.landed}
		}
	}
	results, err := t.merge(ctx, merges)
	if err != nil {
		return err
	}
	for i, p := range pairs {
		p.conflict = !results[i].clean
		if p.conflict && !onBase(p) {
			p.conflict = slices.ContainsFunc(results[i].files, func(file string) bool { return slices.Contains(p.files, file) })
		}
	}
	return nil
}

// tried is what became of a merge that was tried out.
type tried struct {
	clean bool
	tree  string
	files []string
}

// merge merges commits two by two, all by one process.
func (t *trial) merge(ctx context.Context, merges [][2]string) ([]tried, error) {
	if len(merges) == 0 {
		return nil, nil
	}
	var input strings.Builder
	for _, m := range merges {
		input.WriteString(m[0] + " " + m[1] + "\n")
	}
	cmd, err := t.inside("merge-tree", "--stdin", "--allow-unrelated-histories", "--name-only", "--no-messages")
	if err != nil {
		return nil, err
	}
	// Attributes are read from the work tree that git stands in, and merge
	// drivers put their files there.
	cmd.dir, cmd.env = t.workTree(), append(cmd.env, "GIT_WORK_TREE="+t.workTree())
	cmd.config, cmd.stdin = []string{"core.looseCompression=0"}, strings.NewReader(input.String())
	out, err := t.r.git.run(ctx, cmd)
	if exitCode(err) == usageExit {
		return nil, &workspace.Error{
			Code: workspace.ErrGitFailed, Err: err,
			Message: "this git can't try out merges, so that it is not known which workspaces would conflict",
			Hint:    "install git 2.39 or newer",
		}
	}
	if err != nil {
		return nil, err
	}
	results, err := parseTried(out)
	if err == nil && len(results) != len(merges) {
		err = fmt.Errorf("git told of %d merges of %d", len(results), len(merges))
	}
	return results, err
}

// parseTried reads the output of "git merge-tree --stdin --name-only
// --no-messages": for each merge 1 if it is clean, the tree, and the paths in
// conflict, up to an empty one.
func parseTried(out []byte) ([]tried, error) {
	var results []tried
	next := func() (string, bool) {
		record, rest, ok := bytes.Cut(out, []byte{0})
		out = rest
		return string(record), ok
	}
	for len(out) > 0 {
		status, ok := next()
		tree, hasTree := next()
		if !ok || !hasTree || status != "0" && status != "1" || !isObjectID(tree) {
			return nil, fmt.Errorf("the result of a merge can't be read at %q, %q", clip([]byte(status)), clip([]byte(tree)))
		}
		r := tried{clean: status == "1", tree: tree}
		for {
			file, ok := next()
			if !ok {
				return nil, fmt.Errorf("the result of a merge ends too soon: %q", clip([]byte(file)))
			}
			if file == "" {
				break
			}
			r.files = append(r.files, file)
		}
		results = append(results, r)
	}
	return results, nil
}
