package discordtest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/snowflake/v2"
)

func postTyping(c *call) (any, error) {
	ch, err := c.channel()
	if err != nil {
		return nil, err
	}
	return nil, c.maySend(ch, 0)
}

// maySend refuses what the bot may not write in the channel.
func (c *call) maySend(ch *channel, files int) error {
	perm := discord.PermissionSendMessages
	switch {
	case ch.Type == discord.ChannelTypeGuildForum || ch.Type == discord.ChannelTypeGuildMedia || ch.Type == discord.ChannelTypeGuildCategory:
		return errNotText
	case ch.IsThread():
		perm = discord.PermissionSendMessagesInThreads
	}
	if err := c.need(ch, perm); err != nil {
		return err
	}
	if files > 0 {
		if err := c.need(ch, discord.PermissionAttachFiles); err != nil {
			return err
		}
	}
	switch {
	case ch.Archived:
		return errArchived
	case ch.Locked && c.need(ch, discord.PermissionManageThreads) != nil:
		return errThreadLocked
	}
	return nil
}

func postMessage(c *call) (any, error) {
	ch, err := c.channel()
	if err != nil {
		return nil, err
	}
	if err := c.maySend(ch, len(c.files)); err != nil {
		return nil, err
	}
	var b body
	if err := c.decode(&b); err != nil {
		return nil, err
	}
	if b.Flags != nil && b.Flags.Has(discord.MessageFlagEphemeral) {
		*b.Flags = b.Flags.Remove(discord.MessageFlagEphemeral) // only an answer can be ephemeral
	}
	m := c.d.newMessage(ch, c.d.bot.id)
	if err := c.reply(ch, m, &b); err != nil {
		return nil, err
	}
	if err := c.d.apply(m, &b, c.files); err != nil {
		return nil, err
	}
	c.d.add(ch, m)
	return c.d.messageWire(m), nil
}

// reply makes the message a reply where the body says so.
func (c *call) reply(ch *channel, m *message, b *body) error {
	if b.Reference == nil || b.Reference.MessageID == 0 {
		return nil
	}
	target := ch.message(b.Reference.MessageID)
	if target == nil {
		return invalid("message_reference: Unknown message")
	}
	if err := c.need(ch, discord.PermissionReadMessageHistory); err != nil {
		return err
	}
	m.Type, m.ReplyTo = discord.MessageTypeReply, target.ID
	if b.Mentions == nil || b.Mentions.RepliedUser {
		m.Pings = append(m.Pings, "<@"+target.AuthorID.String()+">")
	}
	return nil
}

// newMessage is a message that nobody sees yet.
func (d *Discord) newMessage(ch *channel, author snowflake.ID) *message {
	return &message{Message: Message{ID: d.newID(), ChannelID: ch.ID, AuthorID: author, CreatedAt: d.opts.Now()}}
}

// add puts a message at the end of the channel and tells of it.
func (d *Discord) add(ch *channel, m *message) {
	ch.messages = append(ch.messages, m)
	d.touch()
	d.emitMessage(gateway.EventTypeMessageCreate, ch, m)
}

func getMessages(c *call) (any, error) {
	ch, err := c.channel()
	if err != nil {
		return nil, err
	}
	if err := c.need(ch, discord.PermissionReadMessageHistory); err != nil {
		return nil, err
	}
	limit := 50
	if s := c.URL.Query().Get("limit"); s != "" {
		if limit, err = strconv.Atoi(s); err != nil || limit < 1 || limit > 100 {
			return nil, invalid("limit: int value should be between 1 and 100.")
		}
	}
	bound := func(name string) snowflake.ID {
		id, err := snowflake.Parse(c.URL.Query().Get(name))
		if err != nil {
			return 0
		}
		return id
	}
	before, after := bound("before"), bound("after")
	var found []*message
	for _, m := range ch.messages {
		if m.VisibleTo == 0 && (before == 0 || m.ID < before) && m.ID > after {
			found = append(found, m)
		}
	}
	if n := len(found); n > limit && after != 0 {
		found = found[:limit]
	} else if n > limit {
		found = found[n-limit:]
	}
	list := []object{}
	for _, m := range slices.Backward(found) {
		list = append(list, c.d.messageWire(m))
	}
	return list, nil
}

func getMessage(c *call) (any, error) {
	ch, m, err := c.message()
	if err != nil {
		return nil, err
	}
	if err := c.need(ch, discord.PermissionReadMessageHistory); err != nil {
		return nil, err
	}
	return c.d.messageWire(m), nil
}

func patchMessage(c *call) (any, error) {
	ch, m, err := c.message()
	switch {
	case err != nil:
		return nil, err
	case m.AuthorID != c.d.bot.id:
		return nil, errNotAuthor
	case ch.Archived:
		return nil, errArchived
	}
	return c.edit(ch, m)
}

// edit changes a message of the bot's.
func (c *call) edit(ch *channel, m *message) (any, error) {
	var b body
	if err := c.decode(&b); err != nil {
		return nil, err
	}
	if err := c.d.apply(m, &b, c.files); err != nil {
		return nil, err
	}
	c.d.emitMessage(gateway.EventTypeMessageUpdate, ch, m)
	return c.d.messageWire(m), nil
}

func deleteMessage(c *call) (any, error) {
	ch, m, err := c.message()
	if err != nil {
		return nil, err
	}
	if m.AuthorID != c.d.bot.id {
		if err := c.need(ch, discord.PermissionManageMessages); err != nil {
			return nil, err
		}
	}
	c.d.remove(ch, m)
	return nil, nil
}

// remove deletes a message and tells of it. A thread started from it stays.
func (d *Discord) remove(ch *channel, m *message) {
	ch.messages = slices.DeleteFunc(ch.messages, func(other *message) bool { return other == m })
	d.touch()
	if m.VisibleTo == 0 {
		d.emitIn(ch, gateway.EventTypeMessageDelete, gateway.IntentGuildMessages,
			object{"id": m.ID, "channel_id": ch.ID, "guild_id": ch.GuildID})
	}
}

func putReaction(c *call) (any, error) {
	ch, m, err := c.message()
	if err != nil {
		return nil, err
	}
	if err := c.need(ch, discord.PermissionReadMessageHistory); err != nil {
		return nil, err
	}
	emoji := c.PathValue("emoji")
	if !isEmoji(emoji) {
		return nil, errUnknownEmoji
	}
	if ch.Archived {
		return nil, errArchived
	}
	known := slices.ContainsFunc(m.Reactions, func(r Reaction) bool { return r.Emoji == emoji })
	if !known {
		if err := c.need(ch, discord.PermissionAddReactions); err != nil {
			return nil, err
		}
		if len(m.Reactions) >= 20 {
			return nil, refuse(http.StatusForbidden, 30010, "Maximum number of reactions reached (20)")
		}
	}
	c.d.react(ch, m, c.d.bot.id, emoji)
	return nil, nil
}

// isEmoji takes name:id, and what isn't plain text for a Unicode emoji.
func isEmoji(s string) bool {
	if name, id, ok := strings.Cut(s, ":"); ok {
		_, err := snowflake.Parse(id)
		return name != "" && err == nil
	}
	return s != "" && strings.ContainsFunc(s, func(r rune) bool { return r > 0xff })
}

// react adds the reaction, once, and tells of it.
func (d *Discord) react(ch *channel, m *message, by snowflake.ID, emoji string) {
	i := slices.IndexFunc(m.Reactions, func(r Reaction) bool { return r.Emoji == emoji })
	if i < 0 {
		i = len(m.Reactions)
		m.Reactions = append(m.Reactions, Reaction{Emoji: emoji})
	}
	r := &m.Reactions[i]
	if slices.Contains(r.Users, by) {
		return
	}
	r.Users = append(r.Users, by)
	d.touch()
	d.emitIn(ch, gateway.EventTypeMessageReactionAdd, gateway.IntentGuildMessageReactions, reactionEvent(ch, m, by, emoji))
}

func reactionEvent(ch *channel, m *message, by snowflake.ID, emoji string) object {
	e := object{"id": nil, "name": emoji}
	if name, id, ok := strings.Cut(emoji, ":"); ok {
		e = object{"id": id, "name": name}
	}
	return object{
		"user_id": by, "channel_id": ch.ID, "message_id": m.ID, "guild_id": ch.GuildID,
		"emoji": e, "message_author_id": m.AuthorID, "burst": false, "type": 0,
	}
}

func deleteReaction(c *call) (any, error) {
	ch, m, err := c.message()
	if err != nil {
		return nil, err
	}
	emoji, by := c.PathValue("emoji"), c.d.bot.id
	if ch.Archived {
		return nil, errArchived
	}
	for i := range m.Reactions {
		r := &m.Reactions[i]
		if r.Emoji == emoji && slices.Contains(r.Users, by) {
			r.Users = slices.DeleteFunc(r.Users, func(u snowflake.ID) bool { return u == by })
			c.d.emitIn(ch, gateway.EventTypeMessageReactionRemove, gateway.IntentGuildMessageReactions, reactionEvent(ch, m, by, emoji))
		}
	}
	m.Reactions = slices.DeleteFunc(m.Reactions, func(r Reaction) bool { return len(r.Users) == 0 })
	return nil, nil
}
