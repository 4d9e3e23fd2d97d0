package discordbot

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/disgoorg/disgo/discord"

	"github.com/threadtree/threadtree/workspace"
)

// TestForgedButtons makes custom ids up: of another project's workspaces, of
// other threads, and of nothing at all. Nothing comes of them.
func TestForgedButtons(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	other := filepath.Join(s.root, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	s.git(other, "init", "-q", "-b", "main")
	s.commit(other, "readme", "one\n")
	var theirs [2]workspace.Workspace
	for i, thread := range []string{"900000000000000001", "900000000000000002"} {
		w, err := s.manager.Create(s.limit, workspace.CreateOptions{Project: other, ThreadID: thread, Name: "their " + thread})
		if err != nil {
			t.Fatal(err)
		}
		theirs[i] = w
	}
	gone, err := s.manager.Delete(s.limit, workspace.DeleteOptions{ThreadID: theirs[1].ThreadID})
	if err != nil {
		t.Fatal(err)
	}
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	second, _ := s.made(s.boss, s.channel, map[string]any{"name": "two"})
	s.differ(w)
	conflict := s.run(s.boss, thread.ID, "merge-worktree", nil).Message

	list := s.run(s.boss, s.channel, "worktrees", nil).Message
	newest := func() string {
		// The id of the newest list is in each of its buttons.
		return strings.Split(labelled(t, list, "Turn automatic on"), "/")[3]
	}
	for _, id := range []string{
		"delete/" + theirs[0].ThreadID + "/" + theirs[0].Attempt.ID, "forced/" + theirs[0].ThreadID + "/" + theirs[0].Attempt.ID,
		"force/" + theirs[0].ThreadID + "/" + theirs[0].Attempt.ID, "undo/" + theirs[1].ThreadID + "/" + gone.Trashed.ID,
		"delete/nobody/0", "undo/nobody/../x", "nonsense/x", "nonsense/x/y", "page/-5", "page/999999999999999999999", "auto/maybe",
		"delete/" + thread.ID.String() + "/0",
	} {
		a, err := s.Forge(s.boss, list, "/tt/list/"+newest()+"/"+id).WaitFinal(s.limit)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if list = a.Message; !strings.Contains(list.Text(), "### Worktrees of") {
			t.Errorf("%s: %s", id, list.Text())
		}
	}
	for _, id := range []string{
		"continue/" + second.ID.String() + "/0", "abort/" + theirs[0].ThreadID + "/" + theirs[0].Attempt.ID,
		"dance/" + thread.ID.String() + "/" + w.Attempt.ID, "abort/x/y",
	} {
		a, err := s.Forge(s.boss, conflict, "/tt/merge/"+id).WaitFinal(s.limit)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		wants(t, a.Message, "out of date")
	}
	s.idle()
	for _, id := range []string{theirs[0].ThreadID, thread.ID.String(), second.ID.String()} {
		if w, err := s.manager.Get(s.limit, id); err != nil {
			t.Error(err)
		} else if _, err := os.Stat(w.Directory); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.manager.Get(s.limit, theirs[1].ThreadID); !errors.Is(err, workspace.ErrNotFound) {
		t.Errorf("it is back: %v", err)
	}
	if channel, err := s.store.Channel(s.limit, s.channel.String()); err != nil || channel.Automatic {
		t.Errorf("%+v, %v", channel, err)
	}
	if got := s.git(w.Directory, "status", "--porcelain", "-b"); !strings.Contains(got, "UU readme") {
		t.Errorf("the merge is not paused any more: %s", got)
	}
}

// TestButtonsOfOthers presses, in a private answer's place, what belongs to
// somebody else's list.
func TestButtonsOfOthers(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	mod := s.AddMember(s.guild, "mod", discord.PermissionManageThreads)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	mine := s.run(s.boss, s.channel, "worktrees", nil).Message
	theirs := s.run(mod, s.channel, "worktrees", nil).Message
	button := labelled(t, mine, "Delete")
	a, err := s.Forge(mod, theirs, button).WaitFinal(s.limit)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, a.Message, "out of date", "**one**")
	if _, err := os.Stat(w.Directory); err != nil {
		t.Error(err)
	}
	// Each has a list of their own.
	wants(t, s.press(s.boss, mine, "Delete").Message, "Deleted one")
	if _, err := s.manager.Get(s.limit, thread.ID.String()); !errors.Is(err, workspace.ErrDeleted) {
		t.Error(err)
	}
}
