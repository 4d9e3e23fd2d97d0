package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// transitions are all the ways in which a record goes from one state to the
// next, each on real git and a real database. TestTransitions runs them.
var transitions = map[string]func(t *testing.T, p *parts){
	"none → pending → ready": func(t *testing.T, p *parts) {
		var phases []workspace.Phase
		w := p.create(t, "1", func(o *workspace.CreateOptions) {
			o.Progress = func(e workspace.Event) {
				w, err := p.Get(t.Context(), "1")
				if err != nil || (e.Phase != workspace.PhaseDone && w.Status != workspace.StatusPending) {
					t.Errorf("during %s: %+v, %v", e.Phase, w, err)
				}
				phases = append(phases, e.Phase)
			}
		})
		if !slices.Contains(phases, workspace.PhaseCheckout) || phases[len(phases)-1] != workspace.PhaseDone {
			t.Errorf("phases %v", phases)
		}
		p.wantReady(t, w, "threadtree/thread-1")
	},
	"ready → ready: the same create again": func(t *testing.T, p *parts) {
		w := p.create(t, "1")
		if again := p.create(t, "1"); again.Directory != w.Directory || again.Attempt.ID != w.Attempt.ID {
			t.Errorf("the second create made another: %+v", again)
		}
		for _, ref := range []string{"main", "HEAD", w.BaseCommit} {
			if again := p.create(t, "1", typed("thread-1"), base(ref)); again.Attempt.ID != w.Attempt.ID {
				t.Errorf("asking for the same branch and base made another: %+v", again)
			}
		}
	},
	"none → pending → error → pending → ready": func(t *testing.T, p *parts) {
		w := p.failed(t, "1")
		if _, err := p.Resolve(t.Context(), "1", p.project); !errors.Is(err, workspace.ErrTargetNotFound) {
			t.Errorf("a failed workspace resolves to %v", err)
		}
		again := p.create(t, "1")
		p.wantReady(t, again, "threadtree/thread-1")
		if !again.CreatedAt.Equal(w.CreatedAt) || again.Attempt.ID == w.Attempt.ID {
			t.Errorf("again %+v after %+v", again, w)
		}
	},
	"pending, its maker dead → error": func(t *testing.T, p *parts) {
		p.killedAt(t, "1", "claimed")
		actions, err := p.Reconcile(t.Context(), p.project)
		if err != nil || len(actions) != 1 || actions[0].Kind != workspace.ActionError {
			t.Fatalf("reconcile: %+v, %v", actions, err)
		}
		w, err := p.Get(t.Context(), "1")
		if err != nil || w.Status != workspace.StatusError {
			t.Fatalf("the record is %+v, %v", w, err)
		}
		if left := p.traces(t); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	},
	"pending, its maker dead but done → ready": func(t *testing.T, p *parts) {
		p.killedAt(t, "1", "made")
		actions, err := p.Reconcile(t.Context(), p.project)
		if err != nil || len(actions) != 1 || actions[0].Kind != workspace.ActionReady {
			t.Fatalf("reconcile: %+v, %v", actions, err)
		}
		w, err := p.Get(t.Context(), "1")
		if err != nil {
			t.Fatal(err)
		}
		p.wantReady(t, w, "threadtree/thread-1")
	},
	"pending, its maker dead → awaited": func(t *testing.T, p *parts) {
		p.killedAt(t, "1", "claimed")
		w, err := p.Await(t.Context(), "1")
		wantCode(t, err, workspace.ErrInternal)
		if w.Status != workspace.StatusError {
			t.Errorf("the record is %+v", w)
		}
	},
	"pending, its maker dead → deleted": func(t *testing.T, p *parts) {
		p.killedAt(t, "1", "phase checkout")
		if _, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"}); err != nil {
			t.Fatal(err)
		}
		p.wantGone(t, "1")
	},
	"ready → deleted → pending → ready": func(t *testing.T, p *parts) {
		w := p.create(t, "1")
		d, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"})
		if err != nil || d.Workspace.Directory != w.Directory || d.Removed.Branch != w.Branch {
			t.Fatalf("deleted %+v, %v", d, err)
		}
		p.wantGone(t, "1")
		if _, err := p.Resolve(t.Context(), "1", p.project); !errors.Is(err, workspace.ErrDeleted) {
			t.Errorf("a deleted workspace resolves to %v", err)
		}
		p.wantReady(t, p.create(t, "1"), "threadtree/thread-1")
	},
	"none → pending → error: what was made is cleared, and that is told": func(t *testing.T, p *parts) {
		git(t, p.project, "config", "filter.broken.smudge", "false")
		git(t, p.project, "config", "filter.broken.required", "true")
		write(t, filepath.Join(p.project, ".git", "info", "attributes"), "file filter=broken\n")
		_, err := p.tryCreate(t, "1")
		wantCode(t, err, workspace.ErrGitFailed)
		w, getErr := p.Get(t.Context(), "1")
		if getErr != nil || w.Status != workspace.StatusError || !strings.Contains(w.Error, "what had been made was cleared") {
			t.Errorf("the record is %+v, %v", w, getErr)
		}
		if err == nil || !strings.Contains(err.Error(), w.Error) {
			t.Errorf("%v doesn't say what the record does: %s", err, w.Error)
		}
		if left := p.traces(t); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	},
	"none → refused → none": func(t *testing.T, p *parts) {
		_, err := p.tryCreate(t, "1", base("nowhere"))
		wantCode(t, err, workspace.ErrTargetNotFound)
		if w, err := p.Get(t.Context(), "1"); !errors.Is(err, workspace.ErrNotFound) || errors.Is(err, workspace.ErrDeleted) {
			t.Errorf("the record is %+v, %v", w, err)
		}
	},
	"error → refused → error": func(t *testing.T, p *parts) {
		was := p.failed(t, "1")
		_, err := p.tryCreate(t, "1", branch("main"))
		wantCode(t, err, workspace.ErrBranchCheckedOut)
		w, err := p.Get(t.Context(), "1")
		if err != nil || w.Status != workspace.StatusError || w.ErrorCode != workspace.ErrBranchCheckedOut || w.Attempt.ID == was.Attempt.ID {
			t.Errorf("the record is %+v, %v", w, err)
		}
	},
	"error → deleted": func(t *testing.T, p *parts) {
		p.failed(t, "1")
		if _, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"}); err != nil {
			t.Fatal(err)
		}
		p.wantGone(t, "1")
	},
	"ready, missing → deleted": func(t *testing.T, p *parts) {
		w := p.create(t, "1")
		if err := os.RemoveAll(w.Directory); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Resolve(t.Context(), "1", p.project); !errors.Is(err, workspace.ErrNotReady) {
			t.Errorf("a missing workspace resolves to %v", err)
		}
		_, err := p.tryCreate(t, "1")
		wantCode(t, err, workspace.ErrNotReady)
		if !strings.Contains(workspace.HintOf(err), "delete it again") {
			t.Errorf("the hint is %q", workspace.HintOf(err))
		}
		rows, err := p.List(t.Context(), workspace.ListOptions{Project: p.project})
		if err != nil || len(rows) != 1 || !rows[0].Missing || !rows[0].Deletable {
			t.Errorf("listed %+v, %v", rows, err)
		}
		if _, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"}); err != nil {
			t.Fatal(err)
		}
		p.wantGone(t, "1")
	},
	"ready → moved": func(t *testing.T, p *parts) {
		w := p.create(t, "1")
		to := filepath.Join(realTemp(t), "moved")
		git(t, p.project, "worktree", "move", w.Directory, to)
		actions, err := p.Reconcile(t.Context(), p.project)
		if err != nil || len(actions) != 1 || actions[0].Kind != workspace.ActionMoved {
			t.Fatalf("reconcile: %+v, %v", actions, err)
		}
		if at, err := p.Resolve(t.Context(), "1", p.project); err != nil || at.Directory != to {
			t.Errorf("resolves to %+v, %v", at, err)
		}
	},
	"none → adopted → unbound": func(t *testing.T, p *parts) {
		dir := filepath.Join(realTemp(t), "by-hand")
		git(t, p.project, "worktree", "add", "-q", "-b", "by-hand", dir)
		w, err := p.Adopt(t.Context(), workspace.AdoptOptions{Project: p.project, ThreadID: "1", Directory: dir})
		if err != nil {
			t.Fatal(err)
		}
		p.wantReady(t, w, "by-hand")
		if again, err := p.Adopt(t.Context(), workspace.AdoptOptions{Project: p.project, ThreadID: "1", Directory: dir}); err != nil || again.Attempt.ID != w.Attempt.ID {
			t.Errorf("adopted again: %+v, %v", again, err)
		}
		write(t, filepath.Join(dir, "dirty"), "work\n")
		d, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"})
		if err != nil || !d.Unbound {
			t.Fatalf("deleted %+v, %v", d, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "dirty")); err != nil {
			t.Errorf("the person's worktree was touched: %v", err)
		}
		if _, err := p.Get(t.Context(), "1"); !errors.Is(err, workspace.ErrDeleted) {
			t.Errorf("the record is still there: %v", err)
		}
	},
	"error → adopted": func(t *testing.T, p *parts) {
		p.failed(t, "1")
		dir := filepath.Join(realTemp(t), "by-hand")
		git(t, p.project, "worktree", "add", "-q", "-b", "by-hand", dir)
		w, err := p.Adopt(t.Context(), workspace.AdoptOptions{Project: p.project, ThreadID: "1", Directory: dir})
		if err != nil {
			t.Fatal(err)
		}
		p.wantReady(t, w, "by-hand")
	},
	"pending, taken over → the late finisher changes nothing": func(t *testing.T, p *parts) {
		late := build(t, settings{
			home: p.home, project: p.project,
			wrap: func(inner workspace.Provider) workspace.Provider {
				return &usurped{Provider: inner, p: p, t: t}
			},
		})
		_, err := late.tryCreate(t, "1")
		wantCode(t, err, workspace.ErrInProgress)
		w, err := p.Get(t.Context(), "1")
		if err != nil || w.Attempt.ID != "the-other" || w.Status != workspace.StatusPending {
			t.Errorf("the record is %+v, %v", w, err)
		}
		// The other attempt is on another machine, so its lock is not here.
		if left := p.traces(t); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	},
	"pending of another program → stays": func(t *testing.T, p *parts) {
		w := workspace.Workspace{
			ThreadID: "1", Provider: workspace.ProviderKimaki, Name: "x", Branch: "opencode/kimaki-x",
			ProjectDirectory: p.project, Status: workspace.StatusPending,
		}
		if _, err := p.store.BeginWorkspace(t.Context(), w, workspace.Guard{}); err != nil {
			t.Fatal(err)
		}
		actions, err := p.Reconcile(t.Context(), p.project)
		if err != nil || len(actions) != 1 || actions[0].Kind != workspace.ActionStale {
			t.Errorf("reconcile: %+v, %v", actions, err)
		}
		_, err = p.tryCreate(t, "1")
		wantCode(t, err, workspace.ErrInProgress)
		_, err = p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"})
		wantCode(t, err, workspace.ErrInProgress)
	},
}

// usurped lets another machine take the row over while it is being made.
type usurped struct {
	workspace.Provider
	p *parts
	t *testing.T
}

func (u *usurped) Create(ctx context.Context, req workspace.CreateRequest) (workspace.Created, error) {
	created, err := u.Provider.Create(ctx, req)
	if err != nil {
		return created, err
	}
	w, err := u.p.store.Workspace(ctx, req.ThreadID)
	if err != nil {
		return created, err
	}
	guard := workspace.GuardOf(w)
	w.Attempt = workspace.Attempt{ID: "the-other", Host: "elsewhere", Lease: w.Attempt.Lease.AddDate(1, 0, 0)}
	w.Directory = ""
	_, err = u.p.store.BeginWorkspace(ctx, w, guard)
	return created, err
}

// TestTransitions walks each way between the states of a record.
func TestTransitions(t *testing.T) {
	t.Parallel()
	for name, walk := range transitions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			walk(t, build(t, settings{}))
		})
	}
}

// killedAt runs a create in a process that is killed at a point of it.
func (p *parts) killedAt(t *testing.T, thread, point string) {
	t.Helper()
	if err := p.child(t, thread, point, ""); err == nil {
		t.Fatalf("the process that was to be killed at %q came to its end", point)
	}
	w, err := p.Get(t.Context(), thread)
	if err != nil || w.Status != workspace.StatusPending {
		t.Fatalf("after the kill the record is %+v, %v", w, err)
	}
}

// wantReady checks a workspace against the disk, git and the list.
func (p *parts) wantReady(t *testing.T, w workspace.Workspace, branch string) {
	t.Helper()
	if w.Status != workspace.StatusReady || w.Branch != branch || w.Error != "" {
		t.Errorf("the workspace is %+v", w)
	}
	if got := git(t, w.Directory, "rev-parse", "--show-toplevel"); got != w.Directory {
		t.Errorf("the top of the working copy is %s, not %s", got, w.Directory)
	}
	if got := git(t, w.Directory, "symbolic-ref", "--short", "HEAD"); got != branch {
		t.Errorf("it has %s checked out", got)
	}
	if got := git(t, w.Directory, "status", "--porcelain"); got != "" {
		t.Errorf("it isn't clean: %s", got)
	}
	at, err := p.Resolve(t.Context(), w.ThreadID, p.project)
	if err != nil || at.Directory != w.Directory {
		t.Errorf("it resolves to %+v, %v", at, err)
	}
	rows, err := p.List(t.Context(), workspace.ListOptions{Project: p.project})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Workspace != nil && row.Workspace.ThreadID == w.ThreadID {
			if row.Worktree == nil || !row.Deletable || row.Missing {
				t.Errorf("the list shows %+v, reasons %v", row, row.Reasons)
			}
			return
		}
	}
	t.Errorf("thread %s isn't in the list", w.ThreadID)
}

// wantGone checks that nothing is left of a thread's workspace.
func (p *parts) wantGone(t *testing.T, thread string) {
	t.Helper()
	if _, err := p.Get(t.Context(), thread); !errors.Is(err, workspace.ErrDeleted) {
		t.Errorf("the record of thread %s: %v", thread, err)
	}
	if left := p.traces(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if rows, err := p.List(t.Context(), workspace.ListOptions{Project: p.project}); err != nil || len(rows) > 0 {
		t.Errorf("listed %+v, %v", rows, err)
	}
}
