package discordbot

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/store/memory"
	"github.com/threadtree/threadtree/workspace"
)

// TestAnsweredBeforeAnythingIsLookedUp has Discord take its time with the first
// answer: neither git nor the database is asked until it has it.
func TestAnsweredBeforeAnythingIsLookedUp(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.differ(w)
	s.idle()
	conflict := s.run(s.boss, thread.ID, "merge-worktree", nil).Message
	list := s.run(s.boss, s.channel, "worktrees", nil).Message
	s.idle()
	press := func(m discordtest.Message, label string) func() *discordtest.Interaction {
		id := labelled(t, m, label)
		return func() *discordtest.Interaction { return s.Press(s.boss, m, id) }
	}
	command := func(channel snowflake.ID, name string, options map[string]any) func() *discordtest.Interaction {
		return func() *discordtest.Interaction { return s.Command(s.boss, channel, name, options) }
	}
	for name, begin := range map[string]func() *discordtest.Interaction{
		"new":    command(s.channel, "new-worktree", map[string]any{"name": "two"}),
		"merge":  command(thread.ID, "merge-worktree", nil),
		"list":   command(s.channel, "worktrees", nil),
		"diff":   command(thread.ID, "worktree diff", nil),
		"push":   command(thread.ID, "worktree push", nil),
		"set":    command(s.channel, "project set", map[string]any{"directory": s.dir}),
		"button": press(list, "Turn automatic on"),
		"abort":  press(conflict, "Abort"),
	} {
		s.Fail(discordtest.Failure{Method: "POST", Path: "/interactions/{id}/{token}/callback", Delay: 50 * time.Millisecond, Times: 1})
		before := s.count("POST", "/callback")
		var mu sync.Mutex
		var early []string
		asked := 0
		s.watch(func(what string) {
			answered := s.count("POST", "/callback") > before
			mu.Lock()
			defer mu.Unlock()
			asked++
			if !answered {
				early = append(early, what)
			}
		})
		a, err := begin().WaitFinal(s.limit)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.idle()
		s.watch(nil)
		mu.Lock()
		if len(early) > 0 || asked == 0 || !a.Deferred() {
			t.Errorf("%s: %d looked up, before the answer %q; %+v", name, asked, early, a.Type)
		}
		mu.Unlock()
	}
}

// TestThirtyTwoAtOnce has a crowd press new at once.
func TestThirtyTwoAtOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	const crowd = 32
	var asked []*discordtest.Interaction
	for i := range crowd {
		who := s.AddMember(s.guild, fmt.Sprintf("p%d", i), discord.PermissionManageThreads)
		asked = append(asked, s.Command(who, s.channel, "new-worktree", map[string]any{"name": fmt.Sprintf("work %d", i)}))
	}
	for i, in := range asked {
		if a, err := in.Wait(s.limit); err != nil || a.After >= 3*time.Second {
			t.Errorf("%d: %v after %s", i, err, a.After)
		}
	}
	s.until("all have threads", func() bool { return len(s.Threads(s.channel)) == crowd })
	branches := make(map[string]bool)
	for _, thread := range s.Threads(s.channel) {
		s.ready(thread.ID)
		w, err := s.manager.Get(s.limit, thread.ID.String())
		if err != nil || w.Status != workspace.StatusReady {
			t.Errorf("%+v, %v", w, err)
		}
		branches[w.Branch] = true
		s.says(thread.ID, w.Branch)
	}
	if len(branches) != crowd {
		t.Errorf("%d branches", len(branches))
	}
}

// TestFiftyFlowsAtOnce has as many threads begin at once, each of which has its
// agent work twice and is looked at.
func TestFiftyFlowsAtOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a while")
	}
	s := newScene(t, nil)
	s.limitAt(2 * time.Minute)
	s.project(s.channel, s.dir, true)
	const flows = 50
	s.agent.turn = func(ctx ctx, thread, text string, tell teller) error {
		w, err := s.manager.Get(ctx, thread)
		if err != nil {
			return err
		}
		s.commit(w.Directory, "file-"+thread, text+"\n")
		tell(workspace.AgentEvent{Kind: workspace.AgentText, Text: "done " + text})
		return nil
	}
	var group sync.WaitGroup
	for i := range flows {
		group.Go(func() {
			thread := s.begun(fmt.Sprintf("flow %d", i), "a")
			s.said(thread.ID, "b")
			s.says(thread.ID, "done b")
			s.ready(thread.ID)
			if text := s.run(s.boss, thread.ID, "worktree diff", nil).Message.Text(); !strings.Contains(text, "file-"+thread.ID.String()) {
				t.Errorf("%s", text)
			}
		})
	}
	group.Wait()
	s.idle()
	heard := s.agent.heard()
	for _, thread := range s.Threads(s.channel) {
		id := thread.ID.String()
		mine := slices.DeleteFunc(slices.Clone(heard), func(p string) bool { return !strings.HasPrefix(p, id) })
		if !slices.Equal(mine, []string{id + ": a", id + ": b"}) {
			t.Errorf("%q", mine)
		}
	}
	if len(heard) != 2*flows {
		t.Errorf("%d prompts", len(heard))
	}
}

// stuck is a store and a repository that answer nothing, whatever ends, until
// they are let go.
type stuck struct {
	*memory.Store
	workspace.Repository
	workspace.Provider
	workspace.Locker
	// opens is true where the store answers and git alone hangs.
	opens bool
	let   chan struct{}
}

func (s *stuck) wait() { <-s.let }

func (s *stuck) Channel(_ context.Context, id string) (workspace.Channel, error) {
	if !s.opens {
		s.wait()
	}
	return workspace.Channel{ID: id, Directory: "/nowhere"}, nil
}

func (s *stuck) Workspace(ctx context.Context, thread string) (workspace.Workspace, error) {
	if !s.opens {
		s.wait()
	}
	return s.Store.Workspace(ctx, thread)
}

func (s *stuck) Note(ctx context.Context, namespace, key string) (workspace.Note, error) {
	if !s.opens {
		s.wait()
	}
	return s.Store.Note(ctx, namespace, key)
}

func (s *stuck) Open(context.Context, string) (workspace.Project, error) {
	s.wait()
	return workspace.Project{}, &workspace.Error{Code: workspace.ErrNotARepository, Message: "there is no repository"}
}

func (s *stuck) Name() string { return "stuck" }

// TestAnsweredInTimeWhateverHangs lets Discord's deadlines run out while the
// store, or git, answers nothing.
func TestAnsweredInTimeWhateverHangs(t *testing.T) {
	t.Parallel()
	for name, opens := range map[string]bool{"store": false, "git": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { whateverHangs(t, opens) })
		})
	}
}

func whateverHangs(t *testing.T, opens bool) {
	d := discordtest.New(discordtest.Options{})
	defer d.Close()
	guild := d.AddGuild("garden")
	channel := d.AddChannel(guild, discord.ChannelTypeGuildText, "app")
	boss := d.AddMember(guild, "boss", discord.PermissionManageThreads, discord.PermissionManageGuild)
	thread := d.AddThread(channel, discord.ChannelTypeGuildPublicThread, "thread", boss)
	hang := &stuck{Store: memory.New(), opens: opens, let: make(chan struct{})}
	quiet := slog.New(slog.DiscardHandler)
	manager, err := workspace.NewManager(workspace.Config{Store: hang, Repository: hang, Provider: hang, Locker: hang, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(Config{
		Manager: manager, Merger: workspace.NewMerger(manager, nil), Reviewer: workspace.NewReviewer(manager, nil),
		Store: hang, Agent: newFakeAgent(), Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t.Context(), d, guild, b, handler.New()); err != nil {
		t.Fatal(err)
	}
	// What is said meanwhile hangs too, and holds nobody up.
	for range 3 {
		if _, err := d.Say(boss, thread, "hello"); err != nil {
			t.Fatal(err)
		}
	}
	for name, in := range map[string]*discordtest.Interaction{
		"new":   d.Command(boss, channel, "new-worktree", map[string]any{"name": "one"}),
		"merge": d.Command(boss, thread, "merge-worktree", nil),
		"list":  d.Command(boss, channel, "worktrees", nil),
		"diff":  d.Command(boss, thread, "worktree diff", nil),
		"push":  d.Command(boss, thread, "worktree push", nil),
	} {
		if a, err := in.Wait(t.Context()); err != nil || !a.Deferred() || a.After > 100*time.Millisecond {
			t.Errorf("%s: %v, %+v", name, err, a)
		}
	}
	begun := time.Now()
	choices, err := d.Autocomplete(t.Context(), boss, channel, "new-worktree", map[string]any{"base-branch": "x"}, "base-branch")
	if took := time.Since(begun); err != nil || len(choices) > 0 || took >= 3*time.Second || took < time.Second {
		t.Errorf("%v, %v after %s", choices, err, took)
	}
	time.Sleep(10 * time.Second)
	close(hang.let)
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, v := range d.Violations() {
		t.Errorf("Discord refuses it: %+v", v)
	}
}
