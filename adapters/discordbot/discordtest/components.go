package discordtest

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/disgoorg/disgo/discord"
)

const (
	maxComponents    = 40
	maxDisplayedText = 4000
	maxCustomID      = 100
	maxButtonLabel   = 80
	maxRow           = 5
	maxOptions       = 25
	maxOptionText    = 100
	maxPlaceholder   = 150
)

// node is a component as it came, of whatever type.
type node struct {
	Type        discord.ComponentType `json:"type"`
	ID          int                   `json:"id"`
	CustomID    *string               `json:"custom_id"`
	Style       discord.ButtonStyle   `json:"style"`
	Label       string                `json:"label"`
	Emoji       json.RawMessage       `json:"emoji"`
	URL         string                `json:"url"`
	SkuID       json.RawMessage       `json:"sku_id"`
	Disabled    bool                  `json:"disabled"`
	Content     string                `json:"content"`
	Placeholder string                `json:"placeholder"`
	MinValues   *int                  `json:"min_values"`
	MaxValues   *int                  `json:"max_values"`
	Options     []nodeOption          `json:"options"`
	Components  []*node               `json:"components"`
	Accessory   *node                 `json:"accessory"`
	Component   *node                 `json:"component"`
}

type nodeOption struct {
	Label       string `json:"label"`
	Value       string `json:"value"`
	Description string `json:"description"`
}

func parseComponents(list json.RawMessage) ([]*node, error) {
	var nodes []*node
	if len(list) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(list, &nodes); err != nil {
		return nil, invalid("components: %v", err)
	}
	return nodes, nil
}

// walk calls f for every component below and with the given ones, in order.
func walk(nodes []*node, f func(*node) error) error {
	for _, n := range nodes {
		if n == nil {
			continue
		}
		if err := f(n); err != nil {
			return err
		}
		below := append(append([]*node{}, n.Components...), n.Accessory, n.Component)
		if err := walk(below, f); err != nil {
			return err
		}
	}
	return nil
}

func isSelect(t discord.ComponentType) bool {
	switch t {
	case discord.ComponentTypeStringSelectMenu, discord.ComponentTypeUserSelectMenu, discord.ComponentTypeRoleSelectMenu,
		discord.ComponentTypeMentionableSelectMenu, discord.ComponentTypeChannelSelectMenu:
		return true
	default:
		return false
	}
}

func checkComponents(nodes []*node, v2 bool) error {
	if !v2 && len(nodes) > maxRow {
		return invalid("components: Must be 5 or fewer in length.")
	}
	for i, n := range nodes {
		if n != nil && !atTop(n.Type, v2) {
			return invalid("components[%d].type: Value of field \"type\" is not allowed here.", i)
		}
	}
	count, displayed := 0, 0
	customIDs, ids := map[string]bool{}, map[int]bool{}
	return walk(nodes, func(n *node) error {
		count++
		displayed += utf8.RuneCountInString(n.Content)
		switch {
		case count > maxComponents:
			return invalid("components: Total number of components must be %d or fewer.", maxComponents)
		case displayed > maxDisplayedText:
			return invalid("components: Displayed text is longer than %d characters.", maxDisplayedText)
		}
		if n.ID != 0 {
			if ids[n.ID] {
				return invalid("components: Component id %d is used twice.", n.ID)
			}
			ids[n.ID] = true
		}
		if n.CustomID != nil {
			if customIDs[*n.CustomID] {
				return invalid("components: Component custom id cannot be duplicated (%q).", *n.CustomID)
			}
			customIDs[*n.CustomID] = true
		}
		return checkComponent(n, v2)
	})
}

func atTop(t discord.ComponentType, v2 bool) bool {
	switch t {
	case discord.ComponentTypeActionRow:
		return true
	case discord.ComponentTypeSection, discord.ComponentTypeTextDisplay, discord.ComponentTypeMediaGallery,
		discord.ComponentTypeFile, discord.ComponentTypeSeparator, discord.ComponentTypeContainer:
		return v2
	default:
		return false
	}
}

func checkComponent(n *node, v2 bool) error {
	if n.CustomID != nil {
		if l := utf8.RuneCountInString(*n.CustomID); l < 1 || l > maxCustomID {
			return invalid("custom_id: Must be between 1 and %d in length (is %d).", maxCustomID, l)
		}
	}
	switch {
	case n.Type == discord.ComponentTypeActionRow:
		return checkRow(n)
	case n.Type == discord.ComponentTypeButton:
		return checkButton(n)
	case isSelect(n.Type):
		return checkSelect(n)
	case n.Type == discord.ComponentTypeTextDisplay && n.Content == "":
		return invalid("content: This field is required.")
	case n.Type == discord.ComponentTypeSection && (n.Accessory == nil || len(n.Components) < 1 || len(n.Components) > 3):
		return invalid("section: Wants 1 to 3 texts and an accessory.")
	case n.Type == discord.ComponentTypeContainer:
		for _, c := range n.Components {
			if c.Type == discord.ComponentTypeContainer || !atTop(c.Type, v2) {
				return invalid("container: Component type %d is not allowed here.", c.Type)
			}
		}
		if len(n.Components) == 0 {
			return invalid("container: Must have at least 1 component.")
		}
	}
	return nil
}

func checkRow(n *node) error {
	if len(n.Components) < 1 || len(n.Components) > maxRow {
		return invalid("action row: Must be between 1 and 5 in length (is %d).", len(n.Components))
	}
	for _, c := range n.Components {
		if isSelect(c.Type) && len(n.Components) > 1 {
			return invalid("action row: A select menu wants a row of its own.")
		}
		if c.Type != discord.ComponentTypeButton && !isSelect(c.Type) {
			return invalid("action row: Component type %d is not allowed here.", c.Type)
		}
	}
	return nil
}

func checkButton(n *node) error {
	if l := utf8.RuneCountInString(n.Label); l > maxButtonLabel {
		return invalid("label: Must be %d or fewer in length (is %d).", maxButtonLabel, l)
	}
	switch {
	case n.Style == discord.ButtonStylePremium:
		return nil
	case n.Style < discord.ButtonStylePrimary || n.Style > discord.ButtonStylePremium:
		return invalid("style: Value must be one of 1 to 6.")
	case n.Label == "" && len(n.Emoji) == 0:
		return invalid("button: A label or an emoji is required.")
	case n.Style == discord.ButtonStyleLink && (n.URL == "" || n.CustomID != nil):
		return invalid("button: A link wants a url and no custom id.")
	case n.Style != discord.ButtonStyleLink && (n.URL != "" || n.CustomID == nil):
		return invalid("button: A custom id is required.")
	case utf8.RuneCountInString(n.URL) > 512:
		return invalid("url: Must be 512 or fewer in length.")
	}
	return nil
}

func checkSelect(n *node) error {
	low, high := 1, 1
	if n.MinValues != nil {
		low = *n.MinValues
	}
	if n.MaxValues != nil {
		high = *n.MaxValues
	}
	switch {
	case n.CustomID == nil:
		return invalid("select: A custom id is required.")
	case utf8.RuneCountInString(n.Placeholder) > maxPlaceholder:
		return invalid("placeholder: Must be %d or fewer in length.", maxPlaceholder)
	case low < 0 || low > maxOptions || high < 1 || high > maxOptions || low > high:
		return invalid("select: min_values %d and max_values %d are out of range.", low, high)
	case n.Type != discord.ComponentTypeStringSelectMenu:
		return nil
	case len(n.Options) < 1 || len(n.Options) > maxOptions:
		return invalid("options: Must be between 1 and %d in length (is %d).", maxOptions, len(n.Options))
	}
	seen := map[string]bool{}
	for _, o := range n.Options {
		for field, s := range map[string]string{"label": o.Label, "value": o.Value} {
			if err := checkLength(fmt.Sprintf("options.%s", field), s, 1, maxOptionText); err != nil {
				return err
			}
		}
		if err := checkLength("options.description", o.Description, 0, maxOptionText); err != nil {
			return err
		}
		if seen[o.Value] {
			return invalid("options.value: The value %q is used twice.", o.Value)
		}
		seen[o.Value] = true
	}
	return nil
}

func checkLength(field, s string, low, high int) error {
	if l := utf8.RuneCountInString(s); l < low || l > high {
		return invalid("%s: Must be between %d and %d in length (is %d).", field, low, high, l)
	}
	return nil
}
