// Command discordbot is a Discord bot that gives each thread a workspace of its
// own. See the README beside it for the steps on Discord's side.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/disgoorg/snowflake/v2"
)

// options are the program's flags.
type options struct {
	Token       string        `name:"token" env:"DISCORD_TOKEN" hidden:"" help:"The bot's token; give it in DISCORD_TOKEN."`
	Project     map[id]string `name:"project" placeholder:"CHANNEL_ID=DIR" help:"A channel and the folder that it works on; may be given several times."`
	DB          string        `name:"db" env:"THREADTREE_DB" placeholder:"FILE" help:"The database. Default: threadtree.db in the home directory of threadtree."`
	Home        string        `name:"home" env:"THREADTREE_HOME" placeholder:"DIR" help:"Where worktrees go. Default: threadtree in this user's data directory."`
	Provider    string        `name:"provider" enum:"git,opencode,auto" default:"auto" help:"Who makes workspaces: git, opencode, or auto (OpenCode, and git where OpenCode is not to be had)."`
	OpenCodeURL string        `name:"opencode-url" placeholder:"URL" help:"Address of your OpenCode server; without it one is started."`
	Role        []id          `name:"role" placeholder:"ROLE_ID" help:"A role whose members may do everything; may be given several times."`
	Guild       []id          `name:"guild" placeholder:"GUILD_ID" help:"A server to register the commands in, where they show at once; without one they are registered everywhere."`
	Setup       bool          `name:"setup" help:"Copy ignored files and install dependencies in fresh workspaces. This runs code that the repository brings."`
	Pool        bool          `name:"pool" default:"true" negatable:"" help:"Keep spare worktrees of the projects, so that workspaces are there at once (default); --no-pool for none."`
	APIURL      string        `name:"api-url" placeholder:"URL" help:"A server that speaks as Discord's API does, with the version in the path."`
	GatewayURL  string        `name:"gateway-url" placeholder:"URL" help:"A server that speaks as Discord's gateway does."`
	Health      string        `name:"health" placeholder:"ADDRESS" help:"Answer GET /healthz at this address: 200 while the bot is connected."`
	Verbose     bool          `name:"verbose" help:"Log more."`
}

// id is one of Discord's, as it is typed.
type id snowflake.ID

// UnmarshalText takes the digits alone.
func (i *id) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is no id of Discord's: those are digits, as Copy ID gives them", text)
	}
	*i = id(n)
	return nil
}

// ids are the same as disgo has them.
func ids(typed []id) []snowflake.ID {
	var all []snowflake.ID
	for _, i := range typed {
		all = append(all, snowflake.ID(i))
	}
	return all
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program; it returns the exit code.
func run(args []string, stdout, stderr *os.File) int {
	var o options
	code := -1
	parser, err := kong.New(
		&o, kong.Name("discordbot"), kong.Description("A Discord bot that gives each thread a workspace of its own."),
		kong.Writers(stdout, stderr), kong.Exit(func(c int) { code = c }),
	)
	if err != nil {
		fmt.Fprintln(stderr, "discordbot:", err)
		return 1
	}
	_, err = parser.Parse(args)
	if code >= 0 {
		return code
	}
	if err != nil {
		fmt.Fprintln(stderr, "discordbot:", err)
		return 2
	}
	if err := o.complete(); err != nil {
		fmt.Fprintln(stderr, "discordbot:", err)
		return 2
	}
	level := slog.LevelInfo
	if o.Verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	if err := serve(ctx, o, log, stdout); err != nil {
		fmt.Fprintln(stderr, "discordbot:", err)
		return 1
	}
	return 0
}

// complete fills in what was not given.
func (o *options) complete() error {
	if o.Token == "" {
		return errors.New("no token: put the bot's token into DISCORD_TOKEN (developer portal, your application, Bot, Reset Token)")
	}
	if len(o.Project) == 0 {
		fmt.Fprintln(os.Stderr, "discordbot: no --project was given; channels get theirs by /project set")
	}
	if o.Home == "" {
		data := os.Getenv("XDG_DATA_HOME")
		if data == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return errors.New("the home directory of this user is not known: give --home")
			}
			data = filepath.Join(home, ".local", "share")
		}
		o.Home = filepath.Join(data, "threadtree")
	}
	var err error
	if o.Home, err = filepath.Abs(o.Home); err != nil {
		return err
	}
	if o.DB == "" {
		o.DB = filepath.Join(o.Home, "threadtree.db")
	}
	for channel, dir := range o.Project {
		if o.Project[channel], err = filepath.Abs(dir); err != nil {
			return err
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("the folder %s of channel %d is not there", dir, channel)
		}
	}
	return nil
}

// stopTimeout is how long work that is under way may take when the bot stops.
const stopTimeout = 30 * time.Second
