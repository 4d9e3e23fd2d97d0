package discordtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"
)

// object is a JSON object on its way to the bot.
type object = map[string]any

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func (u *user) wire() object {
	return object{"id": u.id, "username": u.name, "global_name": u.name, "discriminator": "0", "bot": u.bot, "avatar": nil}
}

func (r *role) wire() object {
	return object{"id": r.id, "name": r.name, "permissions": r.perms, "color": 0, "hoist": false, "position": 1, "managed": false, "mentionable": false}
}

func (m *member) wire(g *guild) object {
	roles := append([]snowflake.ID{m.own.id}, m.roles...)
	return object{"user": m.user.wire(), "guild_id": g.id, "nick": nil, "roles": roles, "joined_at": stamp(m.joined), "deaf": false, "mute": false, "flags": 0, "pending": false}
}

func (g *guild) wire() object {
	roles := []object{}
	for _, r := range g.roles {
		roles = append(roles, r.wire())
	}
	return object{
		"id": g.id, "name": g.name, "owner_id": g.owner, "roles": roles, "emojis": []any{}, "features": []any{},
		"preferred_locale": "en-US", "verification_level": 0, "default_message_notifications": 0,
		"explicit_content_filter": 0, "mfa_level": 0, "system_channel_flags": 0, "premium_tier": 0, "nsfw_level": 0,
	}
}

// gatewayWire is the guild with all that GUILD_CREATE brings.
func (d *Discord) gatewayWire(g *guild) object {
	o := g.wire()
	members, channels, threads := []object{}, []object{}, []object{}
	for _, m := range g.members {
		members = append(members, m.wire(g))
	}
	for _, c := range d.channelsOf(g) {
		switch {
		case d.permissions(d.bot.id, c) == 0:
		case !c.IsThread():
			channels = append(channels, d.channelWire(c))
		case !c.Archived:
			threads = append(threads, d.channelWire(c))
		}
	}
	o["members"], o["channels"], o["threads"] = members, channels, threads
	o["member_count"], o["joined_at"], o["large"], o["unavailable"] = len(members), stamp(d.opts.Now()), false, false
	return o
}

func (d *Discord) channelWire(c *channel) object {
	o := object{"id": c.ID, "guild_id": c.GuildID, "type": c.Type, "name": c.Name, "flags": 0}
	if n := len(c.messages); n > 0 {
		o["last_message_id"] = c.messages[n-1].ID
	}
	if !c.IsThread() {
		overwrites := []object{}
		for id, p := range c.overrides {
			overwrites = append(overwrites, object{"id": id, "type": 1, "allow": p, "deny": discord.PermissionsAll.Remove(p)})
		}
		o["permission_overwrites"], o["position"], o["parent_id"] = overwrites, 0, nil
		return o
	}
	o["parent_id"], o["owner_id"], o["message_count"], o["member_count"] = c.ParentID, c.OwnerID, len(c.messages), len(c.Members)
	o["thread_metadata"] = object{
		"archived": c.Archived, "locked": c.Locked, "auto_archive_duration": c.archive,
		"archive_timestamp": stamp(c.created), "create_timestamp": stamp(c.created),
	}
	if c.Type == discord.ChannelTypeGuildPrivateThread {
		o["thread_metadata"].(object)["invitable"] = c.Invitable
	}
	return o
}

func (c *channel) threadMemberWire(id snowflake.ID) object {
	return object{"id": c.ID, "user_id": id, "join_timestamp": stamp(c.created), "flags": 0}
}

func (d *Discord) messageWire(m *message) object {
	c := d.channels[m.ChannelID]
	o := object{
		"id": m.ID, "channel_id": m.ChannelID, "type": m.Type, "content": m.Content, "flags": m.Flags,
		"timestamp": stamp(m.CreatedAt), "edited_timestamp": nil, "tts": false, "pinned": false,
		"embeds": raw(m.embeds), "components": raw(m.components), "attachments": m.attachmentsWire(),
		"mentions": []any{}, "mention_roles": []any{}, "mention_everyone": false,
	}
	if u := d.users[m.AuthorID]; u != nil {
		o["author"] = u.wire()
	}
	if c != nil {
		o["guild_id"] = c.GuildID
		if mb := c.guild.member(m.AuthorID); mb != nil {
			o["member"] = mb.wire(c.guild)
		}
	}
	if len(m.Versions) > 1 {
		o["edited_timestamp"] = stamp(m.At)
	}
	if m.AuthorID == d.bot.id && m.interaction != nil {
		o["application_id"], o["webhook_id"] = d.bot.id, d.bot.id
	}
	if m.ReplyTo != 0 {
		o["message_reference"] = object{"message_id": m.ReplyTo, "channel_id": m.ChannelID}
	}
	if t := d.channels[m.ID]; t != nil {
		o["thread"] = d.channelWire(t)
	}
	d.mentionsWire(m, c, o)
	d.reactionsWire(m, o)
	return o
}

// mentionsWire lists the people and roles that the message names, as Discord
// does whether or not they were pinged.
func (d *Discord) mentionsWire(m *message, c *channel, o object) {
	users, roles := []object{}, []snowflake.ID{}
	for _, mention := range mentionPattern.FindAllString(m.Text(), -1) {
		id := mentionID(mention)
		switch {
		case strings.HasPrefix(mention, "@"):
			o["mention_everyone"] = len(m.Pings) > 0
		case strings.HasPrefix(mention, "<@&"):
			roles = append(roles, id)
		case d.users[id] != nil && c != nil:
			users = append(users, d.users[id].wire())
		}
	}
	o["mentions"], o["mention_roles"] = users, roles
}

func (d *Discord) reactionsWire(m *message, o object) {
	reactions := []object{}
	for _, r := range m.Reactions {
		name, id := r.Emoji, any(nil)
		if n, i, ok := strings.Cut(r.Emoji, ":"); ok {
			name, id = n, i
		}
		me := false
		for _, u := range r.Users {
			me = me || u == d.bot.id
		}
		reactions = append(reactions, object{
			"count": len(r.Users), "me": me, "emoji": object{"id": id, "name": name},
			"count_details": object{"burst": 0, "normal": len(r.Users)}, "burst_colors": []any{},
		})
	}
	o["reactions"] = reactions
}

func (m *message) attachmentsWire() []object {
	files := []object{}
	for _, f := range m.Files {
		files = append(files, f.wire(m.ChannelID))
	}
	return files
}

func (f File) wire(channelID snowflake.ID) object {
	url := fmt.Sprintf("https://cdn.discordapp.com/attachments/%d/%d/%s", channelID, f.ID, f.Name)
	return object{"id": f.ID, "filename": f.Name, "description": f.Description, "size": len(f.Data), "url": url, "proxy_url": url, "flags": 0}
}

func raw(list json.RawMessage) any {
	if len(list) == 0 {
		return []any{}
	}
	return list
}
