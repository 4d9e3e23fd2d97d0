package discordbot

import (
	"fmt"
	"testing"

	"github.com/disgoorg/disgo/discord"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
)

// TestFilesForTheAgent are handed on by name and address, without a word beside
// them too.
func TestFilesForTheAgent(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	files := []discordtest.File{{Name: "a b.png", Data: make([]byte, 2048)}, {Name: "log.txt", Data: []byte("x")}}
	with, err := s.Post(s.boss, thread.ID, "look at this", files...)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := s.Post(s.boss, thread.ID, "", discordtest.File{Name: "log.txt", Data: []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	url := func(m discordtest.Message, i int) string {
		return fmt.Sprintf("https://cdn.discordapp.com/attachments/%d/%d/%s", thread.ID, m.Files[i].ID, m.Files[i].Name)
	}
	s.prompts(
		thread.ID,
		"look at this\n\nAttached file: a b.png (2.0 kB) "+url(with, 0)+"\nAttached file: log.txt (1 B) "+url(with, 1),
		"Attached file: log.txt (1 B) "+url(alone, 0),
	)
}

// TestForwardedMessage is handed on with what it forwards.
func TestForwardedMessage(t *testing.T) {
	t.Parallel()
	kind := "image/png\nx"
	m := discord.Message{MessageSnapshots: []discord.MessageSnapshot{{Message: discord.PartialMessage{
		Content: " it says ", Attachments: []discord.Attachment{{Filename: "x\n.png", ContentType: &kind, Size: 10, URL: "https://a/b"}},
	}}}}
	if got, want := saidIn(m), "it says\n\nAttached file: x .png (image/png x, 10 B) https://a/b"; got != want {
		t.Errorf("%q", got)
	}
	if spoken(discord.Message{}) {
		t.Error("a sticker says something")
	}
}
