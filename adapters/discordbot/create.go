package discordbot

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/workspace"
)

// newWorktree is /new-worktree: a thread, and a workspace for it.
func (b *Bot) newWorktree(data discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
	typed, base := strings.TrimSpace(data.String("name")), strings.TrimSpace(data.String("base-branch"))
	return b.begin(e, ActionCreate, true, doingCreate, func(ctx context.Context, r *reply) {
		if !r.takesThreads(ctx) {
			return
		}
		project, err := b.project(ctx, r.at)
		if err != nil {
			r.projectError(ctx, err)
			return
		}
		c := creation{Project: project, Name: typed, Base: base}
		if typed == "" && r.at.Thread != 0 {
			c.Title = b.plainTitle(r.at.Title)
		}
		// What can't be made is told before a thread is made for it.
		if err := b.precheck(ctx, c, r.id); err != nil {
			r.error(ctx, "look ahead of a workspace", err)
			return
		}
		n, err := b.newThread(ctx, r, c)
		if err != nil {
			b.failed(ctx, "make a thread", err)
			r.error(ctx, "make a thread", discordError("the thread could not be made", err))
			return
		}
		r.note(ctx, func(a *askedNote) { a.Thread = n.Channel })
		r.text(ctx, b.text(TextMaking, "<#"+n.Channel.String()+">"))
		b.create(ctx, n.Channel.String(), n)
	})
}

// precheckWithin bounds the look ahead of a create: a thread is made soon, and
// says itself what becomes of it.
const precheckWithin = 2 * time.Second

// precheck returns why a workspace can't be made, as far as that is seen soon.
// The id stands for that of the thread.
func (b *Bot) precheck(ctx context.Context, c creation, id snowflake.ID) error {
	o := workspace.CreateOptions{Project: c.Project, ThreadID: id.String(), Name: c.Name, Title: c.Title, Base: c.Base}
	if _, err := b.cfg.Manager.NameOf(o); err != nil {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, b.lookAhead)
	defer cancel()
	found := make(chan error, 1)
	if !b.spawn("look ahead of a workspace", func(context.Context) {
		defer close(found)
		found <- b.cfg.Manager.Precheck(soon, o)
	}) {
		return nil
	}
	select {
	case err := <-found:
		if soon.Err() == nil {
			return err
		}
	case <-soon.Done():
	}
	return nil
}

// projectError tells why there is no project to work on.
func (r *reply) projectError(ctx context.Context, err error) {
	if errors.Is(err, errNoProject) {
		r.text(ctx, r.b.text(TextNoProject))
		return
	}
	r.error(ctx, "look up the project", err)
}

// plainTitle is a thread's title without what the bot puts before it.
func (b *Bot) plainTitle(title string) string {
	title = strings.TrimPrefix(title, b.cfg.DraftPrefix)
	before, _, _ := strings.Cut(b.text(TextThreadTitle), "%")
	return strings.TrimSpace(strings.TrimPrefix(title, before))
}

// create makes a thread's workspace and shows how it goes. Whether anything can
// be shown doesn't matter to it.
func (b *Bot) create(ctx context.Context, thread string, n statusNote) {
	b.heardFrom(ctx, n.Channel)
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
	at, lookErr := b.threadOf(ctx, n.Channel)
	if rest.IsJSONErrorCode(lookErr, rest.JSONErrorCodeUnknownChannel) {
		b.threadIs(n.Channel, workspace.ThreadDeleted)
	}
	link := b.link(at.GuildID())
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
	b.retitle(n, w.Branch)
	if n.Starter != 0 {
		b.react(ctx, n.StarterChannel, n.Starter, done)
	}
	b.shownLast(ctx, s, thread, text)
	if n.Private && s.message != 0 {
		b.react(ctx, n.Channel, s.message, done)
	}
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
