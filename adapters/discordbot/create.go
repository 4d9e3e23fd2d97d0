package discordbot

import (
	"context"
	"errors"
	"strings"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/workspace"
)

// newWorktree is /new-worktree: a thread, and a workspace for it.
func (b *Bot) newWorktree(data discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
	typed, base := strings.TrimSpace(data.String("name")), strings.TrimSpace(data.String("base-branch"))
	return b.begin(e, ActionCreate, true, func(ctx context.Context, r *reply) {
		project, err := b.project(ctx, r.at)
		if err != nil {
			r.projectError(ctx, err)
			return
		}
		c := creation{Project: project, Name: typed, Base: base}
		switch {
		case typed != "":
			// What can't be a name is told before a thread is made for it.
			if _, err := workspace.NameFromTyped(workspace.DefaultPrefix, typed); err != nil {
				r.error(ctx, "name a workspace", err)
				return
			}
		case r.at.thread != 0:
			c.Title = b.plainTitle(r.at.title)
		}
		if base != "" {
			if err := workspace.CheckRef(base); err != nil {
				r.error(ctx, "choose a base", err)
				return
			}
		}
		n, err := b.newThread(ctx, r, c)
		if err != nil {
			b.failed(ctx, "make a thread", err)
			r.error(ctx, "make a thread", discordError("the thread could not be made", err))
			return
		}
		r.text(ctx, b.text(TextMaking, "<#"+n.Channel.String()+">"))
		b.create(ctx, n.Channel.String(), n)
	})
}

// projectError tells why there is no project to work on.
func (r *reply) projectError(ctx context.Context, err error) {
	if errors.Is(err, errNoProject) {
		r.text(ctx, r.b.text(TextNoProject))
		return
	}
	r.error(ctx, "look up the project", err)
}

// discordError is a call of Discord's that failed, as people are told of it.
func discordError(message string, err error) error {
	hint := "try again in a minute"
	if isGone(err) {
		hint = "see that the bot may write, make threads and read the history in this channel"
	}
	return &workspace.Error{Code: workspace.ErrPermissionDenied, Message: message + "; no workspace was made", Hint: hint, Err: err}
}

// plainTitle is a thread's title without what the bot puts before it.
func (b *Bot) plainTitle(title string) string {
	title = strings.TrimPrefix(title, b.cfg.DraftPrefix)
	before, _, _ := strings.Cut(b.text(TextThreadTitle), "%")
	return strings.TrimSpace(strings.TrimPrefix(title, before))
}

// newThread makes a thread for a workspace, in the project's channel, and adds
// the person who asked. Its status is noted before, by the id of its first
// message, which it shares: so no thread is ever forgotten.
func (b *Bot) newThread(ctx context.Context, r *reply, c creation) (statusNote, error) {
	title := b.cfg.DraftPrefix + b.text(TextThreadTitle, orElse(c.label(), "new"))
	starter, err := b.send(ctx, r.at.channel, quiet(escape(title)))
	if err != nil {
		return statusNote{}, err
	}
	n := statusNote{Channel: starter.ID, StarterChannel: r.at.channel, Starter: starter.ID, From: r.at.thread, Create: c}
	b.failed(ctx, "note a status message", b.putStatus(ctx, starter.ID.String(), n))
	opt, cancel := within(ctx)
	defer cancel()
	thread, err := b.api().CreateThreadFromMessage(r.at.channel, starter.ID, discord.ThreadCreateFromMessage{Name: clip(title, maxTitle)}, opt)
	if err != nil && ctx.Err() == nil {
		// The answer may be lost alone.
		if there, lookErr := b.threadOf(ctx, starter.ID); lookErr == nil {
			thread, err = &there, nil
		}
	}
	if err != nil {
		if ctx.Err() == nil {
			b.unsend(ctx, r.at.channel, starter.ID)
			b.forgetStatus(ctx, starter.ID.String())
		}
		return statusNote{}, err
	}
	b.failed(ctx, "add a person to a thread", b.api().AddThreadMember(thread.ID(), r.person.UserID, opt))
	return n, nil
}

// create makes a thread's workspace and shows how it goes. Whether anything can
// be shown doesn't matter to it.
func (b *Bot) create(ctx context.Context, thread string, n statusNote) {
	label := n.Create.label()
	s := b.newStatus(ctx, n.Channel, n.Message, renderPhase(label, workspace.Event{Phase: workspace.PhaseWait, Message: "Making the workspace"}),
		func(ctx context.Context, message snowflake.ID) { b.sentStatus(ctx, thread, message) })
	over := false
	defer func() {
		if over {
			return
		}
		b.recovered(recover(), "make a workspace")
		b.settled(ctx, thread, b.text(TextFault))
		b.shownLast(ctx, s, thread, b.text(TextFault))
		b.dropQueue(ctx, n.Channel)
	}()
	w, err := b.cfg.Manager.Create(ctx, workspace.CreateOptions{
		Project: n.Create.Project, ThreadID: thread, Name: n.Create.Name, Title: n.Create.Title, Base: n.Create.Base,
		Setup: b.cfg.Setup, Progress: func(e workspace.Event) { s.set(renderPhase(label, e)) },
	})
	over = true
	if ctx.Err() != nil {
		// The next run tells what became of it.
		s.leave()
		return
	}
	b.finishCreate(ctx, s, thread, n, w, err)
}

// finishCreate shows what became of a create. What waits for the workspace
// doesn't wait for that.
func (b *Bot) finishCreate(ctx context.Context, s *status, thread string, n statusNote, w workspace.Workspace, err error) {
	link := b.link(b.guildOf(ctx, n.Channel))
	if err != nil {
		b.told(ctx, "make a workspace", err)
		text := renderError(err, link)
		b.settled(ctx, thread, text)
		b.shownLast(ctx, s, thread, text)
		b.dropQueue(ctx, n.Channel)
		return
	}
	text := renderReady(w, link)
	line := b.goOn(ctx, n, thread)
	if ctx.Err() != nil {
		// The next run goes on with the conversation.
		s.leave()
		return
	}
	if line != "" {
		text += "\n" + line
	}
	b.settled(ctx, thread, text)
	b.kick(n.Channel)
	if n.Starter != 0 {
		b.react(ctx, n.StarterChannel, n.Starter, "🌳")
	}
	b.shownLast(ctx, s, thread, text)
}

// goOn has the thread's conversation go on from the one it was made in.
func (b *Bot) goOn(ctx context.Context, n statusNote, thread string) string {
	if b.cfg.Agent == nil {
		return ""
	}
	if n.From == 0 {
		return b.text(TextStart)
	}
	_, err := b.cfg.Agent.Fork(ctx, n.From.String(), thread)
	switch {
	case err == nil:
		return b.text(TextReusing, "<#"+n.From.String()+">")
	case errors.Is(err, workspace.ErrAlreadyExists):
		return ""
	}
	b.told(ctx, "fork a session", err)
	return b.text(TextNotReusing, renderReason(err)) + " " + b.text(TextStart)
}
