package discordbot

import (
	"context"
	"errors"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/workspace"
)

// threadIs notes how a thread stands, in the background; of what is heard of
// one thread the last counts.
func (b *Bot) threadIs(thread snowflake.ID, state workspace.ThreadState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return // the next run looks
	}
	b.stands[thread] = state
	if !b.standing {
		b.standing = true
		b.do("note how threads stand", b.noteThreads)
	}
}

// noteThreads notes how threads stand of which something was heard.
func (b *Bot) noteThreads(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for {
		b.mu.Lock()
		var thread snowflake.ID
		var state workspace.ThreadState
		for thread, state = range b.stands {
			break
		}
		if thread == 0 {
			b.standing = false
			b.mu.Unlock()
			return
		}
		delete(b.stands, thread)
		b.mu.Unlock()
		b.guarded("note how a thread stands", func() { b.noteThread(ctx, thread, state) })
	}
}

// noteThread notes how one stands. The workspace stays, whatever it is; of one
// that is deleted nothing is left to say.
func (b *Bot) noteThread(ctx context.Context, thread snowflake.ID, state workspace.ThreadState) {
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	b.failed(ctx, "note how a thread stands", b.cfg.Manager.NoteThread(ctx, thread.String(), state))
	if state != workspace.ThreadDeleted {
		return
	}
	b.forgetStatus(ctx, thread.String())
	err := errors.Join(
		changeNote(ctx, b, notesQueue, thread.String(), func(*queueNote) bool { return false }),
		changeNote(ctx, b, notesTold, thread.String(), func(*toldNote) bool { return false }),
	)
	b.failed(ctx, "forget a thread", err)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.rights, thread)
}

// channelGone looks at the threads of a channel that was deleted.
func (b *Bot) channelGone(ctx context.Context, id snowflake.ID) {
	channel, err := b.cfg.Store.Channel(ctx, id.String())
	if err != nil || channel.Directory == "" {
		if !errors.Is(err, workspace.ErrNotFound) {
			b.failed(ctx, "look up a channel", err)
		}
		return
	}
	b.lookAtProject(ctx, channel.Directory, make(map[snowflake.ID]discord.GuildThread), nil)
}

// lookAtThreads finds out what happened to threads while the bot was away: those
// that were archived, deleted or opened again, and what was said in them after
// the last message that an earlier run took in, said by thread.
func (b *Bot) lookAtThreads(ctx context.Context, said map[snowflake.ID]snowflake.ID) {
	channels, err := b.cfg.Store.ListChannels(ctx, "")
	if err != nil {
		b.failed(ctx, "look up the channels", err)
		return
	}
	active := make(map[snowflake.ID]discord.GuildThread)
	guilds, projects := make(map[string]bool), make(map[string]bool)
	for _, c := range channels {
		if c.Directory == "" {
			continue
		}
		projects[c.Directory] = true
		if guild, err := snowflake.Parse(c.GuildID); err == nil && !guilds[c.GuildID] {
			guilds[c.GuildID] = true
			b.addActive(ctx, guild, active)
		}
	}
	for directory := range projects {
		b.lookAtProject(ctx, directory, active, said)
	}
}

func (b *Bot) addActive(ctx context.Context, guild snowflake.ID, active map[snowflake.ID]discord.GuildThread) {
	opt, cancel := within(ctx)
	defer cancel()
	found, err := b.api().GetActiveGuildThreads(guild, opt)
	if err != nil {
		b.failed(ctx, "look for threads", err)
		return
	}
	for _, thread := range found.Threads {
		active[thread.ID()] = thread
	}
}

// lookAtProject looks at the threads that have a workspace of a project.
func (b *Bot) lookAtProject(ctx context.Context, directory string, active map[snowflake.ID]discord.GuildThread, said map[snowflake.ID]snowflake.ID) {
	rows, err := b.cfg.Manager.List(ctx, workspace.ListOptions{Project: directory, WithoutState: true})
	if err != nil {
		b.cfg.Logger.InfoContext(ctx, "the threads of a project can't be looked at", "project", directory, "error", err)
		return
	}
	for _, row := range rows {
		if ctx.Err() != nil {
			return
		}
		if row.Workspace == nil || len(row.Workspace.ThreadID) < leastSnowflake {
			continue
		}
		id, err := snowflake.Parse(row.Workspace.ThreadID)
		if err != nil {
			continue
		}
		thread, open := active[id]
		if !open && row.Thread != workspace.ThreadDeleted {
			thread, open = b.lookAtThread(ctx, id)
		}
		if !open {
			continue
		}
		if row.Thread != workspace.ThreadOpen {
			b.threadIs(id, workspace.ThreadOpen)
		}
		if last := thread.LastMessageID(); last != nil && said[id] != 0 && *last > said[id] {
			b.catchUp(ctx, id, said[id])
		}
	}
}

// leastSnowflake is how many digits an id of Discord's has at least: other
// programs may name their threads by other numbers.
const leastSnowflake = 17

// lookAtThread asks Discord about one thread, and notes where it isn't open.
func (b *Bot) lookAtThread(ctx context.Context, id snowflake.ID) (thread discord.GuildThread, open bool) {
	thread, err := b.threadOf(ctx, id)
	switch {
	case rest.IsJSONErrorCode(err, rest.JSONErrorCodeUnknownChannel):
		b.threadIs(id, workspace.ThreadDeleted)
	case isGone(err), errors.Is(err, errNoThread):
	case err != nil:
		b.failed(ctx, "look at a thread", err)
	case thread.ThreadMetadata.Archived:
		b.threadIs(id, workspace.ThreadArchived)
	default:
		return thread, true
	}
	return discord.GuildThread{}, false
}

// What is still handed on of what was said while the bot was away.
const (
	mostMissed = 100
	missedFor  = 12 * time.Hour
)

// catchUp takes in what was said in a thread while the bot was away.
func (b *Bot) catchUp(ctx context.Context, thread, after snowflake.ID) {
	opt, cancel := within(ctx)
	defer cancel()
	messages, err := b.api().GetMessages(thread, 0, 0, after, mostMissed, opt)
	if err != nil {
		b.failed(ctx, "look for what was said", err)
		return
	}
	tooOld := 0
	for i := len(messages) - 1; i >= 0; i-- { // the newest comes first
		m := messages[i]
		switch {
		case m.Author.Bot || m.Author.System || !spoken(m) || m.ID <= after:
		case b.cfg.Now().Sub(m.CreatedAt) > missedFor:
			tooOld++
			b.passOver(ctx, thread, m.ID)
		default:
			b.arrived(m)
		}
	}
	if tooOld > 0 {
		_, err := b.send(ctx, thread, quiet(b.text(TextMissed, counted(tooOld, "message"))))
		b.failed(ctx, "say that messages were missed", err)
	}
}
