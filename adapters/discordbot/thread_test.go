package discordbot

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/workspace"
)

// TestTitleFollowsTheBranch has a name that is taken: the title that the thread
// got is corrected once, with the message that it begins with.
func TestTitleFollowsTheBranch(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	first, _ := s.made(s.boss, s.channel, map[string]any{"name": "Eins ☂"})
	if want := []string{"⬦ worktree: threadtree/eins"}; !slices.Equal(first.Names, want) {
		t.Errorf("%q", first.Names)
	}
	second, w := s.made(s.boss, first.ID, nil)
	s.idle()
	second, _ = s.Thread(second.ID)
	if want := []string{"⬦ worktree: threadtree/eins", "⬦ worktree: threadtree/eins-2"}; !slices.Equal(second.Names, want) || w.Branch != "threadtree/eins-2" {
		t.Errorf("%q, %s", second.Names, w.Branch)
	}
	if starter, ok := s.Message(s.channel, second.ID); !ok || starter.Content != "⬦ worktree: threadtree/eins-2" {
		t.Errorf("%+v", starter)
	}
	// A title that leaves nothing: the name is made from the thread's id.
	umbrella := s.AddThread(s.channel, discord.ChannelTypeGuildPublicThread, "☂☂", s.boss)
	third, w := s.made(s.boss, umbrella, nil)
	if want := "⬦ worktree: " + w.Branch; third.Name != want || len(third.Names) != 1 || !strings.HasPrefix(w.Branch, "threadtree/thread-") {
		t.Errorf("%q, %s", third.Names, w.Branch)
	}
	// One that somebody has renamed meanwhile stays.
	waiting, release := s.hold()
	s.Command(s.boss, first.ID, "new-worktree", nil)
	fourth := s.newThread(first.ID, second.ID, third.ID, umbrella)
	waiting()
	s.Rename(fourth.ID, "mine")
	release()
	s.ready(fourth.ID)
	s.idle()
	if now, _ := s.Thread(fourth.ID); now.Name != "mine" {
		t.Errorf("%q", now.Names)
	}
}

// TestNothingWaitsForTheTitle has Discord take no rename.
func TestNothingWaitsForTheTitle(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.git(s.dir, "branch", "threadtree/one")
	thread := s.AddThread(s.channel, discord.ChannelTypeGuildPublicThread, "one", s.boss)
	s.Fail(discordtest.Failure{Method: "PATCH", Path: "/channels/{id}", Status: 429, RetryAfter: 600 * time.Second})
	made, w := s.made(s.boss, thread, nil)
	s.says(made.ID, "Folder: ")
	if w.Branch != "threadtree/one-2" {
		t.Errorf("%+v", w)
	}
	s.until("it is tried", func() bool { return s.count("PATCH", "/channels/"+made.ID.String()) > 0 })
	s.restart(nil) // ends its wait
	if n := s.count("PATCH", "/channels/"+made.ID.String()); n > 2 {
		t.Errorf("tried %d times", n)
	}
}

// TestPrivateThreadStaysPrivate goes on from a private thread: nobody else sees
// anything of it.
func TestPrivateThreadStaysPrivate(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	for _, invitable := range []bool{true, false} {
		private := s.AddThread(s.channel, discord.ChannelTypeGuildPrivateThread, "secret plans", s.boss)
		s.SetInvitable(private, invitable)
		thread, w := s.made(s.boss, private, nil)
		if thread.Type != discord.ChannelTypeGuildPrivateThread || thread.Invitable != invitable || thread.ParentID != s.channel {
			t.Errorf("%+v", thread)
		}
		if want := []snowflake.ID{s.BotID(), s.boss}; !slices.Equal(thread.Members, want) || !strings.HasPrefix(thread.Names[0], "⬦ worktree: threadtree/secret-plans") {
			t.Errorf("%v, %q", thread.Members, thread.Names)
		}
		s.idle()
		m := s.says(thread.ID, "Folder: ")
		wants(t, m, w.Branch)
		if len(m.Reactions) != 1 || m.Reactions[0].Emoji != done {
			t.Errorf("%+v", m.Reactions)
		}
	}
	if s.Permissions(s.Threads(s.channel)[1].ID, s.ada) != 0 {
		t.Error("somebody else sees the thread")
	}
	if told := s.MessagesSeenBy(s.ada, s.channel); len(told) > 0 {
		t.Errorf("the channel is told: %+v", told)
	}
}

// TestPrivateThreadRefused says what the bot lacks, and leaves nothing.
func TestPrivateThreadRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	private := s.AddThread(s.channel, discord.ChannelTypeGuildPrivateThread, "secret", s.boss)
	s.SetPermissions(s.channel, s.BotID(), discordtest.DefaultBotPermissions.Remove(discord.PermissionCreatePrivateThreads))
	wants(t, s.run(s.boss, private, "new-worktree", nil).Message, "could not be made", "private ones too")
	s.allow(rest.JSONErrorCodeLackPermissionsToPerformAction)
	s.idle()
	if rows, err := s.store.ListWorkspaces(s.limit, workspace.Query{All: true}); err != nil || len(rows) > 0 || len(s.Threads(s.channel)) != 1 {
		t.Errorf("%v, %v", rows, err)
	}
	if told := s.Messages(s.channel); len(told) > 0 {
		t.Errorf("%+v", told)
	}
}

// TestPrivateThreadFoundAgain loses the answer to its making, with the process
// or without it.
func TestPrivateThreadFoundAgain(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"answer lost": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, nil)
			private := s.AddThread(s.channel, discord.ChannelTypeGuildPrivateThread, "secret", s.boss)
			lost := discordtest.Failure{Method: "POST", Path: "/channels/{id}/threads", Drop: true, Done: true, Times: 1}
			if killed {
				// It is made, and the process dies before it hears of that.
				gate := make(chan struct{})
				defer close(gate)
				lost = discordtest.Failure{Method: "POST", Path: "/channels/{id}/threads", Hold: gate, Times: 1}
			}
			s.Fail(lost)
			in := s.Command(s.boss, private, "new-worktree", nil)
			if killed {
				s.until("it is noted", func() bool {
					notes, err := s.store.ListNotes(s.limit, notesAsked)
					return err == nil && len(notes) == 1 && strings.Contains(string(notes[0].Value), `"title":"⬦`)
				})
				s.stop()
				s.AddThread(s.channel, discord.ChannelTypeGuildPrivateThread, "⬦ worktree: threadtree/secret", s.BotID())
				s.start(nil)
			}
			thread := s.newThread(private)
			s.ready(thread.ID)
			s.truth(thread.ID)
			a, err := in.WaitFinal(s.limit)
			if err != nil {
				t.Fatal(err)
			}
			wants(t, a.Message, "<#"+thread.ID.String()+">")
			if thread, _ = s.Thread(thread.ID); !slices.Contains(thread.Members, s.boss) {
				t.Errorf("%+v", thread)
			}
		})
	}
}

// TestThreadOfAnAnnouncementChannel goes on from a thread of one.
func TestThreadOfAnAnnouncementChannel(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	news := s.AddChannel(s.guild, discord.ChannelTypeGuildNews, "news")
	s.project(news, s.dir, false)
	from := s.AddThread(news, discord.ChannelTypeGuildNewsThread, "headline", s.boss)
	s.run(s.boss, from, "new-worktree", nil)
	thread, err := s.WaitThread(s.limit, news, func(c discordtest.Channel) bool { return c.ID != from })
	if err != nil {
		t.Fatal(err)
	}
	s.ready(thread.ID)
	if thread.Type != discord.ChannelTypeGuildNewsThread || thread.Name != "⬦ worktree: threadtree/headline" {
		t.Errorf("%+v", thread)
	}
}

// TestNoThreadsThere asks where a thread can't be made: one line, and nothing
// else, even where a project is set.
func TestNoThreadsThere(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	for name, kind := range map[string]discord.ChannelType{
		"forum": discord.ChannelTypeGuildForum, "media": discord.ChannelTypeGuildMedia,
		"voice": discord.ChannelTypeGuildVoice, "stage": discord.ChannelTypeGuildStageVoice,
	} {
		channel := s.AddChannel(s.guild, kind, name)
		s.project(channel, s.dir, false)
		where := channel
		if kind == discord.ChannelTypeGuildForum || kind == discord.ChannelTypeGuildMedia {
			where = s.AddThread(channel, discord.ChannelTypeGuildPublicThread, "post", s.boss)
		}
		before := len(s.Messages(where)) + len(s.Threads(channel))
		a := s.run(s.boss, where, "new-worktree", map[string]any{"name": "x"})
		wants(t, a.Message, "not in forums, voice chats or direct messages")
		if !a.Message.Ephemeral() || len(s.Messages(where))+len(s.Threads(channel)) != before {
			t.Errorf("%s: %+v", name, s.Messages(where))
		}
	}
	if rows, err := s.store.ListWorkspaces(s.limit, workspace.Query{All: true}); err != nil || len(rows) > 0 {
		t.Errorf("%v, %v", rows, err)
	}
}

// TestPlaceOfADirectMessage has no server.
func TestPlaceOfADirectMessage(t *testing.T) {
	t.Parallel()
	in, err := discord.UnmarshalInteraction([]byte(`{"id":"1","application_id":"2","type":2,"token":"t","version":1,"context":1,
		"channel":{"id":"3","type":1},"user":{"id":"4","username":"ada","discriminator":"0"},"entitlements":[],
		"authorizing_integration_owners":{},"data":{"id":"5","name":"new-worktree","type":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := placeOf(in); ok {
		t.Errorf("%+v", at)
	}
	if p := personOf(in); p.UserID != 4 || p.Permissions != 0 || (ByPermission{}).May(t.Context(), p, ActionCreate) {
		t.Errorf("%+v", p)
	}
}

// TestNoteOfWhatWasAskedIsWhole keeps all that the next run needs.
func TestNoteOfWhatWasAskedIsWhole(t *testing.T) {
	t.Parallel()
	n := askedNote{
		Doing: doingDelete, At: place{Guild: 1, Channel: 2, Thread: 3, Title: "t", Kind: discord.ChannelTypeGuildPrivateThread, Invitable: true},
		Person: Person{UserID: 4, GuildID: 1, ChannelID: 3, Permissions: discord.PermissionManageThreads, Roles: []snowflake.ID{5}},
		Token:  "x", About: "6", Attempt: "a", Page: 2,
	}
	data, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	var again askedNote
	if err := json.Unmarshal(data, &again); err != nil || again.At != n.At || again.Person.Permissions != n.Person.Permissions || !slices.Equal(again.Person.Roles, n.Person.Roles) {
		t.Errorf("%+v, %v", again, err)
	}
}
