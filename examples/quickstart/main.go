// Command quickstart walks through the life of a workspace, on a scratch
// repository that it makes: a thread gets a working copy, works in it, and
// gives it back. After each step it prints what is on disk.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

func main() {
	keep := flag.String("keep", "", "make everything in this `directory`, and leave it there")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, keep string) (err error) {
	dir := keep
	if keep == "" {
		if dir, err = os.MkdirTemp("", "threadtree-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	s, err := newStory(out, dir)
	if err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, filepath.Join(s.dir, "threadtree.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	manager, merger, err := wire(store, s.dir)
	if err != nil {
		return err
	}
	return tell(ctx, s, manager, merger)
}

// wire puts it all together: the life cycle over a store, git and locks, and
// merging beside it.
func wire(store *sqlite.Store, home string) (*workspace.Manager, *workspace.Merger, error) {
	repository, err := gitops.New(gitops.Options{Home: home})
	if err != nil {
		return nil, nil, err
	}
	locks, err := gitops.NewAttemptLocks(filepath.Join(home, "locks"), "")
	if err != nil {
		return nil, nil, err
	}
	manager, err := workspace.NewManager(workspace.Config{
		Store: store, Repository: repository, Locker: locks,
		Provider: gitops.NewProvider(repository, gitops.ProviderOptions{}),
	})
	if err != nil {
		return nil, nil, err
	}
	return manager, workspace.NewMerger(manager, gitops.NewMerger(repository, gitops.MergeOptions{})), nil
}

func tell(ctx context.Context, s *story, manager *workspace.Manager, merger *workspace.Merger) error {
	const thread = "1416032400" // the chat system's id; any string will do

	s.step("A project: a git repository with a commit")
	err := errors.Join(
		s.git(s.project, "init", "-b", "main", "."),
		s.write(s.project, "greeting", "Helo"),
		s.git(s.project, "add", "."),
		s.git(s.project, "commit", "-m", "Greet"),
		s.onDisk(),
	)
	if err != nil {
		return err
	}

	s.step("Create: the thread gets a branch and a worktree of its own")
	w, err := manager.Create(ctx, workspace.CreateOptions{Project: s.project, ThreadID: thread, Title: "Fix the greeting!"})
	if err != nil {
		return err
	}
	s.say("thread %s: branch %s, from %s", w.ThreadID, w.Branch, w.Base)
	if err := s.onDisk(); err != nil {
		return err
	}

	s.step("Resolve: where the thread works, edits and commits")
	place, err := manager.Resolve(ctx, thread, s.project)
	if err != nil {
		return err
	}
	s.say("in %s", s.short(place.Directory))
	err = errors.Join(
		s.write(place.Directory, "greeting", "Hello"),
		s.git(place.Directory, "commit", "-a", "-m", "Fix the greeting"),
		s.onDisk(),
	)
	if err != nil {
		return err
	}

	s.step("List: how things stand")
	rows, err := manager.List(ctx, workspace.ListOptions{Project: s.project})
	if err != nil {
		return err
	}
	for _, row := range rows {
		s.say("thread %s: on %s; can be deleted: %t (%s)", row.Workspace.ThreadID, row.Worktree.Branch, row.Deletable, row.Reason())
	}

	s.step("Delete: refused, since the commit is nowhere else")
	_, err = manager.Delete(ctx, workspace.DeleteOptions{ThreadID: thread})
	if !errors.Is(err, workspace.ErrUnmerged) {
		return fmt.Errorf("an unmerged workspace was not kept: %w", err)
	}
	s.say("%s", s.short(err.Error()))
	s.say("→ %s", s.short(workspace.HintOf(err)))
	if err := s.onDisk(); err != nil {
		return err
	}

	s.step("Merge: the commit comes home, and the project's checkout follows")
	merged, err := merger.Merge(ctx, workspace.MergeOptions{ThreadID: thread})
	if err != nil {
		return err
	}
	s.say("%s is on %s now, with %d commit more", merged.Branch, merged.Target, merged.Commits)
	if err := s.onDisk(); err != nil {
		return err
	}

	s.step("Delete: now it goes through")
	if _, err := manager.Delete(ctx, workspace.DeleteOptions{ThreadID: thread}); err != nil {
		return err
	}
	if err := s.onDisk(); err != nil {
		return err
	}

	s.step("Restore: it was not gone for good")
	if w, err = manager.Restore(ctx, workspace.RestoreOptions{ThreadID: thread}); err != nil {
		return err
	}
	s.say("thread %s is back in %s", w.ThreadID, s.short(w.Directory))
	return s.onDisk()
}
