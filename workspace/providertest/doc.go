// Package providertest is the contract of [workspace.Provider] as tests, for
// every implementation:
//
//	func TestContract(t *testing.T) {
//		providertest.Run(t, func(t *testing.T) providertest.Subject {
//			return providertest.Subject{Provider: …, Project: …}
//		})
//	}
//
// It needs the git program, with which it looks at what the provider did. What
// is asked of a [workspace.Restorer] is skipped for a provider that is none.
package providertest

import (
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// Subject is a provider and a repository that the test may do anything with.
type Subject struct {
	// Provider is the one under test.
	Provider workspace.Provider
	// Project has a checkout that is clean, on a branch with at least one
	// commit, and no other branches, worktrees or remotes.
	Project workspace.Project
	// PlaceLater is true for a provider that learns the directory only by
	// making it, since somebody else chooses that: it claims its own id and the
	// branch first, without a directory, and then once more with the directory,
	// before it does anything else there.
	PlaceLater bool
}

// Run runs the contract. newSubject is called once for each test, possibly by
// several at a time, and gives each a repository of its own.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) {
	t.Helper()
	tests := map[string]func(*fixture){
		"name": testName,

		"create":                         testCreate,
		"create from a base":             testBase,
		"create, refused base":           testRefusedBase,
		"create without commits":         testNoCommits,
		"create, title and branch":       testTitle,
		"create, typed name and branch":  testTyped,
		"create, exact branch":           testExact,
		"create, checked-out branch":     testCheckedOut,
		"create, directory in the way":   testDirectory,
		"create, claim taken by another": testClaimTaken,
		"create, claim that fails":       testClaimFails,
		"create, cancelled":              testCancelled,
		"create many at once":            testConcurrent,

		"complete": testComplete,

		"clear":                     testClear,
		"clear, attached branch":    testClearAttached,
		"clear, moved branch":       testClearMoved,
		"clear for another attempt": testClearAnother,

		"remove":               testRemove,
		"remove, merged":       testRemoveMerged,
		"remove, uncommitted":  testRemoveDirty,
		"remove, unmerged":     testRemoveUnmerged,
		"remove, locked":       testRemoveLocked,
		"remove, in operation": testRemoveOperation,
		"remove, missing":      testRemoveMissing,

		"trash":                     testTrash,
		"trash, resumed":            testResume,
		"restore":                   testRestore,
		"restore from the snapshot": testRestoreAnew,
		"restore, taken":            testRestoreTaken,
		"discard":                   testDiscard,
		"disk use":                  testDiskUse,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newFixture(t, newSubject(t)))
		})
	}
}
