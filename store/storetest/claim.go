package storetest

import (
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// claimCase is a row that is there, and a claim of thread 2 beside it.
type claimCase struct {
	other  func(*workspace.Workspace) // what the row of thread 1 is
	mine   func(*workspace.Workspace) // what the row of thread 2 is
	change workspace.Change
	taken  bool
}

// claimed is a pending row that has claimed its branch and directory.
func claimed(w *workspace.Workspace) {
	w.Branch, w.Directory = "threadtree/fix", "/trees/fix"
}

func claimOf(branch, directory string) workspace.Change {
	return workspace.Change{Claim: true, Branch: &branch, Directory: &directory}
}

var claimCases = map[string]claimCase{
	"SameBranch":            {other: claimed, change: claimOf("threadtree/fix", "/trees/other"), taken: true},
	"SameDirectory":         {other: claimed, change: claimOf("threadtree/other", "/trees/fix"), taken: true},
	"NothingShared":         {other: claimed, change: claimOf("threadtree/fix-2", "/trees/fix-2")},
	"BranchInAnotherCase":   {other: claimed, change: claimOf("threadtree/FIX", "/trees/other"), taken: true},
	"DirectoryInOtherCase":  {other: claimed, change: claimOf("threadtree/other", "/Trees/Fix"), taken: true},
	"WithoutAskingForClaim": {other: claimed, change: workspace.Change{Branch: ptr("threadtree/fix"), Directory: ptr("/trees/fix")}},
	"BranchInAnotherUnicodeForm": {
		other:  func(w *workspace.Workspace) { w.Branch, w.Directory = "t/gr\u00f6\u00dfe", "/trees/1" },
		change: claimOf("t/gro\u0308SSe", "/trees/2"), taken: true,
	},
	"DirectoryInAnotherUnicodeForm": {
		other:  func(w *workspace.Workspace) { w.Directory = "/trees/caf\u00e9" },
		change: claimOf("b", "/trees/cafe\u0301"), taken: true,
	},
	"AnotherProject": {
		other: claimed,
		mine: func(w *workspace.Workspace) {
			w.ProjectID, w.ProjectDirectory = "/src/else/.git", "/src/else"
		},
		change: claimOf("threadtree/fix", "/trees/fix"),
	},
	"SameProjectInAnotherSpelling": {
		other:  claimed,
		mine:   func(w *workspace.Workspace) { w.ProjectDirectory = "/link/project" },
		change: claimOf("threadtree/fix", "/trees/other"), taken: true,
	},
	"OtherIdentityInTheSameSpelling": {
		other:  claimed,
		mine:   func(w *workspace.Workspace) { w.ProjectID = "/src/else/.git" },
		change: claimOf("threadtree/fix", "/trees/fix"),
	},
	"OtherRowWithoutIdentity": {
		other:  func(w *workspace.Workspace) { claimed(w); w.ProjectID = "" },
		change: claimOf("threadtree/fix", "/trees/other"), taken: true,
	},
	"OtherRowWithoutIdentityInAnotherSpelling": {
		other:  func(w *workspace.Workspace) { claimed(w); w.ProjectID, w.ProjectDirectory = "", "/link/project" },
		change: claimOf("threadtree/fix", "/trees/other"),
	},
	"MyRowWithoutIdentity": {
		other:  claimed,
		mine:   func(w *workspace.Workspace) { w.ProjectID = "" },
		change: claimOf("threadtree/fix", "/trees/other"), taken: true,
	},
	"EmptyIsNeverTheSame": {
		other:  func(w *workspace.Workspace) { w.Status, w.Branch, w.Directory = workspace.StatusReady, "", "" },
		change: claimOf("", ""),
	},
	"PendingRowThatHasNotClaimedYet": {
		other:  func(w *workspace.Workspace) { w.Branch, w.Directory = "threadtree/fix", "" },
		change: claimOf("threadtree/fix", "/trees/fix"),
	},
	"PendingRowWhoseProviderChoosesTheDirectory": {
		other: func(w *workspace.Workspace) {
			w.Branch, w.Directory, w.ProviderID = "threadtree/fix", "", "wrk_1"
		},
		change: claimOf("threadtree/fix", "/trees/fix"), taken: true,
	},
	"FailedRowThatHasNotClaimed": {
		other: func(w *workspace.Workspace) {
			w.Status, w.Branch, w.Directory = workspace.StatusError, "threadtree/fix", ""
		},
		change: claimOf("threadtree/fix", "/trees/fix"),
	},
	"FailedRowThatHasClaimed": {
		other:  func(w *workspace.Workspace) { claimed(w); w.Status = workspace.StatusError },
		change: claimOf("threadtree/fix", "/trees/other"), taken: true,
	},
	"ReadyRowWithoutADirectory": {
		other: func(w *workspace.Workspace) {
			w.Status, w.Branch, w.Directory = workspace.StatusReady, "threadtree/fix", ""
		},
		change: claimOf("threadtree/fix", "/trees/other"), taken: true,
	},
	"WhatTheRowHasAlreadyCountsToo": {
		other:  claimed,
		mine:   func(w *workspace.Workspace) { w.Branch = "threadtree/fix" },
		change: workspace.Change{Claim: true, Directory: ptr("/trees/other")}, taken: true,
	},
}

// rows returns the two rows of a case, in a project of its own.
func (c claimCase) rows(name string) (other, mine workspace.Workspace) {
	other, mine = pending(name+"/1", "a"), pending(name+"/2", "b")
	c.other(&other)
	if c.mine != nil {
		c.mine(&mine)
	}
	for _, w := range []*workspace.Workspace{&other, &mine} {
		w.ProjectDirectory = name + w.ProjectDirectory
		if w.ProjectID != "" {
			w.ProjectID = name + w.ProjectID
		}
	}
	return other, mine
}

var claimTests = map[string]func(*testing.T, workspace.Store){
	"BesideAnotherRow": func(t *testing.T, s workspace.Store) {
		for name, c := range claimCases {
			other, mine := c.rows(name)
			other, mine = begin(t, s, other), begin(t, s, mine)
			got, err := s.UpdateWorkspace(t.Context(), mine.ThreadID, workspace.GuardOf(mine), c.change)
			if c.taken {
				if err == nil {
					t.Errorf("%s: the claim was written", name)
					continue
				}
				refused(t, err, workspace.ErrAlreadyExists, nil)
				check(t, name+": workspace in the way", inTheWay(t, err), other)
				check(t, name+": stored row", get(t, s, mine.ThreadID), mine)
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			check(t, name+": stored row", get(t, s, mine.ThreadID), got)
		}
	},
	"ARowDoesNotClashWithItself": func(t *testing.T, s workspace.Store) {
		w := begin(t, s, pending("1", "a"))
		for range 2 {
			if _, err := s.UpdateWorkspace(t.Context(), "1", workspace.GuardOf(w), claimOf("threadtree/fix", "/trees/fix")); err != nil {
				t.Fatal(err)
			}
		}
	},
	"ADeletedRowIsInNobodysWay": func(t *testing.T, s workspace.Store) {
		other := pending("1", "a")
		claimed(&other)
		begin(t, s, other)
		if err := s.DeleteWorkspace(t.Context(), "1", workspace.GuardOf(other)); err != nil {
			t.Fatal(err)
		}
		w := begin(t, s, pending("2", "b"))
		if _, err := s.UpdateWorkspace(t.Context(), "2", workspace.GuardOf(w), claimOf("threadtree/fix", "/trees/fix")); err != nil {
			t.Fatal(err)
		}
	},
	"TheGuardComesFirst": func(t *testing.T, s workspace.Store) {
		other := pending("1", "a")
		claimed(&other)
		begin(t, s, other)
		begin(t, s, pending("2", "b"))
		_, err := s.UpdateWorkspace(t.Context(), "2", workspace.GuardOf(other), claimOf("threadtree/fix", "/trees/fix"))
		refused(t, err, workspace.ErrInProgress, workspace.ErrStale)
	},
}
