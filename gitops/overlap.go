package gitops

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// Overlap compares what the working copies change since each left its base,
// what isn't committed and what is untracked included, and returns each pair
// that changes the same files. A file and a directory of one name are the same
// file. Conflict is true where the two would conflict if both were brought to
// the base as it is now; whether either conflicts with the base alone is not
// asked. Workspaces that aren't there are left out.
//
// Nothing is written to the repository, though git may mark an object that is
// there as used: merges are tried out in the directory for temporary files,
// and only of those that have files in common. The codes are target_not_found,
// git_failed, permission_denied and timeout.
func (v *Reviewer) Overlap(ctx context.Context, project workspace.Project, workspaces []workspace.Workspace) ([]workspace.Overlap, error) {
	ctx, cancel := context.WithTimeout(ctx, v.o.Timeout)
	defer cancel()
	found, err := v.overlap(ctx, project, workspaces)
	return found, withOp("overlap", failure("overlap", "the workspaces could not be compared", "see what git says, then try again", err))
}

func (v *Reviewer) overlap(ctx context.Context, project workspace.Project, workspaces []workspace.Workspace) ([]workspace.Overlap, error) {
	c, err := v.r.newComparer(ctx, project)
	if err != nil {
		return nil, err
	}
	sides := make([]*changing, len(workspaces))
	failures := make([]error, len(workspaces))
	inParallel(len(workspaces), func(i int) {
		if failures[i] = ctx.Err(); failures[i] == nil {
			sides[i], failures[i] = v.changing(ctx, c, workspaces[i])
		}
	})
	for i, err := range failures {
		if err != nil && !errors.Is(err, workspace.ErrNotReady) {
			return nil, err
		}
		if err != nil {
			sides[i] = nil
		}
	}
	pairs := sharing(slices.DeleteFunc(sides, func(s *changing) bool { return s == nil }))
	if len(pairs) == 0 {
		return nil, nil
	}
	if err := v.tryOut(ctx, project, pairs); err != nil {
		return nil, err
	}
	found := make([]workspace.Overlap, len(pairs))
	for i, p := range pairs {
		found[i] = workspace.Overlap{Threads: []string{p.a.w.ThreadID, p.b.w.ThreadID}, Files: p.files, Conflict: p.conflict}
	}
	slices.SortFunc(found, func(a, b workspace.Overlap) int { return slices.Compare(a.Threads, b.Threads) })
	return found, nil
}

// changing is a workspace and what it changes.
type changing struct {
	w  workspace.Workspace
	of reviewed
	at parting
	// pending are the paths whose content isn't committed.
	pending []string
	// paths are all that are changed.
	paths map[string]bool
	// tip is a commit of all its work. landed is that work on the base as it
	// is now, "" where the base is gone or conflicts with it.
	tip, landed string
}

func (v *Reviewer) changing(ctx context.Context, c *comparer, w workspace.Workspace) (*changing, error) {
	s := &changing{w: w, paths: make(map[string]bool)}
	var err error
	if s.of, err = v.find(ctx, c.project, w); err != nil {
		return nil, err
	}
	if s.at, err = v.parted(ctx, c, w, s.of.Head); err != nil {
		return nil, err
	}
	if s.of.Head != "" && s.of.Head != s.at.commit {
		edits, err := c.edits(ctx, s.at.commit, s.of.Head)
		if err != nil {
			return nil, err
		}
		for path := range edits {
			s.paths[path] = true
		}
	}
	report, err := v.r.status(ctx, s.of.gitDir, s.of.Directory, "all")
	if err != nil {
		return nil, err
	}
	for _, change := range report.changes {
		switch {
		case strings.HasSuffix(change.path, "/"):
			// A repository within has no content that git would merge.
		case change.submodule != "" && change.submodule[1] != 'C' && !change.staged && !change.conflicted:
			// Nor has what isn't committed in a submodule.
		default:
			s.paths[change.path] = true
			s.pending = append(s.pending, change.path)
		}
	}
	return s, nil
}

// pair is two workspaces that change the same files.
type pair struct {
	a, b     *changing
	files    []string
	conflict bool
}

// sharing finds the pairs, the one with the lesser thread first.
func sharing(sides []*changing) []*pair {
	slices.SortStableFunc(sides, func(a, b *changing) int { return cmp.Compare(a.w.ThreadID, b.w.ThreadID) })
	// The sides that change a path, by their place.
	users := make(map[string][]int)
	for i, s := range sides {
		for path := range s.paths {
			users[path] = append(users[path], i)
		}
	}
	shared := make(map[[2]int]map[string]bool)
	add := func(i, j int, paths ...string) {
		key := [2]int{min(i, j), max(i, j)}
		if i == j {
			return
		}
		if shared[key] == nil {
			shared[key] = make(map[string]bool)
		}
		for _, path := range paths {
			shared[key][path] = true
		}
	}
	for path, using := range users {
		for n, i := range using {
			for _, j := range using[:n] {
				add(i, j, path)
			}
		}
		for at, char := range path {
			if char != '/' {
				continue
			}
			// A file where the others have a directory.
			for _, i := range users[path[:at]] {
				for _, j := range using {
					add(i, j, path[:at], path)
				}
			}
		}
	}
	var pairs []*pair
	for key, files := range shared {
		pairs = append(pairs, &pair{a: sides[key[0]], b: sides[key[1]], files: slices.Sorted(maps.Keys(files))})
	}
	return pairs
}
