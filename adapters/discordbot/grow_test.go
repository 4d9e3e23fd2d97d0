package discordbot

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/disgoorg/disgo/discord"
)

// TestNothingGrows has many people and threads come and go: the bot keeps
// nothing of them in memory.
func TestNothingGrows(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	plain := t.TempDir()
	s.project(s.channel, plain, true)
	const many = mostRights + 50
	for i := range many {
		thread := s.AddThread(s.channel, discord.ChannelTypeGuildPublicThread, fmt.Sprintf("t%d", i), s.BotID())
		s.bot.workIn(s.limit, thread, plain)
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
	if len(b.rights) == 0 {
		t.Error("nobody was asked about")
	}
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
