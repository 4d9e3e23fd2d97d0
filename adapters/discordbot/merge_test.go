package discordbot

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

func TestMergeWhereThereIsNothingReady(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	plain := s.begun("plain", "hello")
	s.idle()
	wants(t, s.run(s.boss, plain.ID, "merge-worktree", nil).Message, "has no workspace")

	s.hook("reference-transaction", `echo "no room on @everyone" >&2; exit 1`)
	s.run(s.boss, s.channel, "new-worktree", map[string]any{"name": "bad"})
	failed := s.newThread(plain.ID)
	s.ready(failed.ID)
	s.idle()
	wants(t, s.run(s.boss, failed.ID, "merge-worktree", nil).Message, "could not be made", "aborted by hook")

	s.hook("reference-transaction", "")
	waiting, release := s.hold()
	s.Command(s.boss, s.channel, "new-worktree", map[string]any{"name": "slow"})
	pending := s.newThread(plain.ID, failed.ID)
	waiting()
	for _, command := range []string{"merge-worktree", "worktree diff", "worktree push"} {
		wants(t, s.run(s.boss, pending.ID, command, nil).Message, "still being made")
	}
	list := s.run(s.boss, s.channel, "worktrees", nil).Message
	wants(t, list, "failed:", "being made")
	release()
	s.ready(pending.ID)

	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "gone"})
	s.press(s.boss, s.run(s.boss, thread.ID, "worktrees", nil).Message, "Delete")
	s.until("one is gone", func() bool {
		rows, err := s.store.ListWorkspaces(s.limit, workspace.Query{All: true})
		return err == nil && len(rows) == 2
	})
}

func TestMergeIntoAnotherBranch(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.git(s.dir, "branch", "release")
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	sha := s.commit(w.Directory, "new", "new\n")
	main := s.git(s.dir, "rev-parse", "main")
	for target, why := range map[string]string{"no-such": "no-such", "-x": "-x", "a..b": "a..b"} {
		wants(t, s.run(s.boss, thread.ID, "merge-worktree", map[string]any{"target-branch": target}).Message, why)
	}
	wants(t, s.run(s.boss, thread.ID, "merge-worktree", map[string]any{"target-branch": "release"}).Message, "release", "1 commit", sha[:7])
	if got := s.git(s.dir, "rev-parse", "release"); got != sha {
		t.Errorf("release is at %s", got)
	}
	if got := s.git(s.dir, "rev-parse", "main"); got != main {
		t.Errorf("main is at %s", got)
	}
}

func TestNothingToMergeTakesTheMarkOff(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	wants(t, s.run(s.boss, thread.ID, "merge-worktree", nil).Message, "no commit that")
	s.until("the mark is off", func() bool { c, _ := s.Thread(thread.ID); return c.Name == "worktree: threadtree/one" })
}

// TestBigMergeIsShownOnTheWay looks at all that the answer ever said.
func TestBigMergeIsShownOnTheWay(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	for i := range bigFiles + 1 {
		if err := os.WriteFile(filepath.Join(w.Directory, fmt.Sprintf("file-%02d", i)), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.commit(w.Directory, "last", "x\n")
	m := s.run(s.boss, thread.ID, "merge-worktree", nil).Message
	s.says(thread.ID, "Merged")
	m, _ = s.Message(thread.ID, m.ID)
	var said []string
	for _, v := range m.Versions {
		said = append(said, v.Text())
	}
	if all := strings.Join(said, "\n---\n"); len(said) < 2 || !strings.Contains(all, "would bring") || !strings.Contains(said[len(said)-1], "Merged") {
		t.Errorf("%s", all)
	}
}

// TestDirtyTargetRefusesTheMerge leaves everything as it was, and names the file.
func TestDirtyTargetRefusesTheMerge(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.commit(w.Directory, "readme", "theirs\n")
	if err := os.WriteFile(filepath.Join(s.dir, "readme"), []byte("unsaved\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := s.git(s.dir, "rev-parse", "main")
	wants(t, s.run(s.boss, thread.ID, "merge-worktree", nil).Message, "readme", "Next:")
	if got, err := os.ReadFile(filepath.Join(s.dir, "readme")); err != nil || string(got) != "unsaved\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got := s.git(s.dir, "rev-parse", "main"); got != before {
		t.Errorf("main moved to %s", got)
	}
	if c, _ := s.Thread(thread.ID); !strings.HasPrefix(c.Name, "⬦ ") {
		t.Errorf("it looks as if it was home: %q", c.Name)
	}
}

// TestConflictButtonsOfASuccessor press what belongs to a workspace that is gone.
func TestConflictButtonsOfASuccessor(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.differ(w)
	conflict := s.run(s.boss, thread.ID, "merge-worktree", nil).Message
	s.remake(thread.ID)
	for _, label := range []string{"Ask the agent", "Abort"} {
		wants(t, s.press(s.boss, conflict, label).Message, "out of date")
	}
	if heard := s.agent.heard(); len(heard) > 0 {
		t.Errorf("%q", heard)
	}
}

// TestPausedMergeIntoAnotherBranch is cut short by a restart while the agent
// works: the target is still known.
func TestPausedMergeIntoAnotherBranch(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.git(s.dir, "checkout", "-q", "-b", "release")
	s.commit(s.dir, "readme", "ours\n")
	s.commit(w.Directory, "readme", "theirs\n")
	conflict := s.run(s.boss, thread.ID, "merge-worktree", map[string]any{"target-branch": "release"}).Message
	wants(t, conflict, "release", "readme")
	begun := make(chan struct{})
	s.agent.does(hangs(begun))
	s.press(s.boss, conflict, "Ask the agent")
	<-begun
	notes, err := s.store.ListNotes(t.Context(), notesAsked)
	if err != nil || len(notes) != 1 || !strings.Contains(string(notes[0].Value), `"target":"release"`) {
		t.Errorf("%+v, %v", notes, err)
	}
	s.restart(nil)
	m := s.says(thread.ID, "was restarted")
	if err := s.resolve(w); err != nil {
		t.Fatal(err)
	}
	wants(t, s.press(s.boss, m, "Continue merge").Message, "Merged", "release")
	if got := s.git(s.dir, "show", "release:readme"); got != "both" {
		t.Errorf("release has %q", got)
	}
}

// TestAgentThatFails can't resolve the conflict: it is said, and the buttons
// are there again.
func TestAgentThatFails(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.differ(w)
	conflict := s.run(s.boss, thread.ID, "merge-worktree", nil).Message
	s.agent.does(func(ctx, string, string, teller) error {
		return &workspace.Error{Code: workspace.ErrProviderUnavailable, Message: "the agent can't be reached", Hint: "start it"}
	})
	s.press(s.boss, conflict, "Ask the agent")
	m := s.says(thread.ID, "can't be reached")
	// What isn't resolved can't go on.
	wants(t, s.press(s.boss, m, "Continue merge").Message, "readme")
	wants(t, s.press(s.boss, m, "Abort").Message, "aborted")
	// Said in the thread, it is told too.
	s.said(thread.ID, "hello")
	s.until("it is told again", func() bool {
		n := 0
		for _, m := range s.Messages(thread.ID) {
			if strings.Contains(m.Text(), "can't be reached") {
				n++
			}
		}
		return n == 2
	})
	s.idle()
}

func TestForkFromAThreadWithoutASession(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	first, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	second, _ := s.made(s.boss, first.ID, map[string]any{"name": "two"})
	m := s.says(second.ID, "This begins a new conversation: the thread that it comes from has no session.")
	if n := strings.Count(m.Text(), "new conversation"); n != 1 {
		t.Errorf("%s", m.Text())
	}
}

// TestNameInUseSaysWhere links to the thread that has it, and makes no other.
func TestNameInUseSaysWhere(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	first, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	m := s.run(s.boss, s.channel, "new-worktree", map[string]any{"name": "one"}).Message
	wants(t, m, "/"+first.ID.String()+">", w.Branch, "It is in")
	if threads := s.Threads(s.channel); len(threads) != 1 {
		t.Errorf("%+v", threads)
	}
	// Two at once: the second thread says it itself.
	for range 2 {
		s.Command(s.boss, s.channel, "new-worktree", map[string]any{"name": "two"})
	}
	s.idle()
	rows, err := s.store.ListWorkspaces(s.limit, workspace.Query{All: true})
	if err != nil || len(rows) < 2 {
		t.Errorf("%+v, %v", rows, err)
	}
	for _, thread := range s.Threads(s.channel) {
		if last := s.Messages(thread.ID); strings.Contains(last[len(last)-1].Text(), "⏳") {
			t.Errorf("%q", last[len(last)-1].Text())
		}
	}
}
