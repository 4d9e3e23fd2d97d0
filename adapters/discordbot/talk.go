package discordbot

import (
	"context"
	"errors"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/workspace"
)

// working is the reaction on a message that the agent is at.
const working = "⏳"

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

// lane is what is said in one thread: taken in one message at a time, and
// handed on one at a time.
type lane struct {
	// inbox are the messages that are to be taken in, and taking is true while
	// somebody is at it.
	inbox  []discord.Message
	taking bool
	// running is true while somebody hands messages on, and again where there
	// may be more by now; it is the bot's mutex that guards all.
	running, again bool
}

func (b *Bot) lane(thread snowflake.ID) *lane {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.lanes[thread]
	if l == nil {
		l = &lane{}
		b.lanes[thread] = l
	}
	return l
}

// arrived has a message taken in, after those that came before it.
func (b *Bot) arrived(m discord.Message) {
	l := b.lane(m.ChannelID)
	b.mu.Lock()
	l.inbox = append(l.inbox, m)
	taking := l.taking
	l.taking = true
	b.mu.Unlock()
	if !taking && !b.spawn("take messages in", func(ctx context.Context) { b.takeAll(ctx, l) }) {
		b.mu.Lock()
		l.inbox, l.taking = nil, false
		b.mu.Unlock()
	}
}

// takeAll takes in what is in a lane's inbox until it is empty.
func (b *Bot) takeAll(ctx context.Context, l *lane) {
	for {
		b.mu.Lock()
		if len(l.inbox) == 0 {
			l.taking = false
			b.mu.Unlock()
			return
		}
		m := l.inbox[0]
		l.inbox = l.inbox[1:]
		b.mu.Unlock()
		b.guarded("take a message in", func() { b.takeIn(ctx, m.ChannelID, m) })
	}
}

// kick has what waits in a thread handed on, if nobody is at it.
func (b *Bot) kick(thread snowflake.ID) {
	if b.cfg.Agent == nil {
		return
	}
	l := b.lane(thread)
	b.mu.Lock()
	if l.running {
		l.again = true
		b.mu.Unlock()
		return
	}
	l.running = true
	b.mu.Unlock()
	taken := b.spawn("hand messages on", func(ctx context.Context) {
		idle := false
		defer func() {
			if !idle {
				b.stop(l)
			}
		}()
		for !idle {
			for b.handOn(ctx, thread) {
			}
			idle = b.idle(l)
		}
	})
	if !taken {
		b.stop(l)
	}
}

// idle ends the work on a lane, unless there may be more to hand on.
func (b *Bot) idle(l *lane) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.running, l.again = l.again, false
	return !l.running
}

func (b *Bot) stop(l *lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.running, l.again = false, false
}

// handOn hands the next message of a thread on and follows it to its end. It
// reports whether there may be another.
func (b *Bot) handOn(ctx context.Context, thread snowflake.ID) bool {
	if b.settling(ctx, thread) {
		// The end of the create comes back to it.
		return false
	}
	if !b.mayWork(ctx, thread) {
		return false
	}
	next, ok := b.startNext(ctx, thread)
	if !ok {
		return false
	}
	b.react(ctx, thread, next.ID, working)
	err := b.converse(ctx, thread, thread.String(), next.Text)
	if ctx.Err() != nil {
		return false
	}
	b.unreact(ctx, thread, next.ID, working)
	b.finishNext(ctx, thread, next.ID)
	if err != nil {
		b.told(ctx, "ask the agent", err)
		_, err = b.send(ctx, thread, quiet(renderError(err, b.link(b.guildOf(ctx, thread)))))
		b.failed(ctx, "say that the agent failed", err)
	}
	return true
}

// mayWork reports whether the agent has a place to work in for a thread. Where
// it has none, what waits is dropped: nothing runs in the main checkout.
func (b *Bot) mayWork(ctx context.Context, thread snowflake.ID) bool {
	w, err := b.cfg.Manager.Get(ctx, thread.String())
	switch {
	case err == nil && w.Status != workspace.StatusError:
		return true
	case err == nil, errors.Is(err, workspace.ErrDeleted):
	case errors.Is(err, workspace.ErrNotFound):
		if b.inFolder(ctx, thread) {
			return true
		}
	default:
		b.failed(ctx, "look up a workspace", err)
		return false
	}
	b.dropQueue(ctx, thread)
	return false
}

// settling reports whether the thread's workspace is still being made.
func (b *Bot) settling(ctx context.Context, thread snowflake.ID) bool {
	var n statusNote
	_, found, err := b.readNote(ctx, notesStatus, thread.String(), &n)
	return err == nil && found && !n.Settled
}
