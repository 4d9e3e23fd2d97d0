package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// rowOf returns the row of a thread, or of a directory.
func rowOf(t *testing.T, rows []workspace.Row, key string) workspace.Row {
	t.Helper()
	for _, row := range rows {
		if row.Workspace != nil && row.Workspace.ThreadID == key || row.Directory() == key {
			return row
		}
	}
	t.Fatalf("no row for %s", key)
	return workspace.Row{}
}

func list(t *testing.T, p *parts) []workspace.Row {
	t.Helper()
	rows, err := p.List(t.Context(), workspace.ListOptions{Project: p.project})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestListShowsWhatGitAndTheRecordsHave lists worktrees in every condition, of
// ours and of others, and says of each whether it may go and why not.
func TestListShowsWhatGitAndTheRecordsHave(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	work := func(thread string) workspace.Workspace { return p.create(t, thread) }
	commit := func(dir, file string) {
		write(t, filepath.Join(dir, file), "work\n")
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-q", "-m", "work on "+file)
	}

	work("clean")
	write(t, filepath.Join(work("dirty").Directory, "new"), "work\n")
	commit(work("ahead").Directory, "a")
	squashed := work("squashed")
	commit(squashed.Directory, "s1")
	commit(squashed.Directory, "s2")
	locked := work("locked")
	git(t, p.project, "worktree", "lock", "--reason", "in use", locked.Directory)
	switched := work("switched")
	git(t, switched.Directory, "switch", "-q", "-c", "other")
	missing := work("missing")
	if err := os.RemoveAll(missing.Directory); err != nil {
		t.Fatal(err)
	}
	manual := filepath.Join(realTemp(t), "by hand\nwith a newline")
	git(t, p.project, "worktree", "add", "-q", "--detach", manual)
	p.failed(t, "failed")
	git(t, p.project, "merge", "-q", "--squash", squashed.Branch)
	git(t, p.project, "commit", "-q", "-m", "squashed")

	before := p.world(t)
	rows := list(t, p)
	if after := p.world(t); after != before {
		t.Error("the list changed something")
	}
	for key, want := range map[string]struct {
		deletable bool
		reason    string
		check     func(workspace.Row) bool
	}{
		"clean":    {true, "", func(r workspace.Row) bool { return *r.State.Merged && !*r.State.Dirty && *r.State.Behind == 1 }},
		"dirty":    {false, "uncommitted", func(r workspace.Row) bool { return *r.State.Untracked == 1 && *r.State.Dirty }},
		"ahead":    {false, "1 commit is not merged", func(r workspace.Row) bool { return *r.State.Ahead == 1 && !*r.State.Merged }},
		"squashed": {true, "", func(r workspace.Row) bool { return *r.State.Ahead == 2 && *r.State.Merged }},
		"locked":   {false, "in use", func(r workspace.Row) bool { return r.Worktree.Locked }},
		"switched": {true, "", func(r workspace.Row) bool { return r.Worktree.Branch == "other" }},
		"missing":  {true, "", func(r workspace.Row) bool { return r.Missing }},
		"failed":   {true, "", func(r workspace.Row) bool { return r.Worktree == nil && r.Directory() == "" }},
		manual: {false, "no thread owns it", func(r workspace.Row) bool {
			return r.Workspace == nil && r.Source == workspace.SourceManual && r.Worktree.Detached && r.Worktree.Branch == ""
		}},
	} {
		row := rowOf(t, rows, key)
		if row.Deletable != want.deletable || !strings.Contains(row.Reason(), want.reason) {
			t.Errorf("%s: deletable %v, reason %q; want %v, %q", key, row.Deletable, row.Reason(), want.deletable, want.reason)
		}
		if !want.check(row) {
			t.Errorf("%s: %+v %+v", key, row, row.State)
		}
	}
	if len(rows) != 9 {
		t.Errorf("%d rows", len(rows))
	}
}

// TestSharedDirectory lets two records have one directory, as another program
// may write them: both are shown and neither may be deleted.
func TestSharedDirectory(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	w := p.create(t, "1")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.Directory, link); err != nil {
		t.Fatal(err)
	}
	_, err := p.store.BeginWorkspace(t.Context(), workspace.Workspace{
		ThreadID: "2", Provider: workspace.ProviderKimaki, Name: "x", Branch: w.Branch, Directory: link,
		ProjectDirectory: p.project, Status: workspace.StatusReady,
	}, workspace.Guard{})
	if err != nil {
		t.Fatal(err)
	}
	rows := list(t, p)
	for thread, other := range map[string]string{"1": "2", "2": "1"} {
		row := rowOf(t, rows, thread)
		if row.Deletable || len(row.SharedWith) != 1 || row.SharedWith[0] != other {
			t.Errorf("thread %s: %+v", thread, row)
		}
		_, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: thread})
		wantCode(t, err, workspace.ErrLocked)
		if err == nil || !strings.Contains(err.Error(), "thread "+other) {
			t.Errorf("%v doesn't name thread %s", err, other)
		}
	}
}

// TestSubdirectoryProject gives a thread of a project that is a subdirectory
// the same subdirectory of its working copy.
func TestSubdirectoryProject(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	w, err := p.Create(t.Context(), workspace.CreateOptions{Project: filepath.Join(p.project, "sub"), ThreadID: "1", Title: "below"})
	if err != nil {
		t.Fatal(err)
	}
	at, err := p.Resolve(t.Context(), "1", "")
	if err != nil || at.Directory != filepath.Join(w.Directory, "sub") {
		t.Errorf("it resolves to %+v, %v", at, err)
	}
	if _, err := os.Stat(filepath.Join(at.Directory, "other")); err != nil {
		t.Error(err)
	}
	if rows := list(t, p); len(rows) != 1 || rows[0].Workspace == nil {
		t.Errorf("the whole project lists %+v", rows)
	}
	if err := os.RemoveAll(at.Directory); err != nil {
		t.Fatal(err)
	}
	_, err = p.Resolve(t.Context(), "1", "")
	wantCode(t, err, workspace.ErrNotReady)
}

// TestResolve never sends a thread that asked for a workspace to the project.
func TestResolve(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	if at, err := p.Resolve(t.Context(), "1", p.project); err != nil || at.Directory != p.project || at.Workspace != nil {
		t.Errorf("a thread that never had one: %+v, %v", at, err)
	}
	_, err := p.Resolve(t.Context(), "1", "")
	wantCode(t, err, workspace.ErrNotFound)

	w := p.create(t, "1")
	aside := w.Directory + ".aside"
	if err := os.Rename(w.Directory, aside); err != nil {
		t.Fatal(err)
	}
	_, err = p.Resolve(t.Context(), "1", p.project)
	wantCode(t, err, workspace.ErrNotReady)
	// A directory of the same name that is no working copy: git would walk up
	// from it.
	if err := os.MkdirAll(w.Directory, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = p.Resolve(t.Context(), "1", p.project)
	wantCode(t, err, workspace.ErrNotReady)
	// Another repository's working copy in its place.
	if err := os.Remove(w.Directory); err != nil {
		t.Fatal(err)
	}
	git(t, newProject(t), "worktree", "add", "-q", "--detach", w.Directory)
	_, err = p.Resolve(t.Context(), "1", p.project)
	wantCode(t, err, workspace.ErrNotReady)
	if at, err := p.Resolve(t.Context(), "1", p.project); err == nil {
		t.Errorf("it resolves to %+v", at)
	}
	if err := os.RemoveAll(w.Directory); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(aside, w.Directory); err != nil {
		t.Fatal(err)
	}
	p.wantReady(t, w, w.Branch)
	// The project is gone.
	if err := os.Rename(p.project, p.project+".aside"); err != nil {
		t.Fatal(err)
	}
	if at, err := p.Resolve(t.Context(), "1", p.project); err == nil || errors.Is(err, workspace.ErrInternal) {
		t.Errorf("without the project it resolves to %+v, %v", at, err)
	}
}

// TestDirectoryThatIsNoWorktree has a record that names the main checkout, and
// one whose worktree became a plain directory: neither is missing, and no
// delete takes what is there.
func TestDirectoryThatIsNoWorktree(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	ctx := t.Context()
	w := p.create(t, "1")
	git(t, p.project, "worktree", "remove", w.Directory)
	if err := os.Mkdir(w.Directory, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.Directory, "notes"), "mine\n")
	main := w
	main.ThreadID, main.Directory, main.Attempt.ID = "2", p.project, "other"
	if _, err := p.store.BeginWorkspace(ctx, main, workspace.Guard{}); err != nil {
		t.Fatal(err)
	}
	rows := list(t, p)
	before := p.world(t)
	for _, thread := range []string{"1", "2"} {
		if row := rowOf(t, rows, thread); row.Missing || row.Deletable || row.Reason() == "" {
			t.Errorf("listed %+v", row)
		}
		_, err := p.Delete(ctx, workspace.DeleteOptions{ThreadID: thread})
		wantCode(t, err, workspace.ErrLocked)
	}
	actions, err := p.Reconcile(ctx, p.project)
	if err != nil || len(actions) != 2 || actions[0].Kind != workspace.ActionMissing || strings.Contains(actions[0].Detail, "gone") {
		t.Errorf("reconcile: %+v, %v", actions, err)
	}
	if after := p.world(t); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}
