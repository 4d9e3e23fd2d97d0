package memory

import (
	"context"
	"sync"
	"time"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

var (
	_ workspace.Store = (*Store)(nil)
	_ workspace.Notes = (*Store)(nil)
	_ workspace.Trash = (*Store)(nil)
)

// Store keeps everything in memory. It may be used concurrently, and shares no
// memory with its callers. The zero value is not ready; see [New].
type Store struct {
	// Now is the clock, [time.Now] by default. It is set before first use.
	Now func() time.Time

	mu         sync.Mutex
	workspaces map[string]workspace.Workspace
	deleted    map[string]bool
	sessions   map[string]workspace.Session
	channels   map[string]workspace.Channel
	notes      map[noteKey]workspace.Note
	trash      map[string]workspace.Trashed
	version    int64 // of the last note that was written
	revision   int64
}

// New returns an empty store.
func New() *Store {
	return &Store{
		Now:        time.Now,
		workspaces: map[string]workspace.Workspace{},
		deleted:    map[string]bool{},
		sessions:   map[string]workspace.Session{},
		channels:   map[string]workspace.Channel{},
		notes:      map[noteKey]workspace.Note{},
		trash:      map[string]workspace.Trashed{},
	}
}

// enter takes the lock for a call, unless its context has ended. The caller
// unlocks where the error is nil.
func (s *Store) enter(ctx context.Context) error {
	if err := rules.Stopped(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	return nil
}
