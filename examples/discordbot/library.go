package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/opencode"
	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// library is what the bot works with.
type library struct {
	store    *sqlite.Store
	manager  *workspace.Manager
	merger   *workspace.Merger
	reviewer *workspace.Reviewer
	// pool is nil where no spares are kept.
	pool *gitops.Pool
	repo *gitops.Repository
	// agent is nil without OpenCode.
	agent   workspace.Agent
	closers []io.Closer
}

// assemble puts the library together.
func assemble(ctx context.Context, o options, log *slog.Logger) (_ *library, err error) {
	l := &library{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	repository, err := gitops.New(gitops.Options{Home: o.Home})
	if err != nil {
		return nil, err
	}
	locks, err := gitops.NewAttemptLocks(filepath.Join(o.Home, "locks"), "")
	if err != nil {
		return nil, err
	}
	if l.store, err = sqlite.Open(ctx, o.DB); err != nil {
		return nil, err
	}
	l.closers = append(l.closers, l.store)
	setup := gitops.SetupOptions{Copy: true, Install: true}
	spares := gitops.PoolOptions{Logger: log}
	if o.Setup {
		spares.Setup = setup
	}
	pool := gitops.NewPool(repository, spares)
	if l.repo = repository; o.Pool {
		l.pool = pool
	}
	git := gitops.NewProvider(repository, gitops.ProviderOptions{Pool: pool, Setup: setup})
	merging := gitops.NewMerger(repository, gitops.MergeOptions{})
	cfg := workspace.Config{
		Store: l.store, Repository: repository, Locker: locks, Provider: git, Logger: log,
		Recoverers: []workspace.Recoverer{gitops.NewRepairer(repository, locks), merging, pool},
	}
	connection, err := l.connect(ctx, o, log)
	if err != nil {
		return nil, err
	}
	var oc *opencode.Provider
	if connection != nil {
		oc, err = opencode.NewProvider(opencode.ProviderConfig{
			Connection: connection, Git: git, Records: l.store, Auto: o.Provider == "auto", Logger: log,
		})
		if err != nil {
			return nil, err
		}
		cfg.Provider, cfg.Removers, cfg.Recoverers = oc, []workspace.Provider{git}, append(cfg.Recoverers, oc)
	}
	if l.manager, err = workspace.NewManager(cfg); err != nil {
		return nil, err
	}
	l.merger = workspace.NewMerger(l.manager, merging)
	l.reviewer = workspace.NewReviewer(l.manager, gitops.NewReviewer(repository, gitops.ReviewOptions{}))
	if connection != nil {
		l.agent, err = opencode.NewAgent(opencode.AgentConfig{Connection: connection, Sessions: l.store, Places: l.manager, Rejoiner: oc, Logger: log})
	}
	return l, err
}

// connect returns the way to OpenCode, nil for a bot without.
func (l *library) connect(ctx context.Context, o options, log *slog.Logger) (opencode.Connection, error) {
	if o.Provider == workspace.ProviderGit {
		return nil, nil
	}
	if o.OpenCodeURL != "" {
		client, err := opencode.NewClient(o.OpenCodeURL, opencode.ClientOptions{
			Username: os.Getenv("OPENCODE_SERVER_USERNAME"), Password: os.Getenv("OPENCODE_SERVER_PASSWORD"),
		})
		if err != nil {
			return nil, err
		}
		return opencode.Attached{C: client}, nil
	}
	server, err := opencode.StartServer(ctx, opencode.ServerOptions{StateDir: filepath.Join(o.Home, "opencode"), Logger: log})
	if err != nil {
		if o.Provider == "auto" && errors.Is(err, opencode.ErrNoServer) {
			log.Warn("git makes the workspaces, and there is no agent", "why", err)
			return nil, nil
		}
		return nil, fmt.Errorf("OpenCode: %w", err)
	}
	l.closers = append(l.closers, server)
	return server, nil
}

// reconcile brings the records of each project in line with what is there.
func (l *library) reconcile(ctx context.Context, projects map[string]bool, log *slog.Logger) {
	for project := range projects {
		actions, err := l.manager.Reconcile(ctx, project)
		for _, a := range actions {
			log.Info("reconciled", "project", project, "kind", a.Kind, "thread", a.ThreadID, "detail", a.Detail)
		}
		if err != nil && !errors.Is(err, workspace.ErrNotARepository) {
			log.Warn("the project could not be reconciled", "project", project, "error", err)
		}
	}
}

// keepSpares keeps spare worktrees of the projects until ctx ends, and of those
// in which threads get workspaces. The returned function waits for that end.
func (l *library) keepSpares(ctx context.Context, projects map[string]bool, log *slog.Logger) (wait func()) {
	if l.pool == nil {
		return func() {}
	}
	for project := range projects {
		p, err := l.repo.Open(ctx, project)
		if err != nil {
			log.Warn("no spare worktrees are kept of a project", "project", project, "error", err)
			continue
		}
		l.pool.Keep(p)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.pool.Run(ctx)
	}()
	return func() { <-ended }
}

func (l *library) close() error {
	var errs []error
	for i := len(l.closers) - 1; i >= 0; i-- {
		errs = append(errs, l.closers[i].Close())
	}
	return errors.Join(errs...)
}
