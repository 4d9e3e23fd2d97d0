package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// kept makes and deletes a workspace with a folder that can be made again and
// an ignored file that can't.
func (p *parts) kept(t *testing.T, thread string, folder bool) workspace.Trashed {
	t.Helper()
	w := p.create(t, thread)
	write(t, filepath.Join(w.Directory, ".env"), strings.Repeat("e", 1<<20))
	if folder {
		if err := os.Mkdir(filepath.Join(w.Directory, "node_modules"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(w.Directory, "node_modules", "x"), strings.Repeat("x", 2<<20))
	}
	deleted, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: thread, Force: true})
	if err != nil || deleted.Trashed == nil {
		t.Fatal(err)
	}
	return *deleted.Trashed
}

// lines shows a plan in short.
func lines(plan []workspace.Collected) string {
	var all []string
	for _, item := range plan {
		line := string(item.Kind) + " " + item.ThreadID
		if len(item.Folders) > 0 {
			line += " " + strings.Join(item.Folders, " ")
		}
		all = append(all, line)
	}
	return strings.Join(all, "; ")
}

// TestCollectFolders lets folders that can be made again go before whole
// directories, the oldest first, and no more than that.
func TestCollectFolders(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := build(t, settings{tune: func(c *workspace.Config) { c.Now = func() time.Time { return now } }})
	write(t, filepath.Join(p.project, ".gitignore"), ".env\nnode_modules/\n")
	git(t, p.project, "add", ".")
	git(t, p.project, "commit", "-q", "-m", "ignore")
	var trash []workspace.Trashed
	for _, thread := range []string{"plain", "old", "young"} {
		trash = append(trash, p.kept(t, thread, thread != "plain"))
		now = now.Add(time.Minute)
	}
	collector := workspace.NewCollector(p.Manager)
	plan := func(o workspace.CollectOptions) []workspace.Collected {
		t.Helper()
		o.Project = p.project
		plan, err := collector.Plan(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	// 1 + 3 + 3 MiB and a little are kept.
	const mib = 1 << 20
	for most, want := range map[int64]string{
		8 * mib:     "",
		6 * mib:     "folders old node_modules",
		4 * mib:     "folders old node_modules; folders young node_modules",
		2*mib + mib: "folders old node_modules; folders young node_modules; directory plain",
		1:           "directory plain; directory old; directory young",
		// None at all.
		workspace.NoBytes: "directory plain; directory old; directory young",
	} {
		for _, o := range []workspace.CollectOptions{{MaxTrash: most}, {MaxSize: most}} {
			got := plan(o)
			if lines(got) != want {
				t.Errorf("at most %d: %s, want %s", most, lines(got), want)
			}
			for _, item := range got {
				if !strings.Contains(item.Reason, "MB") && most > 1 || strings.Contains(item.Reason, "bytes") {
					t.Errorf("the reason is %q", item.Reason)
				}
			}
		}
	}

	done, err := collector.Apply(t.Context(), plan(workspace.CollectOptions{MaxTrash: 6 * mib}))
	if err != nil || len(done) != 1 || done[0].Err != nil || !done[0].Done || done[0].Size < 2*mib {
		t.Fatalf("%+v, %v", done, err)
	}
	for i, want := range []bool{false, false, true} {
		dir := trash[i].Kept.Directory
		if _, err := os.Lstat(filepath.Join(dir, "node_modules")); (err == nil) != want {
			t.Errorf("the folder in %s: %v", dir, err)
		}
		if _, err := os.Lstat(filepath.Join(dir, ".env")); err != nil {
			t.Error(err)
		}
	}
	if got := plan(workspace.CollectOptions{MaxTrash: 6 * mib}); len(got) > 0 {
		t.Errorf("again: %s", lines(got))
	}
	if got := lines(plan(workspace.CollectOptions{MaxTrash: 4 * mib})); got != "folders young node_modules" {
		t.Errorf("next: %s", got)
	}
	w, err := p.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "old"})
	if err != nil || !slices.ContainsFunc(w.Warnings, func(line string) bool { return strings.Contains(line, "node_modules") }) {
		t.Errorf("warnings %q, %v", w.Warnings, err)
	}
}

// TestTrashOfADirectoryThatIsGone doesn't say that it is kept.
func TestTrashOfADirectoryThatIsGone(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	trashed := p.kept(t, "1", true)
	collector := workspace.NewCollector(p.Manager)
	list, err := collector.Trash(t.Context(), p.project)
	if err != nil || len(list) != 1 || list[0].Kept.Directory == "" || list[0].DirectoryUntil.IsZero() || list[0].Size < 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := os.RemoveAll(trashed.Kept.Directory); err != nil {
		t.Fatal(err)
	}
	list, err = collector.Trash(t.Context(), p.project)
	if err != nil || len(list) != 1 || list[0].Kept.Directory != "" || !list[0].DirectoryUntil.IsZero() || list[0].Size >= 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := p.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "1"}); err != nil {
		t.Error(err)
	}
}

// TestCollectWhatHasWorkSince keeps a directory in the trash in which somebody
// worked after it was deleted, when its snapshot's time is over as well.
func TestCollectWhatHasWorkSince(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := build(t, settings{tune: func(c *workspace.Config) { c.Now = func() time.Time { return now } }})
	trashed := p.kept(t, "1", false)
	since := filepath.Join(trashed.Kept.Directory, "since")
	write(t, since, "since\n")
	now = now.Add(30 * 24 * time.Hour)
	collector := workspace.NewCollector(p.Manager)
	for range 2 {
		plan, err := collector.Plan(t.Context(), workspace.CollectOptions{Project: p.project})
		if err != nil || lines(plan) != "snapshot 1" {
			t.Fatalf("%s, %v", lines(plan), err)
		}
		done, err := collector.Apply(t.Context(), plan)
		if err != nil || done[0].Done || !errors.Is(done[0].Err, workspace.ErrDirtyWorktree) || !strings.Contains(done[0].Err.Error(), "since") {
			t.Fatalf("%+v, %v", done, err)
		}
	}
	w, err := p.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(w.Directory, "since")); string(got) != "since\n" {
		t.Errorf("since is %q", got)
	}
}
