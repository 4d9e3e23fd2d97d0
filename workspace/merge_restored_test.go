package workspace_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestMergeOfWhatWasPausedAndRestored deletes a workspace in the middle of a
// conflict and restores it from its snapshot, which knows of no rebase: nothing
// less than all commits is merged, and the way to them is told.
func TestMergeOfWhatWasPausedAndRestored(t *testing.T) {
	t.Parallel()
	p := build(t, settings{})
	g := p.merger()
	w := p.create(t, "1")
	work(t, w.Directory, "file", "mine\n")
	work(t, w.Directory, "second", "2\n")
	work(t, w.Directory, "third", "3\n")
	work(t, p.project, "file", "theirs\n")
	if _, err := g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "1", Resolve: true}); !errors.Is(err, workspace.ErrPaused) {
		t.Fatal(err)
	}
	if _, err := p.Delete(t.Context(), workspace.DeleteOptions{ThreadID: "1", Force: true}); err != nil {
		t.Fatal(err)
	}
	collector := workspace.NewCollector(p.Manager)
	plan, err := collector.Plan(t.Context(), workspace.CollectOptions{Project: p.project, MaxTrash: 1})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := collector.Apply(t.Context(), plan); err != nil || len(done) != 1 || !done[0].Done {
		t.Fatalf("%+v, %v", done, err)
	}
	back, err := p.Restore(t.Context(), workspace.RestoreOptions{ThreadID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	step := "git switch --discard-changes " + back.Branch
	if !slices.ContainsFunc(back.Warnings, func(line string) bool { return strings.Contains(line, step) }) {
		t.Errorf("the next step isn't among %q", back.Warnings)
	}

	write(t, filepath.Join(back.Directory, "file"), "both\n")
	git(t, back.Directory, "commit", "-q", "-a", "-m", "resolved")
	before := p.world(t)
	_, err = g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "1"})
	wantCode(t, err, workspace.ErrUnmerged)
	if !strings.Contains(err.Error(), back.Branch+" has 3 commits") {
		t.Error(err)
	}
	if after := p.world(t); after != before {
		t.Error("the refusal changed something")
	}
	preview, err := g.Preview(t.Context(), workspace.MergeOptions{ThreadID: "1"})
	if err != nil || preview.Clean || len(preview.Refusals) != 1 {
		t.Errorf("preview %+v, %v", preview, err)
	}

	// A HEAD that has all of it, as other commits, is merged.
	git(t, back.Directory, "switch", "-q", "--discard-changes", back.Branch)
	git(t, back.Directory, "switch", "-q", "--detach")
	git(t, back.Directory, "-c", "core.editor=true", "rebase", "-q", "-X", "theirs", "main")
	git(t, back.Directory, "branch", "-q", "-f", back.Branch, "HEAD~1")
	merged, err := g.Merge(t.Context(), workspace.MergeOptions{ThreadID: "1"})
	if err != nil || merged.Commits != 3 {
		t.Errorf("merged %+v, %v", merged, err)
	}
}
