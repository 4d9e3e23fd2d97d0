package discordbot

import (
	"context"
	"slices"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"
)

// Action is something that a person may be allowed.
type Action string

// The actions.
const (
	ActionList     Action = "list"
	ActionCreate   Action = "create"
	ActionMerge    Action = "merge"
	ActionDelete   Action = "delete"
	ActionForce    Action = "force"
	ActionSettings Action = "settings"
	// ActionTalk is to have the agent work: to say something in a thread, or
	// to stop it.
	ActionTalk Action = "talk"
)

// Person is who asks.
type Person struct {
	UserID    snowflake.ID
	GuildID   snowflake.ID
	ChannelID snowflake.ID
	// Permissions are those in the channel.
	Permissions discord.Permissions
	Roles       []snowflake.ID
}

// authorizeWithin bounds the authorizer's answer.
const authorizeWithin = time.Second

// Authorizer says who may do what. It is asked at each command, again at each
// button, and at each message for the agent; a thread that is to get a workspace
// of itself needs ActionCreate of who wrote in it. It may be called
// concurrently, and must answer within a second, in which ctx ends.
type Authorizer interface {
	May(ctx context.Context, p Person, a Action) bool
}

// ByPermission lets everyone list, those act and talk to the agent who may manage
// threads in the channel, and those change settings who may manage the server; who has one of
// the roles may all.
type ByPermission struct {
	Roles []snowflake.ID
}

// May says whether p may do a.
func (b ByPermission) May(_ context.Context, p Person, a Action) bool {
	needed := discord.PermissionManageThreads
	if a == ActionSettings {
		needed = discord.PermissionManageGuild
	}
	if a == ActionList || p.Permissions.Has(needed) || p.Permissions.Has(discord.PermissionAdministrator) {
		return true
	}
	return slices.ContainsFunc(p.Roles, func(role snowflake.ID) bool { return slices.Contains(b.Roles, role) })
}

// personOf is who an interaction is from. Outside of a server nobody may
// anything.
func personOf(i discord.Interaction) Person {
	p := Person{UserID: i.User().ID}
	if id := i.GuildID(); id != nil {
		p.GuildID = *id
	}
	if channel := i.Channel(); channel.MessageChannel != nil {
		p.ChannelID = channel.ID()
	}
	if member := i.Member(); member != nil {
		p.Permissions, p.Roles = member.Permissions, member.RoleIDs
	}
	return p
}
