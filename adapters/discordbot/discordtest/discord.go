package discordtest

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/snowflake/v2"
)

const (
	defaultAnswerWithin = 3 * time.Second
	followUpWithin      = 15 * time.Minute
	renameWindow        = 10 * time.Minute
	renamesPerWindow    = 2
)

// ErrClosed is returned by requests and waits that a closed [Discord] ends.
var ErrClosed = errors.New("discordtest: closed")

// Options say how a [Discord] behaves. The zero value is ready to use.
type Options struct {
	// Now is the clock that deadlines, rate limits and timestamps go by. The
	// default is time.Now, which testing/synctest makes virtual.
	Now func() time.Time
	// BotName is the name of the bot's user; the default is "bot".
	BotName string
	// AnswerWithin is the time in which an interaction wants its first answer;
	// the default is Discord's 3 seconds.
	AnswerWithin time.Duration
	// DeniedIntents are privileged intents that the developer portal has not
	// granted: a websocket that identifies with one is closed with code 4014.
	DeniedIntents gateway.Intents
	// Intents are those that in-process clients get events for; the default is
	// all of them.
	Intents gateway.Intents
}

// Discord is an in-process Discord. It is safe for concurrent use.
type Discord struct {
	opts    Options
	routes  *http.ServeMux
	done    chan struct{}
	running sync.WaitGroup

	mu           sync.Mutex
	changed      chan struct{}
	closed       bool
	lastID       snowflake.ID
	bot          *user
	token        string
	guilds       []*guild
	users        map[snowflake.ID]*user
	channels     map[snowflake.ID]*channel
	interactions map[string]*Interaction
	commands     map[snowflake.ID][]*command // by guild, 0 for global ones
	sessions     []*session
	failures     []*failure
	requests     []Request
	violations   []Violation
}

// New returns a Discord with a bot user and nothing else. The caller closes it.
func New(opts Options) *Discord {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.BotName == "" {
		opts.BotName = "bot"
	}
	if opts.AnswerWithin == 0 {
		opts.AnswerWithin = defaultAnswerWithin
	}
	if opts.Intents == 0 {
		opts.Intents = gateway.IntentsAll
	}
	d := &Discord{
		opts:         opts,
		done:         make(chan struct{}),
		changed:      make(chan struct{}),
		users:        map[snowflake.ID]*user{},
		channels:     map[snowflake.ID]*channel{},
		interactions: map[string]*Interaction{},
		commands:     map[snowflake.ID][]*command{},
	}
	d.bot = d.newUser(opts.BotName, true)
	d.token = base64.RawStdEncoding.EncodeToString([]byte(d.bot.id.String())) + ".discordtest.token"
	d.routes = d.newRoutes()
	return d
}

// Close ends all sessions and delayed answers; requests and waits from then on
// return [ErrClosed]. It waits for the event listeners that are running, so it
// must not be called from one. Closing twice is fine.
func (d *Discord) Close() {
	d.mu.Lock()
	if !d.closed {
		d.closed = true
		close(d.done)
		for _, s := range d.sessions {
			s.end()
		}
		d.touch()
	}
	d.mu.Unlock()
	d.running.Wait()
}

// Token returns the bot's token. Its first part is the application's id, as
// disgo wants it.
func (d *Discord) Token() string { return d.token }

// BotID returns the id of the bot's user, which is the application's id too.
func (d *Discord) BotID() snowflake.ID { return d.bot.id }

// newID returns an id greater than all before it. Ids carry the time as
// Discord's do, except where the clock is before Discord's epoch, as in a
// testing/synctest bubble.
func (d *Discord) newID() snowflake.ID {
	id := snowflake.ID(1 << 22)
	if ms := d.opts.Now().UnixMilli() - snowflake.Epoch; ms > 0 {
		id = snowflake.ID(ms << 22)
	}
	d.lastID = max(d.lastID+1, id)
	return d.lastID
}

// touch wakes everybody who waits for a change; d.mu is held.
func (d *Discord) touch() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// wait blocks until ready, which runs with d.mu held, is true. It ends early
// with ctx's error, or with ErrClosed.
func (d *Discord) wait(ctx context.Context, ready func() bool) error {
	for {
		d.mu.Lock()
		ok, closed, changed := ready(), d.closed, d.changed
		d.mu.Unlock()
		switch {
		case ok:
			return nil
		case closed:
			return ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// WaitFor blocks until ready returns true; it is asked again after every change.
// It returns ctx's error if that ends first, and [ErrClosed] after Close. ready
// may call the methods of d that read.
func (d *Discord) WaitFor(ctx context.Context, ready func() bool) error {
	for {
		d.mu.Lock()
		closed, changed := d.closed, d.changed
		d.mu.Unlock()
		switch {
		case ready():
			return nil
		case closed:
			return ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// DefaultPermissions are what members and the bot may do unless the test says
// otherwise: read, write, react, attach, start and write in threads, and use
// commands.
const DefaultPermissions = discord.PermissionViewChannel | discord.PermissionSendMessages |
	discord.PermissionReadMessageHistory | discord.PermissionAddReactions |
	discord.PermissionEmbedLinks | discord.PermissionAttachFiles |
	discord.PermissionCreatePublicThreads | discord.PermissionCreatePrivateThreads |
	discord.PermissionSendMessagesInThreads | discord.PermissionUseApplicationCommands |
	discord.PermissionConnect

// DefaultBotPermissions are what the bot may do in a new guild:
// [DefaultPermissions] and to manage threads and messages.
const DefaultBotPermissions = DefaultPermissions |
	discord.PermissionManageThreads | discord.PermissionManageMessages
