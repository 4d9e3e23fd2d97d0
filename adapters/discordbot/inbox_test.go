package discordbot

import (
	"context"
	"fmt"
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

// TestSaidWhileTheBotIsAway is found at the start, and handed on; what is too
// old is said to be missed.
func TestSaidWhileTheBotIsAway(t *testing.T) {
	t.Parallel()
	var late atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	s := newScene(t, func(_ *scene, cfg *Config) { cfg.Now = clock })
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	// Nothing is known of what was said in a thread that another program made.
	silent := s.AddThread(s.channel, discord.ChannelTypeGuildPublicThread, "another's", s.boss)
	if _, err := s.manager.Create(s.limit, workspace.CreateOptions{Project: s.dir, ThreadID: silent.String(), Name: "two"}); err != nil {
		t.Fatal(err)
	}
	s.said(thread.ID, "before")
	s.says(thread.ID, "you said: before")
	s.idle()
	s.stop()
	s.said(thread.ID, "away 1", "away 2")
	if _, err := s.Say(s.ada, thread.ID, "not allowed"); err != nil {
		t.Fatal(err)
	}
	s.said(silent, "never heard of")
	s.start(nil)
	s.prompts(thread.ID, "before", "away 1", "away 2")
	s.says(thread.ID, "takes no messages from you")
	s.idle()
	s.restart(nil)
	s.prompts(thread.ID, "before", "away 1", "away 2")
	s.stop()
	s.said(thread.ID, "long ago")
	late.Store(int64(2 * missedFor))
	s.start(func(_ *scene, cfg *Config) { cfg.Now = clock })
	s.says(thread.ID, "Not handed on, because it is too old: 1 message")
	s.prompts(thread.ID, "before", "away 1", "away 2")
}

// TestFirstWordsWhileTheBotIsAway are found too, also in a thread whose
// workspace is still being made.
func TestFirstWordsWhileTheBotIsAway(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, release := s.held()
	s.says(thread.ID, "⏳")
	s.stop()
	s.said(thread.ID, "first")
	release()
	s.start(nil)
	s.ready(thread.ID)
	s.prompts(thread.ID, "first")
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

// TestNothingGrows has many people and threads come and go: the bot keeps
// nothing of them in memory.
func TestNothingGrows(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.project(s.channel, s.dir, true)
	const many = mostRights + 50
	for i := range many {
		thread := s.AddThread(s.channel, discord.ChannelTypeGuildPublicThread, fmt.Sprintf("t%d", i), s.BotID())
		s.bot.workIn(s.limit, thread, s.root)
		if _, err := s.Say(s.ada, thread, "hello"); err != nil {
			t.Fatal(err)
		}
	}
	s.idle()
	for range 20 {
		s.run(s.AddMember(s.guild, "somebody"), s.channel, "worktrees", nil)
	}
	s.idle()
	b := s.bot
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.lanes) > 0 || len(b.pressed) > 0 || len(b.lists) > 0 || len(b.stands) > 0 || len(b.rights) > mostRights {
		t.Errorf("%d lanes, %d presses, %d lists, %d states, %d rights", len(b.lanes), len(b.pressed), len(b.lists), len(b.stands), len(b.rights))
	}
}

// TestOldNotesAreDropped keeps what somebody may still need.
func TestOldNotesAreDropped(t *testing.T) {
	t.Parallel()
	var late atomic.Int64
	s := newScene(t, func(_ *scene, cfg *Config) {
		cfg.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	})
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.said(thread.ID, "hello")
	s.says(thread.ID, "you said: hello")
	s.run(s.boss, s.channel, "worktrees", nil)
	s.idle()
	count := func(namespace string) int {
		notes, err := s.store.ListNotes(s.limit, namespace)
		if err != nil {
			t.Fatal(err)
		}
		return len(notes)
	}
	if err := s.bot.enqueue(s.limit, 77, queued{ID: 78, Text: "waits"}); err != nil {
		t.Fatal(err)
	}
	late.Store(int64(queueFor + time.Hour))
	s.bot.dropOldDaily()
	s.idle()
	if lists, queues := count(notesList), count(notesQueue); lists != 0 || queues != 1 {
		t.Errorf("%d lists, %d queues", lists, queues)
	}
}

// TestFilesForTheAgent are handed on by name and address, without a word beside
// them too.
func TestFilesForTheAgent(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	files := []discordtest.File{{Name: "a b.png", Data: make([]byte, 2048)}, {Name: "log.txt", Data: []byte("x")}}
	with, err := s.Post(s.boss, thread.ID, "look at this", files...)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := s.Post(s.boss, thread.ID, "", discordtest.File{Name: "log.txt", Data: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	url := func(m discordtest.Message, i int) string {
		return fmt.Sprintf("https://cdn.discordapp.com/attachments/%d/%d/%s", thread.ID, m.Files[i].ID, m.Files[i].Name)
	}
	s.prompts(
		thread.ID,
		"look at this\n\nAttached file: a b.png (2.0 kB) "+url(with, 0)+"\nAttached file: log.txt (1 B) "+url(with, 1),
		"Attached file: log.txt (1 B) "+url(alone, 0),
	)
}

// TestForwardedMessage is handed on with what it forwards.
func TestForwardedMessage(t *testing.T) {
	t.Parallel()
	kind := "image/png\nx"
	m := discord.Message{MessageSnapshots: []discord.MessageSnapshot{{Message: discord.PartialMessage{
		Content: " it says ", Attachments: []discord.Attachment{{Filename: "x\n.png", ContentType: &kind, Size: 10, URL: "https://a/b"}},
	}}}}
	if got, want := saidIn(m), "it says\n\nAttached file: x .png (image/png x, 10 B) https://a/b"; got != want {
		t.Errorf("%q", got)
	}
	if spoken(discord.Message{}) {
		t.Error("a sticker says something")
	}
}
