package gitops

import (
	"os"
	"path/filepath"
	"strings"
)

// Names of what may be under way in a working copy.
const (
	opRebase     = "rebase"
	opAm         = "am"
	opMerge      = "merge"
	opCherryPick = "cherry-pick"
	opRevert     = "revert"
	opBisect     = "bisect"
)

// operation returns what is under way in the checkout of a git directory, ""
// if nothing is. A rebase comes first: its steps are merges and picks.
func operation(gitDir string) string {
	has := func(parts ...string) bool {
		_, err := os.Lstat(filepath.Join(append([]string{gitDir}, parts...)...))
		return err == nil
	}
	switch {
	case has("rebase-merge"):
		return opRebase
	case has("rebase-apply", "applying"):
		return opAm
	case has("rebase-apply"):
		return opRebase
	case has("MERGE_HEAD"):
		return opMerge
	case has("CHERRY_PICK_HEAD"):
		return opCherryPick
	case has("REVERT_HEAD"):
		return opRevert
	case has("sequencer"):
		return sequencerOperation(gitDir)
	case has("BISECT_LOG"):
		return opBisect
	}
	return ""
}

// sequencerOperation tells a series of picks from one of reverts between two
// of its commits.
func sequencerOperation(gitDir string) string {
	todo, err := os.ReadFile(filepath.Join(gitDir, "sequencer", "todo"))
	if err == nil && strings.HasPrefix(strings.TrimSpace(string(todo)), "revert") {
		return opRevert
	}
	return opCherryPick
}
