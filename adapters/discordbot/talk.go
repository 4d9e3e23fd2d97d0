package discordbot

import (
	"context"
	"errors"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/workspace"
)

// working is the reaction on a message that the agent is at, and waits that on
// one that waits for its turn.
const (
	working = "⏳"
	waits   = "🕒"
)

// abortAgent is /abort.
func (b *Bot) abortAgent(_ discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
	return b.begin(e, ActionTalk, true, doingOther, func(ctx context.Context, r *reply) {
		if r.at.Thread == 0 || b.cfg.Agent == nil {
			r.text(ctx, b.text(TextNotThread))
			return
		}
		if err := b.cfg.Agent.Abort(ctx, r.at.Thread.String()); err != nil {
			r.error(ctx, "stop the agent", err)
			return
		}
		r.text(ctx, b.text(TextStopped))
	})
}

// converse hands a text to a thread's session and sends the answer into the
// thread, in pieces, as it comes.
func (b *Bot) converse(ctx context.Context, channel snowflake.ID, thread, text string) error {
	said := 0
	answer, err := b.cfg.Agent.Prompt(ctx, b.folderOf(ctx, channel), thread, text, func(e workspace.AgentEvent) {
		if e.Kind == workspace.AgentText {
			said++
			b.say(ctx, channel, e.Text)
		}
	})
	if err != nil {
		return err
	}
	// What was not told as it came.
	for _, piece := range answer.Texts[min(said, len(answer.Texts)):] {
		b.say(ctx, channel, piece)
	}
	return nil
}

// say sends a text of the agent's, whose Markdown is meant, in pieces.
func (b *Bot) say(ctx context.Context, channel snowflake.ID, text string) {
	for _, piece := range split(text, maxContent) {
		m := discord.NewMessageCreate().WithContent(piece).WithFlags(discord.MessageFlagSuppressEmbeds).WithAllowedMentions(nobody())
		if _, err := b.send(ctx, channel, m); err != nil {
			b.failed(ctx, "send the agent's answer", err)
			return
		}
	}
}

// folderOf is the project of a thread's channel, "" where that isn't known.
func (b *Bot) folderOf(ctx context.Context, thread snowflake.ID) string {
	channel, err := b.threadOf(ctx, thread)
	if err != nil || channel.ParentID() == nil {
		return ""
	}
	project, err := b.project(ctx, place{Channel: *channel.ParentID()})
	if err != nil {
		return ""
	}
	return project
}

// handOn hands the next message of a thread on and follows it to its end. It
// reports whether there may be another; with an error, what waits stays.
func (b *Bot) handOn(ctx context.Context, thread snowflake.ID) (more bool, err error) {
	// The end of a create comes back to it.
	if settling, err := b.settling(ctx, thread); err != nil || settling {
		return false, err
	}
	if ok, err := b.mayWork(ctx, thread); err != nil || !ok {
		return false, err
	}
	next, ok, err := b.startNext(ctx, thread)
	if err != nil || !ok {
		return false, err
	}
	if next.Waits {
		b.unreact(ctx, thread, next.ID, waits)
	}
	b.react(ctx, thread, next.ID, working)
	err = b.converse(ctx, thread, thread.String(), next.Text)
	if ctx.Err() != nil {
		return false, nil
	}
	b.unreact(ctx, thread, next.ID, working)
	b.finishNext(ctx, thread, next.ID)
	if err != nil {
		b.told(ctx, "ask the agent", err)
		_, err = b.send(ctx, thread, quiet(renderError(err, b.link(b.guildOf(ctx, thread)))))
		b.failed(ctx, "say that the agent failed", err)
	}
	return true, nil
}

// mayWork reports whether the agent has a place to work in for a thread. Where
// it has none, what waits is dropped: nothing runs in the main checkout.
func (b *Bot) mayWork(ctx context.Context, thread snowflake.ID) (bool, error) {
	w, err := b.cfg.Manager.Get(ctx, thread.String())
	switch {
	case err == nil && w.Status != workspace.StatusError:
		return true, nil
	case err == nil, errors.Is(err, workspace.ErrDeleted):
	case errors.Is(err, workspace.ErrNotFound):
		if in, err := b.inFolder(ctx, thread); err != nil || in {
			return in, err
		}
	default:
		return false, err
	}
	b.dropQueue(ctx, thread)
	return false, nil
}

// settling reports whether the thread's workspace is still being made.
func (b *Bot) settling(ctx context.Context, thread snowflake.ID) (bool, error) {
	var n statusNote
	_, found, err := b.readNote(ctx, notesStatus, thread.String(), &n)
	return err == nil && found && !n.Settled, err
}
