package discordtest

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/snowflake/v2"
)

func getChannel(c *call) (any, error) {
	ch, err := c.channel()
	if err != nil {
		return nil, err
	}
	return c.d.channelWire(ch), nil
}

type channelBody struct {
	Name     *string `json:"name"`
	Archived *bool   `json:"archived"`
	Locked   *bool   `json:"locked"`
	// Invitable is for private threads.
	Invitable *bool `json:"invitable"`
	Archive   *int  `json:"auto_archive_duration"`
}

func patchChannel(c *call) (any, error) {
	ch, err := c.channel()
	if err != nil {
		return nil, err
	}
	var b channelBody
	if err := c.decode(&b); err != nil {
		return nil, err
	}
	if err := c.mayPatch(ch, &b); err != nil {
		return nil, err
	}
	if b.Name != nil && *b.Name != ch.Name {
		if err := checkLength("name", *b.Name, 1, 100); err != nil {
			return nil, err
		}
		if err := c.d.countRename(ch); err != nil {
			return nil, err
		}
	}
	if b.Archive != nil {
		if err := checkArchive(*b.Archive); err != nil {
			return nil, err
		}
		ch.archive = *b.Archive
	}
	c.d.change(ch, b)
	return c.d.channelWire(ch), nil
}

func (c *call) mayPatch(ch *channel, b *channelBody) error {
	if !ch.IsThread() {
		return c.need(ch, discord.PermissionManageChannels)
	}
	manages := c.need(ch, discord.PermissionManageThreads) == nil
	reopens := b.Archived != nil && !*b.Archived
	switch {
	case manages && (!ch.Archived || reopens):
		return nil
	case ch.Archived && !reopens:
		return errArchived
	case ch.Locked || b.Locked != nil:
		return errMissingPermissions
	case ch.OwnerID == c.d.bot.id:
		return nil
	case reopens && b.Name == nil && b.Archive == nil:
		return c.need(ch, discord.PermissionSendMessagesInThreads)
	default:
		return errMissingPermissions
	}
}

// countRename refuses the third rename in ten minutes.
func (d *Discord) countRename(ch *channel) error {
	now := d.opts.Now()
	ch.renames = slices.DeleteFunc(ch.renames, func(t time.Time) bool { return now.Sub(t) >= renameWindow })
	if len(ch.renames) >= renamesPerWindow {
		return rateLimited(renameWindow - now.Sub(ch.renames[0]))
	}
	ch.renames = append(ch.renames, now)
	return nil
}

// change writes the channel's fields and tells of it.
func (d *Discord) change(ch *channel, b channelBody) {
	if b.Name != nil && *b.Name != ch.Name {
		ch.Name = *b.Name
		ch.Names = append(ch.Names, ch.Name)
	}
	if b.Archived != nil {
		ch.Archived = *b.Archived
	}
	if b.Locked != nil {
		ch.Locked = *b.Locked
	}
	if b.Invitable != nil {
		ch.Invitable = *b.Invitable
	}
	d.touch()
	kind := gateway.EventTypeChannelUpdate
	if ch.IsThread() {
		kind = gateway.EventTypeThreadUpdate
	}
	d.emitIn(ch, kind, gateway.IntentGuilds, d.channelWire(ch))
}

func deleteChannel(c *call) (any, error) {
	ch, err := c.channel()
	if err != nil {
		return nil, err
	}
	perm := discord.PermissionManageChannels
	if ch.IsThread() {
		perm = discord.PermissionManageThreads
	}
	if err := c.need(ch, perm); err != nil {
		return nil, err
	}
	o := c.d.channelWire(ch)
	c.d.drop(ch)
	return o, nil
}

// drop deletes a channel and tells of it. Its threads go with it, and nothing
// is told of them.
func (d *Discord) drop(ch *channel) {
	for _, t := range d.channelsOf(ch.guild) {
		if t.ParentID == ch.ID && t.IsThread() {
			delete(d.channels, t.ID)
		}
	}
	o := d.channelWire(ch)
	kind := gateway.EventTypeChannelDelete
	if ch.IsThread() {
		kind, o = gateway.EventTypeThreadDelete, object{"id": ch.ID, "guild_id": ch.GuildID, "parent_id": ch.ParentID, "type": ch.Type}
	}
	d.emitIn(ch, kind, gateway.IntentGuilds, o)
	delete(d.channels, ch.ID)
	d.touch()
}

type threadBody struct {
	Name    string              `json:"name"`
	Type    discord.ChannelType `json:"type"`
	Archive int                 `json:"auto_archive_duration"`
	Message json.RawMessage     `json:"message"`
	// Invitable is for private threads.
	Invitable *bool `json:"invitable"`
}

func (c *call) threadBody() (threadBody, error) {
	b := threadBody{Type: discord.ChannelTypeGuildPrivateThread, Archive: 4320}
	if err := c.decode(&b); err != nil {
		return b, err
	}
	if err := checkLength("name", b.Name, 1, 100); err != nil {
		return b, err
	}
	return b, checkArchive(b.Archive)
}

func checkArchive(minutes int) error {
	if !slices.Contains([]int{60, 1440, 4320, 10080}, minutes) {
		return invalid("auto_archive_duration: Value must be one of {60, 1440, 4320, 10080}.")
	}
	return nil
}

func postThread(c *call) (any, error) {
	ch, err := c.channel()
	if err != nil {
		return nil, err
	}
	b, err := c.threadBody()
	if err != nil {
		return nil, err
	}
	if ch.Type == discord.ChannelTypeGuildForum || ch.Type == discord.ChannelTypeGuildMedia {
		return c.postForum(ch, b)
	}
	if err := checkThreadType(ch.Type, b.Type); err != nil {
		return nil, err
	}
	perm := discord.PermissionCreatePublicThreads
	if b.Type == discord.ChannelTypeGuildPrivateThread {
		perm = discord.PermissionCreatePrivateThreads
	}
	if err := c.need(ch, perm); err != nil {
		return nil, err
	}
	if b.Invitable != nil && b.Type != discord.ChannelTypeGuildPrivateThread {
		return nil, invalid("invitable: Only available when creating a private thread.")
	}
	t := c.d.startThread(ch, c.d.newID(), b.Type, b.Name, c.d.bot.id)
	t.archive = b.Archive
	if b.Invitable != nil {
		t.Invitable = *b.Invitable
	}
	return c.d.channelWire(t), nil
}

// checkThreadType refuses threads of a kind that the channel doesn't have.
func checkThreadType(parent, thread discord.ChannelType) error {
	switch {
	case parent == discord.ChannelTypeGuildText &&
		(thread == discord.ChannelTypeGuildPublicThread || thread == discord.ChannelTypeGuildPrivateThread),
		parent == discord.ChannelTypeGuildNews && thread == discord.ChannelTypeGuildNewsThread:
		return nil
	case parent == discord.ChannelTypeGuildText || parent == discord.ChannelTypeGuildNews:
		return invalid("type: Value is not a kind of thread that this channel has.")
	default:
		return errChannelType
	}
}

// postForum starts a post, which is a thread with a first message.
func (c *call) postForum(ch *channel, b threadBody) (any, error) {
	if err := c.need(ch, discord.PermissionSendMessages); err != nil {
		return nil, err
	}
	if b.Message == nil {
		return nil, invalid("message: This field is required")
	}
	var first body
	if err := json.Unmarshal(b.Message, &first); err != nil {
		return nil, invalid("message: %v", err)
	}
	id := c.d.newID()
	m := &message{Message: Message{ID: id, ChannelID: id, AuthorID: c.d.bot.id, CreatedAt: c.d.opts.Now()}}
	if err := c.d.apply(m, &first, c.files); err != nil {
		return nil, err
	}
	t := c.d.startThread(ch, id, discord.ChannelTypeGuildPublicThread, b.Name, c.d.bot.id)
	t.archive = b.Archive
	c.d.add(t, m)
	o := c.d.channelWire(t)
	o["message"] = c.d.messageWire(m)
	return o, nil
}

func postThreadFromMessage(c *call) (any, error) {
	ch, m, err := c.message()
	if err != nil {
		return nil, err
	}
	b, err := c.threadBody()
	if err != nil {
		return nil, err
	}
	kind, err := c.d.threadTypeFrom(ch, m)
	if err != nil {
		return nil, err
	}
	if err := c.need(ch, discord.PermissionCreatePublicThreads); err != nil {
		return nil, err
	}
	t := c.d.startThread(ch, m.ID, kind, b.Name, c.d.bot.id)
	t.archive = b.Archive
	return c.d.channelWire(t), nil
}

// threadTypeFrom is the kind of thread that starts from a message; a message has
// one thread.
func (d *Discord) threadTypeFrom(ch *channel, m *message) (discord.ChannelType, error) {
	kind := discord.ChannelTypeGuildPublicThread
	switch ch.Type {
	case discord.ChannelTypeGuildText:
	case discord.ChannelTypeGuildNews:
		kind = discord.ChannelTypeGuildNewsThread
	default:
		return 0, errChannelType
	}
	if d.channels[m.ID] != nil {
		return 0, errThreadExists
	}
	return kind, nil
}

// startThread makes a thread and tells of it. Its owner is in it.
func (d *Discord) startThread(parent *channel, id snowflake.ID, kind discord.ChannelType, name string, owner snowflake.ID) *channel {
	t := &channel{
		Channel: Channel{
			ID: id, GuildID: parent.GuildID, ParentID: parent.ID, Type: kind, Name: name, Names: []string{name},
			OwnerID: owner, Members: []snowflake.ID{owner}, Invitable: kind == discord.ChannelTypeGuildPrivateThread,
		},
		guild: parent.guild, created: d.opts.Now(), archive: 4320,
	}
	d.channels[id] = t
	if m := parent.message(id); m != nil {
		m.Flags = m.Flags.Add(discord.MessageFlagHasThread)
	}
	d.touch()
	o := d.channelWire(t)
	o["newly_created"] = true
	if owner == d.bot.id {
		o["thread_member"] = t.threadMemberWire(owner)
	}
	d.emitIn(t, gateway.EventTypeThreadCreate, gateway.IntentGuilds, o)
	return t
}

func getArchivedThreads(kinds ...discord.ChannelType) handler {
	return func(c *call) (any, error) {
		ch, err := c.channel()
		if err != nil {
			return nil, err
		}
		if err := c.need(ch, discord.PermissionReadMessageHistory); err != nil {
			return nil, err
		}
		found := []object{}
		for _, t := range c.d.channelsOf(ch.guild) {
			if t.ParentID == ch.ID && t.Archived && slices.Contains(kinds, t.Type) {
				found = append(found, c.d.channelWire(t))
			}
		}
		return object{"threads": found, "members": []object{}, "has_more": false}, nil
	}
}
