package discordtest

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"
)

const (
	maxContent    = 2000
	maxEmbeds     = 10
	maxEmbedTexts = 6000
)

// body is what a message is made or edited with. A field that is nil was not
// sent, or sent as null.
type body struct {
	Content     json.RawMessage          `json:"content"`
	Embeds      json.RawMessage          `json:"embeds"`
	Components  json.RawMessage          `json:"components"`
	Attachments []attachmentBody         `json:"attachments"`
	Mentions    *discord.AllowedMentions `json:"allowed_mentions"`
	Flags       *discord.MessageFlags    `json:"flags"`
	Reference   *struct {
		MessageID snowflake.ID `json:"message_id"`
	} `json:"message_reference"`
	keepsFiles bool
}

type attachmentBody struct {
	ID          snowflake.ID `json:"id"`
	Description string       `json:"description"`
}

// UnmarshalJSON remembers whether attachments were named.
func (b *body) UnmarshalJSON(data []byte) error {
	type plain body
	var v struct {
		plain
		Attachments *[]attachmentJSON `json:"attachments"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*b = body(v.plain)
	b.keepsFiles = v.Attachments == nil
	if v.Attachments != nil {
		for _, a := range *v.Attachments {
			b.Attachments = append(b.Attachments, attachmentBody{snowflake.ID(a.ID), a.Description})
		}
	}
	return nil
}

// attachmentJSON has an index as a number or a string, or a snowflake.
type attachmentJSON struct {
	ID          looseID `json:"id"`
	Description string  `json:"description"`
}

type looseID uint64

func (id *looseID) UnmarshalJSON(data []byte) error {
	var n json.Number
	if len(data) > 1 && data[0] == '"' {
		data = data[1 : len(data)-1]
	}
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	v, err := n.Int64()
	*id = looseID(v)
	return err
}

// allowedFlags are those that a bot may set on a message that it sends.
const allowedFlags = discord.MessageFlagSuppressEmbeds | discord.MessageFlagEphemeral |
	discord.MessageFlagSuppressNotifications | discord.MessageFlagIsComponentsV2

// apply makes a new version of the message out of the body, checks it, and only
// then writes it down. A message that is new has no versions yet.
func (d *Discord) apply(m *message, b *body, files []File) error {
	next := *m
	next.At = d.opts.Now()
	if err := next.takeFlags(b); err != nil {
		return err
	}
	if b.Content != nil {
		next.Content = ""
		if err := json.Unmarshal(b.Content, &next.Content); err != nil {
			return invalid("content: %v", err)
		}
	}
	if err := next.takeLists(b); err != nil {
		return err
	}
	next.takeFiles(b, files)
	if err := next.check(); err != nil {
		return err
	}
	if err := checkMentions(b.Mentions); err != nil {
		return err
	}
	next.Mentions = b.Mentions
	next.Pings = append(next.Pings[:len(next.Pings):len(next.Pings)], pings(next.Text(), b.Mentions)...)
	next.Flags = next.Flags.Remove(discord.MessageFlagLoading)
	next.Versions = append(next.Versions, next.Version)
	*m = next
	d.touch()
	return nil
}

func (m *message) takeFlags(b *body) error {
	if b.Flags == nil {
		return nil
	}
	sent := *b.Flags
	if len(m.Versions) == 0 && m.Flags.Missing(discord.MessageFlagLoading) {
		m.Flags = m.Flags.Add(sent & allowedFlags)
		return nil
	}
	const editable = discord.MessageFlagSuppressEmbeds | discord.MessageFlagIsComponentsV2
	if m.Flags.Has(discord.MessageFlagIsComponentsV2) && sent.Missing(discord.MessageFlagIsComponentsV2) {
		return invalid("flags: IS_COMPONENTS_V2 can't be removed from a message.")
	}
	m.Flags = m.Flags.Remove(editable).Add(sent & editable)
	return nil
}

func (m *message) takeLists(b *body) error {
	if b.Embeds != nil {
		m.embeds, m.Embeds = b.Embeds, nil
		if err := json.Unmarshal(b.Embeds, &m.Embeds); err != nil {
			return invalid("embeds: %v", err)
		}
	}
	if b.Components == nil {
		return nil
	}
	m.components, m.Components = b.Components, nil
	nodes, err := parseComponents(b.Components)
	if err != nil {
		return err
	}
	if err := checkComponents(nodes, m.Flags.Has(discord.MessageFlagIsComponentsV2)); err != nil {
		return err
	}
	var parsed discord.Message
	data, err := json.Marshal(object{"components": b.Components})
	if err == nil {
		err = json.Unmarshal(data, &parsed)
	}
	if err != nil {
		return invalid("components: %v", err)
	}
	m.Components = parsed.Components
	return nil
}

// takeFiles keeps the files that an edit names and adds the new ones.
func (m *message) takeFiles(b *body, files []File) {
	kept := []File{}
	for _, f := range m.Files {
		keep := b.keepsFiles
		for _, a := range b.Attachments {
			keep = keep || a.ID == f.ID
		}
		if keep {
			kept = append(kept, f)
		}
	}
	for i, f := range files {
		for _, a := range b.Attachments {
			if a.ID == snowflake.ID(i) {
				f.Description = a.Description
			}
		}
		kept = append(kept, f)
	}
	m.Files = kept
}

func (m *message) check() error {
	v2 := m.Flags.Has(discord.MessageFlagIsComponentsV2)
	switch {
	case v2 && (m.Content != "" || len(m.Embeds) > 0):
		return invalid("content, embeds: MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2")
	case v2 && len(m.Components) == 0,
		!v2 && m.Content == "" && len(m.Embeds) == 0 && len(m.Components) == 0 && len(m.Files) == 0:
		return errEmptyMessage
	case utf8.RuneCountInString(m.Content) > maxContent:
		return invalid("content: Must be %d or fewer in length (is %d).", maxContent, utf8.RuneCountInString(m.Content))
	case len(m.Embeds) > maxEmbeds:
		return invalid("embeds: Must be %d or fewer in length.", maxEmbeds)
	}
	return checkEmbeds(m.Embeds)
}

func checkEmbeds(embeds []discord.Embed) error {
	total := 0
	check := func(field, s string, limit int) error {
		total += utf8.RuneCountInString(s)
		return checkLength("embeds."+field, s, 0, limit)
	}
	for _, e := range embeds {
		if len(e.Fields) > 25 {
			return invalid("embeds.fields: Must be 25 or fewer in length.")
		}
		texts := []struct {
			field, s string
			limit    int
		}{{"title", e.Title, 256}, {"description", e.Description, 4096}}
		if e.Footer != nil {
			texts = append(texts, struct {
				field, s string
				limit    int
			}{"footer.text", e.Footer.Text, 2048})
		}
		for _, t := range texts {
			if err := check(t.field, t.s, t.limit); err != nil {
				return err
			}
		}
		for _, f := range e.Fields {
			if err := check("fields.name", f.Name, 256); err != nil {
				return err
			}
			if err := check("fields.value", f.Value, 1024); err != nil {
				return err
			}
		}
	}
	if total > maxEmbedTexts {
		return invalid("embeds: Embed size exceeds maximum size of %d.", maxEmbedTexts)
	}
	return nil
}
