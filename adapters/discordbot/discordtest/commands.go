package discordtest

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"
)

// command is a registered command.
type command struct {
	id    snowflake.ID
	guild snowflake.ID // 0 for a global one
	commandBody
}

type commandBody struct {
	Name        string                         `json:"name"`
	Description string                         `json:"description"`
	Type        discord.ApplicationCommandType `json:"type"`
	Options     []optionBody                   `json:"options"`
	Permissions *discord.Permissions           `json:"default_member_permissions"`
	NSFW        bool                           `json:"nsfw"`
	Contexts    []int                          `json:"contexts,omitempty"`
	Integration []int                          `json:"integration_types,omitempty"`
}

type optionBody struct {
	Type         discord.ApplicationCommandOptionType `json:"type"`
	Name         string                               `json:"name"`
	Description  string                               `json:"description"`
	Required     bool                                 `json:"required,omitempty"`
	Autocomplete bool                                 `json:"autocomplete,omitempty"`
	MinValue     *float64                             `json:"min_value,omitempty"`
	MaxValue     *float64                             `json:"max_value,omitempty"`
	MinLength    *int                                 `json:"min_length,omitempty"`
	MaxLength    *int                                 `json:"max_length,omitempty"`
	ChannelTypes []discord.ChannelType                `json:"channel_types,omitempty"`
	Choices      []choiceBody                         `json:"choices,omitempty"`
	Options      []optionBody                         `json:"options,omitempty"`
}

type choiceBody struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

var commandName = regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)

func checkName(field, name string) error {
	if !commandName.MatchString(name) || strings.ToLower(name) != name {
		return invalid("%s: Command name is invalid (%q).", field, name)
	}
	return nil
}

func (b *commandBody) check() error {
	if b.Type == 0 {
		b.Type = discord.ApplicationCommandTypeSlash
	}
	if b.Type != discord.ApplicationCommandTypeSlash {
		if b.Description != "" || len(b.Options) > 0 {
			return invalid("description: Context menu commands cannot have a description or options.")
		}
		return checkLength("name", b.Name, 1, 32)
	}
	if err := checkName("name", b.Name); err != nil {
		return err
	}
	if err := checkLength("description", b.Description, 1, 100); err != nil {
		return err
	}
	if n := b.size(); n > 8000 {
		return invalid("options: Command exceeds maximum size (8000; is %d).", n)
	}
	return checkOptions(b.Options, 0)
}

// size is the sum of all names, descriptions and values.
func (b *commandBody) size() int {
	var options func([]optionBody) int
	options = func(list []optionBody) int {
		n := 0
		for _, o := range list {
			n += len([]rune(o.Name)) + len([]rune(o.Description)) + options(o.Options)
			for _, c := range o.Choices {
				n += len([]rune(c.Name)) + len([]rune(strings.Trim(string(c.Value), `"`)))
			}
		}
		return n
	}
	return len([]rune(b.Name)) + len([]rune(b.Description)) + options(b.Options)
}

func isGroup(t discord.ApplicationCommandOptionType) bool {
	return t == discord.ApplicationCommandOptionTypeSubCommand || t == discord.ApplicationCommandOptionTypeSubCommandGroup
}

func checkOptions(options []optionBody, depth int) error {
	if len(options) > maxOptions {
		return invalid("options: Must be %d or fewer in length.", maxOptions)
	}
	seen, optional := map[string]bool{}, false
	for _, o := range options {
		if err := o.check(depth); err != nil {
			return err
		}
		switch {
		case seen[o.Name]:
			return invalid("options: Option name %q is used twice.", o.Name)
		case o.Required && optional:
			return invalid("options: Required options must be placed before non-required options (%q).", o.Name)
		case isGroup(o.Type) != isGroup(options[0].Type):
			return invalid("options: Sub-command and other option types are mutually exclusive.")
		}
		seen[o.Name] = true
		optional = optional || !o.Required
	}
	return nil
}

func (o *optionBody) check(depth int) error {
	if err := checkName("options.name", o.Name); err != nil {
		return err
	}
	if err := checkLength("options.description", o.Description, 1, 100); err != nil {
		return err
	}
	switch {
	case o.Type < discord.ApplicationCommandOptionTypeSubCommand || o.Type > discord.ApplicationCommandOptionTypeAttachment:
		return invalid("options.type: Value must be one of 1 to 11.")
	case o.Type == discord.ApplicationCommandOptionTypeSubCommandGroup && depth > 0,
		o.Type == discord.ApplicationCommandOptionTypeSubCommand && depth > 1:
		return invalid("options: Sub-command option may not be nested this deep.")
	case isGroup(o.Type):
		return checkOptions(o.Options, 3-int(o.Type)) // 1 in a group, 2 in a sub-command
	case o.Autocomplete && len(o.Choices) > 0:
		return invalid("options: autocomplete and choices are mutually exclusive.")
	case len(o.Choices) > maxChoices:
		return invalid("options.choices: Must be %d or fewer in length.", maxChoices)
	}
	for _, c := range o.Choices {
		if err := checkLength("options.choices.name", c.Name, 1, maxChoiceText); err != nil {
			return err
		}
	}
	return nil
}

func (k *command) wire(d *Discord) object {
	o := object{
		"id": k.id, "application_id": d.bot.id, "version": k.id, "type": k.Type, "name": k.Name,
		"description": k.Description, "options": slices.Clone(k.Options), "default_member_permissions": k.Permissions, "nsfw": k.NSFW,
	}
	if k.Options == nil {
		o["options"] = []any{}
	}
	if k.guild != 0 {
		o["guild_id"] = k.guild
	}
	return o
}

// scope is the guild whose commands the path names, or 0; d knows the guild.
func (c *call) scope() (snowflake.ID, error) {
	if c.id("application") != c.d.bot.id {
		return 0, refuse(403, 20012, "You are not authorized to perform this action on this application")
	}
	if c.PathValue("guild") == "" {
		return 0, nil
	}
	g, err := c.guild()
	if err != nil {
		return 0, errMissingAccess
	}
	return g.id, nil
}

func getCommands(c *call) (any, error) {
	scope, err := c.scope()
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, k := range c.d.commands[scope] {
		list = append(list, k.wire(c.d))
	}
	return list, nil
}

func putCommands(c *call) (any, error) {
	scope, err := c.scope()
	if err != nil {
		return nil, err
	}
	var bodies []commandBody
	if err := c.decode(&bodies); err != nil {
		return nil, err
	}
	if len(bodies) > 100 {
		return nil, refuse(400, 30032, "Maximum number of application commands reached (100)")
	}
	var list []*command
	for _, b := range bodies {
		if list, err = c.d.register(list, scope, b); err != nil {
			return nil, err
		}
	}
	c.d.commands[scope] = list
	return getCommands(c)
}

// register adds a command to the list; a known one keeps its id.
func (d *Discord) register(list []*command, scope snowflake.ID, b commandBody) ([]*command, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	same := func(k *command) bool { return k.Name == b.Name && k.Type == b.Type }
	if slices.ContainsFunc(list, same) {
		return nil, invalid("name: Application command names must be unique (%q).", b.Name)
	}
	k := &command{id: d.newID(), guild: scope, commandBody: b}
	if i := slices.IndexFunc(d.commands[scope], same); i >= 0 {
		k.id = d.commands[scope][i].id
	}
	return append(list, k), nil
}

func postCommand(c *call) (any, error) {
	scope, err := c.scope()
	if err != nil {
		return nil, err
	}
	var b commandBody
	if err := c.decode(&b); err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(slices.Clone(c.d.commands[scope]), func(k *command) bool { return k.Name == b.Name && k.Type == max(b.Type, 1) })
	list, err := c.d.register(others, scope, b)
	if err != nil {
		return nil, err
	}
	c.d.commands[scope] = list
	return list[len(list)-1].wire(c.d), nil
}

func patchCommand(c *call) (any, error) {
	k, _, err := c.command()
	if err != nil {
		return nil, err
	}
	next := k.commandBody
	if err := c.decode(&next); err != nil {
		return nil, err
	}
	if err := next.check(); err != nil {
		return nil, err
	}
	k.commandBody = next
	return k.wire(c.d), nil
}

// command is the registered command in the path.
func (c *call) command() (*command, snowflake.ID, error) {
	scope, err := c.scope()
	if err != nil {
		return nil, 0, err
	}
	id := c.id("command")
	for _, k := range c.d.commands[scope] {
		if k.id == id {
			return k, scope, nil
		}
	}
	return nil, 0, errUnknownCommand
}

func deleteCommand(c *call) (any, error) {
	k, scope, err := c.command()
	if err != nil {
		return nil, err
	}
	c.d.commands[scope] = slices.DeleteFunc(slices.Clone(c.d.commands[scope]), func(other *command) bool { return other == k })
	return nil, nil
}

// Commands returns the names of the registered commands, sorted: those of the
// guild, or the global ones for 0.
func (d *Discord) Commands(guildID snowflake.ID) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := map[string]bool{}
	for _, k := range d.commands[guildID] {
		names[k.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}
