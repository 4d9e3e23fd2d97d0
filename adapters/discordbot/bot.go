package discordbot

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/disgoorg/disgo/bot"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/workspace"
)

// Store is what the bot remembers besides workspaces.
type Store interface {
	workspace.Channels
	workspace.Notes
}

// Config is what a [Bot] works with. Manager, Merger, Reviewer and Store are
// needed.
type Config struct {
	Manager  *workspace.Manager
	Merger   *workspace.Merger
	Reviewer *workspace.Reviewer
	Store    Store
	// Agent answers what is said in the threads; nil for a bot without one.
	Agent workspace.Agent
	// Authorizer says who may do what, [ByPermission] if nil.
	Authorizer Authorizer
	// Names are the names of the commands, [DefaultNames] if nil. A command
	// that isn't in it is left out.
	Names map[Command]string
	// Texts replaces texts by their defaults; see [Text].
	Texts map[Text]string
	// Setup allows the set-up of fresh workspaces, code of the repository's
	// included.
	Setup bool
	// DraftPrefix begins the title of a thread whose work isn't home yet,
	// "⬦ " if empty.
	DraftPrefix string
	// OnError hears of each error that nobody in a chat can be told, or that
	// is a fault of the program. It may be called concurrently.
	OnError func(ctx context.Context, err error)
	// Logger is slog.Default if nil.
	Logger *slog.Logger
	// Now is the clock, time.Now if nil.
	Now func() time.Time
}

// Bot is the adapter. It is safe for concurrent use.
type Bot struct {
	cfg Config

	// ctx is the work's; it ends when Close has waited long enough.
	ctx    context.Context
	cancel context.CancelFunc

	mu sync.Mutex
	// closing is true once no new work is taken, and closed once nothing is;
	// drained is closed then.
	closing, closed bool
	drained         chan struct{}
	// busy is how many pieces of work there are.
	busy int
	rest rest.Rest
	self snowflake.ID
	// lanes are the agents' turns, by thread.
	lanes map[snowflake.ID]*lane
	// pressed are the buttons whose work isn't over, by custom id and message.
	pressed map[string]bool
	// rights are what was last found out of who may do what, by thread.
	rights map[snowflake.ID]rights
	// stands is how threads stand of which something was heard that isn't noted
	// yet, and standing is true while somebody is at it.
	stands   map[snowflake.ID]workspace.ThreadState
	standing bool
	// lookAhead is precheckWithin.
	lookAhead time.Duration
	// named puts the commands' names into the texts.
	named *strings.Replacer
	// dropped is when old notes were dropped.
	dropped time.Time
	// lists are the lists at which somebody is, by their keys.
	lists map[string]*listLock
}

// New checks the configuration and returns a bot that does nothing yet.
func New(cfg Config) (*Bot, error) {
	if cfg.Manager == nil || cfg.Merger == nil || cfg.Reviewer == nil || cfg.Store == nil {
		return nil, &workspace.Error{
			Code: workspace.ErrInternal, Message: "the bot's configuration lacks Manager, Merger, Reviewer or Store",
		}
	}
	if cfg.Authorizer == nil {
		cfg.Authorizer = ByPermission{}
	}
	if cfg.Names == nil {
		cfg.Names = DefaultNames()
	}
	if cfg.DraftPrefix == "" {
		cfg.DraftPrefix = "⬦ "
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	b := &Bot{
		cfg: cfg, drained: make(chan struct{}), lookAhead: precheckWithin, lanes: make(map[snowflake.ID]*lane), pressed: make(map[string]bool),
		rights: make(map[snowflake.ID]rights), stands: make(map[snowflake.ID]workspace.ThreadState), lists: make(map[string]*listLock),
	}
	b.named = namer(cfg.Names)
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b, nil
}

// Register puts the commands and buttons on a router, which must be a root one:
// custom ids begin with /tt/.
func (b *Bot) Register(r handler.Router) {
	b.registerCommands(r)
	b.registerButtons(r)
}

// Listener returns what hears messages and threads. Add it to the client
// beside the router.
func (b *Bot) Listener() bot.EventListener { return bot.NewListenerFunc(b.onEvent) }

// Start has the bot speak through a client, and goes on with what an earlier
// run left: workspaces that were being made, merges, and messages that wait, so
// that every thread ends with what is true. Reconcile the projects before, and
// connect to the gateway after: Start needs the client's REST side alone, and
// takes messages that were handed on by then for ones of an earlier run.
func (b *Bot) Start(ctx context.Context, client *bot.Client) error {
	b.mu.Lock()
	b.rest, b.self = client.Rest, client.ApplicationID
	b.mu.Unlock()
	said, err := b.lastSaid(ctx)
	err = errors.Join(err, b.dropStarted(ctx), b.resumeStatus(ctx), b.resumeAsked(ctx), b.resumeQueues(ctx))
	b.spawn("look at the threads", func(ctx context.Context) { b.lookAtThreads(ctx, said) })
	b.dropOldDaily()
	return err
}

// api is the way to Discord.
func (b *Bot) api() rest.Rest {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rest
}

// remember keeps the way to Discord of an event, for a bot that was not
// started yet.
func (b *Bot) remember(client *bot.Client) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rest == nil {
		b.rest, b.self = client.Rest, client.ApplicationID
	}
}
