package discordbot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/workspace"
)

func TestNewWorktreeInAChannel(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "Fix the login"})
	if thread.Name != "⬦ worktree: threadtree/fix-the-login" || w.Branch != "threadtree/fix-the-login" || !slices.Contains(thread.Members, s.boss) {
		t.Errorf("%+v\n%+v", thread, w)
	}
	m := s.says(thread.ID, "Send a message to begin")
	for _, wanted := range []string{w.Branch, "main"} {
		if !strings.Contains(m.Text(), wanted) {
			t.Errorf("it doesn't say %q:\n%s", wanted, m.Text())
		}
	}
	if !m.Flags.Has(discord.MessageFlagSuppressNotifications) {
		t.Error("a routine message notifies people")
	}
	starter, err := s.WaitMessage(s.limit, s.channel, func(m discordtest.Message) bool { return len(m.Reactions) > 0 })
	if err != nil || starter.Reactions[0].Emoji != "🌳" {
		t.Errorf("%+v, %v", starter, err)
	}
	if notes, err := s.store.ListNotes(t.Context(), notesStatus); err != nil || len(notes) > 0 {
		t.Errorf("%v, %v", notes, err)
	}
}

func TestNewWorktreeInAThreadGoesOnFromIt(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	first, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	if _, err := s.Say(s.boss, first.ID, "remember the apple"); err != nil {
		t.Fatal(err)
	}
	s.says(first.ID, "you said: remember the apple")
	second, w := s.made(s.boss, first.ID, nil)
	if second.ParentID != s.channel || w.Branch != "threadtree/one-2" {
		t.Errorf("%+v\n%+v", second, w)
	}
	s.says(second.ID, "The conversation goes on from <#"+first.ID.String()+">")

	s.agent.mu.Lock()
	s.agent.forkErr = &workspace.Error{Code: workspace.ErrProviderFailed, Message: "the session can't be forked"}
	s.agent.mu.Unlock()
	third, _ := s.made(s.boss, first.ID, map[string]any{"name": "three"})
	s.says(third.ID, "This begins a new conversation: the session can't be forked")
}

func TestWhereItDoesNotWork(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	other := s.AddChannel(s.guild, discord.ChannelTypeGuildText, "other")
	voice := s.AddChannel(s.guild, discord.ChannelTypeGuildVoice, "voice")
	empty := filepath.Join(s.root, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	folder := s.AddChannel(s.guild, discord.ChannelTypeGuildText, "folder")
	s.project(folder, empty, false)
	for channel, want := range map[snowflake.ID]string{other: "No project", voice: "text or announcement channel"} {
		if a := s.run(s.boss, channel, "new-worktree", map[string]any{"name": "x"}); !strings.Contains(a.Message.Text(), want) || !a.Message.Ephemeral() {
			t.Errorf("%q: %+v", want, a)
		}
	}
	for _, why := range []string{"repository", "commit"} {
		if a := s.run(s.boss, folder, "new-worktree", map[string]any{"name": "x"}); !strings.Contains(a.Message.Text(), why) || len(s.Threads(folder)) > 0 {
			t.Errorf("%q: %+v", why, a)
		}
		s.git(empty, "init", "-q")
	}
	if a := s.run(s.boss, s.channel, "new-worktree", map[string]any{"name": "x", "base-branch": "nowhere"}); !strings.Contains(a.Message.Text(), "nowhere") || len(s.Threads(s.channel)) > 0 {
		t.Errorf("%+v", a)
	}
	if a := s.run(s.ada, s.channel, "new-worktree", map[string]any{"name": "x"}); !strings.Contains(a.Message.Text(), "may not") {
		t.Errorf("%+v", a)
	}
	if a := s.run(s.boss, s.channel, "new-worktree", map[string]any{"name": "???"}); !strings.Contains(a.Message.Text(), "name") || len(s.Threads(s.channel)) > 0 {
		t.Errorf("%+v", a)
	}
	for _, command := range []string{"merge-worktree", "worktree diff", "worktree push"} {
		if a := s.run(s.boss, s.channel, command, nil); !strings.Contains(a.Message.Text(), "thread") {
			t.Errorf("%s: %s", command, a.Message.Text())
		}
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	sha := s.commit(w.Directory, "new", "new\n")
	a := s.run(s.boss, thread.ID, "merge-worktree", nil)
	for _, wanted := range []string{w.Branch, "main", sha[:7]} {
		if !strings.Contains(a.Message.Text(), wanted) {
			t.Errorf("it doesn't say %q:\n%s", wanted, a.Message.Text())
		}
	}
	if got := s.git(s.dir, "rev-parse", "main"); got != sha {
		t.Errorf("main is at %s", got)
	}
	if _, err := s.WaitThread(s.limit, s.channel, func(c discordtest.Channel) bool { return c.Name == "worktree: threadtree/one" }); err != nil {
		t.Error(err)
	}
	if a := s.run(s.boss, thread.ID, "merge-worktree", nil); !strings.Contains(a.Message.Text(), "nothing") && !strings.Contains(a.Message.Text(), "no commits") {
		t.Errorf("merged again: %s", a.Message.Text())
	}
}

func TestMergeWithAConflict(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.differ(w)
	a := s.run(s.boss, thread.ID, "merge-worktree", nil)
	if !strings.Contains(a.Message.Text(), "readme") {
		t.Errorf("%s", a.Message.Text())
	}
	if b := s.press(s.boss, a.Message, "Abort"); !strings.Contains(b.Message.Text(), "aborted") {
		t.Errorf("%s", b.Message.Text())
	}
	if got := s.git(w.Directory, "status", "--porcelain", "-b"); got != "## "+w.Branch {
		t.Errorf("after the abort: %s", got)
	}
	s.agent.does(func(_ ctx, thread, text string, tell teller) error {
		if !strings.Contains(text, "readme") {
			t.Errorf("the agent isn't told of the file:\n%s", text)
		}
		if err := os.WriteFile(filepath.Join(w.Directory, "readme"), []byte("both\n"), 0o644); err != nil {
			return err
		}
		s.git(w.Directory, "add", "readme")
		tell(workspace.AgentEvent{Kind: workspace.AgentText, Text: "I took both."})
		return nil
	})
	a = s.run(s.boss, thread.ID, "merge-worktree", nil)
	s.press(s.boss, a.Message, "Ask the agent")
	s.says(thread.ID, "I took both.")
	done := s.says(thread.ID, "The agent is done")
	if b := s.press(s.boss, done, "Continue merge"); !strings.Contains(b.Message.Text(), "main") {
		t.Errorf("%s", b.Message.Text())
	}
	if got := s.git(s.dir, "show", "main:readme"); got != "both" {
		t.Errorf("main has %q", got)
	}
	// The buttons of a merge that is over say so, and change nothing.
	before := s.git(s.dir, "rev-parse", "main")
	s.press(s.boss, done, "Continue merge")
	if got := s.git(s.dir, "rev-parse", "main"); got != before {
		t.Errorf("main moved to %s", got)
	}
	if b := s.press(s.ada, done, "Abort"); !strings.Contains(b.Message.Text(), "may not") {
		t.Errorf("%+v", b)
	}
}
