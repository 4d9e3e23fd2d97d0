// Package workspace gives each chat thread a working copy of its own and
// follows that working copy through its life.
//
// A thread asks for a workspace, a [Provider] makes it (a linked git worktree
// with a branch of its own), a [Store] remembers it, and [Manager] runs the
// life cycle over the two:
//
//	pending → ready | error, then deleted
//
// # The pieces
//
//   - [Manager] has the life cycle: Create, Get, Await, Resolve, List, Delete,
//     Adopt, Reconcile and Watch.
//   - [Workspaces], [Sessions], [Channels] and [Notes] are what has to be
//     remembered; store/sqlite and store/memory implement them.
//   - [Provider] makes and removes working copies; gitops implements it with
//     git worktrees.
//   - [Repository] is what the life cycle has to know about git.
//   - [Locker] tells whether the maker of a workspace is still alive.
//   - [Error] and [Code] are how a refusal is told: a stable code, a message
//     for the person, and a hint that says what to do next.
//
// The package imports the standard library and golang.org/x/text only; all
// else depends on it and not the other way round.
//
// # What holds at all times
//
// A row is written as pending before anything touches the disk. Each try has
// an attempt id, and each later change compares status and attempt, so one who
// finishes late can't overwrite a newer try. What a dead try left behind is
// cleared with its lock held, and nothing else is cleared. A thread that asked
// for a workspace gets one or an error; it is never sent to the main checkout
// in silence.
package workspace
