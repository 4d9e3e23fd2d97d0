package discordbot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/disgoorg/disgo/bot"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/workspace"
)

// TestPhasesInOrder looks at all that a status message ever said.
func TestPhasesInOrder(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	thread, release := s.held()
	first := s.says(thread.ID, "⏳")
	// What comes while one is shown replaces what waits.
	s.until("it goes on", func() bool { m, _ := s.Message(thread.ID, first.ID); return len(m.Versions) > 1 })
	release()
	s.ready(thread.ID)
	m, _ := s.Message(thread.ID, first.ID)
	for i, v := range m.Versions {
		last := i == len(m.Versions)-1
		if !strings.HasPrefix(v.Content, "⬦ worktree: `threadtree/one`") || strings.Contains(v.Content, "Folder: ") != last || strings.Contains(v.Content, "⏳") == last {
			t.Errorf("%d of %d: %q", i+1, len(m.Versions), v.Content)
		}
	}
	if len(s.Messages(thread.ID)) != 1 {
		t.Errorf("%+v", s.Messages(thread.ID))
	}
}

// TestRateLimits has Discord want a second's patience at all that a creation
// and a list need, with the client's own limiter at work: they come to their
// end, and nothing is asked for again and again.
func TestRateLimits(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.Kill(s.client)
	limited, err := s.NewClient(bot.WithLogger(s.bot.cfg.Logger), bot.WithRestClientConfigOpts(rest.WithRateLimiter(rest.NewRateLimiter(rest.WithRateLimiterLogger(s.bot.cfg.Logger)))))
	if err != nil {
		t.Fatal(err)
	}
	mux := handler.New()
	s.bot.Register(mux)
	limited.EventManager.AddEventListeners(mux, s.bot.Listener())
	if err := handler.SyncCommands(limited, s.bot.Commands(), []snowflake.ID{s.guild}); err != nil {
		t.Fatal(err)
	}
	if err := s.bot.Start(t.Context(), limited); err != nil {
		t.Fatal(err)
	}
	if err := s.Open(limited); err != nil {
		t.Fatal(err)
	}
	s.idle()
	before, begun := len(s.Requests()), time.Now()
	for _, f := range []discordtest.Failure{
		{Method: "POST", Path: "/channels/{id}/messages"}, {Method: "PATCH", Path: "/webhooks/{app}/{token}/messages/{id}"},
	} {
		f.Status, f.RetryAfter, f.Times = 429, time.Second, 1
		s.Fail(f)
	}
	thread, _ := s.made(s.boss, s.channel, map[string]any{"name": "one"})
	s.idle()
	s.settled(thread.ID)
	wants(t, s.run(s.boss, s.channel, "worktrees", nil).Message, "**one**")
	if n, took := len(s.Requests())-before, time.Since(begun); n > 40 || took < time.Second {
		t.Errorf("%d requests within %s", n, took)
	}
}

// TestEverythingRefused has Discord take nothing but first answers, for good:
// each thing ends, the work is done, and what nobody could be told is logged.
func TestEverythingRefused(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]rest.JSONErrorCode{
		"permission": rest.JSONErrorCodeLackPermissionsToPerformAction, "access": rest.JSONErrorCodeMissingAccess,
		"archived": rest.JSONErrorCodeOperationOnArchivedThread,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, nil)
			thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
			s.commit(w.Directory, "new", "new\n")
			s.idle()
			before := len(s.Requests())
			for _, f := range []discordtest.Failure{
				{Method: "POST", Path: "/channels/{id}/messages"},
				{Method: "PATCH", Path: "/channels/{id}"},
				{Method: "PATCH", Path: "/webhooks/{app}/{token}/messages/{id}"},
				{Method: "PUT", Path: "/channels/{id}/messages/{id}/reactions/{emoji}/@me"},
				{Method: "DELETE", Path: "/channels/{id}/messages/{id}/reactions/{emoji}/@me"},
			} {
				f.Status, f.Code = 403, code
				s.Fail(f)
			}
			s.Command(s.boss, thread.ID, "merge-worktree", nil)
			s.said(thread.ID, "hello")
			s.Command(s.boss, s.channel, "new-worktree", map[string]any{"name": "two"})
			s.Command(s.boss, s.channel, "worktrees", nil)
			s.until("it is merged", func() bool { _, err := os.Stat(filepath.Join(s.dir, "new")); return err == nil })
			s.idle()
			if n := len(s.Requests()) - before; n > 40 {
				t.Errorf("%d requests", n)
			}
			if rows, err := s.store.ListWorkspaces(s.limit, workspace.Query{All: true}); err != nil || len(rows) != 1 {
				t.Errorf("%+v, %v", rows, err)
			}
			for _, namespace := range []string{notesStatus, notesAsked} {
				if notes, err := s.store.ListNotes(s.limit, namespace); err != nil || len(notes) > 0 {
					t.Errorf("%s: %v, %v", namespace, notes, err)
				}
			}
		})
	}
}
