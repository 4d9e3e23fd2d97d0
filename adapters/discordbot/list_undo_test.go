package discordbot

import (
	"testing"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/workspace"
)

// TestUndoOutlivesItsDrawing draws the list anew after a delete: what was
// deleted can still be brought back, from there and from the older drawing.
func TestUndoOutlivesItsDrawing(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	there := func() bool {
		_, err := s.manager.Get(s.limit, thread.ID.String())
		return err == nil
	}
	deleted := s.press(s.boss, s.run(s.boss, s.channel, "worktrees", nil).Message, "Delete")
	turned := s.press(s.boss, deleted.Message, "Turn automatic on")
	again := s.run(s.boss, s.channel, "worktrees", nil).Message
	labelled(t, again, "Undo")
	old := s.press(s.boss, turned.Message, "Undo").Message
	if !there() {
		t.Fatalf("an older drawing's undo does nothing:\n%s", old.Text())
	}
	if _, ok := old.Button("Undo"); ok {
		t.Error("what was undone can be undone")
	}
	s.press(s.boss, old, "Delete")
	s.press(s.boss, s.run(s.boss, s.channel, "worktrees", nil).Message, "Undo")
	if !there() {
		t.Error("the undo of a new list does nothing")
	}
}

// TestDeletedWithoutAList takes the project away under a list: that something
// was deleted is said all the same, with its undo.
func TestDeletedWithoutAList(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.made(s.boss, s.channel, map[string]any{"name": "one"})
	list := s.run(s.boss, s.channel, "worktrees", nil).Message
	if err := s.store.PutChannel(t.Context(), workspace.Channel{ID: s.channel.String(), GuildID: s.guild.String()}); err != nil {
		t.Fatal(err)
	}
	gone := s.press(s.boss, list, "Delete").Message
	wants(t, gone, "Deleted one", "No project is set")
	wants(t, s.press(s.boss, gone, "Undo").Message, "one", "No project is set")
}

// TestOutcomeThatTheAnswerCannotHold has Discord refuse to fill answers in.
func TestOutcomeThatTheAnswerCannotHold(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.commit(w.Directory, "new", "new\n")
	stop := s.Fail(discordtest.Failure{Method: "PATCH", Path: "/webhooks/{app}/{token}/messages/{id}", Status: 401, Code: 50027})
	s.Command(s.boss, thread.ID, "merge-worktree", nil)
	s.says(thread.ID, "Merged")
	stop()
	s.idle()
	list := s.run(s.boss, s.channel, "worktrees", nil).Message
	s.Fail(discordtest.Failure{Method: "PATCH", Path: "/webhooks/{app}/{token}/messages/{id}", Status: 401, Code: 50027})
	s.Press(s.boss, list, labelled(t, list, "Delete"))
	s.says(s.channel, "Deleted one")
	s.idle()
	s.expect("fill in an answer")
}
