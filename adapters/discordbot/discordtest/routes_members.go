package discordtest

import (
	"slices"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/snowflake/v2"
)

// thread is the thread in the path.
func (c *call) thread() (*channel, error) {
	ch, err := c.channel()
	if err != nil {
		return nil, err
	}
	if !ch.IsThread() {
		return nil, errChannelType
	}
	return ch, nil
}

func (c *call) userID() snowflake.ID {
	if c.PathValue("user") == "@me" {
		return c.d.bot.id
	}
	return c.id("user")
}

func getThreadMembers(c *call) (any, error) {
	t, err := c.thread()
	if err != nil {
		return nil, err
	}
	found := []object{}
	for _, id := range t.Members {
		found = append(found, t.threadMemberWire(id))
	}
	return found, nil
}

func getThreadMember(c *call) (any, error) {
	t, err := c.thread()
	if err != nil {
		return nil, err
	}
	if id := c.userID(); slices.Contains(t.Members, id) {
		return t.threadMemberWire(id), nil
	}
	return nil, errUnknownMember
}

func putThreadMember(c *call) (any, error) {
	t, err := c.thread()
	if err != nil {
		return nil, err
	}
	id := c.userID()
	switch {
	case t.Archived:
		return nil, errArchived
	case t.guild.member(id) == nil:
		return nil, errUnknownMember
	case id != c.d.bot.id && c.need(t, discord.PermissionSendMessagesInThreads) != nil:
		return nil, errMissingPermissions
	case c.d.permissions(id, c.d.channels[t.ParentID]) == 0:
		return nil, errMissingAccess
	}
	c.d.join(t, id)
	return nil, nil
}

// join puts somebody into the thread, once, and tells of it.
func (d *Discord) join(t *channel, id snowflake.ID) {
	if slices.Contains(t.Members, id) {
		return
	}
	t.Members = append(t.Members, id)
	d.touch()
	added := t.threadMemberWire(id)
	added["member"] = t.guild.member(id).wire(t.guild)
	d.emitIn(t, gateway.EventTypeThreadMembersUpdate, gateway.IntentGuildMembers, object{
		"id": t.ID, "guild_id": t.GuildID, "member_count": len(t.Members), "added_members": []object{added},
	})
}

func deleteThreadMember(c *call) (any, error) {
	t, err := c.thread()
	if err != nil {
		return nil, err
	}
	id := c.userID()
	switch {
	case t.Archived:
		return nil, errArchived
	case id != c.d.bot.id && c.need(t, discord.PermissionManageThreads) != nil:
		return nil, errMissingPermissions
	}
	t.Members = slices.DeleteFunc(slices.Clone(t.Members), func(m snowflake.ID) bool { return m == id })
	c.d.emitIn(t, gateway.EventTypeThreadMembersUpdate, gateway.IntentGuildMembers, object{
		"id": t.ID, "guild_id": t.GuildID, "member_count": len(t.Members), "removed_member_ids": []snowflake.ID{id},
	})
	return nil, nil
}
