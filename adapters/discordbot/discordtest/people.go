package discordtest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/snowflake/v2"
)

// Say sends a message as a person and returns it. It reopens an archived thread
// that isn't locked, as Discord does. It fails where the person may not write.
func (d *Discord) Say(userID, channelID snowflake.ID, text string) (Message, error) {
	return d.Post(userID, channelID, text)
}

// Post is [Discord.Say] with files.
func (d *Discord) Post(userID, channelID snowflake.ID, text string, files ...File) (Message, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ch := d.mustChannel(channelID)
	perm := discord.PermissionSendMessages
	if ch.IsThread() {
		perm = discord.PermissionSendMessagesInThreads
	}
	perms := d.permissions(userID, ch)
	switch {
	case perms.Missing(perm):
		return Message{}, errMissingPermissions
	case ch.Locked && perms.Missing(discord.PermissionManageThreads):
		return Message{}, errThreadLocked
	}
	m := d.newMessage(ch, userID)
	for i := range files {
		files[i].ID = d.newID()
	}
	content, err := json.Marshal(text)
	if err != nil {
		return Message{}, err
	}
	if err := d.apply(m, &body{Content: content}, files); err != nil {
		return Message{}, err
	}
	if ch.Archived {
		open := false
		d.change(ch, channelBody{Archived: &open})
	}
	if ch.IsThread() {
		d.join(ch, userID)
	}
	d.add(ch, m)
	return m.snapshot(), nil
}

// StartThread starts a thread from a message as a person, and returns it.
func (d *Discord) StartThread(userID snowflake.ID, m Message, name string) (Channel, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ch, source := d.mustMessage(m.ChannelID, m.ID)
	kind, err := d.threadTypeFrom(ch, source)
	if err != nil {
		return Channel{}, err
	}
	if err := d.mayStart(userID, ch, name); err != nil {
		return Channel{}, err
	}
	return d.startThread(ch, source.ID, kind, name, userID).snapshot(), nil
}

func (d *Discord) mayStart(userID snowflake.ID, ch *channel, name string) error {
	if d.permissions(userID, ch).Missing(discord.PermissionCreatePublicThreads) {
		return errMissingPermissions
	}
	return checkLength("name", name, 1, 100)
}

// StartThreadWith starts a thread that has no message in its channel, or a post
// in a forum, with a first message, as a person does. It returns the thread.
func (d *Discord) StartThreadWith(userID, channelID snowflake.ID, name, first string) (Channel, error) {
	d.mu.Lock()
	ch := d.mustChannel(channelID)
	kind := discord.ChannelTypeGuildPublicThread
	switch ch.Type {
	case discord.ChannelTypeGuildNews:
		kind = discord.ChannelTypeGuildNewsThread
	case discord.ChannelTypeGuildText, discord.ChannelTypeGuildForum:
	default:
		d.mu.Unlock()
		return Channel{}, errChannelType
	}
	if err := d.mayStart(userID, ch, name); err != nil {
		d.mu.Unlock()
		return Channel{}, err
	}
	t := d.startThread(ch, d.newID(), kind, name, userID).snapshot()
	d.mu.Unlock()
	_, err := d.Say(userID, t.ID, first)
	return t, err
}

// React adds a person's reaction to a message.
func (d *Discord) React(userID snowflake.ID, m Message, emoji string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ch, target := d.mustMessage(m.ChannelID, m.ID)
	d.react(ch, target, userID, emoji)
}

// EditMessage changes what a person's message says.
func (d *Discord) EditMessage(m Message, text string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	ch, target := d.mustMessage(m.ChannelID, m.ID)
	content, err := json.Marshal(text)
	if err != nil {
		return err
	}
	if err := d.apply(target, &body{Content: content, keepsFiles: true}, nil); err != nil {
		return err
	}
	d.emitMessage(gateway.EventTypeMessageUpdate, ch, target)
	return nil
}

// DeleteMessage deletes a message, whoever wrote it. A thread started from it
// stays.
func (d *Discord) DeleteMessage(m Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ch, target := d.mustMessage(m.ChannelID, m.ID)
	d.remove(ch, target)
}

// Message returns a message as it is now, or false when there is none.
func (d *Discord) Message(channelID, id snowflake.ID) (Message, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ch := d.channels[channelID]; ch != nil {
		if m := ch.message(id); m != nil {
			return m.snapshot(), true
		}
	}
	return Message{}, false
}

// Messages returns what everybody sees in the channel, in order.
func (d *Discord) Messages(channelID snowflake.ID) []Message {
	return d.MessagesSeenBy(0, channelID)
}

// MessagesSeenBy returns what one person sees in the channel, in order: what
// everybody sees, and the ephemeral messages for that person.
func (d *Discord) MessagesSeenBy(userID, channelID snowflake.ID) []Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	ch := d.channels[channelID]
	if ch == nil {
		return nil
	}
	var seen []Message
	for _, m := range ch.messages {
		if m.seenBy(userID) {
			seen = append(seen, m.snapshot())
		}
	}
	return seen
}

// WaitMessage blocks until a message in the channel matches, ephemeral ones
// included, as it is sent or after an edit, and returns it. It returns ctx's
// error if that ends first.
func (d *Discord) WaitMessage(ctx context.Context, channelID snowflake.ID, match func(Message) bool) (Message, error) {
	var found Message
	err := d.wait(ctx, func() bool {
		ch := d.channels[channelID]
		if ch == nil {
			return false
		}
		for _, m := range ch.messages {
			if s := m.snapshot(); match(s) {
				found = s
				return true
			}
		}
		return false
	})
	if err != nil {
		return Message{}, fmt.Errorf("discordtest: no such message in channel %d: %w", channelID, err)
	}
	return found, nil
}

// Pings returns every mention that any message of the bot's let through, in the
// order of channels and messages. A bot that pings nobody leaves it empty.
func (d *Discord) Pings() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []string
	for _, g := range d.guilds {
		for _, ch := range d.channelsOf(g) {
			for _, m := range ch.messages {
				if m.AuthorID == d.bot.id {
					found = append(found, m.Pings...)
				}
			}
		}
	}
	return found
}
