package discordbot

import (
	"testing"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
)

// TestLastWordIsSaidByTheNextRun makes a workspace while Discord takes nothing,
// until after the bot was stopped.
func TestLastWordIsSaidByTheNextRun(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, release := s.held()
	s.says(thread.ID, "⏳")
	noEdit := s.Fail(discordtest.Failure{Method: "PATCH", Path: "/channels/{id}/messages/{id}", Status: 500})
	noPost := s.Fail(discordtest.Failure{Method: "POST", Path: "/channels/{id}/messages", Status: 500})
	release()
	s.until("it is settled", func() bool {
		var n statusNote
		_, found, err := s.bot.readNote(s.limit, notesStatus, thread.ID.String(), &n)
		return err == nil && found && n.Settled && n.Final != ""
	})
	s.stop()
	s.mu.Lock()
	s.faults = nil // Discord took nothing
	s.mu.Unlock()
	noEdit()
	noPost()
	s.start(nil)
	s.ready(thread.ID)
	s.truth(thread.ID)
	s.says(thread.ID, "Folder: ")
}

// TestLastWordIsSaidAgain has Discord refuse it for a moment.
func TestLastWordIsSaidAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, release := s.held()
	s.says(thread.ID, "⏳")
	s.Fail(discordtest.Failure{Method: "PATCH", Path: "/channels/{id}/messages/{id}", Status: 500, Times: 2})
	s.Fail(discordtest.Failure{Method: "POST", Path: "/channels/{id}/messages", Status: 500, Times: 2})
	release()
	s.ready(thread.ID)
	s.mu.Lock()
	s.faults = nil
	s.mu.Unlock()
	s.truth(thread.ID)
}
