package discordbot

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/handler"

	"github.com/threadtree/threadtree/workspace"
)

// maxPatch is how much of a patch is sent, in bytes: Discord takes 10 MiB.
const maxPatch = 8 << 20

// inWorkspace begins a command that is about the thread's ready workspace.
func (b *Bot) inWorkspace(e asked, action Action, private bool, what doing, work func(ctx context.Context, r *reply, thread string)) error {
	return b.begin(e, action, private, what, func(ctx context.Context, r *reply) {
		if r.at.Thread == 0 {
			r.text(ctx, b.text(TextNotThread))
			return
		}
		thread := r.at.Thread.String()
		if _, err := b.cfg.Manager.Resolve(ctx, thread, ""); err != nil {
			r.error(ctx, string(action), err)
			return
		}
		work(ctx, r, thread)
	})
}

// diff is /worktree diff: the counts, and the patch as a file.
func (b *Bot) diff(_ discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
	return b.inWorkspace(e, ActionList, true, doingOther, func(ctx context.Context, r *reply, thread string) {
		d, err := b.cfg.Reviewer.Diff(ctx, thread, true, maxPatch)
		if err != nil {
			r.error(ctx, "compare a workspace", err)
			return
		}
		content := clip(renderDiff(d), maxContent)
		m := discord.MessageUpdate{Content: &content, AllowedMentions: nobody()}
		if d.Patch != "" {
			m.Files = []*discord.File{discord.NewFile("changes.diff", "The patch", strings.NewReader(d.Patch))}
		}
		r.fill(ctx, m)
	})
}

// push is /worktree push.
func (b *Bot) push(_ discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
	return b.inWorkspace(e, ActionMerge, false, doingPush, func(ctx context.Context, r *reply, thread string) {
		pushed, err := b.cfg.Reviewer.Push(ctx, thread, false, func(workspace.Event) {})
		if err != nil {
			r.error(ctx, "push", err)
			return
		}
		r.text(ctx, renderPushed(pushed))
	})
}

// setProject is /project set.
func (b *Bot) setProject(data discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
	directory := strings.TrimSpace(data.String("directory"))
	return b.begin(e, ActionSettings, true, doingOther, func(ctx context.Context, r *reply) {
		if err := folder(directory); err != nil {
			r.error(ctx, "set a project", err)
			return
		}
		channel, err := b.cfg.Store.Channel(ctx, r.at.Channel.String())
		if err != nil && workspace.CodeOf(err) != workspace.ErrNotFound {
			r.error(ctx, "look up a channel", err)
			return
		}
		channel.ID, channel.GuildID, channel.Directory = r.at.Channel.String(), r.at.Guild.String(), directory
		if err := b.cfg.Store.PutChannel(ctx, channel); err != nil {
			r.error(ctx, "set a project", err)
			return
		}
		r.text(ctx, b.text(TextProjectSet, code(directory)))
	})
}

// folder refuses what is no folder of this machine.
func folder(directory string) error {
	refused := func(why string, err error) error {
		return &workspace.Error{
			Code: workspace.ErrNotFound, Err: err, Message: fmt.Sprintf("%s %s; the channel works on what it did before", directory, why),
			Hint: "give the whole path of a folder on the machine that the bot runs on",
		}
	}
	if !filepath.IsAbs(directory) {
		return refused("is no whole path", nil)
	}
	info, err := os.Stat(directory)
	switch {
	case err != nil:
		return refused("can't be looked at", err)
	case !info.IsDir():
		return refused("is no folder", nil)
	}
	return nil
}
