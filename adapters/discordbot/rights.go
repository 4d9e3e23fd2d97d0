package discordbot

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"
)

// rightsFor is how long the roles of a server and a channel's exceptions are
// taken to be what they were.
const rightsFor = 15 * time.Second

// mostRights is of how many threads they are kept.
const mostRights = 256

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
func (b *Bot) mayIn(ctx context.Context, thread snowflake.ID, m discord.Message, a Action) (bool, error) {
	r, err := b.rightsIn(ctx, thread)
	if err != nil {
		return false, err
	}
	p := Person{UserID: m.Author.ID, GuildID: r.guild, ChannelID: thread}
	if m.Member != nil {
		p.Roles = m.Member.RoleIDs
	} else if p.Roles, err = b.rolesOf(ctx, r.guild, p.UserID); err != nil {
		return false, err
	}
	p.Permissions = r.of(p.UserID, p.Roles)
	return b.allows(ctx, p, a), nil
}

// rolesOf asks Discord for somebody's roles; who isn't there any more has none.
func (b *Bot) rolesOf(ctx context.Context, guild, user snowflake.ID) ([]snowflake.ID, error) {
	opt, cancel := within(ctx)
	defer cancel()
	member, err := b.api().GetMember(guild, user, opt)
	switch {
	case rest.IsJSONErrorCode(err, rest.JSONErrorCodeUnknownMember, rest.JSONErrorCodeUnknownUser):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return member.RoleIDs, nil
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
	defer b.mu.Unlock()
	if len(b.rights) >= mostRights {
		maps.DeleteFunc(b.rights, func(_ snowflake.ID, r rights) bool { return !b.cfg.Now().Before(r.until) })
	}
	if len(b.rights) >= mostRights {
		clear(b.rights)
	}
	b.rights[id] = r
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

// mostRefused is how many people a thread knows whom it has refused.
const mostRefused = 50

// refuseTalk says once to a person and thread that the agent doesn't listen.
func (b *Bot) refuseTalk(ctx context.Context, thread snowflake.ID, m discord.Message) {
	fresh := false
	err := changeNote(ctx, b, notesTold, thread.String(), func(n *toldNote) bool {
		if fresh = !slices.Contains(n.Refused, m.Author.ID); fresh {
			n.Refused = append(n.Refused, m.Author.ID)
			n.Refused = n.Refused[max(0, len(n.Refused)-mostRefused):]
		}
		return true
	})
	b.failed(ctx, "note that somebody was refused", err)
	if err == nil && fresh {
		_, err = b.send(ctx, thread, quiet(b.text(TextMayNotTalk)).WithMessageReferenceByID(m.ID))
		b.failed(ctx, "say that somebody may not talk to the agent", err)
	}
}
