package discordtest_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
)

func TestMessagesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	long := strings.Repeat("ä", 2001)
	row := func(buttons ...discord.InteractiveComponent) discord.MessageCreate {
		return text("x").AddActionRow(buttons...)
	}
	texts := func(n int, each string) discord.MessageCreate {
		parts := make([]discord.LayoutComponent, n)
		for i := range parts {
			parts[i] = discord.NewTextDisplay(each)
		}
		return discord.NewMessageCreateV2(parts...)
	}
	mixed := texts(1, "x")
	mixed.Content = "x"
	const bad = rest.JSONErrorCodeInvalidFormBody
	for name, c := range map[string]struct {
		message discord.MessageCreate
		code    rest.JSONErrorCode
	}{
		"empty":                {discord.MessageCreate{}, rest.JSONErrorCodeCannotSendEmptyMessage},
		"2,001 characters":     {text(long), bad},
		"41 components":        {texts(41, "x"), bad},
		"4,001 characters":     {texts(3, strings.Repeat("ä", 1334)), bad},
		"content with V2":      {mixed, bad},
		"custom id of 101":     {row(discord.NewPrimaryButton("x", strings.Repeat("x", 101))), bad},
		"no custom id":         {row(discord.NewPrimaryButton("x", "")), bad},
		"custom id twice":      {row(discord.NewPrimaryButton("x", "/1"), discord.NewPrimaryButton("y", "/1")), bad},
		"label of 81":          {row(discord.NewPrimaryButton(strings.Repeat("x", 81), "/1")), bad},
		"no label":             {row(discord.NewPrimaryButton("", "/1")), bad},
		"six buttons":          {row(discord.NewPrimaryButton("1", "/1"), discord.NewPrimaryButton("2", "/2"), discord.NewPrimaryButton("3", "/3"), discord.NewPrimaryButton("4", "/4"), discord.NewPrimaryButton("5", "/5"), discord.NewPrimaryButton("6", "/6")), bad},
		"text without V2":      {discord.MessageCreate{Content: "x", Components: []discord.LayoutComponent{discord.NewTextDisplay("x")}}, bad},
		"empty text":           {texts(1, ""), bad},
		"section without more": {discord.NewMessageCreateV2(discord.NewSection().WithAccessory(discord.NewPrimaryButton("x", "/1"))), bad},
		"select without more":  {row(discord.NewStringSelectMenu("/1", "x")), bad},
		"embed of 4,097":       {discord.MessageCreate{Embeds: []discord.Embed{{Description: strings.Repeat("x", 4097)}}}, bad},
		"mentions twice":       {text("x").WithAllowedMentions(&discord.AllowedMentions{Parse: []discord.AllowedMentionType{"users"}, Users: []snowflake.ID{1}}), bad},
		"reply to nothing":     {text("x").WithMessageReferenceByID(1), bad},
	} {
		before := len(s.Violations())
		_, err := s.rest.CreateMessage(s.channel, c.message)
		if !rest.IsJSONErrorCode(err, c.code) {
			t.Errorf("%s: got %v, want code %d", name, err, c.code)
		}
		if len(s.Violations()) != before+1 {
			t.Errorf("%s: no violation kept", name)
		}
	}
	if got := s.Messages(s.channel); len(got) != 0 {
		t.Errorf("refused messages were sent: %v", got)
	}
	for name, m := range map[string]discord.MessageCreate{
		"2,000 characters": text(long[:len(long)-2]),
		"40 components":    texts(40, strings.Repeat("x", 100)),
		"limits of a row":  row(discord.NewPrimaryButton(strings.Repeat("x", 80), strings.Repeat("x", 100))),
	} {
		if _, err := s.rest.CreateMessage(s.channel, m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	v2 := s.send(discord.NewMessageCreateV2(discord.NewTextDisplay("one")))
	_, err := s.rest.UpdateMessage(s.channel, v2.ID, discord.MessageUpdate{Flags: new(discord.MessageFlags), Content: ptr("plain")})
	s.refused(err, rest.JSONErrorCodeInvalidFormBody)
	if _, err := s.rest.UpdateMessage(s.channel, v2.ID, discord.NewMessageUpdateV2(discord.NewTextDisplay("two"))); err != nil {
		t.Error(err)
	}
	_, err = s.rest.UpdateMessage(s.channel, 1, discord.MessageUpdate{Content: ptr("x")})
	s.refused(err, rest.JSONErrorCodeUnknownMessage)
	_, err = s.rest.UpdateMessage(1, 1, discord.MessageUpdate{Content: ptr("x")})
	s.refused(err, rest.JSONErrorCodeUnknownChannel)
	theirs, err := s.Say(s.ada, s.channel, "mine")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.rest.UpdateMessage(s.channel, theirs.ID, discord.MessageUpdate{Content: ptr("x")})
	s.refused(err, rest.JSONErrorCodeCannotEditMessageAuthoredByAnotherUser)
	m, _ := s.Message(s.channel, v2.ID)
	if len(m.Versions) != 2 || m.Versions[0].Text() != "one" || m.Text() != "two" {
		t.Errorf("versions %+v", m.Versions)
	}
	buttons := s.send(text("x").AddActionRow(discord.NewPrimaryButton("x", "/1")))
	if _, err := s.rest.UpdateMessage(s.channel, buttons.ID, discord.MessageUpdate{Components: &[]discord.LayoutComponent{}}); err != nil {
		t.Error(err)
	}
	if m, _ := s.Message(s.channel, buttons.ID); len(m.Buttons()) != 0 || m.Content != "x" {
		t.Errorf("the buttons stay: %+v", m)
	}
}

func ptr[T any](v T) *T { return &v }

func TestFiles(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	sent := s.send(text("").AddFile("a.patch", "the patch", strings.NewReader("+tree")))
	m, _ := s.Message(s.channel, sent.ID)
	if len(m.Files) != 1 || m.Files[0].Name != "a.patch" || string(m.Files[0].Data) != "+tree" || m.Files[0].Description != "the patch" {
		t.Errorf("files %+v", m.Files)
	}
	if len(sent.Attachments) != 1 || sent.Attachments[0].Size != 5 {
		t.Errorf("attachments %+v", sent.Attachments)
	}
	s.SetPermissions(s.channel, s.BotID(), discordtest.DefaultBotPermissions.Remove(discord.PermissionAttachFiles))
	_, err := s.rest.CreateMessage(s.channel, text("").AddFile("a", "", strings.NewReader("x")))
	s.refused(err, rest.JSONErrorCodeLackPermissionsToPerformAction)
}

func TestPings(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	all := text("@everyone @here <@" + s.ada.String() + "> <@&5>")
	s.send(all)
	s.clean()
	s.send(all.WithAllowedMentions(&discord.AllowedMentions{Parse: []discord.AllowedMentionType{discord.AllowedMentionTypeEveryone}, Users: []snowflake.ID{s.ada}}))
	if got := strings.Join(s.Pings(), " "); got != "@everyone @here <@"+s.ada.String()+">" {
		t.Errorf("pings %s", got)
	}
	m := s.send(text("first"))
	before := len(s.Pings())
	s.send(text("second").WithMessageReferenceByID(m.ID))
	if len(s.Pings()) != before {
		t.Error("a reply pinged though nobody was allowed")
	}
}

func TestAnswersThatAreRefused(t *testing.T) {
	t.Parallel()
	errs := make(chan error, 3)
	s := newScene(t, func(mux *handler.Mux) {
		mux.SlashCommand("/plant", func(_ discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
			errs <- e.Respond(discord.InteractionResponseTypeDeferredUpdateMessage, nil)
			if err := e.CreateMessage(text("one")); err != nil {
				return err
			}
			errs <- e.CreateMessage(text("two"))
			return nil
		})
	})
	in := s.Command(s.ada, s.channel, "plant", map[string]any{"what": "tree"})
	if a := s.wait(in); a.Message.Content != "one" {
		t.Errorf("answer %+v", a)
	}
	if err := <-errs; !rest.IsJSONErrorCode(err, rest.JSONErrorCodeInvalidFormBody) {
		t.Errorf("an update of nothing: %v", err)
	}
	s.refused(<-errs, rest.JSONErrorCodeInteractionAlreadyAcknowledged)
	err := s.rest.CreateInteractionResponse(1, "token-1", discord.InteractionResponse{Type: discord.InteractionResponseTypeDeferredCreateMessage})
	s.refused(err, rest.JSONErrorCodeUnknownInteraction)
	_, err = s.rest.CreateFollowupMessage(s.BotID(), "token-1", text("x"))
	s.refused(err, rest.JSONErrorCodeInvalidWebhookToken)
}

func TestThreads(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	m := s.send(text("x"))
	from := func(name string) (*discord.GuildThread, error) {
		return s.rest.CreateThreadFromMessage(s.channel, m.ID, discord.ThreadCreateFromMessage{Name: name})
	}
	_, err := from("")
	s.refused(err, rest.JSONErrorCodeInvalidFormBody)
	_, err = from(strings.Repeat("x", 101))
	s.refused(err, rest.JSONErrorCodeInvalidFormBody)
	thread, err := from("talk")
	if err != nil || thread.ID() != m.ID {
		t.Fatalf("thread %v, %v", thread, err)
	}
	_, err = from("again")
	s.refused(err, rest.JSONErrorCodeThreadAlreadyCreatedForMessage)

	said, err := s.rest.CreateMessage(thread.ID(), text("in it"))
	if err != nil {
		t.Fatal(err)
	}
	s.Archive(thread.ID(), true)
	const archived = rest.JSONErrorCodeOperationOnArchivedThread
	_, err = s.rest.CreateMessage(thread.ID(), text("x"))
	s.refused(err, archived)
	_, err = s.rest.UpdateMessage(thread.ID(), said.ID, discord.MessageUpdate{Content: ptr("x")})
	s.refused(err, archived)
	s.refused(s.rest.AddReaction(thread.ID(), said.ID, "🌳"), archived)
	s.refused(s.rest.AddThreadMember(thread.ID(), s.ada), archived)
	_, err = s.rest.UpdateChannel(thread.ID(), discord.GuildThreadUpdate{Name: ptr("x")})
	s.refused(err, archived)
	if _, err := s.rest.UpdateChannel(thread.ID(), discord.GuildThreadUpdate{Archived: ptr(false), Name: ptr("open")}); err != nil {
		t.Error(err)
	}
	if got, ok := s.Thread(thread.ID()); !ok || got.Archived || got.Name != "open" || len(got.Names) != 2 {
		t.Errorf("thread %+v", got)
	}
	s.Lock(thread.ID(), true)
	if _, err := s.Say(s.ada, thread.ID(), "x"); err == nil {
		t.Error("a person wrote in a locked thread")
	}
}

func TestThreadKinds(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	news := s.AddChannel(s.guild, discord.ChannelTypeGuildNews, "news")
	voice := s.AddChannel(s.guild, discord.ChannelTypeGuildVoice, "voice")
	forum := s.AddChannel(s.guild, discord.ChannelTypeGuildForum, "forum")
	for name, c := range map[string]struct {
		channel snowflake.ID
		create  discord.ThreadCreate
		code    rest.JSONErrorCode // 0 for success
	}{
		"public":              {s.channel, discord.GuildPublicThreadCreate{Name: "x"}, 0},
		"private":             {s.channel, discord.GuildPrivateThreadCreate{Name: "x"}, 0},
		"announcement":        {news, discord.GuildNewsThreadCreate{Name: "x"}, 0},
		"private in news":     {news, discord.GuildPrivateThreadCreate{Name: "x"}, rest.JSONErrorCodeInvalidFormBody},
		"in voice":            {voice, discord.GuildPublicThreadCreate{Name: "x"}, rest.JSONErrorCodeCannotExecuteActionOnThisChannelType},
		"post without a text": {forum, discord.GuildPublicThreadCreate{Name: "x"}, rest.JSONErrorCodeInvalidFormBody},
	} {
		_, err := s.rest.CreateThread(c.channel, c.create)
		if (c.code == 0 && err != nil) || (c.code != 0 && !rest.IsJSONErrorCode(err, c.code)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	post, err := s.rest.CreatePostInThreadChannel(forum, discord.ThreadChannelPostCreate{Name: "post", Message: text("first")})
	if err != nil || post.Message.Content != "first" || post.Message.ID != post.ID() {
		t.Errorf("post %+v, %v", post, err)
	}
	_, err = s.rest.CreateMessage(forum, text("x"))
	s.refused(err, rest.JSONErrorCodeCannotSendMessagesInNonTextChannel)
	bea := s.AddMember(s.guild, "bea")
	private := s.AddThread(s.channel, discord.ChannelTypeGuildPrivateThread, "secret", s.ada)
	if s.Permissions(private, bea) != 0 || s.Permissions(private, s.ada) == 0 {
		t.Error("a private thread is seen by others, or not by its owner")
	}
}

func TestBotPermissions(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	m := s.send(text("x"))
	theirs, err := s.Say(s.ada, s.channel, "mine")
	if err != nil {
		t.Fatal(err)
	}
	s.SetPermissions(s.channel, s.BotID(), discord.PermissionViewChannel)
	const missing = rest.JSONErrorCodeLackPermissionsToPerformAction
	_, err = s.rest.CreateMessage(s.channel, text("x"))
	s.refused(err, missing)
	_, err = s.rest.CreateThreadFromMessage(s.channel, m.ID, discord.ThreadCreateFromMessage{Name: "x"})
	s.refused(err, missing)
	s.refused(s.rest.AddReaction(s.channel, m.ID, "🌳"), missing)
	s.refused(s.rest.DeleteMessage(s.channel, theirs.ID), missing)
	_, err = s.rest.UpdateChannel(s.channel, discord.GuildTextChannelUpdate{Name: ptr("x")})
	s.refused(err, missing)
	s.SetPermissions(s.channel, s.BotID(), 0)
	_, err = s.rest.GetChannel(s.channel)
	s.refused(err, rest.JSONErrorCodeMissingAccess)
	_, err = s.rest.CreateMessage(s.channel, text("x"))
	s.refused(err, rest.JSONErrorCodeMissingAccess)
}

func TestRenameLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		thread := s.AddThread(s.channel, discord.ChannelTypeGuildPublicThread, "0", s.BotID())
		rename := func(name string) error {
			_, err := s.rest.UpdateChannel(thread, discord.GuildThreadUpdate{Name: &name})
			return err
		}
		for _, name := range []string{"1", "2", "2"} { // the last changes nothing
			if err := rename(name); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		err := rename("3")
		var refused *rest.Error
		if !errors.As(err, &refused) || refused.Response.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("the third rename: %v", err)
		}
		if h := refused.Response.Header; h.Get("Retry-After") != "597" || h.Get("Via") == "" {
			t.Errorf("headers %v", h)
		}
		time.Sleep(597 * time.Second)
		if err := rename("3"); err != nil {
			t.Error(err)
		}
	})
}

func TestCommandsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	option := func(name string, required bool) discord.ApplicationCommandOption {
		return discord.ApplicationCommandOptionString{Name: name, Description: "x", Required: required}
	}
	for name, c := range map[string]discord.SlashCommandCreate{
		"upper case":      {Name: "Plant", Description: "x"},
		"33 characters":   {Name: strings.Repeat("x", 33), Description: "x"},
		"space":           {Name: "a b", Description: "x"},
		"no description":  {Name: "x"},
		"description 101": {Name: "x", Description: strings.Repeat("x", 101)},
		"26 options":      {Name: "x", Description: "x", Options: make26(option)},
		"option twice":    {Name: "x", Description: "x", Options: []discord.ApplicationCommandOption{option("a", false), option("a", false)}},
		"required last":   {Name: "x", Description: "x", Options: []discord.ApplicationCommandOption{option("a", false), option("b", true)}},
	} {
		if err := handler.SyncCommands(s.client, []discord.ApplicationCommandCreate{c}, []snowflake.ID{s.guild}); !rest.IsJSONErrorCode(err, rest.JSONErrorCodeInvalidFormBody) {
			t.Errorf("%s: %v", name, err)
		}
	}
	group := discord.SlashCommandCreate{Name: "tree", Description: "x", Options: []discord.ApplicationCommandOption{
		discord.ApplicationCommandOptionSubCommandGroup{Name: "leaf", Description: "x", Options: []discord.ApplicationCommandOptionSubCommand{{Name: "count", Description: "x"}}},
	}}
	if err := handler.SyncCommands(s.client, []discord.ApplicationCommandCreate{group}, []snowflake.ID{s.guild}); err != nil {
		t.Error(err)
	}
	if got := s.Commands(s.guild); len(got) != 1 || got[0] != "tree" {
		t.Errorf("commands %v", got)
	}
}

func make26(option func(string, bool) discord.ApplicationCommandOption) []discord.ApplicationCommandOption {
	var options []discord.ApplicationCommandOption
	for c := 'a'; c <= 'z'; c++ {
		options = append(options, option(string(c), false))
	}
	return options
}

func TestFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		const route = "/channels/{id}/messages"
		send := func() error {
			_, err := s.rest.CreateMessage(s.channel, text("x"))
			return err
		}
		s.Fail(discordtest.Failure{Method: http.MethodPost, Path: route, Status: 403, Code: 50013, Times: 1})
		if err := send(); !rest.IsJSONErrorCode(err, 50013) {
			t.Errorf("told to refuse: %v", err)
		}
		s.Fail(discordtest.Failure{Path: route, Drop: true, Done: true, Times: 1})
		if err := send(); !errors.Is(err, io.ErrUnexpectedEOF) || len(s.Messages(s.channel)) != 1 {
			t.Errorf("told to lose the answer: %v", err)
		}
		stop := s.Fail(discordtest.Failure{Path: route, Delay: time.Minute})
		start := time.Now()
		if err := send(); err != nil || time.Since(start) != time.Minute {
			t.Errorf("told to be late: %v after %v", err, time.Since(start))
		}
		stop()
		s.Fail(discordtest.Failure{Path: route, Status: 429, RetryAfter: 1500 * time.Millisecond, Times: 1})
		var refused *rest.Error
		if err := send(); !errors.As(err, &refused) || refused.Response.Header.Get("Retry-After") != "2" {
			t.Errorf("told to limit: %v", err)
		}
		if err := send(); err != nil {
			t.Error(err)
		}
		s.clean()
		if last := s.Requests(); last[len(last)-1].Path != "/channels/"+s.channel.String()+"/messages" || last[len(last)-1].Status != 200 {
			t.Errorf("requests %v", last)
		}
	})
}

func TestUnknownRouteAndToken(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	if _, err := s.rest.GetBans(s.guild, 0, 0, 0); err == nil || len(s.Violations()) != 1 {
		t.Errorf("a route that isn't there: %v, %v", err, s.Violations())
	}
	if _, err := s.rest.GetChannel(s.channel, rest.WithToken(discord.TokenTypeBot, "wrong")); err == nil {
		t.Error("a wrong token was let in")
	}
}
