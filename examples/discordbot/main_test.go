// The gateway of disgo has races of its own over a real connection.

//go:build !race

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
)

// lines is what a program prints, with a way to wait for a line.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// world is a server on loopback with a channel for a repository.
type world struct {
	*discordtest.Discord
	served  *discordtest.Server
	root    string
	channel snowflake.ID
	guild   snowflake.ID
	boss    snowflake.ID
}

func newWorld(t *testing.T, o discordtest.Options) *world {
	t.Helper()
	w := &world{Discord: discordtest.New(o), root: t.TempDir()}
	t.Cleanup(w.Close)
	w.guild = w.AddGuild("garden")
	w.channel = w.AddChannel(w.guild, discord.ChannelTypeGuildText, "app")
	w.boss = w.AddMember(w.guild, "boss", discord.PermissionManageThreads)
	var err error
	if w.served, err = w.Serve(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.served.Close() })
	dir := filepath.Join(w.root, "app")
	for _, args := range [][]string{{"init", "-q", "-b", "main", dir}, {"-C", dir, "commit", "-q", "--allow-empty", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Env = append(
			os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org",
		)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return w
}

func (w *world) options() options {
	home := filepath.Join(w.root, "home")
	return options{
		Token: w.Token(), Project: map[id]string{id(w.channel): filepath.Join(w.root, "app")}, Home: home, DB: filepath.Join(home, "db"),
		Provider: "git", Guild: []id{id(w.guild)}, APIURL: w.served.APIURL, GatewayURL: w.served.GatewayURL,
	}
}

// start runs the bot and returns what stops it, once it is ready.
func start(t *testing.T, o options, log *slog.Logger, out *lines) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, o, log, out) }()
	for !strings.Contains(out.String(), "ready: ") {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return func() error {
		cancel()
		return <-ended
	}
}

func TestServeFromStartToStop(t *testing.T) {
	w := newWorld(t, discordtest.Options{})
	out := &lines{}
	stop := start(t, w.options(), slog.New(slog.DiscardHandler), out)
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := w.Command(w.boss, w.channel, "new-worktree", map[string]any{"name": "one"}).WaitFinal(limit); err != nil {
		t.Fatal(err)
	}
	thread, err := w.WaitThread(limit, w.channel, func(discordtest.Channel) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WaitMessage(limit, thread.ID, func(m discordtest.Message) bool { return strings.Contains(m.Text(), "Folder: ") }); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil || !strings.Contains(out.String(), "stopping") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestReconnects cuts the connection: the bot comes back by itself, and the
// health that it answers with says how it stands.
func TestReconnects(t *testing.T) {
	w := newWorld(t, discordtest.Options{})
	o := w.options()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Health = free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	stop := start(t, o, slog.New(slog.DiscardHandler), &lines{})
	healthy := func() bool {
		t.Helper()
		r, err := http.Get("http://" + o.Health + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return r.StatusCode == http.StatusOK
	}
	if !healthy() {
		t.Error("it isn't well")
	}
	w.served.Break()
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for (w.Connected() == 0 || !healthy()) && limit.Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	if a, err := w.Command(w.boss, w.channel, "worktrees", nil).WaitFinal(limit); err != nil || !strings.Contains(a.Message.Text(), "There are none") {
		t.Errorf("%s, %v", a.Message.Text(), err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get("http://" + o.Health + "/healthz"); err == nil {
		t.Error("it still answers")
	}
}

func TestWhatIsWrongIsSaidInALine(t *testing.T) {
	for name, c := range map[string]struct {
		options discordtest.Options
		change  func(w *world, o *options)
		want    string
	}{
		"a token that is none":   {change: func(_ *world, o *options) { o.Token = "nonsense" }, want: "not one of Discord's"},
		"another bot's token":    {change: func(w *world, o *options) { o.Token = w.Token() + "x" }, want: "refused by Discord"},
		"an intent that is off":  {options: discordtest.Options{DeniedIntents: gateway.IntentMessageContent}, want: "Message Content Intent"},
		"nobody at the address":  {change: func(_ *world, o *options) { o.APIURL = "http://127.0.0.1:1/api/v10" }, want: "no way to Discord"},
		"no OpenCode to be had":  {change: func(_ *world, o *options) { o.Provider, o.OpenCodeURL = "opencode", "nonsense" }, want: "http://127.0.0.1:4096"},
		"a home that can't hold": {change: func(w *world, o *options) { o.DB = filepath.Join(w.root, "app", ".git", "HEAD", "db") }, want: "HEAD"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.options)
			o := w.options()
			if c.change != nil {
				c.change(w, &o)
			}
			limit, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := serve(limit, o, slog.New(slog.DiscardHandler), io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("it says %v", err)
			}
		})
	}
}

func TestChannelThatCannotBeSeen(t *testing.T) {
	w := newWorld(t, discordtest.Options{})
	o := w.options()
	o.Project[12345] = filepath.Join(w.root, "app")
	log := &lines{}
	stop := start(t, o, slog.New(slog.NewTextHandler(log, nil)), &lines{})
	if err := stop(); err != nil || !strings.Contains(log.String(), "can't see a channel") {
		t.Errorf("%v\n%s", err, log)
	}
}

func TestMissingTokenIsSaid(t *testing.T) {
	if err := (&options{}).complete(); err == nil || !strings.Contains(err.Error(), "DISCORD_TOKEN") {
		t.Error(err)
	}
}

// TestFlags are typed as the README has them.
func TestFlags(t *testing.T) {
	dir := t.TempDir()
	parse := func(args ...string) (options, error) {
		var o options
		parser, err := kong.New(&o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parser.Parse(args)
		return o, err
	}
	o, err := parse("--project", "123456789012345678="+dir, "--project", "2="+dir, "--guild", "3", "--role", "4", "--role", "5")
	if err != nil || len(o.Project) != 2 || o.Project[123456789012345678] != dir || !slices.Equal(ids(o.Guild), []snowflake.ID{3}) || !slices.Equal(ids(o.Role), []snowflake.ID{4, 5}) {
		t.Errorf("%+v, %v", o, err)
	}
	for _, wrong := range []string{"--guild=garden", "--role=<@&4>", "--guild=0"} {
		if _, err := parse(wrong); err == nil || !strings.Contains(err.Error(), "no id of Discord's") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	if _, err := parse("--project", "app="+dir); err == nil || !strings.Contains(err.Error(), "--project") {
		t.Error(err)
	}
}

// TestInviteLink has the permissions in the README be those that it names.
func TestInviteLink(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := discord.PermissionViewChannel | discord.PermissionSendMessages | discord.PermissionSendMessagesInThreads |
		discord.PermissionCreatePublicThreads | discord.PermissionCreatePrivateThreads | discord.PermissionManageThreads |
		discord.PermissionReadMessageHistory | discord.PermissionAddReactions | discord.PermissionAttachFiles
	if link := fmt.Sprintf("&permissions=%d`", int64(want)); !strings.Contains(string(readme), link) {
		t.Errorf("the README doesn't have %s", link)
	}
}
