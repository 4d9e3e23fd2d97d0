package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// trashErrand is what a process does that is ended after a step.
type trashErrand struct {
	Home, Git string
	Env       []string
	Project   workspace.Project
	Step      string
	Remove    *workspace.Workspace
	Restore   *workspace.Trashed
	Discard   *workspace.Trashed
	All       bool
	NoForce   bool
}

var _ = func() bool {
	childRoles["trash"] = childTrash
	return true
}()

func childTrash(args []string) error {
	var e trashErrand
	if err := json.Unmarshal([]byte(args[0]), &e); err != nil {
		return err
	}
	r, err := New(Options{Home: e.Home, Env: e.Env, Git: e.Git})
	if err != nil {
		return err
	}
	r.reached = func(step string) {
		if step == e.Step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	p, ctx, tell := NewProvider(r, ProviderOptions{}), context.Background(), func(workspace.Event) {}
	var removed workspace.Removed
	switch {
	case e.Remove != nil:
		removed, err = p.Remove(ctx, workspace.RemoveRequest{
			Project: e.Project, Workspace: *e.Remove, TrashID: e.Remove.Attempt.ID, Force: !e.NoForce, Progress: tell,
		})
	case e.Restore != nil:
		_, err = p.Restore(ctx, workspace.RestoreRequest{
			Project: e.Project, Trashed: *e.Restore, Attempt: "attempt-killed", Progress: tell, Free: func(string, string) bool { return true },
		})
	case e.Discard != nil:
		err = p.Discard(ctx, e.Project, *e.Discard, e.All)
	}
	if e.Step != "" || e.Git != "" {
		return errors.Join(err, errors.New("nobody ended the process"))
	}
	result := trashResult{Removed: removed, Code: workspace.CodeOf(err)}
	if err != nil {
		result.Message = err.Error()
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// trashResult is what became of an errand that nobody ended.
type trashResult struct {
	Removed workspace.Removed
	Code    workspace.Code
	Message string
}

// killedAfter runs an errand that must be ended after its step, and then has
// git throw away what it thinks that nobody needs.
func (b *bin) killedAfter(e trashErrand) {
	b.t.Helper()
	out, err := b.errand(e).CombinedOutput()
	status, ok := errors.AsType[*exec.ExitError](err)
	if !ok || !status.Sys().(syscall.WaitStatus).Signaled() {
		b.t.Fatalf("the process was not killed: %v\n%s", err, out)
	}
	b.prune()
}

// errand is the process that does it.
func (b *bin) errand(e trashErrand) *exec.Cmd {
	b.t.Helper()
	e.Home, e.Env, e.Project = b.home, b.env, b.project()
	job, err := json.Marshal(e)
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], string(job))
	cmd.Env = append(os.Environ(), childRole+"=trash")
	return cmd
}

// prune has git throw away all that it thinks nobody needs.
func (b *bin) prune() {
	b.t.Helper()
	b.run(b.dir, "worktree", "prune", "--expire", "now")
	b.run(b.dir, "-c", "gc.worktreePruneExpire=now", "gc", "-q", "--prune=now")
}

func (b *bin) resume() (workspace.Removed, bool) {
	b.t.Helper()
	removed, found, err := b.p.Resume(context.Background(), workspace.RemoveRequest{
		Project: b.project(), Workspace: b.w, TrashID: b.id(), Progress: func(workspace.Event) {},
	})
	if err != nil {
		b.t.Fatalf("resume: %v", detail(err))
	}
	return removed, found
}

func TestRemoveKilledAtEachStep(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"journal", "ref", "locked", "renamed", "settled", "detached", "branch", "kept"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			for name, next := range map[string]func(b *bin) workspace.Trashed{
				"resumed": func(b *bin) workspace.Trashed {
					removed, found := b.resume()
					if !found {
						b.t.Fatal("the removal was not found")
					}
					return b.trashed(removed)
				},
				"removed again": func(b *bin) workspace.Trashed { return b.delete(true) },
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					b := newBin(t)
					b.mess()
					b.embed()
					tip := b.run(b.w.Directory, "rev-parse", "HEAD")
					before := b.shapeOf(b.w.Directory, true)
					b.killedAfter(trashErrand{Step: step, Remove: &b.w})
					trashed := next(b)
					if exists(b.w.Directory) || trashed.Kept.Tip != tip || trashed.Kept.Branch != b.w.Branch {
						t.Errorf("kept %+v", trashed.Kept)
					}
					b.isTip(b.w.Branch, "")
					b.prune()
					restored := b.restore(trashed)
					sameShape(t, before, b.shapeOf(restored.Directory, true))
					b.isTip(b.w.Branch, tip)
					if _, found := b.resume(); found {
						t.Error("a removal is found that is over")
					}
				})
			}
		})
	}
}

// TestResumeJudgesAnew begins where a removal was ended before anything was
// moved, and somebody went on to work.
func TestResumeJudgesAnew(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.killedAfter(trashErrand{Step: "locked", Remove: &b.w})
	b.write(b.at("later"), "later\n")
	before := b.shapeOf(b.w.Directory, true)
	// Without force it is as it was before.
	_, err := b.try(false)
	wantCode(t, err, workspace.ErrDirtyWorktree)
	sameShape(t, before, b.shapeOf(b.w.Directory, true))
	b.nothingKept()
	if _, locked, _ := lockReason(gitDirOf(b.w.Directory)); locked {
		t.Error("it is locked")
	}
	// With the force that it was begun with, the later work is kept.
	b.killedAfter(trashErrand{Step: "locked", Remove: &b.w})
	b.write(b.at("later"), "even later\n")
	before = b.shapeOf(b.w.Directory, true)
	removed, _ := b.resume()
	trashed := b.trashed(removed)
	b.discard(trashed, false)
	sameShape(t, before, b.shapeOf(b.restore(trashed).Directory, false))
}

func TestRestoreKilledAtEachStep(t *testing.T) {
	t.Parallel()
	steps := map[bool][]string{
		false: {"planned", "branched", "attached", "back", "pointed", "unlocked", "marked", "restored"},
		true:  {"planned", "entry", "branched", "attached", "added", "index", "checkout", "written", "unlocked", "marked", "restored"},
	}
	ways(t, func(t *testing.T, anew bool) {
		for _, step := range steps[anew] {
			t.Run(step, func(t *testing.T) {
				t.Parallel()
				b := newBin(t)
				b.mess()
				if !anew {
					b.embed()
				}
				b.run(b.dir, "config", "branch."+b.w.Branch+".remote", ".")
				b.run(b.dir, "config", "branch."+b.w.Branch+".merge", "refs/heads/main")
				before := b.shapeOf(b.w.Directory, !anew)
				trashed := b.delete(true)
				if out, err := b.lab.try(b.dir, "config", "--get-regexp", `^branch\.threadtree`); err == nil {
					t.Errorf("configuration of the branch: %s", out)
				}
				if anew {
					b.discard(trashed, false)
				}
				b.killedAfter(trashErrand{Step: step, Restore: &trashed})
				restored := b.restore(trashed)
				if restored.Directory != b.w.Directory || restored.Branch != b.w.Branch {
					t.Errorf("restored %+v", restored)
				}
				sameShape(t, before, b.shapeOf(restored.Directory, !anew))
				if got := b.run(b.dir, "worktree", "list", "--porcelain"); strings.Count(got, "worktree ") != 2 || strings.Contains(got, "\nlocked") {
					t.Errorf("worktrees: %s", got)
				}
				if branches := b.run(b.dir, "for-each-ref", "--format=%(refname:short)", "refs/heads"); branches != "main\n"+b.w.Branch {
					t.Errorf("branches: %s", branches)
				}
			})
		}
	})
}

func TestDiscardKilledAtEachStep(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"discarding", "buried", "unreferenced"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			b := newBin(t)
			b.mess()
			trashed := b.delete(true)
			b.killedAfter(trashErrand{Step: step, Discard: &trashed, All: true})
			for range 2 {
				b.discard(trashed, true)
				b.nothingKept()
			}
		})
		if step == "unreferenced" {
			continue
		}
		t.Run(step+", then restored", func(t *testing.T) {
			t.Parallel()
			b := newBin(t)
			b.mess()
			before := b.shapeOf(b.w.Directory, false)
			trashed := b.delete(true)
			b.killedAfter(trashErrand{Step: step, Discard: &trashed})
			restored := b.restore(trashed)
			sameShape(t, before, b.shapeOf(restored.Directory, false))
		})
	}
}

// TestKilledInGit ends git and us within the commands of a removal.
func TestKilledInGit(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"hash-object", "write-tree", "commit-tree", "update-ref --no-deref -m threadtree:?delete", "update-ref --no-deref -d"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			b := newBin(t)
			b.mess()
			before := b.shapeOf(b.w.Directory, true)
			wrapped := b.wrap("*"+strings.ReplaceAll(command, " ", `\ `)+"*", "kill -9 $PPID; exit 1")
			b.killedAfter(trashErrand{Git: wrapped, Remove: &b.w})
			removed, found := b.resume()
			if !found {
				// Nothing had begun.
				sameShape(t, before, b.shapeOf(b.w.Directory, true))
				kept := b.delete(true).Kept
				removed.Kept = &kept
			}
			restored := b.restore(b.trashed(removed))
			sameShape(t, before, b.shapeOf(restored.Directory, true))
		})
	}
}

// TestRemoveCancelled ends the context of a removal at many moments: it is done, or
// it isn't.
func TestRemoveCancelled(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"journal", "ref", "renamed"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			b := newBin(t)
			ctx, cancel := context.WithCancel(t.Context())
			b.p.r.reached = func(reached string) {
				if reached == step {
					cancel()
				}
			}
			removed, err := b.p.Remove(ctx, workspace.RemoveRequest{Project: b.project(), Workspace: b.w, TrashID: b.id(), Progress: func(workspace.Event) {}})
			if err != nil || removed.Kept == nil {
				t.Errorf("a removal that had begun was not carried through: %v", err)
			}
		})
	}
	b := newBin(t)
	before := b.snapshot()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := b.p.Remove(ctx, workspace.RemoveRequest{
		Project: b.project(), Workspace: b.w, TrashID: b.id(), Progress: func(e workspace.Event) {
			if e.Phase == workspace.PhaseSnapshot {
				cancel()
			}
		},
	})
	wantCode(t, err, workspace.ErrTimeout)
	if after := b.snapshot(); !slices.Equal(before, after) {
		t.Errorf("the cancelled removal changed the disk:\n%s", difference(before, after))
	}
}
