package discordbot

import (
	"os"
	"path/filepath"

	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/workspace"
)

// differ has workspace and main change the same file.
func (s *scene) differ(w workspace.Workspace) {
	s.t.Helper()
	s.commit(w.Directory, "readme", "theirs\n")
	s.commit(s.dir, "readme", "ours\n")
}

// resolve settles in a workspace what was made to differ.
func (s *scene) resolve(w workspace.Workspace) error {
	if err := os.WriteFile(filepath.Join(w.Directory, "readme"), []byte("both\n"), 0o644); err != nil {
		return err
	}
	s.git(w.Directory, "add", "readme")
	return nil
}

// held has somebody make a workspace, and git wait in the middle of it until it
// is released.
func (s *scene) held() (thread discordtest.Channel, release func()) {
	s.t.Helper()
	waiting, release := s.hold()
	s.Command(s.boss, s.channel, "new-worktree", map[string]any{"name": "one"})
	thread = s.newThread()
	waiting()
	return thread, release
}

// queued waits until n messages of a thread are noted.
func (s *scene) queued(thread snowflake.ID, n int) {
	s.t.Helper()
	s.until("what was said is noted", func() bool {
		var q queueNote
		_, _, err := s.bot.readNote(s.limit, notesQueue, thread.String(), &q)
		return err == nil && len(q.Messages) == n
	})
}

// does has the agent do something at each turn, or what it does by itself.
func (f *fakeAgent) does(turn func(ctx ctx, thread, text string, tell teller) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turn = turn
}

// hangs is a turn that says that it has begun, and ends with the bot.
func hangs(begun chan<- struct{}) func(ctx, string, string, teller) error {
	return func(ctx ctx, _, _ string, _ teller) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}
}
