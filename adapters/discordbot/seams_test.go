package discordbot

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/workspace"
)

// TestBesideCommandsOfOnesOwn has a bot with a command of its own, others
// renamed or left out, and other words.
func TestBesideCommandsOfOnesOwn(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(_ *scene, cfg *Config) {
		cfg.Names = map[Command]string{CommandNew: "plant", CommandWorktrees: "beds", CommandWorktree: "bed"}
		cfg.Texts = map[Text]string{TextNotAllowed: "Ask the gardener.", TextThreadTitle: "bed: %s", TextNotThread: "Not in a bed."}
		cfg.DraftPrefix = "🌱 "
	})
	mux := handler.New()
	mux.SlashCommand("/water", func(_ discord.SlashCommandInteractionData, e *handler.CommandEvent) error {
		return e.CreateMessage(discord.NewMessageCreate().WithContent("watered"))
	})
	s.Kill(s.client)
	if _, err := connect(t.Context(), s.Discord, s.guild, s.bot, mux, discord.SlashCommandCreate{Name: "water", Description: "Water the beds"}); err != nil {
		t.Fatal(err)
	}
	wants(t, s.run(s.ada, s.channel, "water", nil).Message, "watered")
	wants(t, s.run(s.boss, s.channel, "beds", nil).Message, "Type `/plant` to make one.")
	wants(t, s.run(s.ada, s.channel, "plant", nil).Message, "Ask the gardener.")
	wants(t, s.run(s.boss, s.channel, "bed diff", nil).Message, "Not in a bed.")
	s.run(s.boss, s.channel, "plant", map[string]any{"name": "roses"})
	thread := s.newThread()
	if thread.Name != "🌱 bed: threadtree/roses" {
		t.Errorf("%q", thread.Name)
	}
	s.ready(thread.ID)
	wants(t, s.run(s.boss, s.channel, "beds", nil).Message, "roses")
	for _, name := range []string{"new-worktree", "merge-worktree", "abort"} {
		if _, err := s.Command(s.boss, s.channel, name, nil).Wait(s.limit); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}

func TestWithoutAnAgent(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(_ *scene, cfg *Config) { cfg.Agent = nil })
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.said(thread.ID, "hello")
	s.differ(w)
	conflict := s.run(s.boss, thread.ID, "merge-worktree", nil).Message
	if _, ok := conflict.Button("Ask the agent"); ok {
		t.Error("there is no agent to ask")
	}
	if err := s.resolve(w); err != nil {
		t.Fatal(err)
	}
	wants(t, s.press(s.boss, conflict, "Continue merge").Message, "Merged")
	s.idle()
	if _, err := s.Command(s.boss, thread.ID, "abort", nil).Wait(s.limit); err == nil {
		t.Error("there is nothing to abort")
	}
}

func TestOnErrorHearsOfFaults(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(_ *scene, cfg *Config) { cfg.Store = broken{cfg.Store} })
	wants(t, s.run(s.boss, s.channel, "new-worktree", map[string]any{"name": "one"}).Message, "disk is full")
	s.idle()
	s.expect("the disk is full")
}

type broken struct{ Store }

func (broken) Channel(ctx, string) (workspace.Channel, error) {
	return workspace.Channel{}, &workspace.Error{Code: workspace.ErrStoreFailed, Message: "the disk is full"}
}

func TestDiffHasThePatchAsAFile(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	wants(t, s.run(s.boss, thread.ID, "worktree diff", nil).Message, "Nothing differs")
	s.commit(w.Directory, "readme", "two\n")
	if err := os.WriteFile(filepath.Join(w.Directory, "draft"), []byte("untracked\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := s.run(s.boss, thread.ID, "worktree diff", nil).Message
	wants(t, m, "2 files", "readme", "draft")
	if len(m.Files) != 1 || m.Files[0].Name != "changes.diff" {
		t.Fatalf("%+v", m.Files)
	}
	for _, line := range []string{"-one", "+two", "+untracked"} {
		if !strings.Contains(string(m.Files[0].Data), "\n"+line) {
			t.Errorf("the patch lacks %q:\n%s", line, m.Files[0].Data)
		}
	}
}

func TestPush(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	sha := s.commit(w.Directory, "new", "new\n")
	if m := s.run(s.boss, thread.ID, "worktree push", nil).Message; !strings.Contains(m.Text(), "remote") {
		t.Errorf("without a remote: %s", m.Text())
	}
	origin := filepath.Join(s.root, "origin.git")
	s.git(s.root, "init", "-q", "--bare", origin)
	s.git(s.dir, "remote", "add", "origin", origin)
	wants(t, s.run(s.boss, thread.ID, "worktree push", nil).Message, w.Branch)
	if got := s.git(origin, "rev-parse", w.Branch); got != sha {
		t.Errorf("the remote has %s", got)
	}
}

func TestProjectSet(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	channel := s.AddChannel(s.guild, discord.ChannelTypeGuildText, "new")
	for directory, why := range map[string]string{"app": "whole path", filepath.Join(s.root, "nowhere"): "can't be looked at", filepath.Join(s.dir, "readme"): "no folder"} {
		wants(t, s.run(s.boss, channel, "project set", map[string]any{"directory": directory}).Message, why)
	}
	if _, err := s.store.Channel(t.Context(), channel.String()); workspace.CodeOf(err) != workspace.ErrNotFound {
		t.Error(err)
	}
	wants(t, s.run(s.boss, channel, "project set", map[string]any{"directory": s.dir}).Message, s.dir)
	s.run(s.boss, channel, "new-worktree", map[string]any{"name": "here"})
	thread, err := s.WaitThread(s.limit, channel, func(discordtest.Channel) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	s.ready(thread.ID)
	// Another folder leaves the rest of the settings as it is.
	s.project(channel, s.dir, true)
	s.run(s.boss, channel, "project set", map[string]any{"directory": s.root})
	if c, err := s.store.Channel(t.Context(), channel.String()); err != nil || c.Directory != s.root || !c.Automatic {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestAbortStopsTheAgent(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	begun, stop := make(chan struct{}), make(chan struct{})
	s.agent.mu.Lock()
	s.agent.stop = func() { close(stop) }
	s.agent.turn = func(ctx context.Context, _, _ string, _ teller) error {
		close(begun)
		<-stop
		return &workspace.Error{Code: workspace.ErrProviderFailed, Message: "it was stopped"}
	}
	s.agent.mu.Unlock()
	s.said(thread.ID, "work")
	<-begun
	if _, err := s.WaitMessage(s.limit, thread.ID, func(m discordtest.Message) bool { return len(m.Reactions) > 0 && m.Content == "work" }); err != nil {
		t.Errorf("nothing shows that it works: %v", err)
	}
	wants(t, s.run(s.boss, thread.ID, "abort", nil).Message, "Stopped")
	s.says(thread.ID, "It was stopped")
	s.idle()
	if s.agent.aborted[0] != thread.ID.String() {
		t.Errorf("%q", s.agent.aborted)
	}
}

func TestBranchesAreCompleted(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	for i := range 30 {
		s.git(s.dir, "branch", fmt.Sprintf("topic-%02d", i))
	}
	long := strings.Repeat("long", 30)
	s.git(s.dir, "checkout", "-q", "-b", "newest")
	later := exec.Command("git", "commit", "-q", "--allow-empty", "-m", "later")
	later.Dir, later.Env = s.dir, append(gitEnv(), "GIT_COMMITTER_DATE=2037-01-01T00:00:00Z")
	if out, err := later.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.git(s.dir, "branch", long)
	complete := func(channel snowflake.ID, command, option, typed string) []string {
		t.Helper()
		choices, err := s.Autocomplete(s.limit, s.boss, channel, command, map[string]any{option: typed}, option)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range choices {
			names = append(names, c.Name)
		}
		return names
	}
	all := complete(s.channel, "new-worktree", "base-branch", "")
	if len(all) != 25 || all[0] != "newest" || slices.Contains(all, long) {
		t.Errorf("%q", all)
	}
	if some := complete(s.channel, "merge-worktree", "target-branch", "TOPIC-2"); len(some) != 10 {
		t.Errorf("%q", some)
	}
	other := s.AddChannel(s.guild, discord.ChannelTypeGuildText, "other")
	folder := s.AddChannel(s.guild, discord.ChannelTypeGuildText, "folder")
	s.project(folder, s.root, false)
	for _, channel := range []snowflake.ID{other, folder} {
		if names := complete(channel, "new-worktree", "base-branch", ""); len(names) > 0 {
			t.Errorf("%q", names)
		}
	}
	// A branch that isn't there is refused, in words.
	for _, bad := range []string{"no-such", "-x", "a..b"} {
		wants(t, s.run(s.boss, s.channel, "new-worktree", map[string]any{"name": "x", "base-branch": bad}).Message, bad)
	}
	if threads := s.Threads(s.channel); len(threads) > 0 {
		t.Errorf("%+v", threads)
	}
	s.idle()
}
