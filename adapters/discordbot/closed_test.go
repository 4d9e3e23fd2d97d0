package discordbot

import (
	"os"
	"slices"
	"testing"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/workspace"
)

// stands is how the threads of a project stand that aren't open.
func (s *scene) stands(dir string) map[string]workspace.ThreadState {
	s.t.Helper()
	rows, err := s.manager.List(s.limit, workspace.ListOptions{Project: dir, WithoutState: true})
	if err != nil {
		s.t.Fatal(err)
	}
	closed := make(map[string]workspace.ThreadState)
	for _, row := range rows {
		if row.Thread != workspace.ThreadOpen {
			closed[row.Workspace.Name] = row.Thread
		}
	}
	return closed
}

func (s *scene) wantStands(want map[string]workspace.ThreadState) {
	s.t.Helper()
	s.idle()
	got := s.stands(s.dir)
	if len(got) != len(want) {
		s.t.Errorf("%v, not %v", got, want)
	}
	for name, state := range want {
		if got[name] != state {
			s.t.Errorf("%s is %q, not %q", name, got[name], state)
		}
	}
}

// TestClosedThreadKeepsItsWorkspace archives, deletes and reopens threads: what
// they worked in stays, says so, and is offered to gc, also after a restart.
func TestClosedThreadKeepsItsWorkspace(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	threads := make(map[string]snowflake.ID)
	directories := make(map[string]string)
	for _, name := range []string{"open", "archived", "deleted", "again"} {
		thread, w := s.made(s.boss, s.channel, map[string]any{"name": name})
		threads[name], directories[name] = thread.ID, w.Directory
	}
	s.DeleteChannel(threads["deleted"])
	s.Archive(threads["archived"], true)
	s.Archive(threads["again"], true)
	s.wantStands(map[string]workspace.ThreadState{"deleted": workspace.ThreadDeleted, "archived": workspace.ThreadArchived, "again": workspace.ThreadArchived})
	// Whoever speaks in an archived thread opens it again.
	s.said(threads["again"], "hello")
	want := map[string]workspace.ThreadState{"deleted": workspace.ThreadDeleted, "archived": workspace.ThreadArchived}
	s.wantStands(want)
	s.restart(nil)
	s.wantStands(want)
	list := s.run(s.boss, s.channel, "worktrees", nil).Message
	wants(t, list, "🗑️ thread deleted, clean", "📦 thread archived, clean", "**open**", "**again**")
	if n := len(slices.DeleteFunc(list.Buttons(), func(b discord.ButtonComponent) bool { return b.Label != "Delete" })); n != 4 {
		t.Errorf("%d can be deleted", n)
	}
	for name, directory := range directories {
		if _, err := os.Stat(directory); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	plan, err := workspace.NewCollector(s.manager).Plan(s.limit, workspace.CollectOptions{Project: s.dir, Closed: true})
	if err != nil || len(plan) != 2 {
		t.Errorf("%+v, %v", plan, err)
	}
	for _, item := range plan {
		if item.ThreadID != threads["deleted"].String() && item.ThreadID != threads["archived"].String() {
			t.Errorf("%+v", item)
		}
	}
}

// TestClosedWhileTheBotIsAway finds out at the start what happened meanwhile.
func TestClosedWhileTheBotIsAway(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	threads := make(map[string]snowflake.ID)
	for _, name := range []string{"open", "archived", "deleted", "again", "hidden"} {
		thread, _ := s.made(s.boss, s.channel, map[string]any{"name": name})
		threads[name] = thread.ID
	}
	// Threads of other programs are left alone.
	for _, id := range []string{"12", "release-2026", "99999999999999999x"} {
		if _, err := s.manager.Create(s.limit, workspace.CreateOptions{Project: s.dir, ThreadID: id, Title: "other " + id}); err != nil {
			t.Fatal(err)
		}
	}
	s.Archive(threads["again"], true)
	s.idle()
	s.stop()
	s.DeleteChannel(threads["deleted"])
	s.Archive(threads["archived"], true)
	s.Archive(threads["again"], false)
	s.start(nil)
	s.wantStands(map[string]workspace.ThreadState{"deleted": workspace.ThreadDeleted, "archived": workspace.ThreadArchived})
	s.allow(10003)
	// What is known to be deleted isn't asked for again; what can't be seen is
	// not deleted.
	s.stop()
	s.SetPermissions(s.channel, s.BotID(), 0)
	before := s.count("GET", "/channels/"+threads["deleted"].String())
	s.start(nil)
	s.wantStands(map[string]workspace.ThreadState{"deleted": workspace.ThreadDeleted, "archived": workspace.ThreadArchived})
	if after := s.count("GET", "/channels/"+threads["deleted"].String()); after != before {
		t.Errorf("asked %d times more", after-before)
	}
	s.allow(50001)
}

// TestChannelDeleted takes its threads along, without a word of theirs.
func TestChannelDeleted(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.made(s.boss, s.channel, map[string]any{"name": "one"})
	other := s.AddChannel(s.guild, discord.ChannelTypeGuildText, "other")
	s.project(other, s.dir, false)
	s.run(s.boss, other, "new-worktree", map[string]any{"name": "two"})
	thread, err := s.WaitThread(s.limit, other, func(discordtest.Channel) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	s.ready(thread.ID)
	s.idle()
	s.DeleteChannel(s.channel)
	s.wantStands(map[string]workspace.ThreadState{"one": workspace.ThreadDeleted})
	s.allow(10003)
}
