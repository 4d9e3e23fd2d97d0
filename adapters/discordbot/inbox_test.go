package discordbot

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/workspace"
)

// busyAgent has the agent work until the returned function is called.
func (s *scene) busyAgent() (release func()) {
	gate := make(chan struct{})
	s.agent.does(func(ctx ctx, _, text string, tell teller) error {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
		tell(workspace.AgentEvent{Kind: workspace.AgentText, Text: "you said: " + text})
		return nil
	})
	return func() { close(gate) }
}

// prompts waits until the agent has heard exactly these things in a thread.
func (s *scene) prompts(thread snowflake.ID, texts ...string) {
	s.t.Helper()
	var want []string
	for _, text := range texts {
		want = append(want, thread.String()+": "+text)
	}
	s.until("the agent hears of it", func() bool { return len(s.agent.heard()) >= len(want) })
	s.idle()
	if heard := s.agent.heard(); !slices.Equal(heard, want) {
		s.t.Errorf("it heard %q, not %q", heard, want)
	}
}

// reactions are those of a message.
func (s *scene) reactions(m discordtest.Message) []string {
	m, _ = s.Message(m.ChannelID, m.ID)
	var all []string
	for _, r := range m.Reactions {
		all = append(all, r.Emoji)
	}
	return all
}

// TestSaidWhileTheBotCloses waits behind what is under way: it is marked, noted
// and handed on by the next run, once.
func TestSaidWhileTheBotCloses(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	release := s.busyAgent()
	s.said(thread.ID, "first")
	s.until("the agent is at it", func() bool { return len(s.agent.heard()) == 1 })
	closed := make(chan error, 1)
	go func() { closed <- s.bot.Close(s.limit) }()
	s.until("it closes", s.bot.isClosing)
	second, err := s.Say(s.boss, thread.ID, "second")
	if err != nil {
		t.Fatal(err)
	}
	s.until("it is marked", func() bool { return slices.Equal(s.reactions(second), []string{waits}) })
	release()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if heard := s.agent.heard(); len(heard) != 1 {
		t.Errorf("handed on while it closes: %q", heard)
	}
	s.restart(nil)
	s.prompts(thread.ID, "first", "second")
	if left := s.reactions(second); len(left) > 0 {
		t.Errorf("%q", left)
	}
}

// TestSaidAfterTheBotWasClosed is said to be lost.
func TestSaidAfterTheBotWasClosed(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.idle()
	if err := s.bot.Close(s.limit); err != nil {
		t.Fatal(err)
	}
	said, err := s.Say(s.boss, thread.ID, "too late")
	if err != nil {
		t.Fatal(err)
	}
	if m := s.says(thread.ID, "was not taken"); m.ReplyTo != said.ID || !slices.Contains(s.reactions(said), lost) {
		t.Errorf("%+v, %q", m, s.reactions(said))
	}
	// Elsewhere it is nobody's business.
	s.said(s.channel, "hello")
	other := s.begun("other", "hello")
	s.until("it was looked at", func() bool { return s.count("GET", "/thread-members/"+s.BotID().String()) > 0 })
	for _, channel := range []snowflake.ID{s.channel, other.ID} {
		for _, m := range s.Messages(channel) {
			if strings.Contains(m.Text(), "was not taken") {
				t.Errorf("%+v", m)
			}
		}
	}
	s.until("it is reported", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.faults) == 3 })
	s.expectAll("take a message in: the bot is closed")
	s.allow(10007)
}

// TestCancelledWhileItTakesIn ends the work while messages are being taken in:
// they are all the same.
func TestCancelledWhileItTakesIn(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	gate := make(chan struct{})
	s.Fail(discordtest.Failure{Method: "GET", Path: "/guilds/{id}", Hold: gate, Times: 1})
	s.said(thread.ID, "first", "second", "third")
	if err := s.Settle(s.limit); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	closed := make(chan error, 1)
	go func() { closed <- s.bot.Close(gone) }()
	s.until("it is cancelled", func() bool { return s.bot.ctx.Err() != nil })
	close(gate)
	<-closed
	if heard := s.agent.heard(); len(heard) > 0 {
		t.Errorf("%q", heard)
	}
	s.restart(nil)
	s.prompts(thread.ID, "first", "second", "third")
}

// flaky is a store whose notes can't be written while it is told so.
type flaky struct {
	Store
	fails atomic.Bool
}

func (f *flaky) PutNote(ctx ctx, namespace, key string, value []byte, version int64) (int64, error) {
	if f.fails.Load() {
		return 0, &workspace.Error{Code: workspace.ErrStoreFailed, Message: "the disk is full"}
	}
	return f.Store.PutNote(ctx, namespace, key, value, version)
}

func (f *flaky) Note(ctx ctx, namespace, key string) (workspace.Note, error) {
	if f.fails.Load() {
		return workspace.Note{}, &workspace.Error{Code: workspace.ErrStoreFailed, Message: "the disk is full"}
	}
	return f.Store.Note(ctx, namespace, key)
}

// TestSaidWhileTheStoreFails is taken all the same where that passes, and said
// to be lost where not.
func TestSaidWhileTheStoreFails(t *testing.T) {
	t.Parallel()
	for name, passes := range map[string]bool{"for a moment": true, "for long": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &flaky{}
			s := newScene(t, func(_ *scene, cfg *Config) { store.Store = cfg.Store; cfg.Store = store })
			thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
			s.idle()
			store.fails.Store(true)
			said, err := s.Say(s.boss, thread.ID, "hello")
			if err != nil {
				t.Fatal(err)
			}
			if passes {
				time.AfterFunc(500*time.Millisecond, func() { store.fails.Store(false) })
				s.prompts(thread.ID, "hello")
				return
			}
			if m := s.says(thread.ID, "was not taken"); m.ReplyTo != said.ID {
				t.Errorf("%+v", m)
			}
			s.idle()
			store.fails.Store(false)
			s.expectAll("the disk is full")
			s.said(thread.ID, "again")
			s.prompts(thread.ID, "again")
		})
	}
}

// TestStoreFailsBeforeItIsHandedOn has the store fail once a message is noted:
// it waits, and is handed on.
func TestStoreFailsBeforeItIsHandedOn(t *testing.T) {
	t.Parallel()
	store := &flaky{}
	s := newScene(t, func(_ *scene, cfg *Config) { store.Store = cfg.Store; cfg.Store = store })
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.idle()
	store.fails.Store(true)
	if err := changeNote(s.limit, &Bot{cfg: Config{Store: store.Store}}, notesQueue, thread.ID.String(), func(n *queueNote) bool {
		n.Messages = append(n.Messages, queued{ID: 1, Text: "noted"})
		return true
	}); err != nil {
		t.Fatal(err)
	}
	s.bot.kick(thread.ID)
	time.AfterFunc(300*time.Millisecond, func() { store.fails.Store(false) })
	s.prompts(thread.ID, "noted")
	s.allow(10008)
}

// TestHeardTwice has Discord deliver a message again, as it does when a
// connection is resumed, and without who wrote it as a member.
func TestHeardTwice(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	said, err := s.Say(s.boss, thread.ID, "hello")
	if err != nil {
		t.Fatal(err)
	}
	s.prompts(thread.ID, "hello")
	again := discord.Message{ID: said.ID, ChannelID: thread.ID, Content: "hello", Author: discord.User{ID: s.boss}}
	for range 3 {
		s.bot.arrived(again)
	}
	another := again
	another.ID, another.Content = said.ID+1, "and this"
	s.bot.arrived(another)
	s.prompts(thread.ID, "hello", "and this")
	s.allow(10008)
}

// TestWaitingMessage is marked while the agent is at another, and can be taken
// back.
func TestWaitingMessage(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	release := s.busyAgent()
	s.said(thread.ID, "first")
	s.until("the agent is at it", func() bool { return len(s.agent.heard()) == 1 })
	var waiting []discordtest.Message
	for _, text := range []string{"second", "third"} {
		m, err := s.Say(s.boss, thread.ID, text)
		if err != nil {
			t.Fatal(err)
		}
		s.until("it is marked", func() bool { return slices.Equal(s.reactions(m), []string{waits}) })
		waiting = append(waiting, m)
	}
	s.DeleteMessage(waiting[0])
	s.idleBut(1)
	release()
	s.prompts(thread.ID, "first", "third")
	if left := s.reactions(waiting[1]); len(left) > 0 {
		t.Errorf("%q", left)
	}
}
