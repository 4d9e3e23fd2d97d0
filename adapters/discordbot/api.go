package discordbot

import (
	"context"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"
)

// apiTimeout bounds one call of Discord's API, waiting for its rate limits
// included.
const apiTimeout = 30 * time.Second

// within has a call end with a context, and in time.
func within(ctx context.Context) (rest.RequestOpt, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	return rest.WithCtx(ctx), cancel
}

func (b *Bot) send(ctx context.Context, channel snowflake.ID, m discord.MessageCreate) (*discord.Message, error) {
	opt, cancel := within(ctx)
	defer cancel()
	return b.api().CreateMessage(channel, m, opt)
}

func (b *Bot) edit(ctx context.Context, channel, message snowflake.ID, m discord.MessageUpdate) error {
	opt, cancel := within(ctx)
	defer cancel()
	_, err := b.api().UpdateMessage(channel, message, m, opt)
	return err
}

// unsend takes a message of the bot's back.
func (b *Bot) unsend(ctx context.Context, channel, message snowflake.ID) {
	opt, cancel := within(ctx)
	defer cancel()
	b.failed(ctx, "take a message back", b.api().DeleteMessage(channel, message, opt))
}

func (b *Bot) react(ctx context.Context, channel, message snowflake.ID, emoji string) {
	opt, cancel := within(ctx)
	defer cancel()
	b.failed(ctx, "add a reaction", b.api().AddReaction(channel, message, emoji, opt))
}

func (b *Bot) unreact(ctx context.Context, channel, message snowflake.ID, emoji string) {
	opt, cancel := within(ctx)
	defer cancel()
	b.failed(ctx, "take a reaction back", b.api().RemoveOwnReaction(channel, message, emoji, opt))
}

// quiet is a message that notifies nobody and shows no previews.
func quiet(content string) discord.MessageCreate {
	return discord.NewMessageCreate().WithContent(clip(content, maxContent)).
		WithFlags(discord.MessageFlagSuppressNotifications, discord.MessageFlagSuppressEmbeds).WithAllowedMentions(nobody())
}

// maxContent is how long a message may be, in characters.
const maxContent = 2000

// nobody is pinged.
func nobody() *discord.AllowedMentions {
	return &discord.AllowedMentions{Parse: []discord.AllowedMentionType{}, Roles: []snowflake.ID{}, Users: []snowflake.ID{}}
}

// renameTimeout is how long a rename may wait: Discord takes two in ten
// minutes, and the third one would wait for as long.
const renameTimeout = 10 * time.Second

// rename changes a thread's title in the background; where Discord doesn't take
// it soon, the title stays.
func (b *Bot) rename(thread snowflake.ID, title string) {
	b.spawn("rename a thread", func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, renameTimeout)
		defer cancel()
		title = clip(title, maxTitle)
		_, err := b.api().UpdateChannel(thread, discord.GuildThreadUpdate{Name: &title}, rest.WithCtx(ctx))
		if err != nil {
			b.cfg.Logger.InfoContext(ctx, "a thread keeps its title", "thread", thread, "error", err)
		}
	})
}

// maxTitle is how long a thread's title may be, in characters.
const maxTitle = 100
