package discordbot

import (
	"context"
	"slices"
	"sync"
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

// allows asks the authorizer; one that doesn't answer in time says no, and so
// does one that panics.
func (b *Bot) allows(ctx context.Context, p Person, a Action) bool {
	soon, cancel := context.WithTimeout(ctx, authorizeWithin)
	defer cancel()
	answer := make(chan bool, 1)
	go func() {
		may := false
		b.guarded("ask the authorizer", func() { may = b.cfg.Authorizer.May(soon, p, a) })
		answer <- may
	}()
	select {
	case may := <-answer:
		return may && soon.Err() == nil
	case <-soon.Done():
		return false
	}
}

// allowed are those of the actions that somebody may, all asked for at once.
func (b *Bot) allowed(ctx context.Context, p Person, actions ...Action) map[Action]bool {
	var mu sync.Mutex
	var all sync.WaitGroup
	may := make(map[Action]bool)
	for _, a := range actions {
		all.Go(func() {
			ok := b.allows(ctx, p, a)
			mu.Lock()
			defer mu.Unlock()
			may[a] = ok
		})
	}
	all.Wait()
	return may
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
