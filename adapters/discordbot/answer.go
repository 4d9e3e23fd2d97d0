package discordbot

import (
	"context"

	"github.com/disgoorg/disgo/bot"
	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"
)

// place is where an interaction happened.
type place struct {
	Guild snowflake.ID `json:"guild"`
	// Channel is the one that has a project; Thread is 0 outside of a thread.
	Channel snowflake.ID `json:"channel"`
	Thread  snowflake.ID `json:"thread,omitempty"`
	// Title is the thread's, Kind what kind of thread it is, and Invitable
	// whether everybody in a private one may add others.
	Title     string              `json:"title,omitempty"`
	Kind      discord.ChannelType `json:"kind,omitempty"`
	Invitable bool                `json:"invitable,omitempty"`
}

// placeOf returns where an interaction happened; ok is false elsewhere than in
// a text or announcement channel of a server, or a thread.
func placeOf(i discord.Interaction) (at place, ok bool) {
	guild := i.GuildID()
	if guild == nil {
		return place{}, false
	}
	at.Guild = *guild
	switch channel := i.Channel().MessageChannel.(type) {
	case discord.GuildThread:
		parent := channel.ParentID()
		if parent == nil {
			return place{}, false
		}
		at.Channel, at.Thread, at.Title = *parent, channel.ID(), channel.Name()
		at.Kind, at.Invitable = channel.Type(), channel.ThreadMetadata.Invitable
	case discord.GuildTextChannel:
		at.Channel = channel.ID()
	case discord.GuildNewsChannel:
		at.Channel = channel.ID()
	default:
		return place{}, false
	}
	return at, true
}

// asked is an interaction that waits for its first answer: a command's or a
// button's.
type asked interface {
	discord.Interaction
	Client() *bot.Client
	CreateMessage(m discord.MessageCreate, opts ...rest.RequestOpt) error
	DeferCreateMessage(ephemeral bool, opts ...rest.RequestOpt) error
}

// reply is the answer to an interaction, to be filled in.
type reply struct {
	b *Bot
	// app, id and token are the way to the answer.
	app, id snowflake.ID
	token   string
	at      place
	person  Person
	// doing is what is noted of it, "" for nothing.
	doing doing
	// public is true where everybody sees the answer: what can't be filled in
	// there is told in the thread.
	public bool
	// late is true where an earlier run was asked: what can't be filled in is
	// told where that was.
	late bool
}

// begin answers an interaction at once, with a sign that it is being worked
// on, and has the work done in the background, noted as what it is. private answers are seen by who
// asked alone.
func (b *Bot) begin(e asked, action Action, private bool, what doing, work func(ctx context.Context, r *reply)) error {
	return b.beginWith(e, action, !private, what, func(opt rest.RequestOpt) error { return e.DeferCreateMessage(private, opt) }, work, func() {})
}

// beginWith is begin with a first answer of the caller's; over is called at the
// end of it all, whatever came of it.
func (b *Bot) beginWith(e asked, action Action, public bool, what doing, first func(rest.RequestOpt) error, work func(ctx context.Context, r *reply), over func()) error {
	b.remember(e.Client())
	at, ok := placeOf(e)
	r := &reply{b: b, app: e.ApplicationID(), id: e.ID(), token: e.Token(), at: at, person: personOf(e), public: public}
	taken := b.spawn("answer "+string(action), func(ctx context.Context) {
		defer over()
		switch {
		case !ok:
			r.refuse(ctx, e, b.text(TextNotHere))
		case !b.allows(ctx, r.person, action):
			r.refuse(ctx, e, b.text(refusalOf(action)))
		default:
			soon, cancel := context.WithTimeout(ctx, firstAnswer)
			err := first(rest.WithCtx(soon))
			cancel()
			if err != nil {
				b.failed(ctx, "answer an interaction", err)
				if !r.isThere(ctx, err) {
					// Nobody would see what comes of it.
					return
				}
			}
			r.begun(ctx, what)
			r.work(ctx, string(action), work)
			r.ended(ctx)
		}
	})
	if !taken {
		over()
		r.refuse(context.Background(), e, b.text(TextClosing))
	}
	return nil
}

// refusalOf says who may do what somebody may not.
func refusalOf(action Action) Text {
	if action == ActionSettings {
		return TextMayNotSet
	}
	return TextNotAllowed
}

// work does it, and says so where that ends in a panic.
func (r *reply) work(ctx context.Context, what string, work func(ctx context.Context, r *reply)) {
	done := false
	defer func() {
		if !done {
			r.b.recovered(recover(), "answer "+what)
			opt, cancel := within(context.WithoutCancel(ctx))
			defer cancel()
			_, err := r.b.api().CreateFollowupMessage(r.app, r.token, quiet(r.b.text(TextFault)).WithEphemeral(true), opt)
			r.b.failed(ctx, "say that something went wrong", err)
		}
	}()
	work(ctx, r)
	done = true
}

// where is the thread or the channel in which it was asked.
func (r *reply) where() snowflake.ID {
	if r.at.Thread != 0 {
		return r.at.Thread
	}
	return r.at.Channel
}

// refuse is the first and only answer.
func (r *reply) refuse(ctx context.Context, e asked, text string) {
	ctx, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	r.b.failed(ctx, "answer an interaction", e.CreateMessage(quiet(text).WithEphemeral(true), rest.WithCtx(ctx)))
}

// text fills in the answer.
func (r *reply) text(ctx context.Context, text string, rows ...discord.LayoutComponent) {
	content := clip(text, maxContent)
	r.fill(ctx, discord.MessageUpdate{Content: &content, Components: &rows, AllowedMentions: nobody()})
}

// fill fills in the answer, also where the work was cancelled meanwhile, and
// reports whether that is seen.
func (r *reply) fill(ctx context.Context, m discord.MessageUpdate) bool {
	opt, cancel := within(context.WithoutCancel(ctx))
	defer cancel()
	_, err := r.b.api().UpdateInteractionResponse(r.app, r.token, m, opt)
	if err == nil {
		return true
	}
	if m.Content == nil || !r.late && (!r.public || r.at.Thread == 0) {
		r.b.failed(ctx, "fill in an answer", err)
		return false
	}
	// Discord takes it for a quarter of an hour.
	r.b.cfg.Logger.InfoContext(ctx, "an answer can't be filled in any more", "error", err)
	instead := quiet(*m.Content)
	if m.Components != nil {
		instead.Components = *m.Components
	}
	return r.instead(ctx, r.where(), instead)
}

// instead sends what could not be filled in.
func (r *reply) instead(ctx context.Context, channel snowflake.ID, m discord.MessageCreate) bool {
	_, err := r.b.send(context.WithoutCancel(ctx), channel, m)
	r.b.failed(ctx, "tell what an answer can't", err)
	return err == nil
}

// error fills in what went wrong.
func (r *reply) error(ctx context.Context, doing string, err error) {
	if ctx.Err() != nil {
		r.text(ctx, r.b.text(TextCut))
		return
	}
	r.b.told(ctx, doing, err)
	r.text(ctx, renderError(err, r.b.link(r.at.Guild)))
}

// link returns the way to a thread of a server.
func (b *Bot) link(guild snowflake.ID) func(thread string) string {
	return func(thread string) string {
		id, err := snowflake.Parse(thread)
		if err != nil || guild == 0 {
			return ""
		}
		return "https://discord.com/channels/" + guild.String() + "/" + id.String()
	}
}
