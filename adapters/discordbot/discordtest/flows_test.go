package discordtest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/disgoorg/disgo"
	"github.com/disgoorg/disgo/bot"
	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/events"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/disgo/rest"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
)

// grow is a whole flow of a bot: an answer, a thread from it, a member in it, a
// message that is edited, and a reaction.
func grow(t *testing.T, jobs *sync.WaitGroup) func(*handler.Mux) {
	return func(mux *handler.Mux) {
		mux.SlashCommand("/plant", func(data discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
			if err := e.DeferCreateMessage(false); err != nil {
				return err
			}
			jobs.Go(func() {
				if err := growThread(e, data.String("what")); err != nil {
					t.Error(err)
				}
			})
			return nil
		})
	}
}

func growThread(e *handler.CommandEvent, name string) error {
	answer, err := e.UpdateInteractionResponse(discord.NewMessageUpdate().WithContent(name))
	if err != nil {
		return err
	}
	r := e.Client().Rest
	thread, err := r.CreateThreadFromMessage(answer.ChannelID, answer.ID, discord.ThreadCreateFromMessage{Name: name})
	if err != nil {
		return err
	}
	if err := r.AddThreadMember(thread.ID(), e.User().ID); err != nil {
		return err
	}
	status, err := r.CreateMessage(thread.ID(), text("growing"))
	if err != nil {
		return err
	}
	if _, err := r.UpdateMessage(thread.ID(), status.ID, discord.NewMessageUpdate().WithContent("grown")); err != nil {
		return err
	}
	return r.AddReaction(thread.ID(), status.ID, "🌳")
}

func TestFiftyFlows(t *testing.T) {
	t.Parallel()
	var jobs sync.WaitGroup
	s := newScene(t, grow(t, &jobs))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var flows sync.WaitGroup
	for i := range 50 {
		flows.Go(func() {
			name := fmt.Sprintf("tree %d", i)
			person := s.AddMember(s.guild, name)
			in := s.Command(person, s.channel, "plant", map[string]any{"what": name})
			if _, err := in.WaitFinal(ctx); err != nil {
				t.Error(err)
				return
			}
			thread, err := s.WaitThread(ctx, s.channel, func(c discordtest.Channel) bool { return c.Name == name && len(c.Members) == 2 })
			if err != nil {
				t.Error(err)
				return
			}
			_, err = s.WaitMessage(ctx, thread.ID, func(m discordtest.Message) bool {
				return m.Content == "grown" && len(m.Versions) == 2 && len(m.Reactions) == 1 && m.Reactions[0].Emoji == "🌳"
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	flows.Wait()
	jobs.Wait()
	s.clean()
	if got := len(s.Threads(s.channel)); got != 50 {
		t.Errorf("%d threads", got)
	}
}

func TestDeadlinesInVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := make(chan error, 1)
		var jobs sync.WaitGroup
		s := newScene(t, func(mux *handler.Mux) {
			mux.SlashCommand("/plant", func(data discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
				jobs.Go(func() {
					if data.String("what") == "slowly" {
						time.Sleep(3*time.Second + time.Millisecond)
						late <- e.CreateMessage(text("too late"))
						return
					}
					time.Sleep(3 * time.Second)
					if err := e.DeferCreateMessage(false); err != nil {
						t.Error(err)
					}
					time.Sleep(12 * time.Minute)
					if _, err := e.UpdateInteractionResponse(discord.NewMessageUpdate().WithContent("at last")); err != nil {
						t.Error(err)
					}
					time.Sleep(3 * time.Minute)
					_, err := e.CreateFollowupMessage(text("one more"))
					late <- err
				})
				return nil
			})
		})
		if _, err := s.Command(s.ada, s.channel, "plant", map[string]any{"what": "slowly"}).Wait(t.Context()); !errors.Is(err, discordtest.ErrNoAnswer) {
			t.Errorf("the wait for a late answer ended with %v", err)
		}
		s.refused(<-late, rest.JSONErrorCodeUnknownInteraction)
		in := s.Command(s.ada, s.channel, "plant", map[string]any{"what": "tree"})
		a, err := in.WaitFinal(t.Context())
		if err != nil || a.After != 3*time.Second || a.Message.Content != "at last" {
			t.Errorf("answer %+v, %v", a, err)
		}
		s.refused(<-late, rest.JSONErrorCodeInvalidWebhookToken)
		jobs.Wait()
	})
}

func TestKilledBotAndItsButtons(t *testing.T) {
	t.Parallel()
	heard := func(mux *handler.Mux) {
		mux.ButtonComponent("/water", func(_ discord.ButtonInteractionData, e *handler.ComponentEvent) error {
			return e.UpdateMessage(discord.NewMessageUpdate().WithContent("watered"))
		})
	}
	s := newScene(t, nil)
	sent := s.send(text("dry").AddActionRow(discord.NewPrimaryButton("Water", "/water")))
	s.Kill(s.client)
	if _, err := s.rest.CreateMessage(s.channel, text("from the grave")); err == nil || len(s.Messages(s.channel)) != 1 {
		t.Errorf("a killed bot was heard: %v", err)
	}
	s.start(heard)
	m, _ := s.Message(s.channel, sent.ID)
	if a := s.wait(s.Press(s.ada, m, "/water")); a.Message.Content != "watered" {
		t.Errorf("answer %+v", a)
	}
	s.clean()
}

func TestRealSocket(t *testing.T) {
	if racing {
		t.Skip("disgo's own gateway has data races")
	}
	t.Parallel()
	d := discordtest.New(discordtest.Options{DeniedIntents: gateway.IntentGuildPresences})
	defer d.Close()
	guild := d.AddGuild("garden")
	channel := d.AddChannel(guild, discord.ChannelTypeGuildText, "beds")
	ada := d.AddMember(guild, "ada")
	server, err := d.Serve(300 * time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	connect := func(ctx context.Context, token string, intents gateway.Intents, opts ...bot.ConfigOpt) (*bot.Client, error) {
		client, err := disgo.New(token, append(opts,
			bot.WithRestClientConfigOpts(rest.WithURL(server.APIURL), rest.WithRateLimiter(rest.NewNoopRateLimiter())),
			bot.WithGatewayConfigOpts(gateway.WithURL(server.GatewayURL), gateway.WithCompression(gateway.CompressionNone), gateway.WithIntents(intents)),
		)...)
		if err != nil {
			return nil, err
		}
		return client, client.OpenGateway(ctx)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := connect(ctx, d.Token()+"x", gateway.IntentGuilds); err == nil {
		t.Error("a wrong token was let in")
	}
	if _, err := connect(ctx, d.Token(), gateway.IntentGuildPresences); err == nil {
		t.Error("a denied intent was let in")
	}

	mux := handler.New()
	mux.SlashCommand("/plant", func(data discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
		return e.CreateMessage(text("a " + data.String("what")))
	})
	acked, resumed := make(chan struct{}, 100), make(chan struct{}, 1)
	heard := make(chan string, 10)
	client, err := connect(ctx, d.Token(), gateway.IntentGuilds|gateway.IntentGuildMessages, bot.WithEventListeners(mux),
		bot.WithEventListenerFunc(func(*events.HeartbeatAck) {
			select {
			case acked <- struct{}{}:
			default:
			}
		}),
		bot.WithEventListenerFunc(func(*events.Resumed) { resumed <- struct{}{} }),
		bot.WithEventListenerFunc(func(e *events.GuildMessageCreate) {
			if !e.Message.Author.Bot {
				heard <- e.Message.Content
			}
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(ctx)
	if err := handler.SyncCommands(client, commands, nil); err != nil {
		t.Fatal(err)
	}
	plant := func() {
		t.Helper()
		a, err := d.Command(ada, channel, "plant", map[string]any{"what": "tree"}).Wait(ctx)
		if err != nil || a.Message.Content != "a tree" {
			t.Errorf("answer %+v, %v", a, err)
		}
	}
	plant()
	<-acked
	server.Break()
	if _, err := d.Say(ada, channel, "<@"+d.BotID().String()+"> missed"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Say(ada, channel, "unheard"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-resumed:
	case <-ctx.Done():
		t.Fatal("the client did not resume")
	}
	plant()
	if first, second := <-heard, <-heard; first != "<@"+d.BotID().String()+"> missed" || second != "" {
		t.Errorf("without the message content intent the bot heard %q and %q", first, second)
	}
}
