package discordbot

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/disgo/rest"

	"github.com/threadtree/threadtree/workspace"
)

// firstAnswer is how long a first answer may take us, of the 3 s that Discord
// gives.
const firstAnswer = 2800 * time.Millisecond

// Command is a command of the bot's, by the name that it has by default.
type Command string

// The commands.
const (
	CommandNew       Command = "new-worktree"
	CommandMerge     Command = "merge-worktree"
	CommandWorktrees Command = "worktrees"
	CommandWorktree  Command = "worktree"
	CommandProject   Command = "project"
	CommandAbort     Command = "abort"
)

// DefaultNames returns the names of all commands.
func DefaultNames() map[Command]string {
	names := make(map[Command]string)
	for _, c := range []Command{CommandNew, CommandMerge, CommandWorktrees, CommandWorktree, CommandProject, CommandAbort} {
		names[c] = string(c)
	}
	return names
}

// Commands returns the commands as they are registered with Discord, for
// handler.SyncCommands, which replaces the whole set: add those of the program
// itself.
func (b *Bot) Commands() []discord.ApplicationCommandCreate {
	branch := func(name, description string) discord.ApplicationCommandOption {
		return discord.ApplicationCommandOptionString{Name: name, Description: description, Autocomplete: true}
	}
	definitions := []discord.SlashCommandCreate{
		{Name: string(CommandNew), Description: "Make a workspace in a thread of its own", Options: []discord.ApplicationCommandOption{
			discord.ApplicationCommandOptionString{Name: "name", Description: "What to call it"},
			branch("base-branch", "The branch to start from"),
		}},
		{Name: string(CommandMerge), Description: "Bring this thread's commits home", Options: []discord.ApplicationCommandOption{
			branch("target-branch", "The branch to bring them to"),
		}},
		{Name: string(CommandWorktrees), Description: "Show all worktrees of this project"},
		{Name: string(CommandWorktree), Description: "This thread's workspace", Options: []discord.ApplicationCommandOption{
			discord.ApplicationCommandOptionSubCommand{Name: "diff", Description: "Show what it changes"},
			discord.ApplicationCommandOptionSubCommand{Name: "push", Description: "Publish its branch"},
		}},
		{Name: string(CommandProject), Description: "This channel's project", Options: []discord.ApplicationCommandOption{
			discord.ApplicationCommandOptionSubCommand{Name: "set", Description: "Set the folder that this channel works on", Options: []discord.ApplicationCommandOption{
				discord.ApplicationCommandOptionString{Name: "directory", Description: "The folder, on the machine that the bot runs on", Required: true},
			}},
		}},
		{Name: string(CommandAbort), Description: "Stop the agent in this thread"},
	}
	var commands []discord.ApplicationCommandCreate
	for _, c := range definitions {
		name, ok := b.cfg.Names[Command(c.Name)]
		if !ok || c.Name == string(CommandAbort) && b.cfg.Agent == nil {
			continue
		}
		c.Name = name
		c.Contexts = []discord.InteractionContextType{discord.InteractionContextTypeGuild}
		commands = append(commands, c)
	}
	return commands
}

func (b *Bot) registerCommands(r handler.Router) {
	at := func(c Command, rest string, register func(pattern string)) {
		if name, ok := b.cfg.Names[c]; ok {
			register("/" + name + rest)
		}
	}
	slash := func(h handler.SlashCommandHandler) func(string) {
		return func(pattern string) { r.SlashCommand(pattern, h) }
	}
	at(CommandNew, "", slash(b.newWorktree))
	at(CommandMerge, "", slash(b.mergeWorktree))
	at(CommandWorktrees, "", slash(b.worktrees))
	at(CommandWorktree, "/diff", slash(b.diff))
	at(CommandWorktree, "/push", slash(b.push))
	at(CommandProject, "/set", slash(b.setProject))
	at(CommandAbort, "", slash(b.abortAgent))
	complete := func(pattern string) { r.Autocomplete(pattern, b.completeBranch) }
	at(CommandNew, "", complete)
	at(CommandMerge, "", complete)
}

// maxChoices and maxChoice are how many completions Discord takes, and how long
// each may be.
const (
	maxChoices = 25
	maxChoice  = 100
)

// completeBranch offers the branches of the channel's project, newest first.
func (b *Bot) completeBranch(e *handler.AutocompleteEvent) error {
	b.remember(e.Client())
	b.spawn("complete a branch", func(ctx context.Context) {
		soon, cancel := context.WithTimeout(ctx, firstAnswer)
		defer cancel()
		choices := []discord.AutocompleteChoice{}
		if at, ok := placeOf(e); ok && b.allows(soon, personOf(e), ActionList) {
			choices = b.branchesSoon(soon, at, e.Data.Focused().String())
		}
		b.failed(ctx, "complete a branch", e.AutocompleteResult(choices, rest.WithCtx(soon)))
	})
	return nil
}

// branchesSoon returns none where they can't be found in time, whatever it is
// that hangs.
func (b *Bot) branchesSoon(ctx context.Context, at place, typed string) []discord.AutocompleteChoice {
	ctx, cancel := context.WithTimeout(ctx, firstAnswer*2/3)
	found := make(chan []discord.AutocompleteChoice, 1)
	taken := b.spawn("look for branches", func(context.Context) {
		defer cancel()
		found <- b.branches(ctx, at, typed)
	})
	if !taken {
		cancel()
	}
	select {
	case choices := <-found:
		return choices
	case <-ctx.Done():
	}
	select {
	case choices := <-found:
		return choices
	default:
		return []discord.AutocompleteChoice{}
	}
}

func (b *Bot) branches(ctx context.Context, at place, typed string) []discord.AutocompleteChoice {
	choices := []discord.AutocompleteChoice{}
	project, err := b.project(ctx, at)
	if err != nil {
		return choices
	}
	names, err := b.cfg.Reviewer.Branches(ctx, project, workspace.BranchQuery{Text: strings.TrimSpace(typed), Limit: 4 * maxChoices})
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		b.cfg.Logger.InfoContext(ctx, "branches can't be completed", "error", err)
	}
	for _, name := range names {
		if len(choices) < maxChoices && len([]rune(name)) <= maxChoice {
			choices = append(choices, discord.AutocompleteChoiceString{Name: name, Value: name})
		}
	}
	return choices
}

// errNoProject is told where a channel has none.
var errNoProject = errors.New("the channel has no project")

// project returns the folder that a channel works on.
func (b *Bot) project(ctx context.Context, at place) (string, error) {
	channel, err := b.cfg.Store.Channel(ctx, at.Channel.String())
	if errors.Is(err, workspace.ErrNotFound) || err == nil && channel.Directory == "" {
		return "", errNoProject
	}
	return channel.Directory, err
}
