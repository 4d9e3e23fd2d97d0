package discordtest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"
)

type user struct {
	id   snowflake.ID
	name string
	bot  bool
}

type guild struct {
	id      snowflake.ID
	name    string
	owner   snowflake.ID
	roles   []*role
	members []*member
}

type role struct {
	id    snowflake.ID
	name  string
	perms discord.Permissions
}

// member is a user in a guild. What it may do is held by a role of its own, so
// that a bot that computes permissions from roles comes to the same result.
type member struct {
	user   *user
	own    *role
	roles  []snowflake.ID
	joined time.Time
}

type channel struct {
	Channel
	guild     *guild
	messages  []*message
	overrides map[snowflake.ID]discord.Permissions
	renames   []time.Time
	created   time.Time
	archive   int // minutes
}

type message struct {
	Message
	components  json.RawMessage
	embeds      json.RawMessage
	interaction *Interaction
}

// Channel is a channel or thread as it was when it was asked for.
type Channel struct {
	ID       snowflake.ID
	GuildID  snowflake.ID
	ParentID snowflake.ID // of a thread: the channel that it is in
	Type     discord.ChannelType
	Name     string
	Names    []string // all names in order, the present one last
	OwnerID  snowflake.ID
	Members  []snowflake.ID // of a thread
	Archived bool
	Locked   bool
	// Invitable is whether everybody in a private thread may add others.
	Invitable bool
}

// IsThread reports whether the channel is a thread of any kind.
func (c Channel) IsThread() bool {
	switch c.Type {
	case discord.ChannelTypeGuildNewsThread, discord.ChannelTypeGuildPublicThread, discord.ChannelTypeGuildPrivateThread:
		return true
	default:
		return false
	}
}

// File is an attachment.
type File struct {
	ID          snowflake.ID
	Name        string
	Description string
	Data        []byte
}

// Reaction is an emoji below a message and who chose it, in order.
type Reaction struct {
	Emoji string
	Users []snowflake.ID
}

// Version is what a message said at one time.
type Version struct {
	At         time.Time
	Content    string
	Embeds     []discord.Embed
	Components []discord.LayoutComponent
	Flags      discord.MessageFlags
}

// Text returns everything that the version says: its content, or the text
// displays of its components, one a line.
func (v Version) Text() string { return text(v.Content, v.Components) }

// Message is a message as it was when it was asked for.
type Message struct {
	ID        snowflake.ID
	ChannelID snowflake.ID
	AuthorID  snowflake.ID
	Type      discord.MessageType
	Version             // the present one; At is when it was sent or last edited
	Versions  []Version // all of them in order, the present one last
	Files     []File
	Reactions []Reaction
	// Mentions are the allowed mentions that came with the latest version; nil
	// when there were none, which on Discord allows all.
	Mentions *discord.AllowedMentions
	// Pings are the mentions that were let through, over all versions, as
	// written: "@everyone", "@here", "<@id>", "<@&id>".
	Pings     []string
	ReplyTo   snowflake.ID
	VisibleTo snowflake.ID // of an ephemeral message: the one who sees it
	CreatedAt time.Time
}

// Ephemeral reports whether only one person sees the message.
func (m Message) Ephemeral() bool { return m.VisibleTo != 0 }

// Loading reports whether the message is a deferred answer that has not come.
func (m Message) Loading() bool { return m.Flags.Has(discord.MessageFlagLoading) }

// Buttons returns all buttons of the message in order.
func (m Message) Buttons() []discord.ButtonComponent {
	var buttons []discord.ButtonComponent
	for c := range (discord.Message{Components: m.Components}).AllComponents() {
		if b, ok := c.(discord.ButtonComponent); ok {
			buttons = append(buttons, b)
		}
	}
	return buttons
}

// Button returns the first button with the label, or false.
func (m Message) Button(label string) (discord.ButtonComponent, bool) {
	for _, b := range m.Buttons() {
		if b.Label == label {
			return b, true
		}
	}
	return discord.ButtonComponent{}, false
}

func text(content string, components []discord.LayoutComponent) string {
	var lines []string
	if content != "" {
		lines = append(lines, content)
	}
	for c := range (discord.Message{Components: components}).AllComponents() {
		if t, ok := c.(discord.TextDisplayComponent); ok {
			lines = append(lines, t.Content)
		}
	}
	return strings.Join(lines, "\n")
}

func (g *guild) member(id snowflake.ID) *member {
	for _, m := range g.members {
		if m.user.id == id {
			return m
		}
	}
	return nil
}

func (g *guild) role(id snowflake.ID) *role {
	for _, r := range g.roles {
		if r.id == id {
			return r
		}
	}
	return nil
}

// permissions are what the user may do in the guild or, if c is not nil, there.
func (g *guild) permissions(id snowflake.ID, c *channel) discord.Permissions {
	m := g.member(id)
	if m == nil {
		return 0
	}
	perms := m.own.perms
	for _, r := range m.roles {
		if r := g.role(r); r != nil {
			perms |= r.perms
		}
	}
	if g.owner == id || perms.Has(discord.PermissionAdministrator) {
		return discord.PermissionsAll
	}
	if c != nil {
		if p, ok := c.overrides[id]; ok {
			return p
		}
	}
	return perms
}

func (d *Discord) guild(id snowflake.ID) *guild {
	for _, g := range d.guilds {
		if g.id == id {
			return g
		}
	}
	return nil
}

// permissions are what the user may do in the channel; a thread has those of
// the channel that it is in.
func (d *Discord) permissions(id snowflake.ID, c *channel) discord.Permissions {
	base := c
	if c.IsThread() {
		base = d.channels[c.ParentID]
	}
	perms := c.guild.permissions(id, base)
	hidden := c.Type == discord.ChannelTypeGuildPrivateThread &&
		!slices.Contains(c.Members, id) && perms.Missing(discord.PermissionManageThreads)
	if hidden || perms.Missing(discord.PermissionViewChannel) {
		return 0
	}
	return perms
}

func (c *channel) message(id snowflake.ID) *message {
	for _, m := range c.messages {
		if m.ID == id {
			return m
		}
	}
	return nil
}

func (m *message) seenBy(id snowflake.ID) bool {
	return m.VisibleTo == 0 || m.VisibleTo == id
}

// snapshot is a copy that later changes don't reach; slices are replaced or
// appended to, never written in place, except for those copied here.
func (m *message) snapshot() Message {
	s := m.Message
	s.Reactions = slices.Clone(s.Reactions)
	for i := range s.Reactions {
		s.Reactions[i].Users = slices.Clone(s.Reactions[i].Users)
	}
	return s
}

func (c *channel) snapshot() Channel {
	s := c.Channel
	s.Members = slices.Clone(s.Members)
	s.Names = slices.Clone(s.Names)
	return s
}
