package discordbot

import (
	"strings"

	"github.com/disgoorg/disgo/discord"

	"github.com/threadtree/threadtree/workspace"
)

// saidIn is what a message says to the agent: its text, what it forwards, and a
// line for each file, with the address under which Discord has it for a day or
// so. It is "" for a message that says nothing, such as a sticker.
func saidIn(m discord.Message) string {
	var parts []string
	add := func(text string, files []discord.Attachment) {
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, text)
		}
		var lines []string
		for _, f := range files {
			lines = append(lines, fileLine(f))
		}
		if len(lines) > 0 {
			parts = append(parts, strings.Join(lines, "\n"))
		}
	}
	add(m.Content, m.Attachments)
	for _, forwarded := range m.MessageSnapshots {
		add(forwarded.Message.Content, forwarded.Message.Attachments)
	}
	return strings.Join(parts, "\n\n")
}

// fileLine names an attachment, and says where it is.
func fileLine(f discord.Attachment) string {
	about := workspace.FormatSize(int64(f.Size))
	if f.ContentType != nil && *f.ContentType != "" {
		about = oneLine(*f.ContentType) + ", " + about
	}
	return "Attached file: " + orElse(oneLine(f.Filename), "unnamed") + " (" + about + ") " + oneLine(f.URL)
}
