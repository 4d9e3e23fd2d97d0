package discordbot

import (
	"strings"
	"testing"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
)

const refusal = "You may not"

func TestWhoMayUseTheCommands(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	mod := s.AddMember(s.guild, "mod", discord.PermissionManageThreads)
	for _, c := range []struct {
		command   string
		in        snowflake.ID
		options   map[string]any
		everybody bool
		mod       bool
	}{
		{command: "new-worktree", in: s.channel, options: map[string]any{"name": "???"}, mod: true},
		{command: "merge-worktree", in: thread.ID, mod: true},
		{command: "worktrees", in: s.channel, everybody: true, mod: true},
		{command: "worktree diff", in: thread.ID, everybody: true, mod: true},
		{command: "worktree push", in: thread.ID, mod: true},
		{command: "project set", in: s.channel, options: map[string]any{"directory": "nowhere"}},
		{command: "abort", in: thread.ID, mod: true},
	} {
		for user, may := range map[snowflake.ID]bool{s.ada: c.everybody, mod: c.mod, s.boss: true} {
			a := s.run(user, c.in, c.command, c.options)
			if refused := strings.Contains(a.Message.Text(), refusal); refused == may || refused && !a.Message.Ephemeral() {
				t.Errorf("%s by %s: %s", c.command, user, a.Message.Text())
			}
		}
	}
}

// TestEachButtonAsksAgain takes what somebody may between list and press.
func TestEachButtonAsksAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.made(s.boss, s.channel, map[string]any{"name": "two"})
	s.differ(w)
	conflict := s.run(s.boss, thread.ID, "merge-worktree", nil).Message
	list := s.run(s.boss, s.channel, "worktrees", nil).Message
	question := s.press(s.boss, list, "Delete anyway…").Message
	forced := labelled(t, question, "Delete anyway")
	before := s.Permissions(s.channel, s.boss)
	s.SetPermissions(s.channel, s.boss, discordtest.DefaultPermissions)

	refused := func(m discordtest.Message, id string) {
		t.Helper()
		a, err := s.Press(s.boss, m, id).WaitFinal(s.limit)
		if err != nil {
			t.Fatal(err)
		}
		wants(t, a.Message, refusal)
	}
	refused(question, forced)
	for _, label := range []string{"Ask the agent", "Abort"} {
		refused(conflict, labelled(t, conflict, label))
	}
	// To turn pages is for everybody; what is drawn has no buttons for more.
	plain := s.press(s.boss, question, "Keep it").Message
	if buttons := plain.Buttons(); len(buttons) > 0 {
		t.Errorf("%+v", buttons)
	}
	if rows, err := s.manager.Get(t.Context(), thread.ID.String()); err != nil {
		t.Errorf("%+v, %v", rows, err)
	}
	s.SetPermissions(s.channel, s.boss, before)
	list = s.run(s.boss, s.channel, "worktrees", nil).Message
	ids := []string{labelled(t, list, "Delete"), labelled(t, list, "Delete anyway…"), labelled(t, list, "Turn automatic on")}
	s.SetPermissions(s.channel, s.boss, discordtest.DefaultPermissions)
	for _, id := range ids {
		refused(list, id)
	}
	if heard := s.agent.heard(); len(heard) > 0 {
		t.Errorf("%q", heard)
	}
}

func TestRoleThatTheOperatorNames(t *testing.T) {
	t.Parallel()
	var gardener snowflake.ID
	s := newScene(t, func(s *scene, cfg *Config) {
		gardener = s.AddRole(s.guild, "gardener")
		cfg.Authorizer = ByPermission{Roles: []snowflake.ID{gardener}}
	})
	wants(t, s.run(s.ada, s.channel, "new-worktree", map[string]any{"name": "one"}).Message, refusal)
	s.SetRoles(s.guild, s.ada, gardener)
	s.made(s.ada, s.channel, map[string]any{"name": "one"})
	list := s.run(s.ada, s.channel, "worktrees", nil).Message
	labelled(t, list, "Turn automatic on")
	remove := labelled(t, list, "Delete")
	s.SetRoles(s.guild, s.ada)
	a, err := s.Press(s.ada, list, remove).WaitFinal(s.limit)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, a.Message, refusal)
}

// TestAuthorizerOfTheProgram is asked by action, with who it is and where.
func TestAuthorizerOfTheProgram(t *testing.T) {
	t.Parallel()
	asked := make(chan Person, 100)
	s := newScene(t, func(_ *scene, cfg *Config) {
		cfg.Authorizer = authorizerFunc(func(p Person, a Action) bool {
			asked <- p
			return a == ActionList
		})
	})
	wants(t, s.run(s.boss, s.channel, "new-worktree", map[string]any{"name": "one"}).Message, refusal)
	if p := <-asked; p.UserID != s.boss || p.GuildID != s.guild || p.ChannelID != s.channel || !p.Permissions.Has(discord.PermissionManageThreads) {
		t.Errorf("%+v", p)
	}
	if list := s.run(s.boss, s.channel, "worktrees", nil).Message; len(list.Buttons()) > 0 {
		t.Errorf("%+v", list.Buttons())
	}
}

type authorizerFunc func(p Person, a Action) bool

func (f authorizerFunc) May(_ ctx, p Person, a Action) bool { return f(p, a) }
