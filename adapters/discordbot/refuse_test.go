package discordbot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/workspace"
)

// count returns how many requests there were to a route.
func (s *scene) count(method, suffix string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.Method == method && strings.HasSuffix(r.Path, suffix) {
			n++
		}
	}
	return n
}

// TestCreationGoesOn has Discord refuse, for good, each of the calls that a
// creation could do without.
func TestCreationGoesOn(t *testing.T) {
	t.Parallel()
	const messages, message = "/channels/{id}/messages", "/channels/{id}/messages/{id}"
	for name, c := range map[string]struct {
		failure discordtest.Failure
		// after spares the message that the thread begins with.
		after bool
		// fault is what is reported, "" for nothing.
		fault string
		// kept is true where the last word is left to the next run.
		kept bool
	}{
		"status not sent": {failure: discordtest.Failure{Method: "POST", Path: messages, Status: 403, Code: rest.JSONErrorCodeLackPermissionsToPerformAction}, after: true},
		"status archived": {failure: discordtest.Failure{Method: "POST", Path: messages, Status: 400, Code: rest.JSONErrorCodeOperationOnArchivedThread}, after: true},
		"status broken":   {failure: discordtest.Failure{Method: "POST", Path: messages, Drop: true}, after: true, fault: "show a status message", kept: true},
		"edit refused":    {failure: discordtest.Failure{Method: "PATCH", Path: message, Status: 403, Code: rest.JSONErrorCodeMissingAccess}},
		"reaction":        {failure: discordtest.Failure{Method: "PUT", Path: message + "/reactions/{emoji}/@me", Status: 403, Code: rest.JSONErrorCodeLackPermissionsToPerformAction}},
		"reaction lost":   {failure: discordtest.Failure{Method: "PUT", Path: message + "/reactions/{emoji}/@me", Status: 400, Code: 30010}, fault: "add a reaction"},
		"member":          {failure: discordtest.Failure{Method: "PUT", Path: "/channels/{id}/thread-members/{user}", Status: 403, Code: rest.JSONErrorCodeMissingAccess}},
		"answer":          {failure: discordtest.Failure{Method: "PATCH", Path: "/webhooks/{app}/{token}/messages/{id}", Status: 404, Code: rest.JSONErrorCodeUnknownMessage}},
		"all is late":     {failure: discordtest.Failure{Delay: 60 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, nil)
			if c.after {
				s.Fail(discordtest.Failure{Method: "POST", Path: messages, Times: 1})
			}
			s.Fail(c.failure)
			s.Command(s.boss, s.channel, "new-worktree", map[string]any{"name": "one"})
			thread := s.newThread()
			if !c.kept {
				s.ready(thread.ID)
			}
			s.idle()
			if notes, err := s.store.ListNotes(s.limit, notesStatus); err != nil || len(notes) > 0 != c.kept {
				t.Errorf("%v, %v", notes, err)
			}
			if w, err := s.manager.Get(s.limit, thread.ID.String()); err != nil || w.Status != workspace.StatusReady {
				t.Errorf("%+v, %v", w, err)
			}
			if n := len(s.Requests()); n > 40 {
				t.Errorf("%d requests", n)
			}
			if c.fault != "" {
				s.expectAll(c.fault)
			}
		})
	}
}

// expectAll takes all reported errors of a kind that a test wants, one at least.
func (s *scene) expectAll(text string) {
	s.t.Helper()
	s.expect(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = slices.DeleteFunc(s.faults, func(err error) bool { return strings.Contains(err.Error(), text) })
}

// TestStatusMessageDeleted deletes it under the bot's hands: the end is told in
// a new one.
func TestStatusMessageDeleted(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, release := s.held()
	s.DeleteMessage(s.says(thread.ID, "⏳"))
	release()
	s.ready(thread.ID)
	s.truth(thread.ID)
	s.allow(rest.JSONErrorCodeUnknownMessage)
}

// TestThreadRefused can't make the thread: nothing is left, and it is said.
func TestThreadRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.SetPermissions(s.channel, s.BotID(), discordtest.DefaultBotPermissions.Remove(discord.PermissionCreatePublicThreads))
	a := s.run(s.boss, s.channel, "new-worktree", map[string]any{"name": "one"})
	wants(t, a.Message, "could not be made", "see that the bot may")
	s.allow(rest.JSONErrorCodeLackPermissionsToPerformAction, rest.JSONErrorCodeUnknownChannel)
	s.idle()
	for _, m := range s.Messages(s.channel) {
		if m.AuthorID == s.BotID() && !m.Ephemeral() {
			t.Errorf("it announces %q", m.Text())
		}
	}
	rows, err := s.store.ListWorkspaces(s.limit, workspace.Query{All: true})
	notes, noteErr := s.store.ListNotes(s.limit, notesStatus)
	if err != nil || noteErr != nil || len(rows) > 0 || len(notes) > 0 {
		t.Errorf("%v, %v, %v, %v", rows, err, notes, noteErr)
	}
}

func TestChannelThatTheBotMayNotWriteIn(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.SetPermissions(s.channel, s.BotID(), discordtest.DefaultBotPermissions.Remove(discord.PermissionSendMessages))
	wants(t, s.run(s.boss, s.channel, "new-worktree", map[string]any{"name": "one"}).Message, "could not be made", "see that the bot may")
	s.allow(rest.JSONErrorCodeLackPermissionsToPerformAction)
	if len(s.Threads(s.channel)) > 0 {
		t.Error("there is a thread")
	}
}

// TestThreadAnswerLost loses the answer to the thread's making, not the thread.
func TestThreadAnswerLost(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.Fail(discordtest.Failure{Method: "POST", Path: "/channels/{id}/messages/{id}/threads", Drop: true, Done: true, Times: 1})
	s.Command(s.boss, s.channel, "new-worktree", map[string]any{"name": "one"})
	thread := s.newThread()
	s.ready(thread.ID)
	s.truth(thread.ID)
}

// TestFirstAnswerLost loses the answer to the first answer, which everybody
// sees: the work is done all the same. One that Discord didn't take ends it.
func TestFirstAnswerLost(t *testing.T) {
	t.Parallel()
	for name, done := range map[string]bool{"taken": true, "not taken": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, nil)
			s.Fail(discordtest.Failure{Method: "POST", Path: "/interactions/{id}/{token}/callback", Drop: true, Done: done, Times: 1})
			in := s.Command(s.boss, s.channel, "new-worktree", map[string]any{"name": "one"})
			if done {
				a, err := in.WaitFinal(s.limit)
				if err != nil {
					t.Fatal(err)
				}
				wants(t, a.Message, "Making")
				s.ready(s.newThread().ID)
			}
			s.idle()
			s.expect("answer an interaction")
			if !done && len(s.Threads(s.channel)) > 0 {
				t.Error("it was done unseen")
			}
			s.allow(rest.JSONErrorCodeUnknownWebhook)
		})
	}
}

// TestRenameLimit merges a third time in ten minutes: the merge doesn't wait for
// the title.
func TestRenameLimit(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.Fail(discordtest.Failure{Method: "PATCH", Path: "/channels/{id}", Status: 429, RetryAfter: 600 * time.Second})
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.commit(w.Directory, "new", "new\n")
	wants(t, s.run(s.boss, thread.ID, "merge-worktree", nil).Message, "Merged")
	s.until("the rename was tried", func() bool { return s.count("PATCH", "/channels/"+thread.ID.String()) > 0 })
	if n := s.count("PATCH", "/channels/"+thread.ID.String()); n > 2 {
		t.Errorf("tried %d times", n)
	}
	s.restart(nil) // ends its wait
}

// TestArchivedWhileItIsMade archives and locks the thread under the bot's hands.
func TestArchivedWhileItIsMade(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, release := s.held()
	s.says(thread.ID, "⏳")
	s.Lock(thread.ID, true)
	release()
	s.ready(thread.ID)
	s.idle()
	s.allow(rest.JSONErrorCodeOperationOnArchivedThread)
	if n := s.count("POST", "/"+thread.ID.String()+"/messages"); n > 2 {
		t.Errorf("sent %d times", n)
	}
	if w, err := s.manager.Get(s.limit, thread.ID.String()); err != nil || w.Status != workspace.StatusReady {
		t.Errorf("%+v, %v", w, err)
	}
}

// TestPanic has the agent panic, and the store's answer with it.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(_ *scene, cfg *Config) { cfg.Store = panicking{cfg.Store} })
	a := s.Command(s.boss, s.channel, "worktrees", nil)
	got, err := a.WaitFinal(s.limit)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Message.Text()+textOf(got.FollowUps), "unexpected") {
		t.Errorf("%+v", got)
	}
	s.idle()
	s.expect("panic: no store today")
}

type panicking struct{ Store }

func (panicking) Channel(ctx, string) (workspace.Channel, error) { panic("no store today") }

func textOf(messages []discordtest.Message) string {
	var texts []string
	for _, m := range messages {
		texts = append(texts, m.Text())
	}
	return strings.Join(texts, "\n")
}

// TestNobodyIsPinged has people, branches and files with hostile names.
func TestNobodyIsPinged(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	evil := "@everyone <@" + s.ada.String() + "> **x** `y` [z](http://example.org)"
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": evil})
	s.commit(w.Directory, "@everyone", evil+"\n")
	s.git(w.Directory, "commit", "-q", "--allow-empty", "-m", evil)
	s.run(s.boss, thread.ID, "worktree diff", nil)
	s.agent.does(func(_ ctx, _, text string, tell teller) error {
		tell(workspace.AgentEvent{Kind: workspace.AgentText, Text: text + strings.Repeat("long ", 900)})
		return nil
	})
	s.said(thread.ID, "@here "+evil)
	s.idle()
	s.run(s.boss, s.channel, "worktrees", nil)
	s.run(s.boss, s.channel, "project set", map[string]any{"directory": evil})
	s.run(s.boss, thread.ID, "merge-worktree", map[string]any{"target-branch": "@everyone"})
	s.run(s.boss, thread.ID, "merge-worktree", nil)
	pieces := slices.DeleteFunc(s.Messages(thread.ID), func(m discordtest.Message) bool {
		return m.AuthorID != s.BotID() || !strings.Contains(m.Content, "long long")
	})
	if len(pieces) < 2 {
		t.Errorf("%d pieces of a long answer", len(pieces))
	}
	// The scene looks at pings and limits in the end.
}

// TestRefusedInItsThread has the look ahead take too long: the thread is made,
// and says itself what stands in the way.
func TestRefusedInItsThread(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.bot.lookAhead = 0
	a := s.run(s.boss, s.channel, "new-worktree", map[string]any{"name": "x", "base-branch": "nowhere"})
	wants(t, a.Message, "Making a workspace")
	thread := s.newThread()
	wants(t, s.says(thread.ID, "Next:"), "nowhere")
	s.idle()
	if last := s.Messages(thread.ID); len(last) != 1 || strings.Contains(last[0].Text(), "⏳") {
		t.Errorf("%+v", last)
	}
}
