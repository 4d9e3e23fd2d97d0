package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/workspace"
)

// branches measures the search for a few among many branches against
// "git for-each-ref" of all, sorted.
func branches(ctx context.Context, l *lab) ([]samples, error) {
	r, err := l.repo(ctx, 20)
	if err != nil {
		return nil, err
	}
	var stream bytes.Buffer
	for i := range l.refs {
		ref := fmt.Sprintf("refs/heads/topic-%d", i)
		if i%4 == 0 {
			ref = fmt.Sprintf("refs/remotes/origin/topic-%d", i)
		}
		fmt.Fprintf(&stream, "commit %s\ncommitter Ada <ada@example.org> %d +0000\ndata 1\nc\nfrom refs/heads/main^0\n\n", ref, 1_700_000_000+i)
	}
	if _, err := l.feed(&stream, r.dir, "fast-import", "--quiet"); err != nil {
		return nil, err
	}
	reviewer := workspace.NewReviewer(r.Manager, gitops.NewReviewer(r.repository, gitops.ReviewOptions{}))
	var s samples
	for round := range l.rounds {
		err := s.inTurns(round, func() error {
			names, err := reviewer.Branches(ctx, r.dir, workspace.BranchQuery{Text: "topic-12", Limit: 25})
			if err == nil && len(names) == 0 {
				err = fmt.Errorf("no branches")
			}
			return err
		}, func() error {
			return l.git(r.dir, "for-each-ref", "--sort=-committerdate", "--format=%(refname)", "refs/heads", "refs/remotes")
		})
		if err != nil {
			return nil, err
		}
	}
	return []samples{s}, r.remove()
}

// previews measures the preview of a merge, of the commits alone, against "git
// merge-tree" of the same commits, which looks at nothing else either.
func previews(ctx context.Context, l *lab) ([]samples, error) {
	r, err := l.repo(ctx, l.files)
	if err != nil {
		return nil, err
	}
	w, err := r.create(ctx, "main")
	if err != nil {
		return nil, err
	}
	for i := range 10 {
		if err := r.commit(w.Directory, fmt.Sprintf("d00/e%02d/own", i), "work\n"); err != nil {
			return nil, err
		}
		if err := r.commit(r.dir, fmt.Sprintf("d01/e%02d/main", i), "work\n"); err != nil {
			return nil, err
		}
	}
	if err := l.git(r.dir, "gc", "-q"); err != nil {
		return nil, err
	}
	merger := workspace.NewMerger(r.Manager, gitops.NewMerger(r.repository, gitops.MergeOptions{}))
	var s samples
	for round := range l.rounds {
		err := s.inTurns(round, func() error {
			p, err := merger.Preview(ctx, workspace.MergeOptions{ThreadID: w.ThreadID, CommitsAlone: true})
			if err == nil && (!p.Clean || len(p.Commits) != 10) {
				err = fmt.Errorf("clean %v, %d commits", p.Clean, len(p.Commits))
			}
			return err
		}, func() error { return l.git(r.dir, "merge-tree", "--write-tree", "main", w.Branch) })
		if err != nil {
			return nil, err
		}
	}
	return []samples{s}, r.remove()
}

// deletes measures how long a delete takes to answer against one "git status
// -uall" of the workspace.
func deletes(ctx context.Context, l *lab) ([]samples, error) {
	r, err := l.repo(ctx, l.files)
	if err != nil {
		return nil, err
	}
	var s samples
	for range l.rounds {
		w, err := r.create(ctx, "main")
		if err != nil {
			return nil, err
		}
		if err := r.write(w.Directory, "d00/new", "work\n"); err != nil {
			return nil, err
		}
		status := func() error {
			out, err := l.output(w.Directory, "status", "-uall", "--porcelain")
			if err == nil && !strings.Contains(out, "d00/new") {
				err = fmt.Errorf("the status is %q", out)
			}
			return err
		}
		// The first one fills the caches of index and disk.
		if err := status(); err != nil {
			return nil, err
		}
		// It can't be the other way round.
		err = s.inTurns(0, func() error {
			_, err := r.Delete(ctx, workspace.DeleteOptions{ThreadID: w.ThreadID, Force: true})
			return err
		}, status)
		if err != nil {
			return nil, err
		}
		if err := r.collect(ctx); err != nil {
			return nil, err
		}
	}
	return []samples{s}, r.remove()
}
