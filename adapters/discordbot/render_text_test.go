package discordbot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// gitSays is a git that failed.
type gitSays struct{ output string }

func (g gitSays) Error() string  { return "git failed" }
func (g gitSays) Output() string { return g.output }

func commits(n int, subject string) []workspace.CommitInfo {
	var list []workspace.CommitInfo
	for i := range n {
		list = append(list, workspace.CommitInfo{SHA: fmt.Sprintf("%07x%033d", i*7919+20000003, 0), Subject: subject, Author: "Ana"})
	}
	return list
}

func changes(n int, path string) []workspace.FileChange {
	var list []workspace.FileChange
	for i := range n {
		list = append(list, workspace.FileChange{Path: fmt.Sprintf("%s%d", path, i), Added: i * 3, Deleted: i})
	}
	return list
}

func times(n int, s string) []string {
	var list []string
	for range n {
		list = append(list, s)
	}
	return list
}

// texts has each renderer with ordinary input, and with what was not meant
// kindly.
func texts() map[string][]string {
	w := *clean1(1, "fix-login").Workspace
	sub := w
	sub.Subdirectory, sub.Warnings, sub.BranchCreated = "services/api", []string{"the set-up ended with exit code 1; the workspace can be used"}, false
	failed := w
	failed.Status, failed.Error = workspace.StatusError, "git could not add the worktree: no space left on device"
	pending := w
	pending.Status = workspace.StatusPending
	bad := w
	bad.Name, bad.Branch, bad.Base, bad.Directory, bad.Warnings = hostile, hostile, hostile, strings.Repeat(hostile, 20), times(30, strings.Repeat(hostile, 20))
	other := *clean1(2, "fix-login").Workspace
	long := strings.Repeat(hostile, 30)
	conflict := &workspace.Conflict{
		Strategy: workspace.StrategyRebase, Files: []string{"cmd/main.go", "go.mod"}, Branch: w.Branch, Target: "main",
		Commit: commits(1, "Log in by token")[0], Ours: commits(1, "Log in by token"), Theirs: commits(5, "Rename the flags"),
	}
	paused := *conflict
	paused.Paused, paused.Directory = true, w.Directory
	worst := &workspace.Conflict{
		Strategy: workspace.StrategyMerge, Files: times(40, long), Branch: hostile, Target: hostile, Paused: true, Directory: long,
		Commit: commits(1, long)[0], Ours: commits(20, long), Theirs: commits(20, long),
	}
	errorOf := func(e workspace.Error) string { return renderError(&e, mention) }
	refusal := &workspace.Error{Code: workspace.ErrDirtyWorktree, Message: "the workspace has uncommitted changes", Hint: "commit the work first"}
	return map[string][]string{
		"ready": {
			renderReady(w, mention), renderReady(sub, mention), renderReady(failed, nil), renderReady(pending, nil),
			renderReady(workspace.Workspace{Status: workspace.StatusReady}, nil), renderReady(bad, mention),
		},
		"phase": {
			renderPhase(w.Branch, workspace.Event{Phase: workspace.PhaseFetch, Message: "Fetching origin"}),
			renderPhase(w.Branch, workspace.Event{Phase: workspace.PhaseInstall}),
			renderPhase("", workspace.Event{Phase: workspace.PhaseDone}),
			renderPhase(w.Branch, workspace.Event{Phase: workspace.PhaseHooks, Message: "post-checkout ended with exit code 1", Warning: true}),
			renderPhase(hostile, workspace.Event{Phase: "own", Message: long}),
		},
		"error": {
			errorOf(workspace.Error{
				Code: workspace.ErrAlreadyExists, Op: "create", ThreadID: threadID(1), Workspace: &other,
				Message: "the branch threadtree/fix-login is the workspace of thread " + threadID(2) + "; nothing was changed",
				Hint:    "use another name, or work in that thread",
			}),
			errorOf(workspace.Error{
				Code: workspace.ErrTargetDirty, Message: "the checkout of main has changes to files that the merge would change; nothing was changed",
				Hint: "commit them there, or move them out of the way, and try again", Files: times(14, "cmd/main.go"),
			}),
			errorOf(workspace.Error{
				Code: workspace.ErrGitFailed, Message: "the worktree could not be added: git says: fatal: no space left on device; nothing is left of it",
				Hint: "see that the directories can be written to, then try again",
				Err:  fmt.Errorf("add: %w", gitSays{strings.Repeat("Updating files\n", 20) + "error: unable to write `x`\n```\nfatal: no space left on device\n"}),
			}),
			errorOf(workspace.Error{
				Code: workspace.ErrLocked, Message: "a process works in the directory; nothing was deleted",
				Hint: "end it; forced, the delete goes ahead", Option: workspace.OptionForce,
			}),
			errorOf(workspace.Error{Code: workspace.ErrInternal}),
			renderError(errors.New("dial tcp 10.0.0.1: refused"), nil),
			renderError(fmt.Errorf("wait: %w", context.DeadlineExceeded), nil),
			renderError(fmt.Errorf("merge: %w", errors.Join(conflict)), nil),
			errorOf(workspace.Error{
				Code: workspace.ErrUnmerged, ThreadID: "1", Message: long, Hint: long, Files: times(30, long), Workspace: &bad,
				Err: gitSays{strings.Repeat(hostile+"\r\n", 40)},
			}),
		},
		"merged": {
			renderMerged(workspace.Merged{Branch: w.Branch, Target: "main", Commits: 3, SHA: strings.Repeat("c", 40), Strategy: workspace.StrategyRebase}),
			renderMerged(workspace.Merged{
				Branch: w.Branch, BranchKept: true, Target: "main", Commits: 1, Dropped: 1, SHA: strings.Repeat("c", 40),
				Strategy: workspace.StrategySquash, Warnings: []string{"the checkout at /srv/app was not updated"},
			}),
			renderMerged(workspace.Merged{Target: "main", SHA: strings.Repeat("c", 40)}),
			renderMerged(workspace.Merged{Branch: long, Target: long, Commits: 9, SHA: long, Dropped: 4, Warnings: times(40, long)}),
		},
		"conflict": {renderConflict(conflict), renderConflict(&paused), renderConflict(worst)},
		"preview": {
			renderPreview(workspace.Preview{
				Branch: w.Branch, Target: "main", Clean: true, FastForward: true, Commits: commits(2, "Log in by token"), Files: changes(3, "cmd/file"),
			}),
			renderPreview(workspace.Preview{
				Branch: w.Branch, Target: "main", Commits: commits(12, "Log in by token"), Files: changes(40, "cmd/file"), Conflict: conflict,
			}),
			renderPreview(workspace.Preview{Branch: w.Branch, Target: "main", Commits: commits(1, "x"), Files: changes(1, "f"), Refusals: []error{refusal}}),
			renderPreview(workspace.Preview{
				Branch: long, Target: long, Strategy: workspace.Strategy(long), Commits: commits(30, long), Files: changes(90, long), Conflict: worst,
				Refusals: []error{errors.New(long), errors.New(long), errors.New(long), errors.New(long)},
			}),
		},
		"diff": {
			renderDiff(workspace.Diff{Base: "main", BaseCommit: strings.Repeat("d", 40)}),
			renderDiff(workspace.Diff{Base: "main", BaseCommit: strings.Repeat("d", 40), Files: append(changes(3, "cmd/file"),
				workspace.FileChange{Path: "logo.png", Added: -1, Deleted: -1}, workspace.FileChange{Path: "new.go", From: "old.go", Added: 1, Deleted: 1})}),
			renderDiff(workspace.Diff{Base: hostile, Files: changes(300, hostile), Truncated: true}),
		},
		"pushed": {
			renderPushed(workspace.Pushed{Remote: "origin", Branch: w.Branch, URL: "https://git.example.org/ana/app/compare/main...fix?expand=1"}),
			renderPushed(workspace.Pushed{Remote: hostile, Branch: hostile, URL: "javascript:alert(1)>" + hostile}),
			renderPushed(workspace.Pushed{Remote: "origin", Branch: "x", URL: "https://x/> @everyone"}),
		},
		"deleted": {
			renderDeleted(workspace.Deleted{
				Workspace: w, Removed: workspace.Removed{Branch: w.Branch, Tip: strings.Repeat("e", 40)},
				Trashed: &workspace.Trashed{ID: "00ff", RestorableUntil: testNow.Add(30 * 24 * time.Hour)},
			}, testNow),
			renderDeleted(workspace.Deleted{
				Workspace: w, Removed: workspace.Removed{
					Left:     []string{"the branch " + w.Branch + " has just moved to 1234567 and was left there"},
					Warnings: []string{"the agent was at work in it: its turn was stopped"},
				},
				Trashed: &workspace.Trashed{RestorableUntil: testNow.Add(5 * time.Hour), Kept: workspace.Kept{Missing: []string{"vendor/lib: a repository of its own"}}},
			}, testNow),
			renderDeleted(workspace.Deleted{Workspace: w, Unbound: true}, testNow),
			renderDeleted(workspace.Deleted{Workspace: failed}, testNow),
			renderDeleted(workspace.Deleted{
				Workspace: bad, Removed: workspace.Removed{Branch: long, Tip: long, Left: times(30, long)},
				Trashed: &workspace.Trashed{Kept: workspace.Kept{Missing: times(30, long)}},
			}, testNow),
		},
	}
}

func TestRenderTextsGolden(t *testing.T) {
	t.Parallel()
	for name, messages := range texts() {
		for _, m := range messages {
			checkContent(t, m)
		}
		golden(t, name, strings.Join(messages, "\n----------------\n"))
	}
}

func TestRenderErrorLinksThreads(t *testing.T) {
	t.Parallel()
	const said = "thread 1300000000000000001, 1300000000000000002 works there"
	if got, want := prose(said, 300, mention), "Thread <#1300000000000000001>, <#1300000000000000002> works there."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	address := func(id string) string { return "https://discord.com/channels/1/" + id }
	if got, want := prose(said, 300, address), "[Thread](<https://discord.com/channels/1/1300000000000000001>), [Thread](<https://discord.com/channels/1/1300000000000000002>) works there."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := prose(said, 300, func(string) string { return "" }); got != "Thread 1300000000000000001, 1300000000000000002 works there." {
		t.Errorf("%q", got)
	}
	if got, want := threadRef("7", address), "[thread](<https://discord.com/channels/1/7>)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := renderError(nil, nil); got != "" {
		t.Errorf("%q for no error", got)
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Hour: "just now", 59 * time.Second: "just now", 5 * time.Minute: "5m ago", 192 * time.Minute: "3h 12m ago",
		50 * time.Hour: "2d 2h ago", 800 * time.Hour: "33d ago",
	} {
		if got := ago(testNow.Add(-d), testNow); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}
