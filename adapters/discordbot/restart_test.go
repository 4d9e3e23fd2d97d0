package discordbot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/workspace"
)

// truth checks that a thread's status message says what is so, and that there
// is one.
func (s *scene) truth(thread snowflake.ID) {
	s.t.Helper()
	s.idle()
	s.settled(thread)
}

// newThread waits for a thread of the channel that isn't one of those known.
func (s *scene) newThread(known ...snowflake.ID) discordtest.Channel {
	s.t.Helper()
	thread, err := s.WaitThread(s.limit, s.channel, func(c discordtest.Channel) bool { return !slices.Contains(known, c.ID) })
	if err != nil {
		s.t.Fatal(err)
	}
	return thread
}

func TestKilledWhileGitMakesIt(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, release := s.held()
	s.says(thread.ID, "⏳")
	s.restart(nil)
	release()
	s.ready(thread.ID)
	s.truth(thread.ID)
	if w, err := s.manager.Get(s.limit, thread.ID.String()); err != nil || w.Status != workspace.StatusReady {
		t.Errorf("%+v, %v", w, err)
	}
}

// TestKilledTooOften is killed again and again by what it makes: in the end it
// is said that it can't be made.
func TestKilledTooOften(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	waiting, release := s.hold()
	s.Command(s.boss, s.channel, "new-worktree", map[string]any{"name": "one"})
	thread := s.newThread()
	for range mostAgain + 1 {
		waiting()
		if err := os.Remove(filepath.Join(s.root, "at")); err != nil {
			t.Fatal(err)
		}
		s.restart(nil)
	}
	release()
	s.ready(thread.ID)
	s.truth(thread.ID)
	if w, err := s.manager.Get(s.limit, thread.ID.String()); err != nil || w.Status != workspace.StatusError {
		t.Errorf("%+v, %v", w, err)
	}
}

// TestKilledWithQueuedMessages has messages wait for a workspace over a
// restart: each is handed on, once.
func TestKilledWithQueuedMessages(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.project(s.channel, s.dir, true)
	waiting, release := s.hold()
	thread := s.begun("queued", "first")
	waiting()
	s.said(thread.ID, "second")
	s.queued(thread.ID, 2)
	s.restart(nil)
	release()
	s.ready(thread.ID)
	s.idle()
	s.truth(thread.ID)
	if w, err := s.manager.Get(s.limit, thread.ID.String()); err != nil || w.Status != workspace.StatusReady {
		t.Errorf("%+v, %v", w, err)
	}
	if id := thread.ID.String(); !slices.Equal(s.agent.heard(), []string{id + ": first", id + ": second"}) {
		t.Errorf("%q", s.agent.heard())
	}
}

// TestKilledBeforeItBegan is killed between a thread and its workspace: the
// next run makes it, with what waits.
func TestKilledBeforeItBegan(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, err := s.StartThreadWith(s.boss, s.channel, "begun", "first")
	if err != nil {
		t.Fatal(err)
	}
	s.idle()
	// What the run before has noted by then.
	id := thread.ID
	n := statusNote{Channel: id, Create: creation{Project: s.dir, Title: "begun"}}
	if err := s.bot.putStatus(t.Context(), id.String(), n); err != nil {
		t.Fatal(err)
	}
	if err := s.bot.enqueue(t.Context(), id, queued{ID: s.Messages(id)[0].ID, Text: "first"}); err != nil {
		t.Fatal(err)
	}
	s.restart(nil)
	s.says(id, "you said: first")
	s.ready(id)
	s.truth(id)
	if heard := s.agent.heard(); len(heard) != 1 {
		t.Errorf("%q", heard)
	}
}

// TestKilledWhileDiscordMakesTheThread loses the answer to the thread's making,
// with the process.
func TestKilledWhileDiscordMakesTheThread(t *testing.T) {
	t.Parallel()
	for name, done := range map[string]bool{"made": true, "not made": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, nil)
			gate := make(chan struct{})
			s.Fail(discordtest.Failure{Method: "POST", Path: "/channels/{id}/messages/{id}/threads", Hold: gate, Times: 1})
			s.Command(s.boss, s.channel, "new-worktree", map[string]any{"name": "one"})
			starter := s.says(s.channel, "worktree: threadtree/one")
			s.until("it is noted", func() bool {
				notes, err := s.store.ListNotes(s.limit, notesStatus)
				return err == nil && len(notes) == 1
			})
			if done {
				if _, err := s.StartThread(s.boss, starter, "⬦ worktree: threadtree/one"); err != nil {
					t.Fatal(err)
				}
			}
			s.restart(nil)
			close(gate)
			if done {
				s.ready(starter.ID)
				s.truth(starter.ID)
				return
			}
			s.idle()
			s.allow(10003)
			if _, ok := s.Message(s.channel, starter.ID); ok {
				t.Error("a message announces a thread that there isn't")
			}
			if notes, err := s.store.ListNotes(t.Context(), notesStatus); err != nil || len(notes) > 0 {
				t.Errorf("%v, %v", notes, err)
			}
		})
	}
}

// TestKilledAfterTheMessageWasSent loses the id of the status message: it is
// found, and no second one is sent.
func TestKilledAfterTheMessageWasSent(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.project(s.channel, s.dir, true)
	waiting, release := s.hold()
	thread := s.begun("lost id", "first")
	waiting()
	s.says(thread.ID, "⏳")
	s.until("it is noted", func() bool {
		var n statusNote
		_, found, err := s.bot.readNote(s.limit, notesStatus, thread.ID.String(), &n)
		return err == nil && found && n.Message != 0
	})
	s.Kill(s.client)
	if err := changeNote(s.limit, s.bot, notesStatus, thread.ID.String(), func(n *statusNote) bool { n.Message = 0; return true }); err != nil {
		t.Fatal(err)
	}
	s.restart(nil)
	release()
	s.ready(thread.ID)
	s.idle()
	told := 0
	for _, m := range s.Messages(thread.ID) {
		if m.AuthorID == s.BotID() && strings.Contains(m.Content, "⏳") {
			t.Errorf("it still says %q", m.Content)
		}
		if m.AuthorID == s.BotID() && !strings.Contains(m.Content, "you said") && !strings.Contains(m.Content, "not handed on") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("%d status messages", told)
	}
}

func TestKilledWhileTheAgentWorks(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	begun := make(chan struct{})
	s.agent.does(hangs(begun))
	s.said(thread.ID, "half done", "not begun")
	<-begun
	s.queued(thread.ID, 2)
	s.agent.does(nil)
	s.restart(nil)
	s.says(thread.ID, "you said: not begun")
	s.says(thread.ID, "was restarted while the agent worked")
	s.idle()
	if heard := s.agent.heard(); len(heard) != 2 {
		t.Errorf("handed on again: %q", heard)
	}
}

func TestKilledWhileItMerges(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"answer there": false, "answer out of reach": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, nil)
			thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
			s.commit(w.Directory, "new", "new\n")
			s.commit(s.dir, "other", "other\n")
			before := s.git(s.dir, "rev-parse", "main")
			at := filepath.Join(s.root, "merging")
			s.hook("reference-transaction", `[ "$1" = prepared ] && grep -q refs/heads/main || exit 0; echo > "`+at+`"; sleep 30`)
			merge := s.Command(s.boss, thread.ID, "merge-worktree", nil)
			s.until("it merges", func() bool { _, err := os.Stat(at); return err == nil })
			s.restart(func(s *scene, _ *Config) {
				s.hook("reference-transaction", "")
				if late {
					s.Fail(discordtest.Failure{Method: "PATCH", Path: "/webhooks/{app}/{token}/messages/{id}", Status: 401, Code: 50027})
				}
			})
			var text string
			if late {
				text = s.says(thread.ID, "was restarted").Text()
			} else {
				a, err := merge.WaitFinal(s.limit)
				if err != nil {
					t.Fatal(err)
				}
				text = a.Message.Text()
			}
			s.idle()
			merged := s.git(s.dir, "rev-parse", "main") != before
			if !strings.Contains(text, "was restarted") || merged == strings.Contains(text, "is not done") {
				t.Errorf("merged: %t, and it says:\n%s", merged, text)
			}
			if notes, err := s.store.ListNotes(t.Context(), notesAsked); err != nil || len(notes) > 0 {
				t.Errorf("%v, %v", notes, err)
			}
			// It can be done again.
			if !merged && !late {
				wants(t, s.run(s.boss, thread.ID, "merge-worktree", nil).Message, "Merged")
			}
		})
	}
}

// TestButtonsOutliveARestart presses those of a conflict and of a list in the
// next run.
func TestButtonsOutliveARestart(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.made(s.boss, s.channel, map[string]any{"name": "two"})
	s.differ(w)
	conflict := s.run(s.boss, thread.ID, "merge-worktree", nil)
	list := s.run(s.boss, s.channel, "worktrees", nil)
	s.idle()
	s.restart(nil)
	gone := s.press(s.boss, list.Message, "Delete")
	wants(t, gone.Message, "Deleted two")
	s.idle()
	s.restart(nil)
	wants(t, s.press(s.boss, gone.Message, "Undo").Message, "two")
	s.agent.does(func(ctx, string, string, teller) error { return s.resolve(w) })
	s.press(s.boss, conflict.Message, "Ask the agent")
	done := s.says(thread.ID, "The agent is done")
	s.idle()
	s.restart(nil)
	wants(t, s.press(s.boss, done, "Continue merge").Message, "Merged")
}

// TestKilledWhileTheAgentResolves leaves a paused merge, and somebody who was
// told that the agent is at it.
func TestKilledWhileTheAgentResolves(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.differ(w)
	conflict := s.run(s.boss, thread.ID, "merge-worktree", nil)
	begun := make(chan struct{})
	s.agent.does(hangs(begun))
	asked := s.press(s.boss, conflict.Message, "Ask the agent")
	<-begun
	s.restart(nil)
	s.idle()
	now, ok := s.Message(thread.ID, asked.Message.ID)
	if !ok {
		t.Fatal("the answer is gone")
	}
	wants(t, now, "was restarted", "readme")
	for _, label := range []string{"Ask the agent", "Continue merge", "Abort"} {
		labelled(t, now, label)
	}
	wants(t, s.press(s.boss, now, "Abort").Message, "aborted")
}

// TestCloseWaits stops the bot gracefully: what is under way is finished, and
// what is asked meanwhile gets a line.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, release := s.held()
	closed := make(chan error, 1)
	go func() { closed <- s.bot.Close(s.limit) }()
	s.until("it closes", func() bool { s.bot.mu.Lock(); defer s.bot.mu.Unlock(); return s.bot.closing })
	a := s.run(s.boss, s.channel, "new-worktree", map[string]any{"name": "two"})
	wants(t, a.Message, "being restarted")
	release()
	select {
	case err := <-closed:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it never closes")
	}
	s.truth(thread.ID)
}
