package discordtest

import (
	"encoding/json"
	"slices"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/snowflake/v2"
)

const (
	maxChoices    = 25
	maxChoiceText = 100
)

// postCallback takes the first answer to an interaction.
func postCallback(c *call) (any, error) {
	in := c.d.interactions[c.PathValue("token")]
	switch {
	case in == nil || in.id != c.id("interaction"):
		return nil, errUnknownInteraction
	case in.first != nil:
		return nil, errAcknowledged
	case c.received.Sub(in.created) > c.d.opts.AnswerWithin:
		return nil, errUnknownInteraction
	}
	var b struct {
		Type discord.InteractionResponseType `json:"type"`
		Data json.RawMessage                 `json:"data"`
	}
	if err := c.decode(&b); err != nil {
		return nil, err
	}
	if !in.takes(b.Type) {
		return nil, invalid("type: Value %d is not an answer to this interaction.", b.Type)
	}
	first := &firstAnswer{kind: b.Type, at: c.received}
	if err := c.firstAnswer(in, first, b.Data); err != nil {
		return nil, err
	}
	in.first = first
	c.d.touch()
	if c.URL.Query().Get("with_response") != "true" {
		return nil, nil
	}
	return c.callbackWire(in), nil
}

// takes reports whether the interaction can be answered this way.
func (in *Interaction) takes(kind discord.InteractionResponseType) bool {
	switch kind {
	case discord.InteractionResponseTypeCreateMessage, discord.InteractionResponseTypeDeferredCreateMessage:
		return in.kind != discord.InteractionTypeAutocomplete
	case discord.InteractionResponseTypeUpdateMessage, discord.InteractionResponseTypeDeferredUpdateMessage:
		return in.message != nil
	case discord.InteractionResponseTypeAutocompleteResult:
		return in.kind == discord.InteractionTypeAutocomplete
	case discord.InteractionResponseTypeModal:
		return in.kind == discord.InteractionTypeApplicationCommand || in.kind == discord.InteractionTypeComponent
	default:
		return false
	}
}

func (c *call) firstAnswer(in *Interaction, first *firstAnswer, data json.RawMessage) error {
	switch first.kind {
	case discord.InteractionResponseTypeCreateMessage, discord.InteractionResponseTypeDeferredCreateMessage:
		m, err := c.answerMessage(in, data, first.kind == discord.InteractionResponseTypeDeferredCreateMessage)
		first.message = m
		return err
	case discord.InteractionResponseTypeDeferredUpdateMessage:
		first.message = in.message
	case discord.InteractionResponseTypeUpdateMessage:
		ch := c.d.channels[in.message.ChannelID]
		if ch == nil || ch.message(in.message.ID) == nil {
			return errUnknownMessage
		}
		first.message = in.message
		c.body = orEmpty(data)
		_, err := c.edit(ch, in.message)
		return err
	case discord.InteractionResponseTypeAutocompleteResult:
		choices, err := checkChoices(data)
		first.choices = choices
		return err
	case discord.InteractionResponseTypeModal:
		first.modal = data
		return checkModal(data)
	}
	return nil
}

func orEmpty(data json.RawMessage) []byte {
	if len(data) == 0 {
		return []byte("{}")
	}
	return data
}

// answerMessage makes the message of an answer in the interaction's channel.
func (c *call) answerMessage(in *Interaction, data json.RawMessage, deferred bool) (*message, error) {
	ch := c.d.channels[in.channel]
	if ch == nil {
		return nil, errUnknownChannel
	}
	var b body
	if err := json.Unmarshal(orEmpty(data), &b); err != nil {
		return nil, invalid("data: %v", err)
	}
	m := c.d.newMessage(ch, c.d.bot.id)
	m.interaction = in
	if in.kind == discord.InteractionTypeApplicationCommand {
		m.Type = discord.MessageTypeSlashCommand
	}
	if b.Flags != nil && b.Flags.Has(discord.MessageFlagEphemeral) {
		m.VisibleTo = in.user
	}
	if deferred {
		m.Flags = discord.MessageFlagLoading
		if m.VisibleTo != 0 {
			m.Flags = m.Flags.Add(discord.MessageFlagEphemeral)
		}
	} else if err := c.d.apply(m, &b, c.files); err != nil {
		return nil, err
	}
	c.d.add(ch, m)
	return m, nil
}

func checkChoices(data json.RawMessage) ([]Choice, error) {
	var b struct {
		Choices *[]struct {
			Name  string          `json:"name"`
			Value json.RawMessage `json:"value"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(orEmpty(data), &b); err != nil {
		return nil, invalid("data: %v", err)
	}
	switch {
	case b.Choices == nil:
		return nil, invalid("data.choices: This field is required")
	case len(*b.Choices) > maxChoices:
		return nil, invalid("data.choices: Must be %d or fewer in length (is %d).", maxChoices, len(*b.Choices))
	}
	choices := []Choice{}
	for _, given := range *b.Choices {
		if err := checkLength("data.choices.name", given.Name, 1, maxChoiceText); err != nil {
			return nil, err
		}
		choice := Choice{Name: given.Name}
		if err := json.Unmarshal(given.Value, &choice.Value); err != nil {
			return nil, invalid("data.choices.value: %v", err)
		}
		if s, ok := choice.Value.(string); ok {
			if err := checkLength("data.choices.value", s, 1, maxChoiceText); err != nil {
				return nil, err
			}
		}
		choices = append(choices, choice)
	}
	return choices, nil
}

func checkModal(data json.RawMessage) error {
	var b struct {
		CustomID   string          `json:"custom_id"`
		Title      string          `json:"title"`
		Components json.RawMessage `json:"components"`
	}
	if err := json.Unmarshal(orEmpty(data), &b); err != nil {
		return invalid("data: %v", err)
	}
	if err := checkLength("data.custom_id", b.CustomID, 1, maxCustomID); err != nil {
		return err
	}
	if err := checkLength("data.title", b.Title, 1, 45); err != nil {
		return err
	}
	nodes, err := parseComponents(b.Components)
	if err == nil && (len(nodes) < 1 || len(nodes) > maxRow) {
		err = invalid("data.components: Must be between 1 and 5 in length.")
	}
	return err
}

func (c *call) callbackWire(in *Interaction) object {
	callback := object{"id": in.id, "type": in.kind}
	resource := object{"type": in.first.kind}
	if m := in.first.message; m != nil {
		callback["response_message_id"] = m.ID
		callback["response_message_loading"] = m.Loading()
		callback["response_message_ephemeral"] = m.Ephemeral()
		resource["message"] = c.d.messageWire(m)
	}
	return object{"interaction": callback, "resource": resource}
}

// answered is the interaction whose token is in the path; it has been answered,
// and not too long ago.
func (c *call) answered() (*Interaction, error) {
	in := c.d.interactions[c.PathValue("token")]
	switch {
	case in == nil || c.id("application") != c.d.bot.id:
		return nil, errWebhookToken
	case c.received.Sub(in.created) > followUpWithin:
		return nil, errWebhookToken
	case in.first == nil:
		return nil, errUnknownWebhook
	}
	return in, nil
}

// postFollowUp sends another message. Right after a deferred answer it is that
// answer, as on Discord.
func postFollowUp(c *call) (any, error) {
	in, err := c.answered()
	if err != nil {
		return nil, err
	}
	if m := in.first.message; m != nil && m.Loading() {
		ch, err := c.place(m)
		if err != nil {
			return nil, err
		}
		return c.edit(ch, m)
	}
	m, err := c.answerMessage(in, c.body, false)
	if err != nil {
		return nil, err
	}
	m.Type = discord.MessageTypeReply
	in.followUps = append(in.followUps, m)
	return c.d.messageWire(m), nil
}

// place is the channel that still has the message.
func (c *call) place(m *message) (*channel, error) {
	ch := c.d.channels[m.ChannelID]
	if ch == nil || ch.message(m.ID) != m {
		return nil, errUnknownMessage
	}
	return ch, nil
}

// own is the answer or follow-up in the path.
func (c *call) own() (*channel, *message, error) {
	in, err := c.answered()
	if err != nil {
		return nil, nil, err
	}
	m := in.first.message
	if name := c.PathValue("message"); name != "@original" {
		id := c.id("message")
		i := slices.IndexFunc(in.followUps, func(f *message) bool { return f.ID == id })
		switch {
		case i >= 0:
			m = in.followUps[i]
		case m == nil || m.ID != id:
			return nil, nil, errUnknownMessage
		}
	}
	if m == nil {
		return nil, nil, errUnknownMessage
	}
	ch, err := c.place(m)
	return ch, m, err
}

func getAnswerMessage(c *call) (any, error) {
	_, m, err := c.own()
	if err != nil {
		return nil, err
	}
	return c.d.messageWire(m), nil
}

func patchAnswerMessage(c *call) (any, error) {
	ch, m, err := c.own()
	if err != nil {
		return nil, err
	}
	return c.edit(ch, m)
}

func deleteAnswerMessage(c *call) (any, error) {
	ch, m, err := c.own()
	if err != nil {
		return nil, err
	}
	c.d.remove(ch, m)
	return nil, nil
}

// ask sends the interaction to the bot; d.mu is held.
func (d *Discord) ask(in *Interaction, data object) {
	ch := d.channels[in.channel]
	g := ch.guild
	member := g.member(in.user).wire(g)
	member["permissions"] = d.permissions(in.user, ch)
	where := d.channelWire(ch)
	where["permissions"] = d.permissions(in.user, ch)
	o := object{
		"id": in.id, "application_id": d.bot.id, "type": in.kind, "token": in.token, "version": 1, "data": data,
		"guild_id": g.id, "guild": object{"id": g.id, "locale": "en-US", "features": []any{}}, "channel": where,
		"channel_id": ch.ID, "member": member, "locale": "en-US", "guild_locale": "en-US",
		"app_permissions": d.permissions(d.bot.id, ch), "entitlements": []any{},
		"authorizing_integration_owners": map[string]snowflake.ID{"0": g.id}, "context": 0, "attachment_size_limit": maxFileSize,
	}
	if in.message != nil {
		o["message"] = d.messageWire(in.message)
	}
	d.interactions[in.token] = in
	d.touch()
	d.emit(gateway.EventTypeInteractionCreate, 0, o)
}
