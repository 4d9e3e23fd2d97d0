package discordtest

import (
	"net/http"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/snowflake/v2"
)

// newRoutes is the table of all routes that there are.
func (d *Discord) newRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	bot := func(pattern string, h handler) { mux.Handle(pattern, route{h, true}) }
	open := func(pattern string, h handler) { mux.Handle(pattern, route{h, false}) }

	open("GET /gateway", getGateway)
	bot("GET /gateway/bot", getGateway)
	bot("GET /users/@me", func(c *call) (any, error) { return c.d.bot.wire(), nil })
	bot("GET /users/{user}", getUser)
	bot("GET /oauth2/applications/@me", getApplication)
	bot("GET /applications/@me", getApplication)

	bot("GET /guilds/{guild}", getGuild)
	bot("GET /guilds/{guild}/channels", getGuildChannels)
	bot("GET /guilds/{guild}/threads/active", getActiveThreads)
	bot("GET /guilds/{guild}/roles", getRoles)
	bot("GET /guilds/{guild}/members", getMembers)
	bot("GET /guilds/{guild}/members/{user}", getMember)

	bot("GET /channels/{channel}", getChannel)
	bot("PATCH /channels/{channel}", patchChannel)
	bot("DELETE /channels/{channel}", deleteChannel)
	bot("POST /channels/{channel}/typing", postTyping)
	bot("GET /channels/{channel}/messages", getMessages)
	bot("POST /channels/{channel}/messages", postMessage)
	bot("GET /channels/{channel}/messages/{message}", getMessage)
	bot("PATCH /channels/{channel}/messages/{message}", patchMessage)
	bot("DELETE /channels/{channel}/messages/{message}", deleteMessage)
	bot("PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me", putReaction)
	bot("DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/@me", deleteReaction)

	bot("POST /channels/{channel}/threads", postThread)
	bot("POST /channels/{channel}/messages/{message}/threads", postThreadFromMessage)
	bot("GET /channels/{channel}/threads/archived/public", getArchivedThreads(discord.ChannelTypeGuildPublicThread, discord.ChannelTypeGuildNewsThread))
	bot("GET /channels/{channel}/threads/archived/private", getArchivedThreads(discord.ChannelTypeGuildPrivateThread))
	bot("GET /channels/{channel}/thread-members", getThreadMembers)
	bot("GET /channels/{channel}/thread-members/{user}", getThreadMember)
	bot("PUT /channels/{channel}/thread-members/{user}", putThreadMember)
	bot("DELETE /channels/{channel}/thread-members/{user}", deleteThreadMember)

	for _, scope := range []string{"", "/guilds/{guild}"} {
		base := "/applications/{application}" + scope + "/commands"
		bot("GET "+base, getCommands)
		bot("PUT "+base, putCommands)
		bot("POST "+base, postCommand)
		bot("PATCH "+base+"/{command}", patchCommand)
		bot("DELETE "+base+"/{command}", deleteCommand)
	}

	open("POST /interactions/{interaction}/{token}/callback", postCallback)
	open("POST /webhooks/{application}/{token}", postFollowUp)
	open("GET /webhooks/{application}/{token}/messages/{message}", getAnswerMessage)
	open("PATCH /webhooks/{application}/{token}/messages/{message}", patchAnswerMessage)
	open("DELETE /webhooks/{application}/{token}/messages/{message}", deleteAnswerMessage)
	return mux
}

func getGateway(c *call) (any, error) {
	return object{
		"url": "ws://" + c.Host + "/gateway", "shards": 1,
		"session_start_limit": object{"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1},
	}, nil
}

func getUser(c *call) (any, error) {
	u := c.d.users[c.id("user")]
	if u == nil {
		return nil, errUnknownUser
	}
	return u.wire(), nil
}

func getApplication(c *call) (any, error) {
	return object{
		"id": c.d.bot.id, "name": c.d.bot.name, "description": "", "flags": 0, "bot_public": true,
		"bot_require_code_grant": false, "verify_key": "", "bot": c.d.bot.wire(),
	}, nil
}

// guild is the guild in the path, which the bot has to be in.
func (c *call) guild() (*guild, error) {
	g := c.d.guild(c.id("guild"))
	if g == nil {
		return nil, errUnknownGuild
	}
	if g.member(c.d.bot.id) == nil {
		return nil, errMissingAccess
	}
	return g, nil
}

func getGuild(c *call) (any, error) {
	g, err := c.guild()
	if err != nil {
		return nil, err
	}
	return g.wire(), nil
}

func getRoles(c *call) (any, error) {
	g, err := c.guild()
	if err != nil {
		return nil, err
	}
	return g.wire()["roles"], nil
}

func getGuildChannels(c *call) (any, error) {
	g, err := c.guild()
	if err != nil {
		return nil, err
	}
	found := []object{}
	for _, ch := range c.d.channelsOf(g) {
		if !ch.IsThread() {
			found = append(found, c.d.channelWire(ch))
		}
	}
	return found, nil
}

func getActiveThreads(c *call) (any, error) {
	g, err := c.guild()
	if err != nil {
		return nil, err
	}
	found := []object{}
	for _, ch := range c.d.channelsOf(g) {
		if ch.IsThread() && !ch.Archived && c.d.permissions(c.d.bot.id, ch) != 0 {
			found = append(found, c.d.channelWire(ch))
		}
	}
	return object{"threads": found, "members": []object{}}, nil
}

func getMembers(c *call) (any, error) {
	g, err := c.guild()
	if err != nil {
		return nil, err
	}
	found := []object{}
	for _, m := range g.members {
		found = append(found, m.wire(g))
	}
	return found, nil
}

func getMember(c *call) (any, error) {
	g, err := c.guild()
	if err != nil {
		return nil, err
	}
	m := g.member(c.id("user"))
	if m == nil {
		return nil, errUnknownMember
	}
	return m.wire(g), nil
}

// channel is the channel in the path, which the bot has to see.
func (c *call) channel() (*channel, error) {
	ch := c.d.channels[c.id("channel")]
	if ch == nil {
		return nil, errUnknownChannel
	}
	if c.d.permissions(c.d.bot.id, ch) == 0 {
		return nil, errMissingAccess
	}
	return ch, nil
}

// need refuses where the bot lacks one of the permissions in the channel.
func (c *call) need(ch *channel, perms ...discord.Permissions) error {
	if c.d.permissions(c.d.bot.id, ch).Missing(perms...) {
		return errMissingPermissions
	}
	return nil
}

// message is the message in the path, in a channel that the bot can read.
func (c *call) message() (*channel, *message, error) {
	ch, err := c.channel()
	if err != nil {
		return nil, nil, err
	}
	m := ch.message(c.id("message"))
	if m == nil || m.VisibleTo != 0 {
		return nil, nil, errUnknownMessage
	}
	return ch, m, nil
}

// emitIn tells those who see the channel, which is the bot or nobody.
func (d *Discord) emitIn(ch *channel, kind gateway.EventType, need gateway.Intents, o object) {
	if d.permissions(d.bot.id, ch) != 0 {
		d.emit(kind, need, o)
	}
}

// emitMessage tells of a message; what it says is held back from sessions that
// have not asked for it, but for the bot's own.
func (d *Discord) emitMessage(kind gateway.EventType, ch *channel, m *message) {
	if m.VisibleTo != 0 || d.permissions(d.bot.id, ch) == 0 {
		return
	}
	for _, s := range d.sessions {
		if s.intents.Missing(gateway.IntentGuildMessages) {
			continue
		}
		o := d.messageWire(m)
		if m.AuthorID != d.bot.id && s.intents.Missing(gateway.IntentMessageContent) && !mentioned(m.Text(), d.bot.id) {
			o["content"], o["embeds"], o["components"], o["attachments"] = "", []any{}, []any{}, []any{}
		}
		s.push(kind, o)
	}
}

func mentioned(text string, id snowflake.ID) bool {
	for _, mention := range mentionPattern.FindAllString(text, -1) {
		if mentionID(mention) == id {
			return true
		}
	}
	return false
}
