package discordbot

import (
	"fmt"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// titleMark begins the title of a thread with a workspace, and its status
// message.
const titleMark = "⬦ worktree: "

func newText() *text { return &text{max: contentMax} }

// renderReady draws the status message of a workspace.
func renderReady(w workspace.Workspace, link func(string) string) string {
	t := newText()
	t.add(titleMark + codeOf(orElse(w.Branch, orElse(w.Name, "detached")), 200))
	switch w.Status {
	case workspace.StatusPending:
		t.add("⏳ It is still being made.")
		return t.String()
	case workspace.StatusError:
		t.add("❌ It could not be made: " + lower(prose(orElse(w.Error, "no reason was recorded"), 1000, link)))
		return t.String()
	}
	t.add("Folder: " + codeOf(orElse(w.WorkDirectory(), "not known"), 500))
	if from := baseOf(w); from != "" {
		t.add("From: " + from)
	}
	if !w.BranchCreated && w.Branch != "" {
		t.add("The branch was there already.")
	}
	addWarnings(t, w.Warnings, link)
	return t.String()
}

func baseOf(w workspace.Workspace) string {
	switch {
	case w.Base != "" && w.BaseCommit != "" && !strings.HasPrefix(w.BaseCommit, w.Base):
		return codeOf(w.Base, 200) + " at " + code(shortSHA(w.BaseCommit))
	case w.Base != "":
		return codeOf(w.Base, 200)
	case w.BaseCommit != "":
		return code(shortSHA(w.BaseCommit))
	}
	return ""
}

func addWarnings(t *text, warnings []string, link func(string) string) {
	const most = 5
	for i, warning := range warnings {
		if i == most {
			t.add("-# … and " + counted(len(warnings)-most, "more warning"))
			return
		}
		t.add("⚠️ " + prose(warning, 300, link))
	}
}

// phases say what a step does, where it doesn't say so itself.
var phases = map[workspace.Phase]string{
	workspace.PhaseWait: "Waiting for others", workspace.PhaseClear: "Clearing what is left of an earlier try",
	workspace.PhaseFetch: "Fetching", workspace.PhaseAdd: "Adding the worktree", workspace.PhaseCheckout: "Checking out files",
	workspace.PhaseSubmodules: "Getting submodules", workspace.PhaseHooks: "Running hooks", workspace.PhaseCopy: "Copying files",
	workspace.PhaseInstall: "Installing dependencies", workspace.PhaseSnapshot: "Taking a snapshot", workspace.PhaseRemove: "Removing",
	workspace.PhaseRestore: "Restoring", workspace.PhaseRebase: "Rebasing", workspace.PhaseMerge: "Merging", workspace.PhasePush: "Pushing",
	workspace.PhaseRegister: "Registering it with the agent", workspace.PhaseDone: "Done",
}

// renderPhase draws the status message while something is under way.
func renderPhase(branch string, e workspace.Event) string {
	t := newText()
	if branch != "" {
		t.add(titleMark + codeOf(branch, 200))
	}
	step := plain(orElse(e.Message, orElse(phases[e.Phase], string(e.Phase))), 600)
	if e.Total > 0 {
		step += fmt.Sprintf(" (%d of %d)", e.Done, e.Total)
	}
	switch {
	case e.Warning:
		t.add("⚠️ " + step)
	case e.Phase == workspace.PhaseDone:
		t.add("✅ " + step)
	default:
		t.add("⏳ " + strings.TrimRight(step, ".…") + "…")
	}
	return t.String()
}

// renderMerged says what a merge did.
func renderMerged(m workspace.Merged) string {
	t := newText()
	what := code("HEAD")
	if m.Branch != "" {
		what = codeOf(m.Branch, 200)
	}
	target := codeOf(m.Target, 200)
	if m.Commits == 0 {
		t.add(fmt.Sprintf("✅ %s has all of %s already; nothing changed.", target, what))
	} else {
		t.add(fmt.Sprintf("✅ Merged %s into %s: %s, now at %s.", what, target, counted(m.Commits, "commit"), code(shortSHA(m.SHA))))
	}
	if m.Strategy == workspace.StrategySquash && m.Commits > 0 {
		t.add("All in one commit (squash).")
	}
	if m.Dropped > 0 {
		verb := "were"
		if m.Dropped == 1 {
			verb = "was"
		}
		t.add(fmt.Sprintf("%s %s left out: there already, or empty.", counted(m.Dropped, "commit"), verb))
	}
	switch {
	case m.Branch != "" && m.BranchKept:
		t.add("The branch is still there.")
	case m.Branch != "" && m.Commits > 0:
		t.add("The branch is gone with that; the workspace stays until it is deleted in the list.")
	}
	addWarnings(t, m.Warnings, nil)
	return t.String()
}

// renderConflict says what two sides changed differently, and what was left
// how.
func renderConflict(c *workspace.Conflict) string {
	t := newText()
	what, onto := "the rebase of", "onto"
	switch c.Strategy {
	case workspace.StrategySquash:
		what, onto = "the squash of", "into"
	case workspace.StrategyMerge:
		what, onto = "the merge of", "into"
	}
	branch, target := codeOf(orElse(c.Branch, "HEAD"), 160), codeOf(c.Target, 160)
	t.add(fmt.Sprintf("⚔️ Conflict in %s, in %s %s %s.", counted(len(c.Files), "file"), what+" "+branch, onto, target))
	if c.Paused {
		t.add("It is paused in " + codeOf(c.Directory, 300) + "; " + target + " is as it was.")
		t.add("Next: settle these files there, or have the agent do it, and continue. Abort brings back exactly what was before.")
	} else {
		t.add("Nothing was changed.")
		t.add("Next: have it settled in the workspace, by the agent or by hand, then merge again.")
	}
	t.addList(codesOf(c.Files, 100), 8, "file")
	if c.Commit.SHA != "" {
		t.add("Stopped at " + commitLine(c.Commit))
	}
	addCommits(t, "In "+branch+":", c.Ours, 3)
	addCommits(t, "In "+target+":", c.Theirs, 3)
	return t.String()
}

func addCommits(t *text, head string, commits []workspace.CommitInfo, most int) {
	if len(commits) == 0 {
		return
	}
	t.add(head)
	lines := make([]string, 0, len(commits))
	for _, c := range commits {
		lines = append(lines, commitLine(c))
	}
	t.addList(lines, most, "commit")
}

// renderPushed says what was published where.
func renderPushed(p workspace.Pushed) string {
	t := newText()
	t.add("✅ Pushed " + codeOf(p.Branch, 200) + " to " + codeOf(p.Remote, 200) + ".")
	if web(p.URL) {
		// In angle brackets it is a link without a preview.
		t.add("Open a pull request: <" + p.URL + ">")
	} else if p.URL != "" {
		t.add("Open a pull request: " + plain(p.URL, 500))
	}
	return t.String()
}

// web reports whether the text is an address that may stand as a link.
func web(s string) bool {
	return (strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")) && len(s) <= 500 &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("<>`|\\\"@", r) })
}

// renderDeleted says what a delete took, what it left, and until when it can
// be undone.
func renderDeleted(d workspace.Deleted, now time.Time) string {
	t := newText()
	w := d.Workspace
	name := orElse(w.Name, orElse(w.Branch, "the workspace"))
	drawn := isolated(name, plain(name, 200))
	switch {
	case d.Unbound && w.Directory != "":
		t.add("🗑️ " + drawn + " no longer belongs to its thread. Its folder stays as it is: " + codeOf(w.Directory, 300))
	case d.Unbound:
		t.add("🗑️ " + drawn + " no longer belongs to its thread.")
	default:
		t.add("🗑️ Deleted " + drawn + ".")
	}
	if d.Removed.Branch != "" {
		line := "Its branch " + codeOf(d.Removed.Branch, 200) + " went too"
		if d.Removed.Tip != "" {
			line += "; it was at " + code(shortSHA(d.Removed.Tip))
		}
		t.add(line + ".")
	}
	if kept := d.Trashed; kept != nil {
		until := "It can be restored"
		if left := kept.RestorableUntil.Sub(now); !kept.RestorableUntil.IsZero() && left > 0 {
			until += " for " + lasting(left.Round(time.Minute))
		}
		t.add(until + ".")
		for i, missing := range kept.Kept.Missing {
			if i == 5 {
				t.add("-# … and " + counted(len(kept.Kept.Missing)-5, "more thing") + " that would be missing")
				break
			}
			t.add("⚠️ Would be missing once the folder is gone: " + lower(prose(missing, 200, nil)))
		}
	}
	addWarnings(t, d.Removed.Warnings, nil)
	for i, left := range d.Removed.Left {
		if i == 5 {
			t.add("-# … and " + counted(len(d.Removed.Left)-5, "more thing") + " left in place")
			break
		}
		t.add("⚠️ Left in place: " + lower(prose(left, 200, nil)))
	}
	return t.String()
}
