package discordbot

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/disgoorg/disgo/bot"
	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// scene is a server with a channel that works on a repository, and the bot.
type scene struct {
	*discordtest.Discord
	t       testing.TB
	root    string
	dir     string
	guild   snowflake.ID
	channel snowflake.ID
	// boss may manage threads and the server, ada may not.
	boss, ada snowflake.ID

	store   *sqlite.Store
	manager *workspace.Manager
	merger  *workspace.Merger
	agent   *fakeAgent
	bot     *Bot
	client  *bot.Client

	// watcher hears of each call of git's and of the store's.
	watcher atomic.Pointer[func(what string)]

	// limit ends each wait of the scene.
	limit context.Context

	mu     sync.Mutex
	faults []error
	// allowed are refusals of Discord's that the test wants.
	allowed []rest.JSONErrorCode
}

// newScene makes a repository and starts the bot.
func newScene(t testing.TB, change func(s *scene, cfg *Config)) *scene {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, Discord: discordtest.New(discordtest.Options{}), root: root, dir: filepath.Join(root, "app"), agent: newFakeAgent()}
	t.Cleanup(s.Discord.Close)
	s.limitAt(20 * time.Second)
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.git(s.dir, "init", "-q", "-b", "main")
	s.commit(s.dir, "readme", "one\n")
	s.guild = s.AddGuild("garden")
	s.channel = s.AddChannel(s.guild, discord.ChannelTypeGuildText, "app")
	s.boss = s.AddMember(s.guild, "boss", discord.PermissionManageThreads, discord.PermissionManageGuild)
	s.ada = s.AddMember(s.guild, "ada")
	if s.store, err = sqlite.Open(t.Context(), filepath.Join(root, "db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.store.Close() })
	s.project(s.channel, s.dir, false)
	s.start(change)
	s.idle()
	t.Cleanup(func() {
		for _, v := range s.Violations() {
			if slices.Contains(s.allowed, v.Code) {
				continue
			}
			t.Errorf("Discord refuses it: %+v", v)
		}
		for _, ping := range s.Pings() {
			t.Errorf("somebody was pinged: %s", ping)
		}
		for _, err := range s.faults {
			t.Errorf("reported: %v", err)
		}
	})
	return s
}

// limitAt ends the scene's waits after a while from now.
func (s *scene) limitAt(d time.Duration) {
	limit, cancel := context.WithTimeout(s.t.Context(), d)
	s.t.Cleanup(cancel)
	s.limit = limit
}

func (s *scene) project(channel snowflake.ID, dir string, automatic bool) {
	s.t.Helper()
	err := s.store.PutChannel(s.t.Context(), workspace.Channel{
		ID: channel.String(), GuildID: s.guild.String(), Directory: dir, Automatic: automatic,
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// start puts library and bot together and connects, as a new process would.
func (s *scene) start(change func(s *scene, cfg *Config)) {
	t := s.t
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store := &watchedStore{s.store, s}
	library, err := assemble(s.root, store, func(r *gitops.Repository) workspace.Repository { return &watchedRepository{r, s} })
	if err != nil {
		t.Fatal(err)
	}
	s.manager, s.merger = library.Manager, library.Merger
	cfg := Config{
		Manager: s.manager, Merger: s.merger, Reviewer: library.Reviewer, Store: store, Agent: s.agent, Logger: quiet,
		OnError: func(_ context.Context, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.faults = append(s.faults, err)
		},
	}
	if change != nil {
		change(s, &cfg)
	}
	if s.bot, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	s.bot.lookAhead = time.Minute // a busy machine isn't what is tested
	if s.client, err = connect(t.Context(), s.Discord, s.guild, s.bot, handler.New()); err != nil {
		t.Fatal(err)
	}
	b := s.bot
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// connect has a bot with a router take the place of whatever is connected, with
// its commands and more.
func connect(ctx context.Context, d *discordtest.Discord, guild snowflake.ID, b *Bot, mux *handler.Mux, more ...discord.ApplicationCommandCreate) (*bot.Client, error) {
	b.Register(mux)
	client, err := d.NewClient(bot.WithEventListeners(mux, b.Listener()), bot.WithLogger(b.cfg.Logger))
	if err != nil {
		return nil, err
	}
	if err := handler.SyncCommands(client, append(b.Commands(), more...), []snowflake.ID{guild}); err != nil {
		return nil, err
	}
	if err := b.Start(ctx, client); err != nil {
		return nil, err
	}
	return client, d.Open(client)
}

// restart kills the bot as if its process had died, and starts it anew.
func (s *scene) restart(change func(s *scene, cfg *Config)) {
	s.t.Helper()
	s.stop()
	s.start(change)
}

func (s *scene) stop() {
	s.mu.Lock()
	faults := slices.Clone(s.faults)
	s.mu.Unlock()
	s.Kill(s.client)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.bot.Close(gone)
	s.mu.Lock()
	s.faults = faults // the dead report nothing
	s.mu.Unlock()
}

// assemble puts the library together on a store, with real git.
func assemble(root string, store interface {
	workspace.Workspaces
	workspace.Sessions
	workspace.Trash
}, seen func(*gitops.Repository) workspace.Repository,
) (c Config, err error) {
	home := filepath.Join(root, "home")
	repository, err := gitops.New(gitops.Options{Home: home, Env: gitEnv()})
	if err != nil {
		return c, err
	}
	locks, err := gitops.NewAttemptLocks(filepath.Join(home, "locks"), "")
	if err != nil {
		return c, err
	}
	merging := gitops.NewMerger(repository, gitops.MergeOptions{})
	c.Manager, err = workspace.NewManager(workspace.Config{
		Store: store, Repository: seen(repository), Locker: locks, Logger: slog.New(slog.DiscardHandler),
		Provider:   gitops.NewProvider(repository, gitops.ProviderOptions{}),
		Recoverers: []workspace.Recoverer{gitops.NewRepairer(repository, locks), merging},
	})
	if err != nil {
		return c, err
	}
	c.Merger = workspace.NewMerger(c.Manager, merging)
	c.Reviewer = workspace.NewReviewer(c.Manager, gitops.NewReviewer(repository, gitops.ReviewOptions{}))
	return c, nil
}

// expect takes a reported error that a test wants.
func (s *scene) expect(text string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, err := range s.faults {
		if strings.Contains(err.Error(), text) {
			s.faults = append(s.faults[:i], s.faults[i+1:]...)
			return
		}
	}
	s.t.Errorf("nothing like %q was reported: %v", text, s.faults)
}

func gitEnv() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")
}

func (s *scene) git(dir string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, gitEnv()
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *scene) commit(dir, file, content string) string {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.git(dir, "add", "-A")
	s.git(dir, "commit", "-q", "-m", "change "+file)
	return s.git(dir, "rev-parse", "HEAD")
}

// hook puts a hook of git's into the repository; "" takes it out.
func (s *scene) hook(name, script string) {
	s.t.Helper()
	dir := filepath.Join(s.dir, ".git", "hooks")
	file := filepath.Join(dir, name)
	if script == "" {
		if err := os.Remove(file); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		s.t.Fatal(err)
	}
	// A file that is written and run at once may be busy: it is moved there.
	if err := os.WriteFile(file+".new", []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		s.t.Fatal(err)
	}
}

// remake deletes a thread's workspace behind the bot's back and makes another.
func (s *scene) remake(thread snowflake.ID) {
	s.t.Helper()
	id := thread.String()
	if _, err := s.manager.Delete(s.limit, workspace.DeleteOptions{ThreadID: id, Force: true}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.manager.Create(s.limit, workspace.CreateOptions{Project: s.dir, ThreadID: id, Name: "again"}); err != nil {
		s.t.Fatal(err)
	}
}

// run has somebody use a command and returns its final answer.
func (s *scene) run(user, channel snowflake.ID, command string, options map[string]any) discordtest.Answer {
	s.t.Helper()
	a, err := s.Command(user, channel, command, options).WaitFinal(s.limit)
	if err != nil {
		s.t.Fatalf("%s: %v", command, err)
	}
	return a
}

// press has somebody press a button, by its label, and returns the answer.
func (s *scene) press(user snowflake.ID, m discordtest.Message, label string) discordtest.Answer {
	s.t.Helper()
	button, ok := m.Button(label)
	if !ok {
		s.t.Fatalf("no button %q below:\n%s", label, m.Text())
	}
	a, err := s.Press(user, m, button.CustomID).WaitFinal(s.limit)
	if err != nil {
		s.t.Fatalf("%s: %v", label, err)
	}
	return a
}

// made has somebody make a workspace, and returns its thread once it is ready.
func (s *scene) made(user, channel snowflake.ID, options map[string]any) (discordtest.Channel, workspace.Workspace) {
	s.t.Helper()
	before := len(s.Threads(s.channel))
	a := s.run(user, channel, "new-worktree", options)
	threads := s.Threads(s.channel)
	if len(threads) != before+1 {
		s.t.Fatalf("%d threads; %s", len(threads), a.Message.Text())
	}
	thread := threads[len(threads)-1]
	for _, candidate := range threads {
		if candidate.ID > thread.ID {
			thread = candidate
		}
	}
	s.ready(thread.ID)
	w, err := s.manager.Get(s.limit, thread.ID.String())
	if err != nil || w.Status != workspace.StatusReady {
		s.t.Fatalf("%+v, %v", w, err)
	}
	return thread, w
}

// ready waits until a thread's status message is final.
func (s *scene) ready(thread snowflake.ID) {
	s.t.Helper()
	for {
		var n statusNote
		_, found, err := s.bot.readNote(s.limit, notesStatus, thread.String(), &n)
		if err != nil {
			s.t.Fatal(err)
		}
		if w, err := s.manager.Get(s.limit, thread.String()); !found && err == nil && w.Status != workspace.StatusPending {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
