package opencode

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// slow is a server of its own adapter that carries out no create before it is
// let go on, whether anybody still waits for it or not.
type slow struct {
	*fakeServer
	goOn  chan struct{}
	posts atomic.Int32
}

func newSlow(t *testing.T) *slow {
	t.Helper()
	s := &slow{fakeServer: newFakeServer(t, AdapterWorktree), goOn: make(chan struct{})}
	s.before = func(r *http.Request) {
		// The first is the look for the flag.
		if callName(r) == "POST "+workspaces && s.posts.Add(1) == 2 {
			<-s.goOn
		}
	}
	return s
}

// finish has the server make what it was asked for, and waits for that.
func (s *slow) finish() (directory string) {
	close(s.goOn)
	for {
		if made := s.hasMade(); len(made) > 0 {
			return made[0]
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// noNotes fails the test if something is still remembered.
func (p *place) noNotes() {
	p.t.Helper()
	if notes, err := p.store.ListNotes(p.t.Context(), lateSpace); err != nil || len(notes) > 0 {
		p.t.Errorf("still remembered: %+v, %v", notes, err)
	}
}

// forgetTrash lets go of what was kept of the thread's workspace.
func (p *place) forgetTrash(thread string) {
	p.t.Helper()
	all, err := p.manager.Trash(p.t.Context(), p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	project, err := p.repo.Open(p.t.Context(), p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, trashed := range all {
		if trashed.Workspace.ThreadID != thread {
			continue
		}
		if err := errors.Join(p.provider.Discard(p.t.Context(), project, trashed, true), p.store.ForgetTrash(p.t.Context(), trashed.ID)); err != nil {
			p.t.Fatal(detail(err))
		}
	}
}

// TestWorktreeThatIsMadeLate has the server make the worktree when the create
// has given up.
func TestWorktreeThatIsMadeLate(t *testing.T) {
	t.Parallel()
	for name, clear := range map[string]func(p *place, directory string){
		"reconciled": func(p *place, directory string) {
			if lines := p.recovered(); !hasLine(lines, "cleared the worktree", directory) {
				p.t.Errorf("said %q", lines)
			}
		},
		"the next create": func(p *place, _ string) {
			p.create("2", workspace.CreateOptions{Name: "two"})
			p.delete("2", false)
			p.forgetTrash("2")
		},
		"after a restart of the program": func(p *place, directory string) {
			p.open(p.provider.cfg.Connection, nil)
			if lines := p.recovered(); !hasLine(lines, "cleared the worktree", directory) {
				p.t.Errorf("said %q", lines)
			}
		},
	} {
		for _, auto := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", auto", false: ""}[auto], func(t *testing.T) {
				t.Parallel()
				s := newSlow(t)
				p := fakePlace(t, s.fakeServer, func(cfg *ProviderConfig) { cfg.Auto, cfg.Timeout = auto, 2*time.Second })
				before := p.state()
				w, err := p.manager.Create(t.Context(), workspace.CreateOptions{Project: p.dir, ThreadID: "1", Name: "one"})
				if auto && (err != nil || !hasLine(w.Warnings, "may still make the worktree", "reconciled")) {
					t.Errorf("%+v, %s", w, detail(err))
				}
				if !auto && (err == nil || !strings.Contains(err.Error(), "may still make the worktree")) {
					t.Errorf("got %s", detail(err))
				}
				if auto {
					before = p.state()
				}
				directory := s.finish()
				clear(p, directory)
				if !absent(directory) {
					t.Errorf("%s is still there", directory)
				}
				if after := p.state(); after != before {
					t.Errorf("branches and worktrees were changed from\n%s\nto\n%s", before, after)
				}
				if rows := s.listed(); len(rows) > 0 {
					t.Errorf("the server still lists %+v", rows)
				}
				p.noNotes()
			})
		}
	}
}

// TestLateWorktreeWithWorkInIt has somebody work in it before it is found.
func TestLateWorktreeWithWorkInIt(t *testing.T) {
	t.Parallel()
	s := newSlow(t)
	p := fakePlace(t, s.fakeServer, func(cfg *ProviderConfig) { cfg.Auto, cfg.Timeout = true, 2*time.Second })
	p.create("1", workspace.CreateOptions{Name: "one"})
	directory := s.finish()
	note := filepath.Join(directory, "note")
	p.write(note, "somebody's\n")
	if lines := p.recovered(); !hasLine(lines, directory, "left", "isn't committed") {
		t.Errorf("said %q", lines)
	}
	p.noNotes()
	// From now on it is a worktree like any other that is nobody's here.
	if lines := p.recovered(); len(lines) != 1 || !hasLine(lines, directory, "belongs to no thread") {
		t.Errorf("said %q", lines)
	}
	if content, err := os.ReadFile(note); string(content) != "somebody's\n" {
		t.Errorf("the note is %q: %v", content, err)
	}
}

// TestReconcileLeavesACreateAlone reconciles while the server makes a worktree.
func TestReconcileLeavesACreateAlone(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, AdapterWorktree)
	p := fakePlace(t, s, nil)
	asked, goOn := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	s.git = func(dir string, args ...string) string {
		out := p.run(dir, args...)
		if first.CompareAndSwap(false, true) {
			close(asked)
			<-goOn
		}
		return out
	}
	created := make(chan workspace.Workspace, 1)
	go func() {
		w, err := p.manager.Create(t.Context(), workspace.CreateOptions{Project: p.dir, ThreadID: "1", Name: "one"})
		if err != nil {
			t.Errorf("create: %s", detail(err))
		}
		created <- w
	}()
	<-asked
	if lines := p.recovered(); len(lines) > 0 {
		t.Errorf("said %q", lines)
	}
	other := p.create("2", workspace.CreateOptions{Name: "two"})
	close(goOn)
	w := <-created
	if w.Provider != workspace.ProviderOpenCode || absent(w.Directory) || absent(other.Directory) {
		t.Errorf("%+v", w)
	}
	if lines := p.recovered(); len(lines) > 0 {
		t.Errorf("said %q", lines)
	}
	p.noNotes()
}

// TestServerThatDiesAfterItMadeTheWorktree leaves git to make another, and the
// row and the worktree to be found once there is a server again.
func TestServerThatDiesAfterItMadeTheWorktree(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, AdapterWorktree)
	u := &unplugged{Connection: f.connection()}
	f.hangs = func(r *http.Request) bool {
		if callName(r) == "EVENT worktree.ready" {
			u.cut.Store(true)
			return true
		}
		return false
	}
	p := newPlace(t, u, func(cfg *ProviderConfig) { cfg.Auto, cfg.Timeout = true, time.Second })
	f.git = p.run
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	if w.Provider != workspace.ProviderGit || !hasLine(w.Warnings, "can't be reached", "reconciled") {
		t.Errorf("%+v", w)
	}
	rows := f.listed()
	if len(rows) != 1 || absent(rows[0].Directory) {
		t.Fatalf("there is nothing to clear: %+v", rows)
	}
	if actions := p.reconcile(); !hasAction(actions, workspace.ActionFailed, "creates that gave up", "can't be reached") {
		t.Errorf("%+v", actions)
	}
	u.cut.Store(false)
	if lines := p.recovered(); !hasLine(lines, "cleared the worktree", rows[0].Directory) {
		t.Errorf("said %q", lines)
	}
	if left := f.listed(); len(left) > 0 || !absent(rows[0].Directory) || absent(w.Directory) {
		t.Errorf("%+v", left)
	}
	p.noNotes()
}

// TestProbeLeavesNothing has the row that the flag is found out by not be
// dropped at once.
func TestProbeLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t, AdapterWorktree)
	var stuck atomic.Bool
	stuck.Store(true)
	f.hangs = func(r *http.Request) bool { return r.Method == http.MethodDelete && stuck.Load() }
	p := fakePlace(t, f, func(cfg *ProviderConfig) { cfg.Auto, cfg.Timeout = true, time.Second })
	if w := p.create("1", workspace.CreateOptions{Name: "one"}); w.Provider != workspace.ProviderGit {
		t.Errorf("%+v", w)
	}
	if rows := f.listed(); len(rows) != 1 {
		t.Fatalf("there is nothing to clear: %+v", rows)
	}
	stuck.Store(false)
	if lines := p.recovered(); len(lines) > 0 {
		t.Errorf("said %q", lines)
	}
	if rows := f.listed(); len(rows) > 0 {
		t.Errorf("the server still lists %+v", rows)
	}
	p.noNotes()
}
