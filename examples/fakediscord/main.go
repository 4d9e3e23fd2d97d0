// Command fakediscord tries a bot out without Discord: it runs a Discord of its
// own on loopback, with one server and one channel, and the program that it is
// given as that server's bot.
//
//	go build -o discordbot ./examples/discordbot
//	go run ./examples/fakediscord ./discordbot --provider git --project CHANNEL_ID=. --guild GUILD_ID
//
// CHANNEL_ID and GUILD_ID in the arguments become those of the channel and the
// server. What is typed is said there by a person who may do everything:
//
//	/new-worktree name=fix the login   a command, with its options
//	hello                              a message
//	#1                                 from now on in the first thread, #0 is the channel
//	!Delete                            a press on the newest button with that label
//	...                                wait until the bot shows nothing new
//
// All that the bot shows is printed, until the input ends and the bot has
// stopped. The exit code is 0 if each line came to something.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
)

func main() {
	if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") {
		fmt.Fprintln(os.Stderr, "usage: fakediscord PROGRAM [ARGUMENT...]; its documentation says more: go doc ./examples/fakediscord")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fakediscord:", err)
		os.Exit(1)
	}
}

// try is the Discord with a person in it.
type try struct {
	*discordtest.Discord
	guild, channel, person snowflake.ID
	// at is where the person is.
	at snowflake.ID
	// failed is how many lines came to nothing.
	failed int
	// shown is what was printed of each message.
	shown map[snowflake.ID]string
	out   io.Writer
}

// run tries a program out until the input or ctx ends.
func run(ctx context.Context, program []string, in io.Reader, out io.Writer) (err error) {
	t := &try{Discord: discordtest.New(discordtest.Options{}), shown: make(map[snowflake.ID]string), out: out}
	defer t.Close()
	t.guild = t.AddGuild("server")
	t.channel = t.AddChannel(t.guild, discord.ChannelTypeGuildText, "channel")
	t.person = t.AddMember(t.guild, "you", discord.PermissionManageThreads, discord.PermissionManageGuild)
	t.at = t.channel
	server, err := t.Serve(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	ids := strings.NewReplacer("CHANNEL_ID", t.channel.String(), "GUILD_ID", t.guild.String())
	args := []string{"--api-url", server.APIURL, "--gateway-url", server.GatewayURL}
	for _, arg := range program[1:] {
		args = append(args, ids.Replace(arg))
	}
	bot := exec.Command(program[0], args...)
	bot.Env = append(os.Environ(), "DISCORD_TOKEN="+t.Token())
	bot.Stdout, bot.Stderr = out, os.Stderr
	if err := bot.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- bot.Wait() }()
	t.talk(ctx, in, ended)
	t.show()
	if err := bot.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	err = <-ended
	t.show()
	if err == nil && t.failed > 0 {
		err = fmt.Errorf("lines that came to nothing: %d", t.failed)
	}
	return err
}

// talk has the person do what is typed, once the bot is connected.
func (t *try) talk(ctx context.Context, in io.Reader, ended chan error) {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		ready := lines
		if t.Connected() == 0 {
			ready = nil
		}
		select {
		case line, ok := <-ready:
			if !ok {
				return
			}
			if line = strings.TrimSpace(line); line != "" {
				fmt.Fprintf(t.out, "> %s\n", line)
				if err := t.do(ctx, line); err != nil {
					t.failed++
					fmt.Fprintln(t.out, err)
				}
			}
		case <-tick.C:
		case err := <-ended:
			ended <- err
			return
		case <-ctx.Done():
			return
		}
		t.show()
	}
}

// do does one thing that was typed.
func (t *try) do(ctx context.Context, line string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	switch line[0] {
	case '.':
		return t.calm(ctx)
	case '/':
		name, options := parse(line[1:])
		_, err := t.Command(t.person, t.at, name, options).WaitFinal(ctx)
		return err
	case '#':
		n := 0
		if _, err := fmt.Sscan(line[1:], &n); err != nil || n < 0 || n > len(t.Threads(t.channel)) {
			return fmt.Errorf("there are the threads 1 to %d, and the channel is 0", len(t.Threads(t.channel)))
		}
		t.at = t.channel
		if n > 0 {
			t.at = t.Threads(t.channel)[n-1].ID
		}
		return nil
	case '!':
		messages := t.MessagesSeenBy(t.person, t.at)
		for i := len(messages) - 1; i >= 0; i-- {
			if button, ok := messages[i].Button(line[1:]); ok {
				_, err := t.Press(t.person, messages[i], button.CustomID).WaitFinal(ctx)
				return err
			}
		}
		return fmt.Errorf("there is no button %q here", line[1:])
	}
	_, err := t.Say(t.person, t.at, line)
	return err
}

// parse takes a command apart: words are its name until the first option, and
// belong to the option before them after that.
func parse(line string) (name string, options map[string]any) {
	options = make(map[string]any)
	option := ""
	for _, word := range strings.Fields(line) {
		key, value, found := strings.Cut(word, "=")
		switch {
		case found:
			option, options[key] = key, value
		case option != "":
			options[option] = fmt.Sprint(options[option], " ", word)
		default:
			name = strings.TrimSpace(name + " " + word)
		}
	}
	return name, options
}

// calm waits until the bot has shown nothing new for a while.
func (t *try) calm(ctx context.Context) error {
	for quiet := 0; quiet < 15; quiet++ {
		if t.show() {
			quiet = 0
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// show prints what the bot shows that wasn't printed yet, and reports whether
// there was anything.
func (t *try) show() (printed bool) {
	places := append([]discordtest.Channel{{ID: t.channel, Name: "channel"}}, t.Threads(t.channel)...)
	for i, place := range places {
		for _, m := range t.MessagesSeenBy(t.person, place.ID) {
			text := m.Text()
			for _, button := range m.Buttons() {
				text += "\n[" + button.Label + "]"
			}
			if m.AuthorID != t.BotID() || m.Loading() || t.shown[m.ID] == text {
				continue
			}
			t.shown[m.ID], printed = text, true
			fmt.Fprintf(t.out, "#%d %s\n  %s\n", i, place.Name, strings.ReplaceAll(text, "\n", "\n  "))
		}
	}
	return printed
}
