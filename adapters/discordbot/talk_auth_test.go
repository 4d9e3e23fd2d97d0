package discordbot

import (
	"slices"
	"strings"
	"testing"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/workspace"
)

// TestWhoMayTalk has somebody who may nothing speak in a thread and begin one:
// the agent hears nothing, no workspace is made, and it is said once.
func TestWhoMayTalk(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.project(s.channel, s.dir, true)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	mod := s.AddMember(s.guild, "mod")
	s.SetPermissions(s.channel, mod, discordtest.DefaultPermissions|discord.PermissionManageThreads)
	for _, text := range []string{"first", "second"} {
		if _, err := s.Say(s.ada, thread.ID, text); err != nil {
			t.Fatal(err)
		}
	}
	theirs, err := s.StartThreadWith(s.ada, s.channel, "mine", "begun")
	if err != nil {
		t.Fatal(err)
	}
	s.idle()
	for _, id := range []snowflake.ID{thread.ID, theirs.ID} {
		told := 0
		for _, m := range s.Messages(id) {
			if m.AuthorID == s.BotID() && strings.Contains(m.Content, "takes no messages from you") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("it is said %d times", told)
		}
	}
	if _, err := s.manager.Get(t.Context(), theirs.ID.String()); workspace.CodeOf(err) != workspace.ErrNotFound {
		t.Errorf("there is a workspace: %v", err)
	}
	// The exceptions of the channel count.
	if _, err := s.Say(mod, thread.ID, "third"); err != nil {
		t.Fatal(err)
	}
	s.says(thread.ID, "you said: third")
	s.idle()
	if heard := s.agent.heard(); !slices.Equal(heard, []string{thread.ID.String() + ": third"}) {
		t.Errorf("%q", heard)
	}
}

// TestPermissionsOfAMember follows Discord's order: roles, then the channel's
// exceptions for everybody, for the roles together, and for the person.
func TestPermissionsOfAMember(t *testing.T) {
	t.Parallel()
	const view, talk, manage = discord.PermissionViewChannel, discord.PermissionSendMessages, discord.PermissionManageThreads
	r := rights{guild: 1, owner: 9, roles: []discord.Role{
		{ID: 1, Permissions: view | talk}, {ID: 2, Permissions: manage}, {ID: 3}, {ID: 4, Permissions: discord.PermissionAdministrator},
	}, overwrites: discord.PermissionOverwrites{
		discord.RolePermissionOverwrite{RoleID: 1, Deny: talk},
		discord.RolePermissionOverwrite{RoleID: 2, Deny: manage},
		discord.RolePermissionOverwrite{RoleID: 3, Allow: manage | talk},
		discord.MemberPermissionOverwrite{UserID: 7, Deny: manage},
	}}
	for _, c := range []struct {
		user  snowflake.ID
		roles []snowflake.ID
		want  discord.Permissions
	}{
		{5, nil, view},
		{5, []snowflake.ID{2}, view},
		{5, []snowflake.ID{2, 3}, view | talk | manage},
		{7, []snowflake.ID{3}, view | talk},
		{9, nil, discord.PermissionsAll},
		{5, []snowflake.ID{4}, discord.PermissionsAll},
	} {
		if got := r.of(c.user, c.roles); got != c.want {
			t.Errorf("%d with %v: %v, not %v", c.user, c.roles, got, c.want)
		}
	}
}
