package gitops

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"github.com/threadtree/threadtree/workspace"
)

// mergeFile is the file in a worktree's entry that says how far a merge of it
// has come.
const mergeFile = "threadtree-merge.json"

// mergePhase says how far a merge has come.
type mergePhase string

const (
	// mergeWorking: git is at work in the workspace, for us.
	mergeWorking mergePhase = "working"
	// mergePaused: a conflict is being resolved in the workspace, or was.
	mergePaused mergePhase = "paused"
	// mergeMoving: the target is being moved; once it has, the workspace and
	// its branch follow.
	mergeMoving mergePhase = "moving"
)

const mergeVersion = 1

// mergeJournal is what a merge writes down before it touches anything. It is
// written with the repository's lock held.
type mergeJournal struct {
	Version int        `json:"version"`
	Phase   mergePhase `json:"phase"`
	Thread  string     `json:"thread"`
	Started time.Time  `json:"started"`
	// Branch is the workspace's branch, "" for a detached one, and Tip where
	// it stood before the merge was first asked for.
	Branch string `json:"branch,omitempty"`
	Tip    string `json:"tip"`
	// Now is what this phase is about.
	Now mergeStage `json:"now"`
	// Paused is what was left paused, nil where nothing ever was. What it has
	// become by being resolved is Now.Before of a later phase.
	Paused *mergeStage `json:"paused,omitempty"`
	// Files are the paths that were in conflict.
	Files [][]byte `json:"files,omitempty"`
	// Aborting is true where the workspace is being put back to Tip.
	Aborting bool `json:"aborting,omitempty"`
	// Landing is set while moving.
	Landing *landing `json:"landing,omitempty"`
}

// mergeStage is what is merged into what.
type mergeStage struct {
	Strategy workspace.Strategy `json:"strategy"`
	// Before is where the workspace stood when it began.
	Before string `json:"before"`
	// Target is the short name of the branch that is merged into, and Onto
	// where that stood.
	Target  string `json:"target"`
	Onto    string `json:"onto"`
	Message string `json:"message,omitempty"`
	Keep    bool   `json:"keep,omitempty"`
}

// landing is what has to be done once the commits are made.
type landing struct {
	// Result is where the target goes.
	Result string `json:"result"`
	// Fate says what becomes of the branch.
	Fate branchFate `json:"fate,omitempty"`
	// Notes are the commits whose notes are to be copied, old and new.
	Notes [][2]string `json:"notes,omitempty"`
	// Copying is true once they are being copied.
	Copying bool `json:"copying,omitempty"`
	// InPlace is true where git made the commits in the workspace.
	InPlace bool `json:"inPlace,omitempty"`
}

// branchFate is what becomes of a workspace's branch after a merge.
type branchFate string

const (
	// fateDelete: its commits are on the target, it isn't needed. Only the
	// merge itself lets it go, as its caller then forgets the name; a later
	// recovery has it follow.
	fateDelete branchFate = "delete"
	// fateFollow: it is kept, at the merged tip.
	fateFollow branchFate = "follow"
	// fateStay: it is kept where it is.
	fateStay branchFate = "stay"
)

// operation is what is under way in the workspace where git is at work for it
// or a conflict is being resolved.
func (s mergeStage) operation() string {
	if s.Strategy == workspace.StrategyRebase {
		return opRebase
	}
	return opMerge
}

// readMergeJournal returns the journal in an entry, nil where there is none.
func readMergeJournal(admin string) (*mergeJournal, error) {
	path := filepath.Join(admin, mergeFile)
	content, err := os.ReadFile(path)
	if isAbsent(err) {
		return nil, nil
	}
	j := new(mergeJournal)
	if err == nil {
		err = json.Unmarshal(content, j)
	}
	if err == nil && (j.Version != mergeVersion || j.Phase == mergeMoving && j.Landing == nil || j.Phase == mergePaused && j.Paused == nil) {
		err = fmt.Errorf("it is of version %d, not %d, or not whole", j.Version, mergeVersion)
	}
	if err != nil {
		return nil, &workspace.Error{
			Code: workspace.ErrInternal, Err: err,
			Message: fmt.Sprintf("the journal of a merge, %s, can't be read: %v; nothing was changed", path, err),
			Hint:    "see what is under way in the workspace; if nothing is, remove that file",
		}
	}
	return j, nil
}

// write makes the journal last.
func (j *mergeJournal) write(admin string) error {
	j.Version = mergeVersion
	content, err := json.MarshalIndent(j, "", "\t")
	if err == nil {
		err = renameio.WriteFile(filepath.Join(admin, mergeFile), append(content, '\n'), 0o644, renameio.WithTempDir(admin))
	}
	return failure("", "the journal of the merge can't be written; nothing was changed", "see that the repository can be written to", err)
}

// dropMergeJournal removes the journal, and with it the last trace of a merge.
func dropMergeJournal(admin string) error {
	err := os.Remove(filepath.Join(admin, mergeFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return failure("", "the journal of the merge can't be removed", "see that the repository can be written to", err)
}
