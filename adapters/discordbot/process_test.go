package discordbot

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/disgoorg/disgo"
	"github.com/disgoorg/disgo/bot"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/disgo/handler"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// childEnv makes the test's program a bot: root, repository, token, and the
// addresses of API and gateway, with commas between.
const childEnv = "DISCORDBOT_TEST_CHILD"

func TestMain(m *testing.M) {
	if args := strings.Split(os.Getenv(childEnv), ","); len(args) == 5 {
		if err := child(args[0], args[1], args[2], args[3], args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is a bot in a process of its own, over a real websocket. It ends with
// its standard input.
func child(root, project, token, api, gate string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, err := sqlite.Open(ctx, filepath.Join(root, "db"))
	if err != nil {
		return err
	}
	defer store.Close()
	cfg, err := assemble(root, store, func(r *gitops.Repository) workspace.Repository { return r })
	if err != nil {
		return err
	}
	cfg.Store, cfg.Agent, cfg.Logger = store, newFakeAgent(), slog.New(slog.DiscardHandler)
	b, err := New(cfg)
	if err != nil {
		return err
	}
	mux := handler.New()
	b.Register(mux)
	client, err := disgo.New(token, bot.WithLogger(cfg.Logger), bot.WithEventListeners(mux, b.Listener()),
		bot.WithRestClientConfigOpts(rest.WithURL(api), rest.WithRateLimiter(rest.NewNoopRateLimiter())),
		bot.WithGatewayConfigOpts(gateway.WithURL(gate), gateway.WithCompression(gateway.CompressionNone), gateway.WithIntents(
			gateway.IntentGuilds|gateway.IntentGuildMessages|gateway.IntentMessageContent)))
	if err != nil {
		return err
	}
	if _, err := cfg.Manager.Reconcile(ctx, project); err != nil {
		return err
	}
	if err := client.OpenGateway(ctx); err != nil {
		return err
	}
	if err := b.Start(ctx, client); err != nil {
		return err
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// process starts a bot as a process and returns what kills it, which says
// nothing to it before.
func (s *scene) process(server *discordtest.Server) (kill func()) {
	s.t.Helper()
	program, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{s.root, s.dir, s.Token(), server.APIURL, server.GatewayURL}, ","))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	killed := false
	kill = func() {
		if !killed {
			killed = true
			_ = cmd.Process.Kill()
			_ = stdin.Close()
			_ = cmd.Wait()
		}
	}
	s.t.Cleanup(kill)
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		kill()
		s.t.Fatalf("the bot didn't start: %q, %v", line, err)
	}
	return kill
}

// served is a scene whose bots are processes, over HTTP and a websocket; before
// is done with a bot in this process.
func served(t *testing.T, before func(s *scene)) (*scene, *discordtest.Server) {
	t.Helper()
	s := newScene(t, nil)
	s.limitAt(50 * time.Second)
	before(s)
	s.idle()
	s.stop()
	server, err := s.Serve(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return s, server
}

// TestProcessKilledWhileItMakes kills the bot's process in the middle of two
// creations, with messages that wait, and starts it again while git is still
// at it.
func TestProcessKilledWhileItMakes(t *testing.T) {
	t.Parallel()
	s, server := served(t, func(s *scene) { s.project(s.channel, s.dir, true) })
	waiting, release := s.hold()
	kill := s.process(server)
	automatic := s.begun("automatic", "first")
	waiting()
	s.Command(s.boss, s.channel, "new-worktree", map[string]any{"name": "asked for"})
	asked := s.newThread(automatic.ID)
	s.said(automatic.ID, "second")
	s.until("both are noted", func() bool {
		var n queueNote
		_, _, err := s.bot.readNote(s.limit, notesQueue, automatic.ID.String(), &n)
		notes, listErr := s.store.ListNotes(s.limit, notesStatus)
		return err == nil && listErr == nil && len(n.Messages) == 2 && len(notes) == 2
	})
	s.says(automatic.ID, "⏳")
	kill()
	release()
	s.process(server)
	for _, thread := range []snowflake.ID{automatic.ID, asked.ID} {
		s.ready(thread)
		s.settled(thread)
	}
	for _, thread := range []snowflake.ID{automatic.ID, asked.ID} {
		if w, err := s.manager.Get(s.limit, thread.String()); err != nil || w.Status != workspace.StatusReady {
			t.Errorf("%+v, %v", w, err)
		}
	}
	s.says(automatic.ID, "you said: second")
	for _, text := range []string{"first", "second"} {
		n := 0
		for _, m := range s.Messages(automatic.ID) {
			if m.Content == "you said: "+text {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%q was handed on %d times", text, n)
		}
	}
}

// settled checks a thread's status messages against what is so.
func (s *scene) settled(thread snowflake.ID) {
	s.t.Helper()
	w, err := s.manager.Get(s.limit, thread.String())
	if err != nil {
		s.t.Errorf("thread %s: %v", thread, err)
		return
	}
	n := 0
	for _, m := range s.Messages(thread) {
		switch {
		case m.AuthorID != s.BotID(), strings.HasPrefix(m.Content, "you said"), strings.Contains(m.Content, "not handed on"):
		case strings.Contains(m.Content, "⏳"), strings.Contains(m.Content, "Folder: ") != (w.Status == workspace.StatusReady):
			s.t.Errorf("the workspace is %s (%s), and it says:\n%s", w.Status, w.Error, m.Content)
		default:
			n++
		}
	}
	if n != 1 {
		s.t.Errorf("thread %s has %d status messages", thread, n)
	}
}

// killedWhile kills the bot's process where it waits for a change of refs that
// begin with a prefix, starts it again, and returns the answer to what it was
// asked for.
func (s *scene) killedWhile(server *discordtest.Server, refs string, ask func() *discordtest.Interaction) discordtest.Answer {
	s.t.Helper()
	at, open := filepath.Join(s.root, "changing"), filepath.Join(s.root, "go-on")
	s.hook("reference-transaction", `[ "$1" = prepared ] && grep -q " `+refs+`" || exit 0; echo > "`+at+
		`"; n=0; while [ ! -e "`+open+`" ] && [ $n -lt 3000 ]; do n=$((n+1)); sleep 0.02; done`)
	kill := s.process(server)
	in := ask()
	s.until("it is at it", func() bool { _, err := os.Stat(at); return err == nil })
	kill()
	if err := os.WriteFile(open, nil, 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.process(server)
	a, err := in.WaitFinal(s.limit)
	if err != nil {
		s.t.Fatal(err)
	}
	s.until("it is forgotten", func() bool {
		notes, err := s.store.ListNotes(s.limit, notesAsked)
		return err == nil && len(notes) == 0
	})
	return a
}

// TestProcessKilledWhileItMerges kills it while the target moves.
func TestProcessKilledWhileItMerges(t *testing.T) {
	t.Parallel()
	var thread discordtest.Channel
	s, server := served(t, func(s *scene) {
		var w workspace.Workspace
		thread, w = s.made(s.boss, s.channel, map[string]any{"name": "one"})
		s.commit(w.Directory, "new", "new\n")
		s.commit(s.dir, "other", "other\n")
	})
	before := s.git(s.dir, "rev-parse", "main")
	a := s.killedWhile(server, "refs/heads/main", func() *discordtest.Interaction {
		return s.Command(s.boss, thread.ID, "merge-worktree", nil)
	})
	merged := s.git(s.dir, "rev-parse", "main") != before
	if text := a.Message.Text(); !strings.Contains(text, "was restarted") || merged == strings.Contains(text, "is not done") {
		t.Errorf("merged: %t, and it says:\n%s", merged, text)
	}
}

// TestProcessKilledWhileItContinues kills it at the button that goes on with a
// merge.
func TestProcessKilledWhileItContinues(t *testing.T) {
	t.Parallel()
	var conflict discordtest.Message
	s, server := served(t, func(s *scene) {
		thread, w := s.made(s.boss, s.channel, map[string]any{"name": "one"})
		s.differ(w)
		conflict = s.run(s.boss, thread.ID, "merge-worktree", nil).Message
		s.agent.does(func(ctx, string, string, teller) error { return s.resolve(w) })
		s.press(s.boss, conflict, "Ask the agent")
		conflict = s.says(thread.ID, "The agent is done")
	})
	before := s.git(s.dir, "rev-parse", "main")
	button := labelled(t, conflict, "Continue merge")
	a := s.killedWhile(server, "refs/heads/main", func() *discordtest.Interaction { return s.Press(s.boss, conflict, button) })
	merged := s.git(s.dir, "rev-parse", "main") != before
	if text := a.Message.Text(); !strings.Contains(text, "was restarted") || merged != strings.Contains(text, "has all of") {
		t.Errorf("merged: %t, and it says:\n%s", merged, text)
	}
}

// TestProcessKilledWhileItDeletes kills it at the Delete and at the Undo of a
// list: the list tells how it ended, and the other of the two is offered.
func TestProcessKilledWhileItDeletes(t *testing.T) {
	t.Parallel()
	for _, label := range []string{"Delete", "Undo"} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			var thread discordtest.Channel
			var list discordtest.Message
			s, server := served(t, func(s *scene) {
				thread, _ = s.made(s.boss, s.channel, map[string]any{"name": "one"})
				list = s.run(s.boss, s.channel, "worktrees", nil).Message
				if label == "Undo" {
					list = s.press(s.boss, list, "Delete").Message
				}
			})
			button := labelled(t, list, label)
			a := s.killedWhile(server, "refs/", func() *discordtest.Interaction { return s.Press(s.boss, list, button) })
			_, err := s.manager.Get(s.limit, thread.ID.String())
			there := err == nil
			wants(t, a.Message, "was restarted")
			if now, _ := s.Message(s.channel, list.ID); now.ID != a.Message.ID {
				t.Errorf("another message tells it: %+v", now)
			}
			text := a.Message.Text()
			if strings.Contains(text, "**one**") != there || !there && !strings.Contains(text, "Deleted one") && !strings.Contains(text, "is not back yet") {
				t.Errorf("there: %t, and it says:\n%s", there, text)
			}
			next := "Undo"
			if there {
				next = "Delete"
			}
			labelled(t, a.Message, next)
		})
	}
}

// TestProcessKilledBeforeItMakesTheThread kills it between question and thread,
// and, after too long, where the answer can't be filled in any more.
func TestProcessKilledBeforeItMakesTheThread(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"in time": false, "too late": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, server := served(t, func(*scene) {})
			gate := make(chan struct{})
			stop := s.Fail(discordtest.Failure{Method: "POST", Path: "/channels/{id}/messages", Hold: gate})
			kill := s.process(server)
			in := s.Command(s.boss, s.channel, "new-worktree", map[string]any{"name": "one"})
			s.until("it is noted", func() bool {
				notes, err := s.store.ListNotes(s.limit, notesAsked)
				return err == nil && len(notes) == 1
			})
			kill()
			stop()
			if late {
				s.Fail(discordtest.Failure{Method: "PATCH", Path: "/webhooks/{app}/{token}/messages/{id}", Status: 401, Code: 50027})
			}
			s.process(server)
			var text string
			if late {
				text = s.says(s.channel, "was restarted").Text()
			} else {
				a, err := in.WaitFinal(s.limit)
				if err != nil {
					t.Fatal(err)
				}
				text = a.Message.Text()
			}
			if !strings.Contains(text, "No thread and no workspace was made") || len(s.Threads(s.channel)) > 0 {
				t.Errorf("%s", text)
			}
			s.allow(10003)
		})
	}
}
