package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/disgoorg/disgo"
	"github.com/disgoorg/disgo/bot"
	"github.com/disgoorg/disgo/cache"
	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"
	"github.com/gorilla/websocket"

	"github.com/threadtree/threadtree/adapters/discordbot"
	"github.com/threadtree/threadtree/workspace"
)

// connectTimeout bounds the first connection to Discord.
const connectTimeout = time.Minute

// serve runs the bot until ctx ends.
func serve(ctx context.Context, o options, log *slog.Logger, stdout io.Writer) (err error) {
	l, err := assemble(ctx, o, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	tree, err := discordbot.New(discordbot.Config{
		Manager: l.manager, Merger: l.merger, Reviewer: l.reviewer, Store: l.store, Agent: l.agent,
		Authorizer: discordbot.ByPermission{Roles: ids(o.Role)}, Setup: o.Setup, Logger: log,
	})
	if err != nil {
		return err
	}
	mux := handler.New()
	tree.Register(mux)
	// A token or an intent may be taken back while the bot runs.
	lost := make(chan error, 1)
	onClose := gateway.WithCloseHandler(func(_ gateway.Gateway, err error, _ bool) {
		select {
		case lost <- err:
		default:
		}
	})
	client, err := disgo.New(o.Token, append(clientOptions(o, log, mux, tree), bot.WithGatewayConfigOpts(onClose))...)
	if err != nil {
		return noClient(err)
	}
	defer closeClient(client)
	defer finish(ctx, tree, log)
	projects, err := channels(ctx, o, l, client, log)
	if err != nil {
		return err
	}
	l.reconcile(ctx, projects, log)
	if err := handler.SyncCommands(client, tree.Commands(), ids(o.Guild), rest.WithCtx(ctx)); err != nil {
		return explain(err)
	}
	// What an earlier run left is taken up before anything new comes in.
	if err := tree.Start(ctx, client); err != nil {
		return err
	}
	if err := connect(ctx, client); err != nil {
		return explain(err)
	}
	if o.Health != "" {
		stop, err := health(ctx, o.Health, client)
		if err != nil {
			return err
		}
		defer stop()
	}
	running, stopSpares := context.WithCancel(ctx)
	waitSpares := l.keepSpares(running, projects, log)
	defer func() { stopSpares(); waitSpares() }()
	fmt.Fprintf(stdout, "ready: %s, %s\n", counted(len(tree.Commands()), "command"), counted(len(projects), "project"))
	select {
	case err := <-lost:
		return explain(fmt.Errorf("the connection to Discord is closed: %w", err))
	case <-ctx.Done():
	}
	fmt.Fprintln(stdout, "stopping: finishing what is under way")
	return nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// finish lets what is under way come to its end, for a while.
func finish(ctx context.Context, tree *discordbot.Bot, log *slog.Logger) {
	calm, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := tree.Close(calm); err != nil {
		log.Warn("some work was cut off; it is put right at the next start", "error", err)
	}
}

// clientOptions are how the client speaks with Discord.
func clientOptions(o options, log *slog.Logger, mux *handler.Mux, tree *discordbot.Bot) []bot.ConfigOpt {
	// At debug level the client would log bodies and the token.
	quiet := slog.New(atLeast{slog.LevelInfo, log.Handler()})
	gatewayOptions := []gateway.ConfigOpt{
		gateway.WithIntents(gateway.IntentGuilds, gateway.IntentGuildMessages, gateway.IntentMessageContent),
	}
	if o.GatewayURL != "" {
		gatewayOptions = append(gatewayOptions, gateway.WithURL(o.GatewayURL), gateway.WithCompression(gateway.CompressionNone))
	}
	restOptions := []rest.ClientConfigOpt{}
	if o.APIURL != "" {
		restOptions = append(restOptions, rest.WithURL(o.APIURL))
	}
	return []bot.ConfigOpt{
		bot.WithLogger(quiet),
		bot.WithGatewayConfigOpts(gatewayOptions...),
		bot.WithRestClientConfigOpts(restOptions...),
		bot.WithRestConfigOpts(rest.WithDefaultAllowedMentions(discord.AllowedMentions{
			Parse: []discord.AllowedMentionType{}, Roles: []snowflake.ID{}, Users: []snowflake.ID{},
		})),
		bot.WithCacheConfigOpts(cache.WithCaches(cache.FlagsNone)),
		bot.WithEventListeners(mux, tree.Listener()),
	}
}

// atLeast leaves out what is below a level.
type atLeast struct {
	level slog.Level
	slog.Handler
}

func (h atLeast) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level && h.Handler.Enabled(ctx, level)
}

func (h atLeast) WithAttrs(attrs []slog.Attr) slog.Handler {
	return atLeast{h.level, h.Handler.WithAttrs(attrs)}
}

func (h atLeast) WithGroup(name string) slog.Handler {
	return atLeast{h.level, h.Handler.WithGroup(name)}
}

// channels notes the projects that were given, and returns all that there are.
// A channel that the bot can't see is said, and does not keep it from others.
func channels(ctx context.Context, o options, l *library, client *bot.Client, log *slog.Logger) (map[string]bool, error) {
	for key, directory := range o.Project {
		id := snowflake.ID(key)
		seen, err := client.Rest.GetChannel(id, rest.WithCtx(ctx))
		if unauthorized(err) {
			return nil, explain(err)
		}
		guild := ""
		if channel, ok := seen.(discord.GuildChannel); ok {
			guild = channel.GuildID().String()
		}
		if err != nil {
			log.Warn("the bot can't see a channel: invite it to the server, and let it view the channel", "channel", id, "error", err)
		}
		channel, err := l.store.Channel(ctx, id.String())
		if err != nil && !errors.Is(err, workspace.ErrNotFound) {
			return nil, err
		}
		channel.ID, channel.Directory = id.String(), directory
		if guild != "" {
			channel.GuildID = guild
		}
		if err := l.store.PutChannel(ctx, channel); err != nil {
			return nil, err
		}
	}
	all, err := l.store.ListChannels(ctx, "")
	if err != nil {
		return nil, err
	}
	projects := make(map[string]bool)
	for _, channel := range all {
		if channel.Directory != "" {
			projects[channel.Directory] = true
		}
	}
	return projects, nil
}

// connect opens the gateway.
func connect(ctx context.Context, client *bot.Client) error {
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, fmt.Errorf("no answer from Discord within %s", connectTimeout))
	defer cancel()
	if err := client.OpenGateway(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return err
	}
	return nil
}

// noClient says why there is no client: the token alone is looked at, and the
// gateway's address asked for.
func noClient(err error) error {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("no way to Discord: %w", err)
	}
	if _, ok := errors.AsType[*rest.Error](err); ok {
		return explain(err)
	}
	return errors.New("the token is not one of Discord's: copy it again from the developer portal (your application, Bot, Reset Token)")
}

// explain says what to do about an error of Discord's, in a line.
func explain(err error) error {
	var closed *websocket.CloseError
	switch {
	case unauthorized(err), errors.As(err, &closed) && closed.Code == 4004:
		return errors.New("the token is refused by Discord: copy it again from the developer portal (your application, Bot, Reset Token)")
	case errors.As(err, &closed) && closed.Code == 4014:
		return errors.New("an intent is refused by Discord: switch on Message Content Intent in the developer portal (your application, Bot)")
	case rest.IsJSONErrorCode(err, rest.JSONErrorCodeMissingAccess):
		return errors.New("the bot is not on that server, or was invited without the applications.commands scope: invite it again with the link in the README")
	}
	return err
}

// unauthorized reports whether Discord refused the token.
func unauthorized(err error) bool {
	refused, ok := errors.AsType[*rest.Error](err)
	return ok && refused.Response != nil && refused.Response.StatusCode == http.StatusUnauthorized
}

// health answers whether the bot is connected.
func health(ctx context.Context, address string, client *bot.Client) (stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		status := client.Gateway.Status()
		if status != gateway.StatusReady {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, status)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(l) }()
	return func() { _ = server.Close() }, nil
}

func closeClient(client *bot.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client.Close(ctx)
}
