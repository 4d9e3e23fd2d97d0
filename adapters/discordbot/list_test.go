package discordbot

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/workspace"
)

// wants fails where an answer lacks one of the texts.
func wants(t *testing.T, m discordtest.Message, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(m.Text(), text) {
			t.Errorf("it doesn't say %q:\n%s", text, m.Text())
		}
	}
}

// labelled is a button of a message.
func labelled(t *testing.T, m discordtest.Message, label string) string {
	t.Helper()
	button, ok := m.Button(label)
	if !ok {
		t.Fatalf("no button %q below:\n%s", label, m.Text())
	}
	return button.CustomID
}

func TestListAndDeleteAndUndo(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	first := s.run(s.boss, s.channel, "worktrees", nil)
	wants(t, first.Message, "one", thread.ID.String(), "no commits yet", "Automatic workspaces")
	if !first.Message.Ephemeral() {
		t.Error("everybody sees the list")
	}
	second := s.run(s.boss, s.channel, "worktrees", nil)

	// The buttons of the older list are void.
	stale := s.press(s.boss, first.Message, "Delete")
	wants(t, stale.Message, "out of date", "one")
	if _, err := os.Stat(w.Directory); err != nil {
		t.Fatalf("an old button deleted it: %v", err)
	}
	// The list that took its place is the newest one; that of the second
	// command is void by now.
	wants(t, s.press(s.boss, second.Message, "Delete").Message, "out of date")
	newest := s.run(s.boss, s.channel, "worktrees", nil)
	gone := s.press(s.boss, newest.Message, "Delete")
	wants(t, gone.Message, "Deleted one", "There are none")
	if _, err := os.Stat(w.Directory); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
	back := s.press(s.boss, gone.Message, "Undo")
	wants(t, back.Message, "no commits yet", w.Branch)
	if now, err := s.manager.Get(t.Context(), thread.ID.String()); err != nil || now.Directory != w.Directory {
		t.Errorf("%+v, %v", now, err)
	}
	if _, err := os.Stat(filepath.Join(w.Directory, "readme")); err != nil {
		t.Error(err)
	}
}

func TestForcedDeleteAsksFirst(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	_, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.commit(w.Directory, "new", "committed\n")
	if err := os.WriteFile(filepath.Join(w.Directory, "draft"), []byte("unsaved\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	list := s.run(s.boss, s.channel, "worktrees", nil)
	if _, ok := list.Message.Button("Delete"); ok {
		t.Error("what has work in it can be deleted without being asked")
	}
	question := s.press(s.boss, list.Message, "Delete anyway…")
	wants(t, question.Message, "anyway?", "What would go", "1 untracked", "1 commit")
	// Keep it.
	kept := s.press(s.boss, question.Message, "Keep it")
	if _, err := os.Stat(w.Directory); err != nil {
		t.Fatal(err)
	}
	question = s.press(s.boss, kept.Message, "Delete anyway…")
	gone := s.press(s.boss, question.Message, "Delete anyway")
	wants(t, gone.Message, "Deleted one")
	if _, err := os.Stat(w.Directory); !os.IsNotExist(err) {
		t.Errorf("the folder is there: %v", err)
	}
	s.press(s.boss, gone.Message, "Undo")
	for file, content := range map[string]string{"new": "committed\n", "draft": "unsaved\n"} {
		if got, err := os.ReadFile(filepath.Join(w.Directory, file)); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
}

// TestRefusedDelete presses a Delete that was right when it was drawn.
func TestRefusedDelete(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	_, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	list := s.run(s.boss, s.channel, "worktrees", nil)
	if err := os.WriteFile(filepath.Join(w.Directory, "draft"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	refused := s.press(s.boss, list.Message, "Delete")
	wants(t, refused.Message, "1 untracked", "Delete anyway")
	if _, err := os.Stat(filepath.Join(w.Directory, "draft")); err != nil {
		t.Error(err)
	}
	labelled(t, refused.Message, "Delete anyway…")
}

// TestLockedMeanwhile locks a worktree under an open list, for a reason that
// Discord would take for more than words.
func TestLockedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	_, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	list := s.run(s.boss, s.channel, "worktrees", nil)
	s.git(s.dir, "worktree", "lock", "--reason", "**mine** @everyone", w.Directory)
	refused := s.press(s.boss, list.Message, "Delete")
	wants(t, refused.Message, "locked", `\*\*mine\*\*`)
	if _, err := os.Stat(w.Directory); err != nil {
		t.Error(err)
	}
}

// TestFailedDeleteSaysWhatGitSaid has git fail while it deletes.
func TestFailedDeleteSaysWhatGitSaid(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	_, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	list := s.run(s.boss, s.channel, "worktrees", nil)
	s.hook("reference-transaction", `echo "**no** <@&1> @everyone" >&2; exit 1`)
	failed := s.press(s.boss, list.Message, "Delete")
	if text := failed.Message.Text(); !strings.Contains(text, "aborted by hook") || strings.Contains(text, "\n**no** <@&1> @everyone") {
		t.Errorf("%s", text)
	}
	if _, err := os.Stat(w.Directory); err != nil {
		t.Errorf("%v\n%s", err, failed.Message.Text())
	}
}

// TestAButtonNeverHitsASuccessor deletes a workspace elsewhere and makes it
// anew, under an open list.
func TestAButtonNeverHitsASuccessor(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	list := s.run(s.boss, s.channel, "worktrees", nil)
	s.remake(thread.ID)
	wants(t, s.press(s.boss, list.Message, "Delete").Message, "out of date")
	if w, err := s.manager.Get(t.Context(), thread.ID.String()); err != nil {
		t.Errorf("the successor is gone: %v", err)
	} else if _, err := os.Stat(w.Directory); err != nil {
		t.Errorf("the successor's folder is gone: %v", err)
	}
}

func TestDoublePressRunsOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.made(s.boss, s.channel, map[string]any{"name": "one"})
	list := s.run(s.boss, s.channel, "worktrees", nil)
	id := labelled(t, list.Message, "Delete")
	first, second := s.Press(s.boss, list.Message, id), s.Press(s.boss, list.Message, id)
	a, err := first.WaitFinal(s.limit)
	if err != nil {
		t.Fatal(err)
	}
	b, err := second.WaitFinal(s.limit)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, a.Message, "Deleted one")
	if text := b.Message.Text(); !strings.Contains(text, "being done already") && !strings.Contains(text, "out of date") {
		t.Errorf("the second press: %s", text)
	}
	if trash, err := s.store.ListTrash(t.Context(), workspace.Query{All: true}); err != nil || len(trash) != 1 {
		t.Errorf("%+v, %v", trash, err)
	}
}

func TestAutomaticOnAndOff(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	list := s.run(s.boss, s.channel, "worktrees", nil)
	for _, on := range []bool{true, false} {
		label, word := "Turn automatic on", "**on**"
		if !on {
			label, word = "Turn automatic off", "**off**"
		}
		list = s.press(s.boss, list.Message, label)
		wants(t, list.Message, word)
		if c, err := s.store.Channel(t.Context(), s.channel.String()); err != nil || c.Automatic != on || c.Directory != s.dir {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

func TestListPages(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	const n = 16
	for i := range n {
		o := workspace.CreateOptions{Project: s.dir, ThreadID: fmt.Sprintf("90000000000000%02d", i), Name: fmt.Sprintf("number %02d", i)}
		if _, err := s.manager.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	seen := make(map[string]bool)
	note := func(m discordtest.Message) {
		for i := range n {
			if name := fmt.Sprintf("**number-%02d**", i); strings.Contains(m.Text(), name) {
				seen[name] = true
			}
		}
	}
	page := s.run(s.boss, s.channel, "worktrees", nil)
	note(page.Message)
	pages := 1
	for {
		if _, ok := page.Message.Button("Next"); !ok {
			break
		}
		page = s.press(s.boss, page.Message, "Next")
		note(page.Message)
		pages++
	}
	if len(seen) != n || pages < 2 {
		t.Errorf("%d of %d on %d pages", len(seen), n, pages)
	}
	back := s.press(s.boss, page.Message, "Previous")
	wants(t, back.Message, fmt.Sprintf("page %d of %d", pages-1, pages))
}
