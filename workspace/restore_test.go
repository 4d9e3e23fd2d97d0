package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// fill makes a working copy full of work of every kind.
func fill(t *testing.T, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, "committed"), "work\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "work")
	write(t, filepath.Join(dir, "staged"), "staged\n")
	git(t, dir, "add", "staged")
	write(t, filepath.Join(dir, "staged"), "and edited\n")
	write(t, filepath.Join(dir, "file"), "modified\n")
	write(t, filepath.Join(dir, "untracked"), "untracked\n")
	write(t, filepath.Join(dir, ".gitignore"), ".env\n")
	write(t, filepath.Join(dir, ".env"), "SECRET=1\n")
	git(t, dir, "init", "-q", "embedded")
	write(t, filepath.Join(dir, "embedded", "inner"), "inner\n")
	if err := os.Remove(filepath.Join(dir, "sub", "other")); err != nil {
		t.Fatal(err)
	}
}

// stand is what must be the same before and after.
func stand(t *testing.T, dir string, files ...string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(git(t, dir, "rev-parse", "HEAD") + "\n" + git(t, dir, "status", "--porcelain=v2", "--branch", "-uall") + "\n")
	for _, file := range append(files, "file", "committed", "staged", "untracked", ".gitignore") {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Error(err)
		}
		b.WriteString(file + ": " + string(data))
	}
	return b.String()
}

func forced(t *testing.T, p *parts, thread string) workspace.Deleted {
	t.Helper()
	d, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: thread, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestForcedDeleteLosesNothing deletes a working copy full of work and has it
// back whole, ignored files and embedded repository included.
func TestForcedDeleteLosesNothing(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	w := p.create(t, "1")
	if err := p.store.PutSession(t.Context(), workspace.Session{ThreadID: "1", ID: "ses_1"}); err != nil {
		t.Fatal(err)
	}
	fill(t, w.Directory)
	before := stand(t, w.Directory, ".env", "embedded/inner")
	_, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"})
	wantCode(t, err, workspace.ErrDirtyWorktree)

	d := forced(t, p, "1")
	if d.Trashed == nil || d.Trashed.Kept.Directory == "" || !d.Trashed.RestorableUntil.After(time.Now().AddDate(0, 0, 13)) {
		t.Fatalf("kept %+v", d.Trashed)
	}
	if _, err := os.Lstat(w.Directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still in its place: %v", err)
	}
	if out := git(t, p.project, "branch", "--list", w.Branch); out != "" {
		t.Errorf("the branch is still there: %s", out)
	}
	if _, err := p.Resolve(t.Context(), "1", p.project); !errors.Is(err, workspace.ErrDeleted) {
		t.Errorf("a deleted workspace resolves to %v", err)
	}
	// What people run to clean up must not take it.
	git(t, p.project, "worktree", "prune", "--expire=now")
	git(t, p.project, "-c", "gc.pruneExpire=now", "gc", "-q", "--prune=now")

	back, err := p.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if back.Directory != w.Directory || back.Branch != w.Branch || back.SessionID != "ses_1" || back.Attempt.ID == w.Attempt.ID {
		t.Errorf("restored %+v of %+v", back, w)
	}
	if after := stand(t, back.Directory, ".env", "embedded/inner"); after != before {
		t.Errorf("restored:\n%s\nbefore:\n%s", after, before)
	}
	if trash, err := p.Trash(t.Context(), p.project); err != nil || len(trash) > 0 {
		t.Errorf("trash %+v, %v", trash, err)
	}
	if refs := git(t, p.project, "for-each-ref", "refs/threadtree"); refs != "" {
		t.Errorf("left: %s", refs)
	}
	// It can be deleted and restored again.
	forced(t, p, "1")
	if back, err = p.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "1"}); err != nil || stand(t, back.Directory, ".env") == "" {
		t.Errorf("restored again: %+v, %v", back, err)
	}
}

// TestRestoreFromTheSnapshot has a workspace back whose directory was let go.
func TestRestoreFromTheSnapshot(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := build(t, settings{tune: func(c *workspace.Config) { c.Now = func() time.Time { return now } }})
	w := p.create(t, "1")
	fill(t, w.Directory)
	if err := os.RemoveAll(filepath.Join(w.Directory, "embedded")); err != nil {
		t.Fatal(err)
	}
	before := stand(t, w.Directory)
	forced(t, p, "1")

	collector := workspace.NewCollector(p.Manager)
	plan, err := collector.Plan(t.Context(), workspace.CollectOptions{Project: p.project})
	if err != nil || len(plan) != 0 {
		t.Fatalf("nothing has expired yet: %+v, %v", plan, err)
	}
	now = now.Add(25 * time.Hour)
	plan, err = collector.Plan(t.Context(), workspace.CollectOptions{Project: p.project})
	if err != nil || len(plan) != 1 || plan[0].Kind != workspace.CollectDirectory || plan[0].Size <= 0 {
		t.Fatalf("plan %+v, %v", plan, err)
	}
	done, err := collector.Apply(t.Context(), plan)
	if err != nil || !done[0].Done {
		t.Fatalf("applied %+v, %v", done, err)
	}
	if _, err := os.Lstat(plan[0].Directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the kept directory is still there: %v", err)
	}

	back, err := p.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if after := stand(t, back.Directory); after != before {
		t.Errorf("restored:\n%s\nbefore:\n%s", after, before)
	}
	if _, err := os.Lstat(filepath.Join(back.Directory, ".env")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ignored files are not in the snapshot: %v", err)
	}
}

// TestExpiredTrashIsForgotten lets all of a deleted workspace go once its time
// is over, and nothing is left of it.
func TestExpiredTrashIsForgotten(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := build(t, settings{tune: func(c *workspace.Config) { c.Now = func() time.Time { return now } }})
	p.create(t, "1")
	if _, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"}); err != nil {
		t.Fatal(err)
	}
	now = now.AddDate(0, 0, 15)
	collector := workspace.NewCollector(p.Manager)
	plan, err := collector.Plan(t.Context(), workspace.CollectOptions{Project: p.project})
	if err != nil || len(plan) != 1 || plan[0].Kind != workspace.CollectSnapshot {
		t.Fatalf("plan %+v, %v", plan, err)
	}
	if done, err := collector.Apply(t.Context(), plan); err != nil || !done[0].Done {
		t.Fatalf("applied %+v, %v", done, err)
	}
	if left := p.traces(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	_, err = p.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "1"})
	wantCode(t, err, workspace.ErrNotFound)
	if _, err := p.Resolve(t.Context(), "1", p.project); !errors.Is(err, workspace.ErrDeleted) {
		t.Errorf("it resolves to %v", err)
	}
}

// TestRestoreMakesWay restores where the branch, the place or the thread has
// been taken by now.
func TestRestoreMakesWay(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	w := p.create(t, "1")
	fill(t, w.Directory)
	forced(t, p, "1")
	other := p.create(t, "2", func(o *workspace.CreateOptions) { o.Title = "thread 1" })
	if other.Branch != w.Branch || other.Directory != w.Directory {
		t.Fatalf("name and place are free again: %+v", other)
	}
	newer := p.create(t, "1", func(o *workspace.CreateOptions) { o.Title = "newer" })
	_, err := p.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "1"})
	wantCode(t, err, workspace.ErrAlreadyExists)
	if _, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1"}); err != nil {
		t.Fatal(err)
	}
	trash, err := p.Trash(t.Context(), p.project)
	if err != nil || len(trash) != 2 || trash[0].Workspace.Branch != newer.Branch && trash[1].Workspace.Branch != newer.Branch {
		t.Fatalf("trash %+v, %v", trash, err)
	}
	id := trash[0].ID
	if trash[0].Workspace.Branch == newer.Branch {
		id = trash[1].ID
	}
	back, err := p.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "1", TrashID: id})
	if err != nil {
		t.Fatal(err)
	}
	if back.Branch == w.Branch || back.Directory == w.Directory || len(back.Warnings) == 0 {
		t.Errorf("restored %+v", back)
	}
	if got := git(t, back.Directory, "symbolic-ref", "--short", "HEAD"); got != back.Branch {
		t.Errorf("%s is checked out, not %s", got, back.Branch)
	}
	if data, err := os.ReadFile(filepath.Join(back.Directory, ".env")); err != nil || string(data) != "SECRET=1\n" {
		t.Errorf("%q, %v", data, err)
	}
	p.wantReady(t, other, other.Branch)
}

// TestForcedDeleteOfALostRecord drops the record alone where its directory is
// another thread's, or its project is gone.
func TestForcedDeleteOfALostRecord(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	w := p.create(t, "1")
	_, err := p.store.BeginWorkspace(t.Context(), workspace.Workspace{
		ThreadID: "2", Provider: workspace.ProviderKimaki, Name: "x", Branch: w.Branch, Directory: w.Directory,
		ProjectDirectory: p.project, Status: workspace.StatusReady,
	}, workspace.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	if d := forced(t, p, "2"); !d.Unbound {
		t.Errorf("deleted %+v", d)
	}
	p.wantReady(t, w, w.Branch)
	if err := os.Rename(p.project, p.project+".gone"); err != nil {
		t.Fatal(err)
	}
	if err := deleteOf(t, p, "1"); err == nil {
		t.Error("deleted without its repository")
	}
	if d := forced(t, p, "1"); !d.Unbound {
		t.Errorf("deleted %+v", d)
	}
	if _, err := os.Stat(filepath.Join(w.Directory, "file")); err != nil {
		t.Error(err)
	}
}

// TestCollectWorkspaces lets merged and idle workspaces go, and none that is
// in use.
func TestCollectWorkspaces(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := build(t, settings{tune: func(c *workspace.Config) { c.Now = func() time.Time { return now } }})
	merged := p.create(t, "merged")
	write(t, filepath.Join(merged.Directory, "m"), "m\n")
	git(t, merged.Directory, "add", ".")
	git(t, merged.Directory, "commit", "-q", "-m", "m")
	p.create(t, "fresh")
	write(t, filepath.Join(p.create(t, "dirty").Directory, "d"), "d\n")
	locked := p.create(t, "pinned")
	git(t, p.project, "worktree", "lock", locked.Directory)
	git(t, p.project, "merge", "-q", "--ff-only", merged.Branch)

	collector := workspace.NewCollector(p.Manager)
	threads := func(o workspace.CollectOptions) []string {
		t.Helper()
		o.Project = p.project
		plan, err := collector.Plan(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, item := range plan {
			names = append(names, item.ThreadID)
		}
		return names
	}
	if got := threads(workspace.CollectOptions{}); len(got) != 0 {
		t.Errorf("not asked for: %v", got)
	}
	if got := threads(workspace.CollectOptions{Merged: true}); strings.Join(got, " ") != "merged" {
		t.Errorf("merged: %v", got)
	}
	if got := threads(workspace.CollectOptions{Idle: time.Hour}); len(got) != 0 {
		t.Errorf("idle: %v", got)
	}
	now = now.Add(2 * time.Hour)
	if got := threads(workspace.CollectOptions{Idle: time.Hour}); strings.Join(got, " ") != "fresh merged" {
		t.Errorf("idle for two hours: %v", got)
	}
	if got := threads(workspace.CollectOptions{MaxSize: 1 << 40}); len(got) != 0 {
		t.Errorf("there is room: %v", got)
	}
	if got := threads(workspace.CollectOptions{MaxSize: 1}); len(got) != 2 {
		t.Errorf("no room: %v", got)
	}

	plan, err := collector.Plan(t.Context(), workspace.CollectOptions{Project: p.project, Idle: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	// Between the plan and its carrying out somebody begins to work.
	w, err := p.Get(t.Context(), "fresh")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.Directory, "new"), "work\n")
	done, err := collector.Apply(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range done {
		if item.Done != (item.ThreadID == "merged") {
			t.Errorf("%s: done %v, %v", item.ThreadID, item.Done, item.Err)
		}
	}
}
