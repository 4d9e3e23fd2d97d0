package discordbot

import (
	"context"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"
)

// doing is what an interaction has the bot do, as the run after this one needs
// to know it.
type doing string

const (
	doingCreate doing = "create"
	doingMerge  doing = "merge"
	doingPush   doing = "push"
	doingList   doing = "list"
	doingDelete doing = "delete"
	doingUndo   doing = "undo"
	// doingOther is what changes next to nothing and can be asked for again.
	doingOther doing = "other"
)

// askedNote is an interaction that is being worked on, for the run after this
// one: it tells what became of it.
type askedNote struct {
	Doing  doing     `json:"doing"`
	At     place     `json:"at"`
	Person Person    `json:"person"`
	Public bool      `json:"public,omitempty"`
	Since  time.Time `json:"since"`
	// Token is the way to the answer; Discord takes it for a quarter of an
	// hour.
	Token string `json:"token"`

	// Thread is the one that was made, 0 for none.
	Thread snowflake.ID `json:"thread,omitempty"`
	// Title is that of a private thread that is being made.
	Title  string   `json:"title,omitempty"`
	Create creation `json:"create,omitzero"`
	// Target is where a merge goes.
	Target string `json:"target,omitempty"`
	// About is the thread of the workspace in a list that it is about, Attempt
	// is that workspace's, and Trash what of it was kept; Page is the list's.
	About   string `json:"about,omitempty"`
	Attempt string `json:"attempt,omitempty"`
	Trash   string `json:"trash,omitempty"`
	Page    int    `json:"page,omitempty"`
}

// begun notes that an interaction is being worked on.
func (r *reply) begun(ctx context.Context, what doing) {
	if what == "" {
		return
	}
	r.doing = what
	r.note(ctx, func(n *askedNote) {
		*n = askedNote{Doing: what, At: r.at, Person: r.person, Public: r.public, Since: r.b.cfg.Now().UTC(), Token: r.token}
	})
}

// note changes the note of an interaction that is being worked on.
func (r *reply) note(ctx context.Context, change func(n *askedNote)) {
	if r.doing == "" {
		return
	}
	err := changeNote(ctx, r.b, notesAsked, r.id.String(), func(n *askedNote) bool {
		change(n)
		return true
	})
	r.b.failed(ctx, "note what is being done", err)
}

// ended forgets an interaction that is answered. One that was cut short stays
// noted.
func (r *reply) ended(ctx context.Context) {
	if r.doing != "" && ctx.Err() == nil {
		r.b.forgetAsked(ctx, r.id.String())
	}
}

func (b *Bot) forgetAsked(ctx context.Context, key string) {
	err := changeNote(context.WithoutCancel(ctx), b, notesAsked, key, func(*askedNote) bool { return false })
	b.failed(ctx, "forget what was done", err)
}

// isLoading reports whether an answer still waits to be filled in; known is
// false where that can't be found out.
func (r *reply) isLoading(ctx context.Context) (loading, known bool) {
	opt, cancel := within(ctx)
	defer cancel()
	m, err := r.b.api().GetInteractionResponse(r.app, r.token, opt)
	return err == nil && m.Flags.Has(discord.MessageFlagLoading), err == nil
}

// isThere reports whether an answer has arrived after all whose sending failed.
func (r *reply) isThere(ctx context.Context, err error) bool {
	if ctx.Err() != nil || rest.IsJSONErrorCode(err, rest.JSONErrorCodeUnknownInteraction, rest.JSONErrorCodeInteractionAlreadyAcknowledged) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	_, err = r.b.api().GetInteractionResponse(r.app, r.token, rest.WithCtx(ctx))
	return err == nil
}
