package discordbot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/disgoorg/disgo/bot"
	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/events"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/workspace"
)

// onEvent hears what happens on the server. It runs on the gateway's own
// goroutine and returns at once.
func (b *Bot) onEvent(event bot.Event) {
	switch e := event.(type) {
	case *events.GuildMessageCreate:
		b.remember(e.Client())
		if e.Message.Author.Bot || e.Message.Author.System || !spoken(e.Message) {
			return
		}
		b.arrived(e.Message)
	case *events.ThreadDelete:
		// The workspace stays, and is offered when space is cleared.
		b.spawn("forget a thread", func(ctx context.Context) {
			b.forgetStatus(ctx, e.ThreadID.String())
			err := changeNote(ctx, b, notesQueue, e.ThreadID.String(), func(*queueNote) bool { return false })
			b.failed(ctx, "forget messages that wait", err)
		})
	}
}

// spoken reports whether a message is something that a person has said.
func spoken(m discord.Message) bool {
	return (m.Type == discord.MessageTypeDefault || m.Type == discord.MessageTypeReply) && strings.TrimSpace(m.Content) != ""
}

// takeIn takes a message in: for the agent where the thread has a workspace,
// after a workspace was begun where the thread is a new one of a channel whose
// threads get theirs.
func (b *Bot) takeIn(ctx context.Context, channel snowflake.ID, m discord.Message) {
	thread := channel.String()
	w, err := b.cfg.Manager.Get(ctx, thread)
	switch {
	case err == nil:
		b.forAgent(ctx, channel, m, w)
		return
	case !errors.Is(err, workspace.ErrNotFound):
		b.failed(ctx, "look up a workspace", err)
		return
	case errors.Is(err, workspace.ErrDeleted):
		if b.cfg.Agent != nil {
			_, err := b.send(ctx, channel, quiet(renderError(err, nil)))
			b.failed(ctx, "say that there is no workspace", err)
		}
		return
	case b.settling(ctx, channel):
		b.note(ctx, channel, m)
		return
	}
	// It may have become ready between the two looks.
	if w, err := b.cfg.Manager.Get(ctx, thread); err == nil {
		b.forAgent(ctx, channel, m, w)
		return
	}
	if b.inFolder(ctx, channel) {
		b.note(ctx, channel, m)
		return
	}
	b.begun(ctx, channel, m)
}

// forAgent hands a message on to the agent, or says why it isn't.
func (b *Bot) forAgent(ctx context.Context, channel snowflake.ID, m discord.Message, w workspace.Workspace) {
	if b.cfg.Agent == nil {
		return
	}
	if w.Status == workspace.StatusError && !b.settling(ctx, channel) {
		_, err := b.cfg.Manager.Resolve(ctx, w.ThreadID, "")
		if err != nil {
			_, err = b.send(ctx, channel, quiet(renderError(err, nil)))
			b.failed(ctx, "say that there is no workspace", err)
			return
		}
	}
	b.note(ctx, channel, m)
}

// lost is the reaction on a message that should have been handed on, and
// can't be.
const lost = "❌"

// note has a message wait for its turn, if who wrote it may talk to the agent.
func (b *Bot) note(ctx context.Context, channel snowflake.ID, m discord.Message) {
	if b.cfg.Agent == nil {
		return
	}
	if !b.mayIn(ctx, channel, m, ActionTalk) {
		b.refuseTalk(ctx, channel, m)
		return
	}
	if err := b.enqueue(ctx, channel, queued{ID: m.ID, Text: m.Content}); err != nil {
		b.failed(ctx, "note a message", err)
		b.react(ctx, channel, m.ID, lost)
		return
	}
	b.kick(channel)
}

// threadOf asks Discord about a thread.
func (b *Bot) threadOf(ctx context.Context, id snowflake.ID) (discord.GuildThread, error) {
	opt, cancel := within(ctx)
	defer cancel()
	channel, err := b.api().GetChannel(id, opt)
	if err != nil {
		return discord.GuildThread{}, err
	}
	thread, ok := channel.(discord.GuildThread)
	if !ok {
		return discord.GuildThread{}, fmt.Errorf("%s is no thread", id)
	}
	return thread, nil
}

// guildOf is the server of a thread, 0 where that isn't known.
func (b *Bot) guildOf(ctx context.Context, id snowflake.ID) snowflake.ID {
	thread, err := b.threadOf(ctx, id)
	if err != nil {
		return 0
	}
	return thread.GuildID()
}

// begun makes a workspace for a thread that has just been begun, where its
// channel says that each gets one.
func (b *Bot) begun(ctx context.Context, id snowflake.ID, m discord.Message) {
	if !b.mayBegin(ctx, id) {
		return
	}
	thread, err := b.threadOf(ctx, id)
	if err != nil || thread.ParentID() == nil || thread.OwnerID == b.self || !isNew(thread, m) {
		return
	}
	channel, err := b.cfg.Store.Channel(ctx, thread.ParentID().String())
	if err != nil || !channel.Automatic || channel.Directory == "" {
		return
	}
	if !b.mayIn(ctx, id, m, ActionCreate) {
		b.refuseTalk(ctx, id, m)
		return
	}
	if b.isFolder(ctx, channel.Directory) {
		b.worksInFolder(ctx, id, channel.Directory)
		b.note(ctx, id, m)
		return
	}
	n := statusNote{Channel: id, Create: creation{Project: channel.Directory, Title: b.plainTitle(thread.Name())}}
	if err := b.putStatus(ctx, id.String(), n); err != nil {
		b.failed(ctx, "note a status message", err)
		return
	}
	b.note(ctx, id, m)
	b.spawn("make a workspace", func(ctx context.Context) { b.create(ctx, id.String(), n) })
}

// mayBegin reports whether there is any use in asking Discord about a channel:
// not where no channel gives out workspaces, nor for those channels themselves.
func (b *Bot) mayBegin(ctx context.Context, id snowflake.ID) bool {
	channels, err := b.cfg.Store.ListChannels(ctx, "")
	if err != nil {
		b.failed(ctx, "look up the channels", err)
		return false
	}
	automatic := false
	for _, c := range channels {
		if c.ID == id.String() {
			return false
		}
		automatic = automatic || c.Automatic
	}
	return automatic
}

// What is a new thread: one that has few messages, or that was begun not long
// before this one, however many came at once.
const (
	newThread = 3
	newFor    = 2 * time.Minute
)

func isNew(thread discord.GuildThread, m discord.Message) bool {
	return thread.MessageCount <= newThread || m.CreatedAt.Sub(thread.ThreadMetadata.CreateTimestamp) < newFor
}

// toldNote says what a thread was told once.
type toldNote struct {
	// Folder is the folder, no repository, that it works in, "" for none.
	Folder string `json:"folder,omitempty"`
	// Refused are the people whose messages the agent doesn't take.
	Refused []snowflake.ID `json:"refused,omitempty"`
}

// inFolder reports whether a thread works in a folder that is no repository.
// Where it did, and its channel works on something else by now, it is said once.
func (b *Bot) inFolder(ctx context.Context, id snowflake.ID) bool {
	var n toldNote
	_, found, err := b.readNote(ctx, notesTold, id.String(), &n)
	if err != nil || !found || n.Folder == "" {
		b.failed(ctx, "look whether a thread works in a folder", err)
		return false
	}
	if b.folderOf(ctx, id) == n.Folder && b.isFolder(ctx, n.Folder) {
		return true
	}
	if ctx.Err() == nil {
		b.workIn(ctx, id, "")
		_, err = b.send(ctx, id, quiet(b.text(TextFolderChanged)))
		b.failed(ctx, "say that a thread has no folder", err)
	}
	return false
}

// isFolder reports whether a directory is one that is no repository.
func (b *Bot) isFolder(ctx context.Context, directory string) bool {
	_, err := b.cfg.Reviewer.Branches(ctx, directory, workspace.BranchQuery{Limit: 1})
	return errors.Is(err, workspace.ErrNotARepository)
}

// worksInFolder says once that a thread works in a folder that is no
// repository.
func (b *Bot) worksInFolder(ctx context.Context, id snowflake.ID, directory string) {
	b.workIn(ctx, id, directory)
	_, err := b.send(ctx, id, quiet(b.text(TextNoRepository)))
	b.failed(ctx, "say that a thread works in a folder", err)
}

// workIn notes the folder that a thread works in.
func (b *Bot) workIn(ctx context.Context, id snowflake.ID, directory string) {
	err := changeNote(ctx, b, notesTold, id.String(), func(n *toldNote) bool {
		n.Folder = directory
		return n.Folder != "" || len(n.Refused) > 0
	})
	b.failed(ctx, "note that a thread works in a folder", err)
}
