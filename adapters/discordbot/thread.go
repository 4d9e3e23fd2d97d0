package discordbot

import (
	"context"
	"slices"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/workspace"
)

// done is the reaction on the message with which a workspace's thread begins.
const done = "🌳"

// takesThreads reports whether threads can be made where an interaction
// happened, and says so where not: the posts of a forum look like threads of a
// channel.
func (r *reply) takesThreads(ctx context.Context) bool {
	if r.at.Kind != discord.ChannelTypeGuildPublicThread {
		return true
	}
	opt, cancel := within(ctx)
	defer cancel()
	parent, err := r.b.api().GetChannel(r.at.Channel, opt)
	if err != nil {
		r.b.failed(ctx, "look up a channel", err)
		r.error(ctx, "look up a channel", discordError("this thread's channel could not be looked at", err))
		return false
	}
	if kind := parent.Type(); kind != discord.ChannelTypeGuildText && kind != discord.ChannelTypeGuildNews {
		r.text(ctx, r.b.text(TextNotHere))
		return false
	}
	return true
}

// branchOf is the branch that a creation begins with; the id is that of its
// thread, which a name may be made from.
func (b *Bot) branchOf(c creation, thread snowflake.ID) (string, error) {
	name, err := b.cfg.Manager.NameOf(workspace.CreateOptions{ThreadID: thread.String(), Name: c.Name, Title: c.Title, Base: c.Base})
	return name.Branch, err
}

// titleOf is the title of the thread of a workspace on a branch.
func (b *Bot) titleOf(branch string) string {
	return clip(b.cfg.DraftPrefix+b.text(TextThreadTitle, oneLine(branch)), maxTitle)
}

// newThread makes a thread for a workspace, in the project's channel, and adds
// the person who asked. One that goes on from a private thread is private.
func (b *Bot) newThread(ctx context.Context, r *reply, c creation) (n statusNote, err error) {
	if r.at.Kind == discord.ChannelTypeGuildPrivateThread {
		n, err = b.newPrivateThread(ctx, r, c)
	} else {
		n, err = b.newPublicThread(ctx, r, c)
	}
	if err == nil {
		opt, cancel := within(ctx)
		defer cancel()
		b.failed(ctx, "add a person to a thread", b.api().AddThreadMember(n.Channel, r.person.UserID, opt))
	}
	return n, err
}

// newPublicThread makes a thread from a message. Its status is noted before, by
// the id of that message, which it shares: so no thread is ever forgotten.
func (b *Bot) newPublicThread(ctx context.Context, r *reply, c creation) (statusNote, error) {
	branch, err := b.branchOf(c, r.id)
	if other, _ := b.branchOf(c, 0); err != nil || other != branch {
		branch = "new" // the id of the thread says more
	}
	starter, err := b.send(ctx, r.at.Channel, quiet(escape(b.titleOf(branch))))
	if err != nil {
		return statusNote{}, err
	}
	if c.Branch, err = b.branchOf(c, starter.ID); err != nil {
		return statusNote{}, err
	}
	n := statusNote{Channel: starter.ID, StarterChannel: r.at.Channel, Starter: starter.ID, From: r.at.Thread, Create: c}
	b.failed(ctx, "note a status message", b.putStatus(ctx, starter.ID.String(), n))
	r.note(ctx, func(a *askedNote) { a.Thread = starter.ID })
	opt, cancel := within(ctx)
	defer cancel()
	_, err = b.api().CreateThreadFromMessage(r.at.Channel, starter.ID, discord.ThreadCreateFromMessage{Name: b.titleOf(c.Branch)}, opt)
	if err != nil && ctx.Err() == nil {
		// The answer may be lost alone.
		if _, lookErr := b.threadOf(ctx, starter.ID); lookErr == nil {
			err = nil
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			b.unsend(ctx, r.at.Channel, starter.ID)
			b.forgetStatus(ctx, starter.ID.String())
		}
		return statusNote{}, err
	}
	return n, nil
}

// newPrivateThread makes a private thread, of which nothing is seen outside of
// it. It is found by its title where the run ends before it is noted.
func (b *Bot) newPrivateThread(ctx context.Context, r *reply, c creation) (statusNote, error) {
	branch, err := b.branchOf(c, r.id)
	if err != nil {
		return statusNote{}, err
	}
	c.Branch = branch
	title := b.titleOf(branch)
	r.note(ctx, func(a *askedNote) { a.Title, a.Create = title, c })
	opt, cancel := within(ctx)
	defer cancel()
	made, err := b.api().CreateThread(r.at.Channel, discord.GuildPrivateThreadCreate{Name: title, Invitable: &r.at.Invitable}, opt)
	id := snowflake.ID(0)
	switch {
	case err == nil:
		id = made.ID()
	case ctx.Err() != nil:
		return statusNote{}, err
	default:
		// The answer may be lost alone.
		if id = b.findPrivate(ctx, r.at, title, r.id); id == 0 {
			return statusNote{}, err
		}
	}
	return b.notePrivate(ctx, id, r.at, c), nil
}

// notePrivate notes the status of a private thread.
func (b *Bot) notePrivate(ctx context.Context, id snowflake.ID, at place, c creation) statusNote {
	n := statusNote{Channel: id, Private: true, From: at.Thread, Create: c}
	b.failed(ctx, "note a status message", b.putStatus(ctx, id.String(), n))
	return n
}

// findPrivate finds a private thread of the bot's own by its title, made after
// it was asked for, 0 for none.
func (b *Bot) findPrivate(ctx context.Context, at place, title string, after snowflake.ID) snowflake.ID {
	opt, cancel := within(ctx)
	defer cancel()
	active, err := b.api().GetActiveGuildThreads(at.Guild, opt)
	if err != nil {
		b.failed(ctx, "look for a thread", err)
		return 0
	}
	i := slices.IndexFunc(active.Threads, func(t discord.GuildThread) bool {
		parent := t.ParentID()
		return t.Type() == discord.ChannelTypeGuildPrivateThread && t.OwnerID == b.self && t.Name() == title && t.ID() > after &&
			parent != nil && *parent == at.Channel && t.MessageCount == 0
	})
	if i < 0 {
		return 0
	}
	return active.Threads[i].ID()
}

// takeUpPrivate goes on with a private thread that an earlier run may have made
// without noting it, and returns it, 0 where there is none.
func (b *Bot) takeUpPrivate(ctx context.Context, r *reply, asked askedNote) snowflake.ID {
	id := b.findPrivate(ctx, asked.At, asked.Title, r.id)
	if id == 0 {
		return 0
	}
	n := b.notePrivate(ctx, id, asked.At, asked.Create)
	opt, cancel := within(ctx)
	defer cancel()
	b.failed(ctx, "add a person to a thread", b.api().AddThreadMember(id, asked.Person.UserID, opt))
	b.spawn("make a workspace", func(ctx context.Context) { b.create(ctx, id.String(), n) })
	return id
}

// retitle corrects the title of a thread whose workspace got another branch
// than it began with, unless somebody has renamed it. Nothing waits for it.
func (b *Bot) retitle(n statusNote, branch string) {
	was, now := b.titleOf(n.Create.Branch), b.titleOf(branch)
	if n.Create.Branch == "" || branch == "" || was == now {
		return
	}
	b.spawn("correct a thread's title", func(ctx context.Context) {
		thread, err := b.threadOf(ctx, n.Channel)
		if err != nil || thread.Name() != was {
			return
		}
		b.rename(n.Channel, now)
		if n.Starter != 0 {
			content := clip(escape(now), maxContent)
			b.failed(ctx, "correct a message", b.edit(ctx, n.StarterChannel, n.Starter, discord.MessageUpdate{Content: &content, AllowedMentions: nobody()}))
		}
	})
}

// discordError is a call of Discord's that failed, as people are told of it.
func discordError(message string, err error) error {
	hint := "try again in a minute"
	if isGone(err) {
		hint = "see that the bot may write, make threads (private ones too, from a private thread) and read the history in this channel"
	}
	return &workspace.Error{Code: workspace.ErrPermissionDenied, Message: message + "; no workspace was made", Hint: hint, Err: err}
}
