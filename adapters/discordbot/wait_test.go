package discordbot

import (
	"strings"
	"time"

	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
)

// allow takes refusals of Discord's for what the test wants.
func (s *scene) allow(codes ...rest.JSONErrorCode) { s.allowed = append(s.allowed, codes...) }

// until waits until something is so.
func (s *scene) until(what string, ready func() bool) {
	s.t.Helper()
	for !ready() {
		if s.limit.Err() != nil {
			s.t.Fatalf("in vain: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// idle waits until all events are taken in, and all that came of them is done.
func (s *scene) idle() { s.t.Helper(); s.idleBut(0) }

// idleBut is idle, but for n pieces of work that are held.
func (s *scene) idleBut(n int) {
	s.t.Helper()
	if err := s.Settle(s.limit); err != nil {
		s.t.Fatal(err)
	}
	s.until("the bot is idle", func() bool {
		s.bot.mu.Lock()
		defer s.bot.mu.Unlock()
		return s.bot.busy <= n
	})
}

// says waits until a message in a channel says something.
func (s *scene) says(channel snowflake.ID, text string) discordtest.Message {
	s.t.Helper()
	m, err := s.WaitMessage(s.limit, channel, func(m discordtest.Message) bool { return strings.Contains(m.Text(), text) })
	if err != nil {
		s.t.Fatalf("nothing says %q: %v", text, err)
	}
	return m
}
