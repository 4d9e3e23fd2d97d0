package workspace_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// TestCollectOnlyWhatIsMerged plans for being merged what was brought home,
// by us or by others, and neither what is only pushed, nor what never had a
// commit, nor what a process works in.
func TestCollectOnlyWhatIsMerged(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := build(t, settings{tune: func(c *workspace.Config) { c.Now = func() time.Time { return now } }})
	origin := filepath.Join(t.TempDir(), "origin.git")
	git(t, p.project, "init", "-q", "--bare", origin)
	git(t, p.project, "remote", "add", "origin", origin)

	pushed := p.create(t, "pushed")
	work(t, pushed.Directory, "pushed", "1\n")
	git(t, pushed.Directory, "push", "-q", "origin", "HEAD:refs/heads/request")
	p.create(t, "fresh")
	pulled := p.create(t, "pulled")
	busy, home := p.create(t, "busy"), p.create(t, "home")
	kept, squashed := p.create(t, "kept"), p.create(t, "squashed")
	for thread, w := range map[string]workspace.Workspace{"busy": busy, "home": home, "kept": kept} {
		work(t, w.Directory, thread, "1\n")
		if _, err := p.merger().Merge(t.Context(), workspace.MergeOptions{ThreadID: thread, KeepBranch: thread == "kept"}); err != nil {
			t.Fatal(err)
		}
	}
	work(t, squashed.Directory, "squashed", "1\n")
	work(t, squashed.Directory, "squashed", "2\n")
	git(t, p.project, "merge", "-q", "--squash", squashed.Branch)
	git(t, p.project, "commit", "-q", "-m", "squashed")
	git(t, pulled.Directory, "merge", "-q", "--ff-only", "main")
	inside := exec.Command("sleep", "600")
	inside.Dir = busy.Directory
	if err := inside.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = inside.Process.Kill()
		_ = inside.Wait()
	}()

	plan := func(o workspace.CollectOptions) map[string]string {
		t.Helper()
		o.Project = p.project
		plan, err := workspace.NewCollector(p.Manager).Plan(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		reasons := make(map[string]string)
		for _, item := range plan {
			reasons[item.ThreadID] = item.Reason
		}
		return reasons
	}
	threads := func(plan map[string]string) string {
		var all []string
		for thread := range plan {
			all = append(all, thread)
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	merged := plan(workspace.CollectOptions{Merged: true})
	if got := threads(merged); got != "home kept squashed" {
		t.Errorf("merged: %s", got)
	}
	if merged["home"] != "all its commits are in main" {
		t.Errorf("the reason is %q", merged["home"])
	}
	now = now.Add(2 * time.Hour)
	idle := plan(workspace.CollectOptions{Idle: time.Hour})
	if got := threads(idle); got != "fresh home kept pulled pushed squashed" {
		t.Errorf("idle: %s", got)
	}
	for thread, reason := range idle {
		if strings.Contains(reason, "aren't merged") != (thread == "pushed") {
			t.Errorf("%s: %s", thread, reason)
		}
	}
	rows, err := p.List(t.Context(), workspace.ListOptions{Project: p.project})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Workspace.ThreadID == "busy" && (row.Deletable || !strings.Contains(row.Reason(), "sleep")) {
			t.Errorf("busy: deletable %v, %s", row.Deletable, row.Reason())
		}
	}
}
