package discordbot

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// TestStartedMessagesAreDroppedFirst has a message that was handed on by a run
// before stand in front of one that waits: it is not handed on again, and is
// gone when Start returns.
func TestStartedMessagesAreDroppedFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.stop()
	said, err := s.Say(s.boss, thread.ID, "half done")
	if err != nil {
		t.Fatal(err)
	}
	next, err := s.Say(s.boss, thread.ID, "not begun")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []queued{{ID: said.ID, Text: "half done", Started: true}, {ID: next.ID, Text: "not begun"}} {
		if err := s.bot.enqueue(t.Context(), thread.ID, q); err != nil {
			t.Fatal(err)
		}
	}
	if q, ok, err := s.bot.startNext(t.Context(), thread.ID); err != nil || !ok || q.ID != next.ID {
		t.Errorf("%+v, %t", q, ok)
	}
	if err := s.bot.dropStarted(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.bot.startNext(t.Context(), thread.ID); err != nil || ok {
		t.Error("what was handed on is still there")
	}
	s.start(nil)
	s.idle()
	if heard := s.agent.heard(); len(heard) > 0 {
		t.Errorf("%q", heard)
	}
}

// TestKilledWhileItForks stops the bot between a workspace and its
// conversation: the next run goes on with that.
func TestKilledWhileItForks(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	from, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.said(from.ID, "hello")
	s.says(from.ID, "you said: hello")
	s.idle()
	forking := make(chan struct{})
	s.agent.mu.Lock()
	s.agent.fork = func(ctx context.Context) error {
		close(forking)
		<-ctx.Done()
		return ctx.Err()
	}
	s.agent.mu.Unlock()
	s.Command(s.boss, from.ID, "new-worktree", map[string]any{"name": "two"})
	thread := s.newThread(from.ID)
	<-forking
	s.agent.mu.Lock()
	s.agent.fork = nil
	s.agent.mu.Unlock()
	s.restart(nil)
	s.ready(thread.ID)
	s.says(thread.ID, "The conversation goes on from")
}

// TestCloseIsBounded closes a bot whose work doesn't heed the end.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	b, err := New(Config{
		Manager: new(workspace.Manager), Merger: new(workspace.Merger), Reviewer: new(workspace.Reviewer), Store: broken{},
	})
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan struct{})
	defer close(end)
	b.spawn("hang", func(context.Context) { <-end })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := time.Now()
	if err := b.Close(ctx); !errors.Is(err, context.Canceled) || time.Since(before) > 2*closeWithin {
		t.Errorf("%v after %s", err, time.Since(before))
	}
}
