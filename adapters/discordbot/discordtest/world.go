package discordtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/snowflake/v2"
)

// The methods here set the scene. They panic when they are given an id that
// doesn't exist, as that is a mistake in the test.

func (d *Discord) newUser(name string, bot bool) *user {
	u := &user{id: d.newID(), name: name, bot: bot}
	d.users[u.id] = u
	return u
}

func (d *Discord) mustGuild(id snowflake.ID) *guild {
	if g := d.guild(id); g != nil {
		return g
	}
	panic(fmt.Sprintf("discordtest: no guild %d", id))
}

func (d *Discord) mustChannel(id snowflake.ID) *channel {
	if c := d.channels[id]; c != nil {
		return c
	}
	panic(fmt.Sprintf("discordtest: no channel %d", id))
}

func (d *Discord) mustMessage(channelID, id snowflake.ID) (*channel, *message) {
	c := d.mustChannel(channelID)
	if m := c.message(id); m != nil {
		return c, m
	}
	panic(fmt.Sprintf("discordtest: no message %d in channel %d", id, channelID))
}

// channelsOf are the guild's channels and threads in the order of their ids.
func (d *Discord) channelsOf(g *guild) []*channel {
	var found []*channel
	for _, c := range d.channels {
		if c.guild == g {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *channel) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return found
}

// AddGuild makes a guild with the bot in it, which may do
// [DefaultBotPermissions]. Its owner is nobody.
func (d *Discord) AddGuild(name string) snowflake.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := &guild{id: d.newID(), name: name}
	g.roles = []*role{{id: g.id, name: "@everyone"}}
	d.guilds = append(d.guilds, g)
	g.add(d, d.bot, DefaultBotPermissions)
	d.emit(gateway.EventTypeGuildCreate, gateway.IntentGuilds, d.gatewayWire(g))
	return g.id
}

func (g *guild) add(d *Discord, u *user, perms discord.Permissions) *member {
	own := &role{id: d.newID(), name: u.name, perms: perms}
	m := &member{user: u, own: own, joined: d.opts.Now()}
	g.roles, g.members = append(g.roles, own), append(g.members, m)
	d.touch()
	return m
}

// AddRole makes a role that gives the permissions to those who have it.
func (d *Discord) AddRole(guildID snowflake.ID, name string, perms ...discord.Permissions) snowflake.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.mustGuild(guildID)
	r := &role{id: d.newID(), name: name, perms: discord.PermissionsNone.Add(perms...)}
	g.roles = append(g.roles, r)
	d.emit(gateway.EventTypeGuildRoleCreate, gateway.IntentGuilds, object{"guild_id": g.id, "role": r.wire()})
	return r.id
}

// AddMember makes a person who is in the guild and may do [DefaultPermissions]
// and the ones given.
func (d *Discord) AddMember(guildID snowflake.ID, name string, more ...discord.Permissions) snowflake.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.mustGuild(guildID)
	m := g.add(d, d.newUser(name, false), DefaultPermissions.Add(more...))
	d.emit(gateway.EventTypeGuildRoleCreate, gateway.IntentGuilds, object{"guild_id": g.id, "role": m.own.wire()})
	d.emit(gateway.EventTypeGuildMemberAdd, gateway.IntentGuildMembers, m.wire(g))
	return m.user.id
}

// SetRoles gives a member these roles and no others.
func (d *Discord) SetRoles(guildID, userID snowflake.ID, roles ...snowflake.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.mustGuild(guildID)
	m := g.member(userID)
	if m == nil {
		panic(fmt.Sprintf("discordtest: no member %d", userID))
	}
	m.roles = slices.Clone(roles)
	d.emit(gateway.EventTypeGuildMemberUpdate, gateway.IntentGuildMembers, m.wire(g))
}

// RemoveMember takes a person, or the bot, out of the guild.
func (d *Discord) RemoveMember(guildID, userID snowflake.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.mustGuild(guildID)
	g.members = slices.DeleteFunc(slices.Clone(g.members), func(m *member) bool { return m.user.id == userID })
	d.touch()
	if userID == d.bot.id {
		d.emit(gateway.EventTypeGuildDelete, gateway.IntentGuilds, object{"id": g.id})
		return
	}
	d.emit(gateway.EventTypeGuildMemberRemove, gateway.IntentGuildMembers, object{"guild_id": g.id, "user": d.users[userID].wire()})
}

// SetPermissions says all that a member, or the bot, may do: in a channel and
// its threads if id is a channel's, else in the guild apart from roles.
func (d *Discord) SetPermissions(id, userID snowflake.ID, perms discord.Permissions) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g := d.guild(id); g != nil {
		m := g.member(userID)
		if m == nil {
			panic(fmt.Sprintf("discordtest: no member %d", userID))
		}
		m.own.perms = perms
		d.emit(gateway.EventTypeGuildRoleUpdate, gateway.IntentGuilds, object{"guild_id": g.id, "role": m.own.wire()})
		return
	}
	c := d.mustChannel(id)
	before := d.permissions(d.bot.id, c)
	c.overrides[userID] = perms
	d.touch()
	if before != 0 && d.permissions(d.bot.id, c) == 0 {
		d.emit(gateway.EventTypeChannelDelete, gateway.IntentGuilds, d.channelWire(c))
		return
	}
	d.emitIn(c, gateway.EventTypeChannelUpdate, gateway.IntentGuilds, d.channelWire(c))
}

// Permissions returns what a member, or the bot, may do in a channel or thread.
func (d *Discord) Permissions(channelID, userID snowflake.ID) discord.Permissions {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.permissions(userID, d.mustChannel(channelID))
}

// AddChannel makes a channel of any kind but a thread.
func (d *Discord) AddChannel(guildID snowflake.ID, kind discord.ChannelType, name string) snowflake.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.mustGuild(guildID)
	c := &channel{
		Channel: Channel{ID: d.newID(), GuildID: g.id, Type: kind, Name: name, Names: []string{name}},
		guild:   g, overrides: map[snowflake.ID]discord.Permissions{}, created: d.opts.Now(),
	}
	if c.IsThread() {
		panic("discordtest: AddThread makes threads")
	}
	d.channels[c.ID] = c
	d.touch()
	d.emitIn(c, gateway.EventTypeChannelCreate, gateway.IntentGuilds, d.channelWire(c))
	return c.ID
}

// AddThread makes a thread of any kind in a channel, owned by a person or the
// bot. [Discord.StartThread] starts one the way a person does.
func (d *Discord) AddThread(parentID snowflake.ID, kind discord.ChannelType, name string, ownerID snowflake.ID) snowflake.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.startThread(d.mustChannel(parentID), d.newID(), kind, name, ownerID).ID
}

// DeleteChannel deletes a channel with its threads, or a thread.
func (d *Discord) DeleteChannel(id snowflake.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(d.mustChannel(id))
}

// Archive archives a thread, or reopens it.
func (d *Discord) Archive(threadID snowflake.ID, archived bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.change(d.mustChannel(threadID), channelBody{Archived: &archived})
}

// Lock archives and locks a thread, or unlocks it and leaves it archived.
func (d *Discord) Lock(threadID snowflake.ID, locked bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	archived := true
	d.change(d.mustChannel(threadID), channelBody{Archived: &archived, Locked: &locked})
}

// SetInvitable says whether everybody in a private thread may add others.
func (d *Discord) SetInvitable(threadID snowflake.ID, invitable bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.change(d.mustChannel(threadID), channelBody{Invitable: &invitable})
}

// Rename renames a channel or thread as a person does; it doesn't count towards
// the bot's limit.
func (d *Discord) Rename(id snowflake.ID, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.change(d.mustChannel(id), channelBody{Name: &name})
}

// Channel returns a channel or thread, or false when there is none.
func (d *Discord) Channel(id snowflake.ID) (Channel, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.channels[id]
	if c == nil {
		return Channel{}, false
	}
	return c.snapshot(), true
}

// Thread returns a thread, or false when there is none.
func (d *Discord) Thread(id snowflake.ID) (Channel, bool) {
	c, ok := d.Channel(id)
	return c, ok && c.IsThread()
}

// Threads returns the threads of a channel in the order in which they, or their
// messages, were made.
func (d *Discord) Threads(channelID snowflake.ID) []Channel {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.threads(channelID)
}

func (d *Discord) threads(channelID snowflake.ID) []Channel {
	var found []Channel
	parent := d.channels[channelID]
	if parent == nil {
		return nil
	}
	for _, c := range d.channelsOf(parent.guild) {
		if c.IsThread() && c.ParentID == channelID {
			found = append(found, c.snapshot())
		}
	}
	return found
}

// WaitThread blocks until a thread of the channel matches, and returns it, or
// ctx's error if that ends first.
func (d *Discord) WaitThread(ctx context.Context, channelID snowflake.ID, match func(Channel) bool) (Channel, error) {
	var found Channel
	err := d.wait(ctx, func() bool {
		for _, t := range d.threads(channelID) {
			if match(t) {
				found = t
				return true
			}
		}
		return false
	})
	return found, err
}
