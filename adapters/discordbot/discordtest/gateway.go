package discordtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/disgoorg/disgo"
	"github.com/disgoorg/disgo/bot"
	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"
)

// session is what events are delivered to, in order. Its fields are guarded by
// the Discord's mutex.
type session struct {
	d         *Discord
	id        string
	intents   gateway.Intents
	deliver   func(frame)
	open      bool // gets new events
	killed    bool
	seq       int
	queue     []frame
	history   []frame // of a websocket, for resuming
	keep      bool    // whether there is a history
	delivered int
	draining  bool
	conn      *gatewayConn // of a websocket
}

type frame struct {
	seq  int
	kind gateway.EventType
	data []byte
}

// end drops what has not been delivered; d.mu is held.
func (s *session) end() { s.open, s.queue = false, nil }

// push queues an event and sees to it that somebody delivers it; d.mu is held.
func (s *session) push(kind gateway.EventType, o object) {
	if !s.open {
		return
	}
	data, err := json.Marshal(o)
	if err != nil {
		panic("discordtest: " + err.Error())
	}
	s.seq++
	f := frame{s.seq, kind, data}
	if s.keep {
		s.history = append(s.history, f)
	}
	if s.deliver != nil {
		s.queue = append(s.queue, f)
		s.start()
	}
}

// start begins to deliver; d.mu is held. The goroutine is gone as soon as the
// queue is empty.
func (s *session) start() {
	if s.draining || len(s.queue) == 0 {
		return
	}
	s.draining = true
	s.d.running.Go(s.drain)
}

func (s *session) drain() {
	d := s.d
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(s.queue) > 0 {
		f := s.queue[0]
		s.queue = s.queue[1:]
		deliver := s.deliver
		d.mu.Unlock()
		deliver(f)
		d.mu.Lock()
		s.delivered = f.seq
		d.touch()
	}
	s.draining = false
	d.touch()
}

// emit tells all sessions; d.mu is held.
func (d *Discord) emit(kind gateway.EventType, need gateway.Intents, o object) {
	for _, s := range d.sessions {
		if s.intents.Has(need) {
			s.push(kind, o)
		}
	}
}

// greet sends what a bot gets after it has identified; d.mu is held.
func (s *session) greet(resumeURL string) {
	d, guilds := s.d, []object{}
	for _, g := range d.guilds {
		guilds = append(guilds, object{"id": g.id, "unavailable": true})
	}
	s.push(gateway.EventTypeReady, object{
		"v": gateway.Version, "user": d.bot.wire(), "guilds": guilds, "session_id": s.id,
		"resume_gateway_url": resumeURL, "shard": []int{0, 1}, "application": object{"id": d.bot.id, "flags": 0},
	})
	for _, g := range d.guilds {
		s.push(gateway.EventTypeGuildCreate, d.gatewayWire(g))
	}
}

// ConfigOpts are the options of a client that talks to d: REST in process, a
// gateway object that needs no network, no rate limiter of its own, and allowed
// mentions that allow nobody. A client that is made with them, and with
// [Discord.Token], is made known by [Discord.Attach]; NewClient does both.
func (d *Discord) ConfigOpts() []bot.ConfigOpt {
	s := &session{d: d, intents: d.opts.Intents}
	return []bot.ConfigOpt{
		bot.WithGateway(&inProcess{session: s}),
		bot.WithRestClientConfigOpts(
			rest.WithURL(APIURL),
			rest.WithHTTPClient(&http.Client{Transport: &transport{d: d, session: s}}),
			rest.WithRateLimiter(rest.NewNoopRateLimiter()),
		),
		bot.WithRestConfigOpts(rest.WithDefaultAllowedMentions(discord.AllowedMentions{
			Parse: []discord.AllowedMentionType{}, Roles: []snowflake.ID{}, Users: []snowflake.ID{},
		})),
	}
}

// Attach makes a client known whose options were [Discord.ConfigOpts]. It fails
// for any other client.
func (d *Discord) Attach(client *bot.Client) error {
	g, ok := client.Gateway.(*inProcess)
	if !ok || g.session.d != d {
		return errors.New("discordtest: the client was not made with the options of this Discord")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	g.session.deliver = func(f frame) {
		event, err := gateway.UnmarshalEventData(f.data, f.kind)
		if err != nil {
			panic(fmt.Sprintf("discordtest: %s: %v in %s", f.kind, err, f.data))
		}
		client.EventManager.HandleGatewayEvent(g, f.kind, f.seq, event)
	}
	d.sessions = append(d.sessions, g.session)
	return nil
}

// NewClient returns a client that talks to d; opts come after, and so before,
// its own. It gets events once it is opened.
func (d *Discord) NewClient(opts ...bot.ConfigOpt) (*bot.Client, error) {
	client, err := disgo.New(d.token, append(d.ConfigOpts(), opts...)...)
	if err != nil {
		return nil, err
	}
	return client, d.Attach(client)
}

// Open connects the client's gateway and returns when READY and GUILD_CREATE for
// every guild have been handled.
func (d *Discord) Open(client *bot.Client) error {
	return client.OpenGateway(context.Background())
}

// Kill ends a client as if its process had died: it gets no more events, and its
// requests that have not been carried out break. Another client may take its
// place.
func (d *Discord) Kill(client *bot.Client) {
	g, ok := client.Gateway.(*inProcess)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	g.session.killed = true
	g.session.end()
}

// Connected returns how many clients get events now.
func (d *Discord) Connected() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, s := range d.sessions {
		if s.open && s.deliver != nil {
			n++
		}
	}
	return n
}

// Settle blocks until every event sent so far has been handled by the listeners
// of every client, or until ctx ends.
func (d *Discord) Settle(ctx context.Context) error {
	return d.wait(ctx, func() bool {
		for _, s := range d.sessions {
			if s.draining || len(s.queue) > 0 {
				return false
			}
		}
		return true
	})
}

// inProcess is the gateway object of a client in this process.
type inProcess struct{ session *session }

var _ gateway.Gateway = (*inProcess)(nil)

func (g *inProcess) ShardID() int                                 { return 0 }
func (g *inProcess) ShardCount() int                              { return 1 }
func (g *inProcess) ResumeURL() *string                           { return nil }
func (g *inProcess) Intents() gateway.Intents                     { return g.session.intents }
func (g *inProcess) Latency() time.Duration                       { return time.Millisecond }
func (g *inProcess) Presence() *gateway.MessageDataPresenceUpdate { return nil }

func (g *inProcess) SessionID() *string {
	g.session.d.mu.Lock()
	defer g.session.d.mu.Unlock()
	id := g.session.id
	return &id
}

func (g *inProcess) LastSequenceReceived() *int {
	g.session.d.mu.Lock()
	defer g.session.d.mu.Unlock()
	seq := g.session.delivered
	return &seq
}

// Open begins the session and returns when its first events have been handled.
func (g *inProcess) Open(ctx context.Context) error {
	s, d := g.session, g.session.d
	d.mu.Lock()
	switch {
	case d.closed:
		d.mu.Unlock()
		return ErrClosed
	case s.deliver == nil:
		d.mu.Unlock()
		return errors.New("discordtest: the client is not attached")
	case s.open:
		d.mu.Unlock()
		return discord.ErrGatewayAlreadyConnected
	case s.killed:
		d.mu.Unlock()
		return errDropped
	}
	s.open, s.id = true, d.newID().String()
	s.greet("")
	last := s.seq
	d.mu.Unlock()
	return d.wait(ctx, func() bool { return s.delivered >= last || !s.open })
}

func (g *inProcess) Close(ctx context.Context) { g.CloseWithCode(ctx, 1000, "") }

func (g *inProcess) CloseWithCode(context.Context, int, string) {
	g.session.d.mu.Lock()
	defer g.session.d.mu.Unlock()
	g.session.end()
}

func (g *inProcess) Status() gateway.Status {
	g.session.d.mu.Lock()
	defer g.session.d.mu.Unlock()
	if g.session.open {
		return gateway.StatusReady
	}
	return gateway.StatusDisconnected
}

// Send takes any command and does nothing, as presence and voice are not kept.
func (g *inProcess) Send(context.Context, gateway.Opcode, gateway.MessageData) error {
	if g.Status() != gateway.StatusReady {
		return discord.ErrShardNotReady
	}
	return nil
}
