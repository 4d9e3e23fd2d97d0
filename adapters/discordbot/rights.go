package discordbot

import (
	"context"
	"slices"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"
)

// rightsFor is how long the roles of a server and a channel's exceptions are
// taken to be what they were.
const rightsFor = 15 * time.Second

// rights are what decides what people may do in a thread: messages come without
// the permissions of who wrote them.
type rights struct {
	until      time.Time
	guild      snowflake.ID
	owner      snowflake.ID
	roles      []discord.Role
	overwrites discord.PermissionOverwrites
}

// mayIn reports whether who wrote a message may do something in its thread.
// Where that can't be found out, nobody may.
func (b *Bot) mayIn(ctx context.Context, thread snowflake.ID, m discord.Message, a Action) bool {
	r, err := b.rightsIn(ctx, thread)
	if err != nil {
		b.failed(ctx, "look up what somebody may", err)
		return false
	}
	p := Person{UserID: m.Author.ID, GuildID: r.guild, ChannelID: thread}
	if m.Member != nil {
		p.Roles = m.Member.RoleIDs
	}
	p.Permissions = r.of(p.UserID, p.Roles)
	return b.allows(ctx, p, a)
}

func (b *Bot) rightsIn(ctx context.Context, id snowflake.ID) (rights, error) {
	b.mu.Lock()
	known, ok := b.rights[id]
	b.mu.Unlock()
	if ok && b.cfg.Now().Before(known.until) {
		return known, nil
	}
	thread, err := b.threadOf(ctx, id)
	if err != nil {
		return rights{}, err
	}
	opt, cancel := within(ctx)
	defer cancel()
	guild, err := b.api().GetGuild(thread.GuildID(), false, opt)
	if err != nil {
		return rights{}, err
	}
	r := rights{until: b.cfg.Now().Add(rightsFor), guild: guild.ID, owner: guild.OwnerID, roles: guild.Roles}
	if parent := thread.ParentID(); parent != nil {
		channel, err := b.api().GetChannel(*parent, opt)
		if err != nil {
			return rights{}, err
		}
		if channel, ok := channel.(discord.GuildChannel); ok {
			r.overwrites = channel.PermissionOverwrites()
		}
	}
	b.mu.Lock()
	b.rights[id] = r
	b.mu.Unlock()
	return r, nil
}

// of are somebody's permissions: those of the roles, then the channel's
// exceptions for everybody, for the roles together, and for the person.
func (r rights) of(user snowflake.ID, roles []snowflake.ID) discord.Permissions {
	var p discord.Permissions
	for _, role := range r.roles {
		if role.ID == r.guild || slices.Contains(roles, role.ID) {
			p |= role.Permissions
		}
	}
	if user == r.owner || p.Has(discord.PermissionAdministrator) {
		return discord.PermissionsAll
	}
	if o, ok := r.overwrites.Role(r.guild); ok {
		p = p&^o.Deny | o.Allow
	}
	var allow, deny discord.Permissions
	for _, id := range roles {
		if o, ok := r.overwrites.Role(id); ok && id != r.guild {
			allow |= o.Allow
			deny |= o.Deny
		}
	}
	p = p&^deny | allow
	if o, ok := r.overwrites.Member(user); ok {
		p = p&^o.Deny | o.Allow
	}
	return p
}

// refuseTalk says once to a person and thread that the agent doesn't listen.
func (b *Bot) refuseTalk(ctx context.Context, thread snowflake.ID, m discord.Message) {
	fresh := false
	err := changeNote(ctx, b, notesTold, thread.String(), func(n *toldNote) bool {
		if fresh = !slices.Contains(n.Refused, m.Author.ID); fresh {
			n.Refused = append(n.Refused, m.Author.ID)
		}
		return true
	})
	b.failed(ctx, "note that somebody was refused", err)
	if err == nil && fresh {
		_, err = b.send(ctx, thread, quiet(b.text(TextMayNotTalk)).WithMessageReferenceByID(m.ID))
		b.failed(ctx, "say that somebody may not talk to the agent", err)
	}
}
