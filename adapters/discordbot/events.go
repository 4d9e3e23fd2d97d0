package discordbot

import (
	"context"
	"errors"
	"fmt"
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
		if !e.Message.Author.Bot && !e.Message.Author.System && spoken(e.Message) {
			b.arrived(e.Message)
		}
	case *events.GuildMessageDelete:
		b.spawn("take back a message", func(ctx context.Context) { b.takeBack(ctx, e.ChannelID, e.MessageID) })
	case *events.ThreadUpdate:
		if e.Thread.ThreadMetadata.Archived {
			b.threadIs(e.ThreadID, workspace.ThreadArchived)
		} else {
			b.threadIs(e.ThreadID, workspace.ThreadOpen)
		}
	case *events.ThreadDelete:
		b.threadIs(e.ThreadID, workspace.ThreadDeleted)
	case *events.GuildChannelDelete:
		// Its threads went with it, without a word of theirs.
		b.remember(e.Client())
		b.spawn("look at the threads of a channel", func(ctx context.Context) { b.channelGone(ctx, e.ChannelID) })
	}
}

// spoken reports whether a message is something that a person has said.
func spoken(m discord.Message) bool {
	return (m.Type == discord.MessageTypeDefault || m.Type == discord.MessageTypeReply) && saidIn(m) != ""
}

// takeIn takes a message in: for the agent where the thread has a workspace,
// after a workspace was begun where the thread is a new one of a channel whose
// threads get theirs. It may be called again after an error.
func (b *Bot) takeIn(ctx context.Context, m discord.Message) error {
	channel := m.ChannelID
	w, err := b.cfg.Manager.Get(ctx, channel.String())
	switch {
	case err == nil:
		return b.forAgent(ctx, m, w)
	case !errors.Is(err, workspace.ErrNotFound):
		return err
	case errors.Is(err, workspace.ErrDeleted):
		if b.cfg.Agent != nil {
			_, err := b.send(ctx, channel, quiet(renderError(err, nil)))
			b.failed(ctx, "say that there is no workspace", err)
		}
		return nil
	}
	if settling, err := b.settling(ctx, channel); err != nil {
		return err
	} else if settling {
		return b.note(ctx, m)
	}
	// It may have become ready between the two looks.
	if w, err := b.cfg.Manager.Get(ctx, channel.String()); err == nil {
		return b.forAgent(ctx, m, w)
	}
	if in, err := b.inFolder(ctx, channel); err != nil {
		return err
	} else if in {
		return b.note(ctx, m)
	}
	return b.maybeBegin(ctx, m)
}

// forAgent hands a message on to the agent, or says why it isn't.
func (b *Bot) forAgent(ctx context.Context, m discord.Message, w workspace.Workspace) error {
	if b.cfg.Agent == nil {
		return nil
	}
	if w.Status == workspace.StatusError {
		settling, err := b.settling(ctx, m.ChannelID)
		if err != nil {
			return err
		}
		if _, err := b.cfg.Manager.Resolve(ctx, w.ThreadID, ""); err != nil && !settling {
			_, err = b.send(ctx, m.ChannelID, quiet(renderError(err, nil)))
			b.failed(ctx, "say that there is no workspace", err)
			return nil
		}
	}
	return b.note(ctx, m)
}

// note has a message wait for its turn, if who wrote it may talk to the agent.
// One that has to wait is marked.
func (b *Bot) note(ctx context.Context, m discord.Message) error {
	if b.cfg.Agent == nil {
		return nil
	}
	channel := m.ChannelID
	may, err := b.mayIn(ctx, channel, m, ActionTalk)
	if err != nil {
		return err
	}
	if !may {
		b.refuseTalk(ctx, channel, m)
		return nil
	}
	settling, err := b.settling(ctx, channel)
	if err != nil {
		return err
	}
	q := queued{ID: m.ID, Text: saidIn(m), Waits: settling || b.isBusy(channel) || b.isClosing()}
	if err := b.enqueue(ctx, channel, q); err != nil {
		return err
	}
	if q.Waits {
		b.react(ctx, channel, m.ID, waits)
	}
	b.kick(channel)
	return nil
}

// errNoThread is returned for a channel that is no thread.
var errNoThread = errors.New("it is no thread")

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
		return discord.GuildThread{}, fmt.Errorf("%s: %w", id, errNoThread)
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

// maybeBegin makes a workspace for a thread that has just been begun, where its
// channel says that each gets one.
func (b *Bot) maybeBegin(ctx context.Context, m discord.Message) error {
	id := m.ChannelID
	channels, err := b.cfg.Store.ListChannels(ctx, "")
	if err != nil {
		return err
	}
	automatic := make(map[string]string)
	for _, c := range channels {
		if c.ID == id.String() {
			return nil // it is no thread
		}
		if c.Automatic && c.Directory != "" {
			automatic[c.ID] = c.Directory
		}
	}
	// Where no channel gives out workspaces there is no use in asking Discord.
	if len(automatic) == 0 {
		return nil
	}
	thread, err := b.threadOf(ctx, id)
	switch {
	case isGone(err), errors.Is(err, errNoThread):
		return nil
	case err != nil:
		return err
	case thread.ParentID() == nil || thread.OwnerID == b.self || !isNew(thread, m):
		return nil
	}
	directory, ok := automatic[thread.ParentID().String()]
	if !ok {
		return nil
	}
	may, err := b.mayIn(ctx, id, m, ActionCreate)
	if err != nil {
		return err
	}
	if !may {
		b.refuseTalk(ctx, id, m)
		return nil
	}
	return b.beginThread(ctx, thread, directory, m)
}

// beginThread has a thread work in a folder that is no repository, or makes its
// workspace.
func (b *Bot) beginThread(ctx context.Context, thread discord.GuildThread, directory string, m discord.Message) error {
	id := m.ChannelID
	if b.isFolder(ctx, directory) {
		b.worksInFolder(ctx, id, directory)
		return b.note(ctx, m)
	}
	n := statusNote{Channel: id, Create: creation{Project: directory, Title: b.plainTitle(thread.Name())}}
	if err := b.putStatus(ctx, id.String(), n); err != nil {
		return err
	}
	err := b.note(ctx, m)
	// Where the bot closes, the next run makes it.
	b.spawn("make a workspace", func(ctx context.Context) { b.create(ctx, id.String(), n) })
	return err
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
func (b *Bot) inFolder(ctx context.Context, id snowflake.ID) (bool, error) {
	var n toldNote
	_, found, err := b.readNote(ctx, notesTold, id.String(), &n)
	if err != nil || !found || n.Folder == "" {
		return false, err
	}
	if b.folderOf(ctx, id) == n.Folder && b.isFolder(ctx, n.Folder) {
		return true, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	b.workIn(ctx, id, "")
	_, err = b.send(ctx, id, quiet(b.text(TextFolderChanged)))
	b.failed(ctx, "say that a thread has no folder", err)
	return false, nil
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
