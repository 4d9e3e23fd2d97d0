package discordbot

import (
	"context"
	"strings"
	"testing"
)

// TestPanicWhileItMakes has git's side panic: the status message says so, and
// nothing waits for ever.
func TestPanicWhileItMakes(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.watch(func(what string) {
		if strings.HasPrefix(what, "git") {
			panic("git is broken")
		}
	})
	s.Command(s.boss, s.channel, "new-worktree", map[string]any{"name": "one"})
	thread := s.newThread()
	s.says(thread.ID, "Something unexpected")
	s.watch(nil)
	s.idle()
	if notes, err := s.store.ListNotes(t.Context(), notesStatus); err != nil || len(notes) > 0 {
		t.Errorf("%v, %v", notes, err)
	}
	s.expect("git is broken")
}

// TestAuthorizerThatHangs means no.
func TestAuthorizerThatHangs(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(s *scene, cfg *Config) { cfg.Authorizer = hanging{s.limit} })
	wants(t, s.run(s.boss, s.channel, "worktrees", nil).Message, refusal)
}

type hanging struct{ until context.Context }

func (h hanging) May(ctx context.Context, _ Person, _ Action) bool {
	select {
	case <-ctx.Done():
	case <-h.until.Done():
	}
	return true
}
