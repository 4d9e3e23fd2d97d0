package discordtest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/disgoorg/disgo/bot"
	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/events"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
)

// scene is a guild with a channel, a person and a small bot.
type scene struct {
	*discordtest.Discord
	t       *testing.T
	guild   snowflake.ID
	channel snowflake.ID
	ada     snowflake.ID
	client  *bot.Client
	rest    rest.Rest
}

// commands are what the small bot registers.
var commands = []discord.ApplicationCommandCreate{
	discord.SlashCommandCreate{Name: "plant", Description: "Plants something", Options: []discord.ApplicationCommandOption{
		discord.ApplicationCommandOptionString{Name: "what", Description: "What to plant", Required: true, Autocomplete: true},
		discord.ApplicationCommandOptionUser{Name: "for", Description: "For whom"},
	}},
	discord.SlashCommandCreate{Name: "bed", Description: "Beds", Options: []discord.ApplicationCommandOption{
		discord.ApplicationCommandOptionSubCommand{Name: "dig", Description: "Digs one", Options: []discord.ApplicationCommandOption{
			discord.ApplicationCommandOptionInt{Name: "depth", Description: "How deep"},
		}},
	}},
}

// newScene starts the bot whose routes are given, if any.
func newScene(t *testing.T, routes func(*handler.Mux), opts ...bot.ConfigOpt) *scene {
	t.Helper()
	d := discordtest.New(discordtest.Options{})
	t.Cleanup(d.Close)
	s := &scene{Discord: d, t: t}
	s.guild = d.AddGuild("garden")
	s.channel = d.AddChannel(s.guild, discord.ChannelTypeGuildText, "beds")
	s.ada = d.AddMember(s.guild, "ada")
	s.start(routes, opts...)
	return s
}

// start makes a client, as a process of the bot does.
func (s *scene) start(routes func(*handler.Mux), opts ...bot.ConfigOpt) {
	s.t.Helper()
	mux := handler.New()
	if routes != nil {
		routes(mux)
	}
	client, err := s.NewClient(append(opts, bot.WithEventListeners(mux))...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.client, s.rest = client, client.Rest
	if err := handler.SyncCommands(client, commands, nil); err != nil {
		s.t.Fatal(err)
	}
	if err := s.Open(client); err != nil {
		s.t.Fatal(err)
	}
}

// clean fails the test with one line for each thing that Discord refused.
func (s *scene) clean() {
	s.t.Helper()
	for _, v := range s.Violations() {
		s.t.Error(v)
	}
	if p := s.Pings(); len(p) > 0 {
		s.t.Errorf("pinged %v", p)
	}
}

// refused fails the test unless err is Discord's refusal with the code, and was
// kept.
func (s *scene) refused(err error, code rest.JSONErrorCode) {
	s.t.Helper()
	if !rest.IsJSONErrorCode(err, code) {
		s.t.Errorf("got %v, want code %d", err, code)
	}
	v := s.Violations()
	if len(v) == 0 || v[len(v)-1].Code != code {
		s.t.Errorf("violations %v, want the last with code %d", v, code)
	}
}

func (s *scene) send(m discord.MessageCreate) *discord.Message {
	s.t.Helper()
	sent, err := s.rest.CreateMessage(s.channel, m)
	if err != nil {
		s.t.Fatal(err)
	}
	return sent
}

func (s *scene) wait(in *discordtest.Interaction) discordtest.Answer {
	s.t.Helper()
	a, err := in.Wait(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func text(s string) discord.MessageCreate { return discord.MessageCreate{Content: s} }

func TestCommandToMessage(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(mux *handler.Mux) {
		mux.SlashCommand("/plant", func(data discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
			if got := data.User("for"); got.Username != "ada" {
				t.Errorf("resolved user %q", got.Username)
			}
			if e.Member().Permissions.Missing(discord.PermissionSendMessages) || e.Channel().ID() == 0 {
				t.Error("the interaction lacks its permissions or channel")
			}
			return e.CreateMessage(text("a " + data.String("what")).AddActionRow(discord.NewPrimaryButton("Water", "/water/1")))
		})
		mux.ButtonComponent("/water/{id}", func(_ discord.ButtonInteractionData, e *handler.ComponentEvent) error {
			return e.UpdateMessage(discord.NewMessageUpdate().WithContent("watered " + e.Vars["id"]))
		})
		mux.SlashCommand("/bed/dig", func(data discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
			if data.Int("depth") != 3 {
				t.Errorf("depth %d", data.Int("depth"))
			}
			return e.CreateMessage(text("dug").WithFlags(discord.MessageFlagEphemeral))
		})
	})
	a := s.wait(s.Command(s.ada, s.channel, "plant", map[string]any{"what": "tree", "for": s.ada}))
	if a.Type != discord.InteractionResponseTypeCreateMessage || a.Message.Content != "a tree" || a.Message.Ephemeral() {
		t.Errorf("answer %+v", a)
	}
	button, ok := a.Message.Button("Water")
	if !ok {
		t.Fatal("no button")
	}
	a = s.wait(s.Press(s.ada, a.Message, button.CustomID))
	if a.Message.Content != "watered 1" || len(a.Message.Versions) != 2 || a.Message.Versions[0].Content != "a tree" {
		t.Errorf("after the press: %+v", a.Message)
	}
	a = s.wait(s.Command(s.ada, s.channel, "bed dig", map[string]any{"depth": 3}))
	bea := s.AddMember(s.guild, "bea")
	if a.Message.VisibleTo != s.ada || len(s.MessagesSeenBy(s.ada, s.channel)) != 2 || len(s.MessagesSeenBy(bea, s.channel)) != 1 || len(s.Messages(s.channel)) != 1 {
		t.Error("an ephemeral message is seen by others, or not by the one who asked")
	}
	if _, err := s.rest.GetMessage(s.channel, a.Message.ID); !rest.IsJSONErrorCode(err, rest.JSONErrorCodeUnknownMessage) {
		t.Errorf("the ephemeral message is in the channel: %v", err)
	}
	if got := s.Commands(0); len(got) != 2 || got[0] != "bed" {
		t.Errorf("commands %v", got)
	}
}

func TestDeferAndEdit(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	var working sync.WaitGroup
	s := newScene(t, func(mux *handler.Mux) {
		mux.SlashCommand("/plant", func(_ discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
			if err := e.DeferCreateMessage(true); err != nil {
				return err
			}
			working.Go(func() {
				<-proceed
				if _, err := e.UpdateInteractionResponse(discord.NewMessageUpdateV2(discord.NewTextDisplay("done"))); err != nil {
					t.Error(err)
				}
				if _, err := e.CreateFollowupMessage(text("and more")); err != nil {
					t.Error(err)
				}
			})
			return nil
		})
	})
	in := s.Command(s.ada, s.channel, "plant", map[string]any{"what": "tree"})
	if a := s.wait(in); !a.Deferred() || !a.Message.Loading() || !a.Message.Ephemeral() {
		t.Errorf("first answer %+v", a)
	}
	close(proceed)
	a, err := in.WaitAnswer(t.Context(), func(a discordtest.Answer) bool { return len(a.FollowUps) == 1 })
	if err != nil {
		t.Fatal(err)
	}
	if a.Message.Text() != "done" || a.Message.Loading() || !a.Message.Ephemeral() || a.FollowUps[0].Content != "and more" {
		t.Errorf("final answer %+v", a)
	}
	working.Wait()
	s.clean()
}

func TestFollowUpAfterDeferIsTheAnswer(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(mux *handler.Mux) {
		mux.SlashCommand("/plant", func(_ discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
			if err := e.DeferCreateMessage(false); err != nil {
				return err
			}
			_, err := e.CreateFollowupMessage(text("here"))
			return err
		})
	})
	a, err := s.Command(s.ada, s.channel, "plant", map[string]any{"what": "x"}).WaitFinal(t.Context())
	if err != nil || a.Message.Content != "here" || len(a.FollowUps) != 0 {
		t.Errorf("answer %+v, %v", a, err)
	}
}

func TestNotOffered(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	m, ok := s.Message(s.channel, s.send(text("x")).ID)
	if !ok {
		t.Fatal("no message")
	}
	quiet := s.AddMember(s.guild, "quiet")
	s.SetPermissions(s.channel, quiet, discord.PermissionViewChannel)
	for name, in := range map[string]*discordtest.Interaction{
		"unknown command":    s.Command(s.ada, s.channel, "burn", nil),
		"unknown subcommand": s.Command(s.ada, s.channel, "bed make", nil),
		"missing option":     s.Command(s.ada, s.channel, "plant", nil),
		"unknown option":     s.Command(s.ada, s.channel, "plant", map[string]any{"what": "x", "when": "now"}),
		"wrong type":         s.Command(s.ada, s.channel, "plant", map[string]any{"what": 1}),
		"no button":          s.Press(s.ada, m, "/water/1"),
		"no permission":      s.Command(quiet, s.channel, "plant", map[string]any{"what": "x"}),
		"no channel":         s.Command(s.ada, 1, "plant", map[string]any{"what": "x"}),
	} {
		if _, err := in.Wait(t.Context()); !errors.Is(err, discordtest.ErrNotOffered) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAutocomplete(t *testing.T) {
	t.Parallel()
	many := 0
	s := newScene(t, func(mux *handler.Mux) {
		mux.Autocomplete("/plant", func(e *handler.AutocompleteEvent) error {
			if e.Data.String("what") == "many" {
				choices := make([]discord.AutocompleteChoice, 26)
				for i := range choices {
					choices[i] = discord.AutocompleteChoiceString{Name: "x", Value: "x"}
				}
				err := e.AutocompleteResult(choices)
				if rest.IsJSONErrorCode(err, rest.JSONErrorCodeInvalidFormBody) {
					many++
				}
				return e.AutocompleteResult([]discord.AutocompleteChoice{})
			}
			return e.AutocompleteResult([]discord.AutocompleteChoice{discord.AutocompleteChoiceString{Name: "Tree", Value: "tree"}})
		})
	})
	choices, err := s.Autocomplete(t.Context(), s.ada, s.channel, "plant", map[string]any{"what": "tr"}, "what")
	if err != nil || len(choices) != 1 || choices[0] != (discordtest.Choice{Name: "Tree", Value: "tree"}) {
		t.Errorf("choices %v, %v", choices, err)
	}
	choices, err = s.Autocomplete(t.Context(), s.ada, s.channel, "plant", map[string]any{"what": "many"}, "what")
	if err != nil || len(choices) != 0 || many != 1 {
		t.Errorf("choices %v, %v, %d refused", choices, err, many)
	}
}

func TestSelectAndModal(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(mux *handler.Mux) {
		mux.SelectMenuComponent("/pick", func(data discord.SelectMenuInteractionData, e *handler.ComponentEvent) error {
			values := data.(discord.StringSelectMenuInteractionData).Values
			return e.Modal(discord.ModalCreate{CustomID: "/name/" + values[0], Title: "Name", Components: []discord.LayoutComponent{
				discord.NewLabel("Name", discord.NewShortTextInput("name")),
			}})
		})
		mux.Modal("/name/{what}", func(e *handler.ModalEvent) error {
			return e.CreateMessage(text(e.Vars["what"] + " " + e.Data.Text("name")))
		})
	})
	sent := s.send(text("pick").AddActionRow(discord.NewStringSelectMenu("/pick", "what", discord.NewStringSelectMenuOption("Tree", "tree"))))
	m, _ := s.Message(s.channel, sent.ID)
	if _, err := s.Select(s.ada, m, "/pick", "stone").Wait(t.Context()); !errors.Is(err, discordtest.ErrNotOffered) {
		t.Errorf("a value that isn't offered: %v", err)
	}
	in := s.Select(s.ada, m, "/pick", "tree")
	s.wait(in)
	if a := s.wait(s.Submit(s.ada, in, map[string]string{"name": "Oak"})); a.Message.Content != "tree Oak" {
		t.Errorf("answer %+v", a)
	}
	s.clean()
}

func TestEvents(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	note := func(s string) { mu.Lock(); defer mu.Unlock(); seen = append(seen, s) }
	s := newScene(t, nil, bot.WithEventListeners(&events.ListenerAdapter{
		OnReady:                   func(e *events.Ready) { note("ready " + e.User.Username) },
		OnGuildReady:              func(e *events.GuildReady) { note("guild " + e.Guild.Name) },
		OnGuildMessageCreate:      func(e *events.GuildMessageCreate) { note("message " + e.Message.Content) },
		OnGuildMessageUpdate:      func(e *events.GuildMessageUpdate) { note("edit " + e.Message.Content) },
		OnGuildMessageDelete:      func(*events.GuildMessageDelete) { note("message gone") },
		OnThreadCreate:            func(e *events.ThreadCreate) { note("thread " + e.Thread.Name()) },
		OnThreadUpdate:            func(e *events.ThreadUpdate) { note("thread is " + e.Thread.Name()) },
		OnThreadDelete:            func(*events.ThreadDelete) { note("thread gone") },
		OnGuildMemberJoin:         func(e *events.GuildMemberJoin) { note("join " + e.Member.User.Username) },
		OnGuildMemberLeave:        func(e *events.GuildMemberLeave) { note("leave " + e.User.Username) },
		OnGuildChannelDelete:      func(e *events.GuildChannelDelete) { note("channel gone " + e.Channel.Name()) },
		OnGuildMessageReactionAdd: func(e *events.GuildMessageReactionAdd) { note("reaction " + *e.Emoji.Name) },
	}))
	m, err := s.Say(s.ada, s.channel, "hello")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EditMessage(m, "hallo"); err != nil {
		t.Fatal(err)
	}
	s.React(s.ada, m, "🌳")
	thread, err := s.StartThread(s.ada, m, "talk")
	if err != nil || thread.ID != m.ID {
		t.Fatalf("thread %+v, %v", thread, err)
	}
	s.Rename(thread.ID, "talks")
	s.DeleteMessage(m)
	s.DeleteChannel(thread.ID)
	bea := s.AddMember(s.guild, "bea")
	s.RemoveMember(s.guild, bea)
	s.DeleteChannel(s.channel)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ready bot", "guild garden", "message hello", "edit hallo", "reaction 🌳", "thread talk", "thread is talks",
		"message gone", "thread gone", "join bea", "leave bea", "channel gone beds",
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != len(want) {
		t.Fatalf("events %q, want %q", seen, want)
	}
	for i := range want {
		if seen[i] != want[i] {
			t.Errorf("event %d is %q, want %q", i, seen[i], want[i])
		}
	}
}
