package discordbot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/workspace"
)

// begun has somebody begin a thread with a first message.
func (s *scene) begun(name, first string) discordtest.Channel {
	s.t.Helper()
	thread, err := s.StartThreadWith(s.boss, s.channel, name, first)
	if err != nil {
		s.t.Fatal(err)
	}
	return thread
}

// said has somebody say things.
func (s *scene) said(thread snowflake.ID, texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if _, err := s.Say(s.boss, thread, text); err != nil {
			s.t.Fatal(err)
		}
	}
}

// hold has the making of workspaces wait until the returned function is called;
// its first result waits until one does.
func (s *scene) hold() (waiting, release func()) {
	s.t.Helper()
	at, open := filepath.Join(s.root, "at"), filepath.Join(s.root, "open")
	s.hook("post-checkout", `echo >> "`+at+`"; n=0; while [ ! -e "`+open+`" ] && [ $n -lt 3000 ]; do n=$((n+1)); sleep 0.02; done`)
	waiting = func() {
		s.t.Helper()
		s.until("git is held", func() bool { _, err := os.Stat(at); return err == nil })
	}
	release = func() {
		s.t.Helper()
		if err := os.WriteFile(open, nil, 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	s.t.Cleanup(release)
	return waiting, release
}

func TestAutomaticWorkspace(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.project(s.channel, s.dir, true)
	waiting, release := s.hold()
	thread := s.begun("Fix the login", "first")
	waiting()
	s.said(thread.ID, "second", "third")
	s.says(thread.ID, "⏳")
	if heard := s.agent.heard(); len(heard) > 0 {
		t.Errorf("it ran without a workspace: %q", heard)
	}
	release()
	s.ready(thread.ID)
	s.says(thread.ID, "you said: third")
	id := thread.ID.String()
	if got, want := s.agent.heard(), []string{id + ": first", id + ": second", id + ": third"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	w, err := s.manager.Get(t.Context(), id)
	if err != nil || w.Branch != "threadtree/fix-the-login" {
		t.Errorf("%+v, %v", w, err)
	}
	s.idle()
	for _, m := range s.Messages(thread.ID) {
		if m.AuthorID == s.boss && len(m.Reactions) > 0 {
			t.Errorf("%q still looks as if it was being worked on", m.Content)
		}
	}
}

// TestManyFirstMessages has them all there before the bot looks.
func TestManyFirstMessages(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.project(s.channel, s.dir, true)
	gate := make(chan struct{})
	s.Fail(discordtest.Failure{Method: "GET", Path: "/channels/{id}", Hold: gate, Times: 1})
	thread := s.begun("many", "1")
	s.said(thread.ID, "2", "3", "4", "5", "6")
	close(gate)
	s.says(thread.ID, "you said: 6")
	if heard := s.agent.heard(); len(heard) != 6 {
		t.Errorf("%q", heard)
	}
}

func TestAutomaticWorkspaceThatFails(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	empty := filepath.Join(s.root, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	s.git(empty, "init", "-q")
	s.project(s.channel, empty, true)
	thread := s.begun("new", "first")
	s.says(thread.ID, "commit")
	s.says(thread.ID, "not handed on")
	s.idle()
	s.said(thread.ID, "and now?")
	s.idle()
	if heard := s.agent.heard(); len(heard) > 0 {
		t.Errorf("it ran in the main checkout: %q", heard)
	}
	told := s.Messages(thread.ID)
	if last := told[len(told)-1]; last.AuthorID != s.BotID() {
		t.Errorf("nobody answers %q", last.Content)
	}
}

func TestFolderThatIsNoRepository(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	plain := filepath.Join(s.root, "plain")
	if err := os.Mkdir(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	s.project(s.channel, plain, true)
	thread := s.begun("new", "first")
	s.says(thread.ID, "you said: first")
	s.said(thread.ID, "second")
	s.says(thread.ID, "you said: second")
	told := 0
	for _, m := range s.Messages(thread.ID) {
		if strings.Contains(m.Content, "no git repository") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("said %d times", told)
	}
	if _, err := s.manager.Get(t.Context(), thread.ID.String()); workspace.CodeOf(err) != workspace.ErrNotFound {
		t.Error(err)
	}
	if at, err := s.manager.Resolve(t.Context(), thread.ID.String(), plain); err != nil || at.Directory != plain {
		t.Errorf("the agent has no place: %+v, %v", at, err)
	}
	// It is a repository now: nothing runs in the main checkout.
	s.idle()
	s.git(plain, "init", "-q")
	s.said(thread.ID, "third")
	s.says(thread.ID, "another folder now")
	s.idle()
	if heard := s.agent.heard(); len(heard) != 2 {
		t.Errorf("%q", heard)
	}
}

// TestWhereNothingIsAutomatic says things where the bot has no business.
func TestWhereNothingIsAutomatic(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	before := s.begun("before", "one")
	s.said(before.ID, "two", "three", "four")
	s.idle()
	other := s.AddChannel(s.guild, discord.ChannelTypeGuildText, "other")
	s.said(s.channel, "in the channel")
	s.said(other, "elsewhere")
	s.idle()
	for _, r := range s.Requests() {
		if r.Method == "GET" && strings.HasPrefix(r.Path, "/channels/") {
			t.Errorf("Discord was asked: %v", r)
		}
	}
	for _, channel := range []snowflake.ID{before.ID, s.channel, other} {
		for _, m := range s.Messages(channel) {
			if m.AuthorID == s.BotID() {
				t.Errorf("the bot said %q", m.Content)
			}
		}
	}
	if heard := s.agent.heard(); len(heard) > 0 {
		t.Errorf("%q", heard)
	}
}

func TestAnnouncementAndPrivateThreads(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	news := s.AddChannel(s.guild, discord.ChannelTypeGuildNews, "news")
	s.project(news, s.dir, false)
	s.run(s.boss, news, "new-worktree", map[string]any{"name": "headline"})
	thread, err := s.WaitThread(s.limit, news, func(c discordtest.Channel) bool { return c.Type == discord.ChannelTypeGuildNewsThread })
	if err != nil {
		t.Fatal(err)
	}
	s.ready(thread.ID)
	private := s.AddThread(s.channel, discord.ChannelTypeGuildPrivateThread, "secret", s.boss)
	made, w := s.made(s.boss, private, map[string]any{"name": "from private"})
	if made.ParentID != s.channel || w.Branch != "threadtree/from-private" {
		t.Errorf("%+v %+v", made, w)
	}
}

func TestDeletedWhileItIsMade(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.project(s.channel, s.dir, true)
	waiting, release := s.hold()
	thread := s.begun("gone", "first")
	waiting()
	s.DeleteChannel(thread.ID)
	s.idleBut(1)
	release()
	s.idle()
	if w, err := s.manager.Get(t.Context(), thread.ID.String()); err != nil || w.Status != workspace.StatusReady {
		t.Errorf("%+v, %v", w, err)
	}
	s.wantStands(map[string]workspace.ThreadState{"gone": workspace.ThreadDeleted})
	s.allow(10003)
	for _, namespace := range []string{notesStatus, notesQueue} {
		if notes, err := s.store.ListNotes(t.Context(), namespace); err != nil || len(notes) > 0 {
			t.Errorf("%+v, %v", notes, err)
		}
	}
	if heard := s.agent.heard(); len(heard) > 0 {
		t.Errorf("%q", heard)
	}
}
