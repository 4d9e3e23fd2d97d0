package discordbot

import (
	"fmt"

	"github.com/disgoorg/disgo/discord"

	"github.com/threadtree/threadtree/workspace"
)

// renderForce asks whether a workspace is to go although it isn't safe, and
// says what would go.
func renderForce(v listView, row workspace.Row, attempt string) []discord.LayoutComponent {
	name := nameOf(row)
	t := text{max: displayedMax - 200}
	t.add("### Delete " + isolated(name, plain(name, 200)) + " anyway?")
	if dir := row.Directory(); dir != "" {
		t.add("It is in " + codeOf(dir, 300))
	}
	if going := goingWith(row, v.Link); len(going) > 0 {
		t.add("**What would go:**")
		t.addList(going, 10, "thing")
	}
	if len(row.Reasons) > 0 {
		t.add("**Why it isn't deleted without asking:**")
		reasons := make([]string, 0, len(row.Reasons))
		for _, reason := range row.Reasons {
			reasons = append(reasons, prose(reason, 240, v.Link))
		}
		t.addList(reasons, 8, "reason")
	}
	if len(row.SharedWith) == 0 && row.Worktree != nil {
		t.add("It is kept for a while and can be restored, as far as it can be kept: the answer says what was not.")
	}
	var buttons []discord.InteractiveComponent
	if w := row.Workspace; w != nil {
		if id, ok := v.customID("forced", w.ThreadID, orElse(attempt, "0")); ok {
			buttons = append(buttons, discord.NewDangerButton("Delete anyway", id))
		}
	}
	if id, ok := v.customID("page", fmt.Sprint(max(v.Page, 0))); ok {
		buttons = append(buttons, discord.NewSecondaryButton("Keep it", id))
	}
	return v.withButtons([]discord.LayoutComponent{discord.NewTextDisplay(t.String())}, buttons)
}

// goingWith lists what a forced delete takes.
func goingWith(row workspace.Row, link func(string) string) []string {
	if len(row.SharedWith) > 0 {
		return []string{"this thread's record alone; the folder stays with " + threadsOf(row.SharedWith, link)}
	}
	if row.Worktree == nil {
		return []string{"the record alone; what is in its folder stays"}
	}
	var going []string
	s := row.State
	if dirt := dirtWords(s); dirt != "" {
		going = append(going, dirt)
	} else if s.Dirty == nil {
		going = append(going, "uncommitted changes, if there are any: that could not be found out")
	}
	switch {
	case s.Elsewhere == nil:
		going = append(going, "commits that are on no other branch, if there are any: that could not be found out")
	case !*s.Elsewhere && s.Ahead != nil && *s.Ahead > 0:
		going = append(going, counted(*s.Ahead, "commit")+" on no other branch")
	case !*s.Elsewhere:
		going = append(going, "commits on no other branch")
	}
	if s.Operation != "" {
		going = append(going, "the "+plain(s.Operation, 40)+" that is under way")
	}
	if w := row.Workspace; w != nil && w.BranchCreated && w.Branch != "" {
		going = append(going, "the branch "+codeOf(w.Branch, 120))
	}
	return append(going, "the folder, with all that git ignores in it")
}
