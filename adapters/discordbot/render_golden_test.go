package discordbot

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/disgoorg/disgo/discord"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testNow is the time at which everything is drawn.
var testNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// hostile is what a person may call things.
const hostile = "**x** [a](http://x) @everyone <@1> `c` ``` # h\u202E:smile: <#2> ~~s~~ ||p|| \x1b[31m\\"

// golden compares with the file of that name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".txt")
	got += "\n"
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
	}
}

// checkContent holds a message to what Discord takes, and to pinging nobody.
func checkContent(t *testing.T, content string) {
	t.Helper()
	if n := utf8.RuneCountInString(content); n == 0 || n > contentMax {
		t.Errorf("%d characters: %q", n, content)
	}
	if !utf8.ValidString(content) {
		t.Errorf("no UTF-8: %q", content)
	}
	if strings.Count(content, fence)%2 != 0 {
		t.Errorf("a block is left open: %q", content)
	}
	checkQuiet(t, content)
}

func checkQuiet(t *testing.T, s string) {
	t.Helper()
	for _, ping := range []string{"@everyone", "@here", "<@1", "<@!", "<@&", "\u202e", "\x1b"} {
		if strings.Contains(strings.ToLower(s), ping) {
			t.Errorf("%q in %q", ping, s)
		}
	}
}

// checkComponents holds a message of components to what Discord takes.
func checkComponents(t *testing.T, components []discord.LayoutComponent) measure {
	t.Helper()
	var total measure
	ids := make(map[string]bool)
	button := func(b discord.ButtonComponent) {
		if ids[b.CustomID] || len(b.CustomID) == 0 || len(b.CustomID) > 100 || !strings.HasPrefix(b.CustomID, "/tt/list/") {
			t.Errorf("custom id %q", b.CustomID)
		}
		ids[b.CustomID] = true
		if n := utf8.RuneCountInString(b.Label); n == 0 || n > 80 {
			t.Errorf("label %q", b.Label)
		}
		total.components++
	}
	content := func(d discord.TextDisplayComponent) {
		total.components++
		total.characters += utf8.RuneCountInString(d.Content)
		if strings.TrimSpace(d.Content) == "" {
			t.Error("an empty text")
		}
		checkQuiet(t, d.Content)
	}
	for _, c := range components {
		switch c := c.(type) {
		case discord.TextDisplayComponent:
			content(c)
		case discord.SectionComponent:
			total.components++
			for _, sub := range c.Components {
				content(sub.(discord.TextDisplayComponent))
			}
			button(c.Accessory.(discord.ButtonComponent))
		case discord.ActionRowComponent:
			total.components++
			if len(c.Components) == 0 || len(c.Components) > 5 {
				t.Errorf("%d buttons in a row", len(c.Components))
			}
			for _, sub := range c.Components {
				button(sub.(discord.ButtonComponent))
			}
		default:
			t.Errorf("a %T", c)
		}
	}
	if total.components > 40 || total.characters > 4000 {
		t.Errorf("%d components, %d characters", total.components, total.characters)
	}
	return total
}

// drawn is what a person sees, with the buttons in brackets.
func drawn(components []discord.LayoutComponent) string {
	var b strings.Builder
	button := func(c discord.ButtonComponent) {
		style := map[discord.ButtonStyle]string{
			discord.ButtonStylePrimary: "primary", discord.ButtonStyleSecondary: "secondary", discord.ButtonStyleDanger: "danger",
		}[c.Style]
		fmt.Fprintf(&b, "    [%s] %s %s\n", c.Label, style, c.CustomID)
	}
	for _, c := range components {
		switch c := c.(type) {
		case discord.TextDisplayComponent:
			b.WriteString(c.Content + "\n")
		case discord.SectionComponent:
			for _, sub := range c.Components {
				b.WriteString(sub.(discord.TextDisplayComponent).Content + "\n")
			}
			button(c.Accessory.(discord.ButtonComponent))
		case discord.ActionRowComponent:
			for _, sub := range c.Components {
				button(sub.(discord.ButtonComponent))
			}
		}
		b.WriteString("--\n")
	}
	return b.String()
}
