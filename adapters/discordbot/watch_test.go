package discordbot

import (
	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// watch has somebody hear of each call of git's and of the store's; nil ends it.
func (s *scene) watch(hear func(what string)) {
	if hear == nil {
		s.watcher.Store(nil)
		return
	}
	s.watcher.Store(&hear)
}

func (s *scene) called(what string) {
	if hear := s.watcher.Load(); hear != nil {
		(*hear)(what)
	}
}

// watchedStore is the scene's store, with those calls heard of that begin
// things.
type watchedStore struct {
	*sqlite.Store
	s *scene
}

func (w *watchedStore) Channel(ctx ctx, id string) (workspace.Channel, error) {
	w.s.called("store: channel")
	return w.Store.Channel(ctx, id)
}

func (w *watchedStore) ListChannels(ctx ctx, guild string) ([]workspace.Channel, error) {
	w.s.called("store: channels")
	return w.Store.ListChannels(ctx, guild)
}

func (w *watchedStore) Workspace(ctx ctx, thread string) (workspace.Workspace, error) {
	w.s.called("store: workspace")
	return w.Store.Workspace(ctx, thread)
}

func (w *watchedStore) ListWorkspaces(ctx ctx, q workspace.Query) ([]workspace.Workspace, error) {
	w.s.called("store: workspaces")
	return w.Store.ListWorkspaces(ctx, q)
}

func (w *watchedStore) Note(ctx ctx, namespace, key string) (workspace.Note, error) {
	w.s.called("store: note")
	return w.Store.Note(ctx, namespace, key)
}

func (w *watchedStore) PutNote(ctx ctx, namespace, key string, value []byte, version int64) (int64, error) {
	w.s.called("store: put note")
	return w.Store.PutNote(ctx, namespace, key, value, version)
}

// watchedRepository is the scene's repository, likewise.
type watchedRepository struct {
	*gitops.Repository
	s *scene
}

func (w *watchedRepository) Open(ctx ctx, directory string) (workspace.Project, error) {
	w.s.called("git: open")
	return w.Repository.Open(ctx, directory)
}

func (w *watchedRepository) Inspect(ctx ctx, directory string) (workspace.Project, workspace.Worktree, error) {
	w.s.called("git: inspect")
	return w.Repository.Inspect(ctx, directory)
}

func (w *watchedRepository) Worktrees(ctx ctx, project workspace.Project) ([]workspace.Worktree, error) {
	w.s.called("git: worktrees")
	return w.Repository.Worktrees(ctx, project)
}
