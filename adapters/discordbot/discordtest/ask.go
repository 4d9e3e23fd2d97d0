package discordtest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"
)

// Command runs a slash command as a person and returns at once. The name is that
// of a registered command, with sub-command group and sub-command after it,
// divided by spaces. An option's value is a string, bool, int, float64, an id
// for a user, channel, role or mentionable, or a [File].
func (d *Discord) Command(userID, channelID snowflake.ID, name string, options map[string]any) *Interaction {
	d.mu.Lock()
	defer d.mu.Unlock()
	in := d.begin(discord.InteractionTypeApplicationCommand, userID, channelID)
	data := d.commandData(in, name, options, "")
	if in.err == nil {
		d.ask(in, data)
	}
	return in
}

// Autocomplete types into the option named focused of a command and waits for
// the suggestions. It returns [ErrNoAnswer] when there are none in time.
func (d *Discord) Autocomplete(ctx context.Context, userID, channelID snowflake.ID, name string, options map[string]any, focused string) ([]Choice, error) {
	d.mu.Lock()
	in := d.begin(discord.InteractionTypeAutocomplete, userID, channelID)
	data := d.commandData(in, name, options, focused)
	if in.err == nil {
		d.ask(in, data)
	}
	d.mu.Unlock()
	a, err := in.Wait(ctx)
	return a.Choices, err
}

// commandData is the command with its options, or refuses the interaction.
func (d *Discord) commandData(in *Interaction, name string, options map[string]any, focused string) object {
	if in.err != nil {
		return nil
	}
	ch := d.channels[in.channel]
	path := strings.Fields(name)
	k := d.findCommand(ch.GuildID, path)
	perms := d.permissions(in.user, ch)
	switch {
	case k == nil:
		in.refuse("no command %q", name)
		return nil
	case perms.Missing(discord.PermissionUseApplicationCommands),
		k.Permissions != nil && (*k.Permissions == 0 && perms.Missing(discord.PermissionAdministrator) || perms.Missing(*k.Permissions)):
		in.refuse("user %d may not use %q", in.user, name)
		return nil
	}
	resolved := resolvedData{}
	list := d.optionData(in, k.Options, path[1:], options, focused, resolved)
	data := object{"id": k.id, "name": k.Name, "type": k.Type, "options": list, "resolved": resolved}
	if k.guild != 0 {
		data["guild_id"] = k.guild
	}
	return data
}

func (d *Discord) findCommand(guildID snowflake.ID, path []string) *command {
	if len(path) == 0 {
		return nil
	}
	for _, scope := range []snowflake.ID{guildID, 0} {
		for _, k := range d.commands[scope] {
			if k.Name == path[0] && k.Type == discord.ApplicationCommandTypeSlash {
				return k
			}
		}
	}
	return nil
}

func (d *Discord) optionData(in *Interaction, known []optionBody, path []string, given map[string]any, focused string, resolved resolvedData) []object {
	list := []object{}
	if len(path) > 0 {
		i := slices.IndexFunc(known, func(o optionBody) bool { return o.Name == path[0] && isGroup(o.Type) })
		if i < 0 {
			in.refuse("no sub-command %q", path[0])
			return list
		}
		below := d.optionData(in, known[i].Options, path[1:], given, focused, resolved)
		return append(list, object{"name": path[0], "type": known[i].Type, "options": below})
	}
	left := maps.Clone(given)
	for _, o := range known {
		value, ok := given[o.Name]
		switch {
		case isGroup(o.Type):
			in.refuse("a sub-command is missing")
		case !ok && o.Required && focused == "":
			in.refuse("option %q is required", o.Name)
		case ok:
			if focused != o.Name || !o.Autocomplete {
				if err := o.accepts(value); err != nil {
					in.refuse("option %q: %v", o.Name, err)
				}
			}
			sent := object{"name": o.Name, "type": o.Type, "value": d.resolve(in, &o, value, resolved)}
			if focused == o.Name {
				sent["focused"] = true
			}
			list = append(list, sent)
		}
		delete(left, o.Name)
		if focused == o.Name && (!ok || !o.Autocomplete) {
			in.refuse("option %q doesn't complete, or nothing was typed", o.Name)
		}
	}
	for name := range left {
		in.refuse("no option %q", name)
	}
	return list
}

// Press presses a button of a message as a person and returns at once. The
// message is taken as it is now.
func (d *Discord) Press(userID snowflake.ID, m Message, customID string) *Interaction {
	return d.component(userID, m, customID, func(n *node) (object, string) {
		if n.Type != discord.ComponentTypeButton {
			return nil, "it is not a button"
		}
		return object{}, ""
	})
}

// Forge presses a button that a message doesn't have, as somebody might whose
// client makes custom ids up: a bot does well to take none for its own.
func (d *Discord) Forge(userID snowflake.ID, m Message, customID string) *Interaction {
	d.mu.Lock()
	defer d.mu.Unlock()
	in := d.begin(discord.InteractionTypeComponent, userID, m.ChannelID)
	if in.err != nil {
		return in
	}
	if in.message = d.channels[m.ChannelID].message(m.ID); in.message == nil {
		in.refuse("no message %d", m.ID)
		return in
	}
	d.ask(in, object{"custom_id": customID, "component_type": discord.ComponentTypeButton, "id": 1})
	return in
}

// Select chooses values in a select menu of a message as a person and returns at
// once; for menus of users, roles and channels the values are ids.
func (d *Discord) Select(userID snowflake.ID, m Message, customID string, values ...string) *Interaction {
	return d.component(userID, m, customID, func(n *node) (object, string) {
		if !isSelect(n.Type) {
			return nil, "it is not a select menu"
		}
		if problem := n.chooses(values); problem != "" {
			return nil, problem
		}
		resolved := resolvedData{}
		for _, v := range values {
			if id, err := snowflake.Parse(v); err == nil && n.Type != discord.ComponentTypeStringSelectMenu {
				d.resolveID(d.channels[m.ChannelID], id, resolved)
			}
		}
		return object{"values": values, "resolved": resolved}, ""
	})
}

func (n *node) chooses(values []string) string {
	low, high := 1, 1
	if n.MinValues != nil {
		low = *n.MinValues
	}
	if n.MaxValues != nil {
		high = *n.MaxValues
	}
	if len(values) < low || len(values) > high {
		return "it doesn't take that many values"
	}
	for _, v := range values {
		offered := slices.ContainsFunc(n.Options, func(o nodeOption) bool { return o.Value == v })
		if n.Type == discord.ComponentTypeStringSelectMenu && !offered {
			return "it doesn't offer " + v
		}
	}
	return ""
}

func (d *Discord) component(userID snowflake.ID, m Message, customID string, use func(*node) (object, string)) *Interaction {
	d.mu.Lock()
	defer d.mu.Unlock()
	in := d.begin(discord.InteractionTypeComponent, userID, m.ChannelID)
	if in.err != nil {
		return in
	}
	target := d.channels[m.ChannelID].message(m.ID)
	if target == nil || !target.seenBy(userID) {
		in.refuse("no message %d for user %d", m.ID, userID)
		return in
	}
	in.message = target
	nodes, err := parseComponents(target.components)
	if err != nil {
		in.refuse("%v", err)
		return in
	}
	var found *node
	_ = walk(nodes, func(n *node) error {
		if n.CustomID != nil && *n.CustomID == customID {
			found = n
		}
		return nil
	})
	if found == nil || found.Disabled {
		in.refuse("no component %q to use on message %d", customID, m.ID)
		return in
	}
	data, problem := use(found)
	if problem != "" {
		in.refuse("component %q: %s", customID, problem)
		return in
	}
	data["custom_id"], data["component_type"], data["id"] = customID, found.Type, found.ID
	d.ask(in, data)
	return in
}

// Submit sends the modal that an interaction was answered with, with a text for
// each of its inputs by custom id, and returns at once.
func (d *Discord) Submit(userID snowflake.ID, opened *Interaction, inputs map[string]string) *Interaction {
	a, _ := opened.Answer()
	d.mu.Lock()
	defer d.mu.Unlock()
	in := d.begin(discord.InteractionTypeModalSubmit, userID, opened.channel)
	in.message = opened.message
	if in.err != nil {
		return in
	}
	data, err := modalData(a.Modal, inputs)
	if err != nil {
		in.refuse("%v", err)
		return in
	}
	d.ask(in, data)
	return in
}
