package discordbot

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/disgoorg/disgo/discord"

	"github.com/threadtree/threadtree/workspace"
)

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
