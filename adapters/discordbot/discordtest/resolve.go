package discordtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"
)

// resolvedData is what the ids of options and values stand for, by kind and id.
type resolvedData map[string]map[string]any

func (r resolvedData) add(kind string, id snowflake.ID, o object) {
	if r[kind] == nil {
		r[kind] = map[string]any{}
	}
	r[kind][id.String()] = o
}

// accepts says why the value isn't one that Discord lets through for the option.
func (o *optionBody) accepts(value any) error {
	switch v := value.(type) {
	case string:
		if o.Type != discord.ApplicationCommandOptionTypeString {
			return errors.New("it is not a string")
		}
		return o.acceptsString(v)
	case bool:
		if o.Type == discord.ApplicationCommandOptionTypeBool {
			return nil
		}
	case int:
		if o.Type == discord.ApplicationCommandOptionTypeInt || o.Type == discord.ApplicationCommandOptionTypeFloat {
			return o.acceptsNumber(float64(v))
		}
	case float64:
		if o.Type == discord.ApplicationCommandOptionTypeFloat {
			return o.acceptsNumber(v)
		}
	case snowflake.ID:
		switch o.Type {
		case discord.ApplicationCommandOptionTypeUser, discord.ApplicationCommandOptionTypeChannel,
			discord.ApplicationCommandOptionTypeRole, discord.ApplicationCommandOptionTypeMentionable:
			return nil
		}
	case File:
		if o.Type == discord.ApplicationCommandOptionTypeAttachment {
			return nil
		}
	}
	return fmt.Errorf("it doesn't take a %T", value)
}

func (o *optionBody) acceptsString(s string) error {
	n, limit := utf8.RuneCountInString(s), 6000
	if o.MaxLength != nil {
		limit = *o.MaxLength
	}
	if n > limit || (o.MinLength != nil && n < *o.MinLength) {
		return fmt.Errorf("it doesn't take %d characters", n)
	}
	if len(o.Choices) == 0 {
		return nil
	}
	for _, c := range o.Choices {
		var value string
		if json.Unmarshal(c.Value, &value) == nil && value == s {
			return nil
		}
	}
	return errors.New("it is not one of the choices")
}

func (o *optionBody) acceptsNumber(v float64) error {
	if (o.MinValue != nil && v < *o.MinValue) || (o.MaxValue != nil && v > *o.MaxValue) {
		return fmt.Errorf("%v is out of range", v)
	}
	return nil
}

// resolve is the value as it is sent; what it stands for is added to resolved.
func (d *Discord) resolve(in *Interaction, o *optionBody, value any, resolved resolvedData) any {
	switch v := value.(type) {
	case snowflake.ID:
		if !d.resolveID(d.channels[in.channel], v, resolved) {
			in.refuse("option %q: nothing has the id %d", o.Name, v)
		}
	case File:
		v.ID = d.newID()
		resolved.add("attachments", v.ID, v.wire(in.channel))
		return v.ID
	}
	return value
}

func (d *Discord) resolveID(ch *channel, id snowflake.ID, resolved resolvedData) bool {
	g := ch.guild
	if m := g.member(id); m != nil {
		o := m.wire(g)
		delete(o, "user")
		o["permissions"] = d.permissions(id, ch)
		resolved.add("users", id, m.user.wire())
		resolved.add("members", id, o)
		return true
	}
	if u := d.users[id]; u != nil {
		resolved.add("users", id, u.wire())
		return true
	}
	if r := g.role(id); r != nil {
		resolved.add("roles", id, r.wire())
		return true
	}
	if c := d.channels[id]; c != nil {
		o := d.channelWire(c)
		o["permissions"] = d.permissions(d.bot.id, c)
		resolved.add("channels", id, o)
		return true
	}
	return false
}

// modalData fills in the inputs of a modal.
func modalData(modal json.RawMessage, inputs map[string]string) (object, error) {
	if modal == nil {
		return nil, errors.New("there is no modal")
	}
	var m struct {
		CustomID   string `json:"custom_id"`
		Components []any  `json:"components"`
	}
	if err := json.Unmarshal(modal, &m); err != nil {
		return nil, err
	}
	left := map[string]string{}
	for id, value := range inputs {
		left[id] = value
	}
	var fill func(any)
	fill = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, below := range v {
				fill(below)
			}
		case map[string]any:
			if id, ok := v["custom_id"].(string); ok {
				v["value"] = inputs[id]
				delete(left, id)
			}
			fill(v["components"])
			fill(v["component"])
		}
	}
	fill(m.Components)
	for id := range left {
		return nil, fmt.Errorf("the modal has no input %q", id)
	}
	return object{"custom_id": m.CustomID, "components": m.Components}, nil
}
