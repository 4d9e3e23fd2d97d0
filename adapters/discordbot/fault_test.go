package discordbot

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
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
	s.expectAll("git is broken")
}

// TestAuthorizerThatHangs means no, soon, wherever it is asked and whatever it
// makes of the end of its time.
func TestAuthorizerThatHangs(t *testing.T) {
	t.Parallel()
	for name, hangs := range map[string]func(Action) bool{
		"always":       func(Action) bool { return true },
		"but for list": func(a Action) bool { return a != ActionList },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var thread discordtest.Channel
			h := &hanging{end: make(chan struct{})}
			s := newScene(t, func(_ *scene, cfg *Config) { cfg.Authorizer = h })
			thread, _ = s.made(s.boss, s.channel, map[string]any{"name": "one"})
			h.hangs.Store(&hangs)
			begun := time.Now()
			in := s.Command(s.boss, s.channel, "worktrees", nil)
			refused := s.Command(s.boss, thread.ID, "merge-worktree", nil)
			s.said(thread.ID, "hello")
			choices, err := s.Autocomplete(s.limit, s.boss, s.channel, "new-worktree", map[string]any{"base-branch": "m"}, "base-branch")
			if listed := len(choices) > 0; err != nil || listed == hangs(ActionList) {
				t.Errorf("%v, %v", choices, err)
			}
			list, err := in.WaitFinal(s.limit)
			if err != nil {
				t.Fatal(err)
			}
			if hangs(ActionList) {
				wants(t, list.Message, refusal)
			} else if wants(t, list.Message, "**one**"); len(list.Message.Buttons()) > 0 {
				t.Errorf("%+v", list.Message.Buttons())
			}
			a, err := refused.WaitFinal(s.limit)
			if err != nil {
				t.Fatal(err)
			}
			wants(t, a.Message, refusal)
			s.says(thread.ID, "takes no messages from you")
			if took := time.Since(begun); took > 3*authorizeWithin+firstAnswer {
				t.Errorf("all of it took %s", took)
			}
			close(h.end)
			s.idle()
			if heard := s.agent.heard(); len(heard) > 0 {
				t.Errorf("%q", heard)
			}
		})
	}
}

// hanging says yes, or nothing for long, and then yes.
type hanging struct {
	hangs atomic.Pointer[func(Action) bool]
	end   chan struct{}
}

func (h *hanging) May(_ context.Context, _ Person, a Action) bool {
	if hangs := h.hangs.Load(); hangs != nil && (*hangs)(a) {
		<-h.end
	}
	return true
}

// TestAuthorizerThatPanics means no, too.
func TestAuthorizerThatPanics(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(_ *scene, cfg *Config) {
		cfg.Authorizer = authorizerFunc(func(Person, Action) bool { panic("nobody knows") })
	})
	wants(t, s.run(s.boss, s.channel, "worktrees", nil).Message, refusal)
	s.idle()
	s.expect("nobody knows")
}
