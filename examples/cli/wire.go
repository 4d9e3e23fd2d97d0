package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// with opens the database, puts the manager together and calls f with it.
func (a *app) with(ctx context.Context, f func(*workspace.Manager) error) error {
	return a.withGit(ctx, func(m *workspace.Manager, _ *gitops.Repository) error { return f(m) })
}

// withGit is with for a command that does more with git than the manager.
func (a *app) withGit(ctx context.Context, f func(*workspace.Manager, *gitops.Repository) error) (err error) {
	if a.opts.DB == "" || a.opts.Home == "" {
		return &usageError{"the home directory of this user is not known: give --db and --home"}
	}
	db, err := filepath.Abs(a.opts.DB)
	if err != nil {
		return err
	}
	home, err := filepath.Abs(a.opts.Home)
	if err != nil {
		return err
	}
	repository, err := gitops.New(gitops.Options{Home: home})
	if err != nil {
		return err
	}
	locks, err := gitops.NewAttemptLocks(filepath.Join(home, "locks"), "")
	if err != nil {
		return err
	}
	pool := gitops.NewPool(repository, gitops.PoolOptions{})
	git := gitops.NewProvider(repository, gitops.ProviderOptions{
		Pool: pool,
		// What --setup allows, and nothing of it without the flag.
		Setup: gitops.SetupOptions{Copy: true, Install: true},
	})
	store, err := sqlite.Open(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	by, err := a.providers(git, store, home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, by.closer.Close()) }()
	manager, err := workspace.NewManager(workspace.Config{
		Store: store, Repository: repository, Locker: locks, Provider: by.create, Removers: by.all,
		Recoverers: append([]workspace.Recoverer{
			gitops.NewRepairer(repository, locks), gitops.NewMerger(repository, gitops.MergeOptions{}), pool,
		}, by.recoverers...),
	})
	if err != nil {
		return err
	}
	return f(manager, repository)
}

// directory returns a directory as it is remembered: spelled as the caller
// did, but independent of where the caller stood.
func directory(flag, given string) (string, error) {
	if given == "" {
		return "", &workspace.Error{
			Code:    workspace.ErrNotFound,
			Message: "the directory given with --" + flag + " is empty; nothing was changed",
			Hint:    "name a directory, or . for this one",
		}
	}
	abs, err := filepath.Abs(given)
	if err != nil {
		return "", &workspace.Error{Code: workspace.ErrNotFound, Message: "this directory is not known: " + err.Error(), Err: err}
	}
	return abs, nil
}
