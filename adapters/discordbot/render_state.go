package discordbot

import (
	"fmt"
	"path"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// stateMax is how many characters the state of one worktree may take.
const stateMax = 900

// nameOf returns what a person calls the row.
func nameOf(row workspace.Row) string {
	w, wt := row.Workspace, row.Worktree
	switch {
	case w != nil && w.Name != "":
		return w.Name
	case wt != nil && wt.Branch != "":
		return wt.Branch
	case w != nil && w.Branch != "":
		return w.Branch
	case wt != nil && wt.Detached && wt.Head != "":
		return "detached at " + shortSHA(wt.Head)
	case row.Directory() != "":
		return path.Base(row.Directory())
	}
	return "no name"
}

// stateOf says in words how the row is.
func stateOf(row workspace.Row, link func(string) string) string {
	var words []string
	add := func(more ...string) { words = append(words, more...) }
	w := row.Workspace
	if len(row.SharedWith) > 0 {
		add("shared with " + threadsOf(row.SharedWith, link))
	}
	switch row.Thread {
	case workspace.ThreadDeleted:
		add("🗑️ thread deleted")
	case workspace.ThreadArchived:
		add("📦 thread archived")
	}
	switch {
	case w != nil && w.Status == workspace.StatusPending:
		add(pendingWords(row.Liveness))
	case w != nil && w.Status == workspace.StatusError:
		add("❌ failed: " + plain(orElse(w.Error, "no reason was recorded"), 240))
	case row.Missing:
		add("⚠️ its folder is missing")
	case row.Worktree == nil:
		add("⚠️ git has no worktree there")
	default:
		add(copyWords(row)...)
	}
	if wt := row.Worktree; wt != nil {
		add(entryWords(*wt)...)
	}
	if len(row.State.Unknown) > 0 {
		add("unknown: " + plain(strings.Join(row.State.Unknown, "; "), 240))
	}
	return joinWithin(words, stateMax)
}

func threadsOf(ids []string, link func(string) string) string {
	const most = 3
	var refs []string
	for _, id := range ids[:min(len(ids), most)] {
		refs = append(refs, threadRef(id, link))
	}
	if len(ids) > most {
		refs = append(refs, fmt.Sprintf("%d more", len(ids)-most))
	}
	return strings.Join(refs, ", ")
}

func pendingWords(l workspace.Liveness) string {
	switch l {
	case workspace.Dead:
		return "⚠️ was interrupted while being made"
	case workspace.Unknown:
		return "⏳ being made, as far as can be told from here"
	}
	return "⏳ being made"
}

// entryWords say what git's entry has to tell.
func entryWords(wt workspace.Worktree) []string {
	var words []string
	if wt.Broken != "" {
		words = append(words, "⚠️ git's entry is damaged: "+plain(wt.Broken, 200))
	}
	if wt.Prunable != "" {
		words = append(words, "prunable: "+plain(wt.Prunable, 200))
	}
	if wt.Locked && !wt.Spare { // a spare always is
		words = append(words, "🔒 locked: "+plain(orElse(wt.LockReason, "no reason given"), 200))
	}
	if wt.Spare {
		words = append(words, "spare, waiting to be handed out")
	}
	return words
}

// copyWords say how a working copy that is there is.
func copyWords(row workspace.Row) []string {
	s := row.State
	var words []string
	if s.Operation != "" {
		words = append(words, "⚠️ "+plain(s.Operation, 40)+" under way")
	}
	if dirt := dirtWords(s); dirt != "" {
		words = append(words, "✏️ "+dirt)
	} else if s.Dirty != nil && !*s.Dirty {
		words = append(words, "clean")
	}
	if s.Operation != "" {
		// What is checked out is the operation's, and says nothing.
		return words
	}
	words = append(words, aheadWords(row)...)
	if s.Default {
		words = append(words, "has the default or its base branch checked out")
	}
	if w, wt := row.Workspace, row.Worktree; w != nil && wt != nil && w.Branch != "" && wt.Branch != w.Branch {
		if wt.Branch == "" {
			words = append(words, "HEAD is detached now")
		} else {
			words = append(words, "on "+codeOf(wt.Branch, 80)+" now")
		}
	}
	if len(words) == 0 && len(s.Unknown) == 0 && !row.Worktree.Spare {
		words = append(words, "state not known")
	}
	return words
}

// dirtWords count what isn't committed, "" for nothing.
func dirtWords(s workspace.State) string {
	if s.Dirty == nil || !*s.Dirty {
		return ""
	}
	var counts []string
	for _, c := range []struct {
		n    *int
		what string
	}{{s.Changed, "changed"}, {s.Conflicted, "in conflict"}, {s.Untracked, "untracked"}} {
		if c.n != nil && *c.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", *c.n, c.what))
		}
	}
	if len(counts) == 0 {
		return "uncommitted changes"
	}
	return "uncommitted: " + strings.Join(counts, ", ")
}

// aheadWords compare with the base.
func aheadWords(row workspace.Row) []string {
	s := row.State
	base := ""
	if row.Workspace != nil && row.Workspace.Base != "" {
		base = codeOf(row.Workspace.Base, 80)
	}
	var words []string
	switch {
	case s.Merged != nil && *s.Merged && fresh(row):
		words = append(words, "no commits yet")
	case s.Merged != nil && *s.Merged:
		words = append(words, "merged into "+orElse(base, "the default branch"))
	case s.Ahead != nil && *s.Ahead > 0:
		words = append(words, counted(*s.Ahead, "commit")+" ahead of "+orElse(base, "the default branch"))
	}
	if s.Behind != nil && *s.Behind > 0 {
		words = append(words, fmt.Sprintf("%d behind", *s.Behind))
	}
	return words
}

// fresh reports whether the working copy stands where it began.
func fresh(row workspace.Row) bool {
	return row.Workspace != nil && row.Worktree != nil && row.Workspace.BaseCommit != "" &&
		row.Workspace.BaseCommit == row.Worktree.Head
}

// joinWithin joins words, at least one, as long as they fit.
func joinWithin(words []string, max int) string {
	var b strings.Builder
	for i, word := range words {
		if i > 0 && len([]rune(b.String()))+len([]rune(word)) > max {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(word)
	}
	return b.String()
}
