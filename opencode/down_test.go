package opencode

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func TestRefusedDeleteLeavesOpenCodeAlone(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	for _, adapter := range []string{AdapterThreadtree, AdapterWorktree} {
		t.Run(adapter, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, s, func(cfg *ProviderConfig) { cfg.Adapter = adapter })
			w := p.create("1", workspace.CreateOptions{Name: "one"})
			session, messages := p.said(c, w, "a word")
			refused := func(code workspace.Code) {
				t.Helper()
				_, err := p.manager.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"})
				if !errors.Is(err, code) {
					t.Errorf("got %s, want the code %s", detail(err), code)
				}
				p.hasRows(c, w)
				p.bound(c, session, w.ProviderID, messages)
			}
			note := filepath.Join(w.Directory, "note")
			p.write(note, "kept\n")
			refused(workspace.ErrDirtyWorktree)
			p.run(w.Directory, "add", ".")
			p.run(w.Directory, "commit", "-q", "-m", "work")
			tip := p.run(w.Directory, "rev-parse", "HEAD")
			refused(workspace.ErrUnmerged)
			p.run(p.dir, "worktree", "lock", w.Directory)
			refused(workspace.ErrLocked)
			if d := p.delete("1", true); len(d.Removed.Left) > 0 || !absent(w.Directory) {
				t.Errorf("left: %q", d.Removed.Left)
			}
			p.hasRows(c)
			p.bound(c, session, "", messages)
			back := p.restore("1")
			if now := p.run(back.Directory, "rev-parse", "HEAD"); now != tip || len(back.Warnings) > 0 {
				t.Errorf("HEAD is %s, was %s; %q", now, tip, back.Warnings)
			}
			p.hasRows(c, back)
			p.bound(c, session, w.ProviderID, messages)
		})
	}
}

func TestWorktreeRemovedByHand(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	for _, adapter := range []string{AdapterThreadtree, AdapterWorktree} {
		t.Run(adapter, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, s, func(cfg *ProviderConfig) { cfg.Adapter = adapter })
			w := p.create("1", workspace.CreateOptions{Name: "one"})
			session, messages := p.said(c, w, "a word")
			if err := os.RemoveAll(w.Directory); err != nil {
				t.Fatal(err)
			}
			if lines := p.recovered(); len(lines) > 0 {
				t.Errorf("said %q of a workspace that is on record", lines)
			}
			p.hasRows(c, w)
			if d := p.delete("1", false); len(d.Removed.Left) > 0 {
				t.Errorf("left: %q", d.Removed.Left)
			}
			p.hasRows(c)
			p.bound(c, session, "", messages)
		})
	}
}

func TestDeleteAndRestoreWithTheServerDown(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	for _, adapter := range []string{AdapterThreadtree, AdapterWorktree} {
		t.Run(adapter, func(t *testing.T) {
			t.Parallel()
			u := &unplugged{Connection: s}
			p := newPlace(t, u, func(cfg *ProviderConfig) { cfg.Adapter = adapter })
			w := p.create("1", workspace.CreateOptions{Name: "one"})
			session, messages := p.said(c, w, "a word")
			u.cut.Store(true)
			if d := p.delete("1", false); !absent(w.Directory) || !hasLine(d.Removed.Left, w.ProviderID, "can't be reached", "reconciled") {
				t.Errorf("left: %q", d.Removed.Left)
			}
			p.hasRows(c, w)
			u.cut.Store(false)
			if lines := p.recovered(); len(lines) != 1 || !hasLine(lines, w.ProviderID, "gone") {
				t.Errorf("said %q", lines)
			}
			p.hasRows(c)
			p.bound(c, session, "", messages)

			u.cut.Store(true)
			back := p.restore("1")
			if back.Directory != w.Directory || !hasLine(back.Warnings, "doesn't know", "can't be reached", "reconcile") {
				t.Errorf("%+v", back)
			}
			if actions := p.reconcile(); !hasAction(actions, workspace.ActionFailed, "could not be looked at", "can't be reached") {
				t.Errorf("%+v", actions)
			}
			p.hasRows(c)
			u.cut.Store(false)
			if lines := p.recovered(); len(lines) != 1 || !hasLine(lines, "told OpenCode again", w.Directory) {
				t.Errorf("said %q", lines)
			}
			p.hasRows(c, w)
			p.bound(c, session, w.ProviderID, messages)
			if lines := p.recovered(); len(lines) > 0 {
				t.Errorf("said again %q", lines)
			}
		})
	}
}

func hasAction(actions []workspace.Action, kind workspace.ActionKind, words ...string) bool {
	var lines []string
	for _, a := range actions {
		if a.Kind == kind {
			lines = append(lines, a.Detail)
		}
	}
	return hasLine(lines, words...)
}

func TestReconcileBothWays(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	p := newPlace(t, s, nil)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	session, messages := p.said(c, w, "a word")
	// OpenCode loses it.
	if err := c.Warp(t.Context(), p.dir, session, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := c.UpdateSession(t.Context(), session, SessionChange{Metadata: withMark(nil, mark{Workspace: w.ProviderID})}); err != nil {
		t.Fatal(err)
	}
	if err := c.RemoveWorkspace(t.Context(), "", w.ProviderID); err != nil {
		t.Fatal(err)
	}
	p.hasRows(c)
	if lines := p.recovered(); len(lines) != 1 || !hasLine(lines, "told OpenCode again", w.Directory) {
		t.Errorf("said %q", lines)
	}
	p.hasRows(c, w)
	p.bound(c, session, w.ProviderID, messages)
	// OpenCode has what no record stands for.
	stray := filepath.Join(p.root, "stray")
	p.run(p.dir, "worktree", "add", "-q", "-b", "stray", stray)
	there := workspace.Workspace{ProviderID: NewWorkspaceID(), Directory: stray}
	p.row(c, there.ProviderID, stray)
	other, words := p.said(c, there, "another word")
	for range 2 {
		if lines := p.recovered(); len(lines) != 1 || !hasLine(lines, stray, "no thread", "left") {
			t.Errorf("said %q", lines)
		}
		p.hasRows(c, w, there)
		p.bound(c, other, there.ProviderID, words)
	}
	p.run(p.dir, "worktree", "remove", stray)
	if lines := p.recovered(); len(lines) != 1 || !hasLine(lines, there.ProviderID, "gone") {
		t.Errorf("said %q", lines)
	}
	p.hasRows(c, w)
	p.bound(c, other, "", words)
}

func TestRestoreFromTheSnapshot(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	p := newPlace(t, s, nil)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	p.write(filepath.Join(w.Directory, "note"), "kept\n")
	session, messages := p.said(c, w, "a word")
	d := p.delete("1", true)
	project, err := p.repo.Open(t.Context(), p.dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.provider.Discard(t.Context(), project, *d.Trashed, false); err != nil {
		t.Fatal(detail(err))
	}
	p.run(p.dir, "gc", "-q", "--prune=now")
	back := p.restore("1")
	if content, err := os.ReadFile(filepath.Join(back.Directory, "note")); string(content) != "kept\n" {
		t.Errorf("the note is %q: %v", content, err)
	}
	p.hasRows(c, back)
	p.bound(c, session, w.ProviderID, messages)
}

func TestRestoreWhereTheDirectoryIsTaken(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	p := newPlace(t, s, nil)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	session, messages := p.said(c, w, "a word")
	p.delete("1", false)
	two := p.create("2", workspace.CreateOptions{Name: "one"})
	if two.Directory != w.Directory {
		t.Fatalf("the place %s is not taken: %s", w.Directory, two.Directory)
	}
	back := p.restore("1")
	if back.Directory == w.Directory || back.ProviderID != w.ProviderID {
		t.Errorf("%+v", back)
	}
	p.hasRows(c, two, back)
	p.bound(c, session, w.ProviderID, messages)
	got, err := c.Session(t.Context(), session)
	if err != nil || !samePlace(got.Directory, back.Directory) {
		t.Errorf("the session works in %s, not in %s: %v", got.Directory, back.Directory, err)
	}
	if lines := p.recovered(); len(lines) > 0 {
		t.Errorf("said %q", lines)
	}
}

// kill kills the server at the address, and returns once it doesn't answer.
func kill(t *testing.T, c *Client) {
	t.Helper()
	_, port, _ := strings.Cut(strings.TrimPrefix(c.URL(), "http://"), ":")
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, path := range processes {
		content, _ := os.ReadFile(path)
		args := strings.Split(string(content), "\x00")
		if !strings.Contains(args[0], "opencode") || !strings.Contains(string(content), "\x00--port\x00"+port+"\x00") {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		}
	}
	if killed != 1 {
		t.Fatalf("%d processes of the server were found", killed)
	}
}

// restarted waits until the server has been started again.
func (p *place) restarted(s *Server, starts int) *Client {
	p.t.Helper()
	for {
		state, changed := s.State()
		if state.Starts > starts && state.URL != "" {
			return client(p.t, s)
		}
		select {
		case <-changed:
		case <-time.After(2 * time.Minute):
			p.t.Fatalf("the server was not started again: %+v", state)
		}
	}
}

func TestServerKilledInMidCreate(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	c := client(t, s)
	// What a kill leaves at the other points, the fake server plays through.
	for adapter, pause := range map[string]time.Duration{AdapterThreadtree: 0, AdapterWorktree: 40 * time.Millisecond} {
		p := newPlace(t, s, func(cfg *ProviderConfig) { cfg.Adapter = adapter })
		first := p.create("0", workspace.CreateOptions{Name: "before"})
		before := p.state()
		c = client(t, s)
		starts, _ := s.State()
		asked := make(chan struct{})
		dead := make(chan struct{})
		go func() {
			defer close(dead)
			<-asked
			time.Sleep(pause)
			kill(t, c)
		}()
		w, err := p.manager.Create(t.Context(), workspace.CreateOptions{
			Project: p.dir, ThreadID: "1", Name: "one",
			Progress: func(e workspace.Event) {
				if e.Phase == workspace.PhaseRegister || strings.Contains(e.Message, "OpenCode makes") {
					close(asked)
				}
			},
		})
		<-dead
		t.Logf("%s, killed after %s: %s", adapter, pause, detail(err))
		c = p.restarted(s, starts.Starts)
		if lines := p.recovered(); len(lines) > 0 {
			t.Logf("recovered: %q", lines)
		}
		if err != nil {
			if row, _ := p.store.Workspace(t.Context(), "1"); row.Status != workspace.StatusError || row.Directory != "" || row.ProviderID != "" {
				t.Errorf("the record is %+v", row)
			}
			if after := p.state(); after != before {
				t.Errorf("branches and worktrees were changed from\n%s\nto\n%s", before, after)
			}
			w = p.create("1", workspace.CreateOptions{Name: "one"})
		}
		p.noNotes()
		p.hasRows(c, first, w)
		p.said(c, w, "a word")
		p.delete("1", false)
		p.hasRows(c, first)
	}
}
