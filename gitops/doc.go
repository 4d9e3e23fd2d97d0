// Package gitops is everything that threadtree does with git.
//
// [Repository] reads: it opens projects, lists worktrees and finds out their
// state. [Provider] makes and removes worktrees. [AttemptLocks] tells live
// attempts from dead ones. All of them run the git program in one place
// (exec.go), with an environment that no caller's git variables reach, and use
// go-git in process for what it reads right and faster: opening, HEAD, refs,
// single commits, configuration.
//
// Reading never writes: no index is refreshed and nothing is pruned. What
// changes the list of worktrees or a branch runs under one lock a repository,
// held by an open file that git children inherit, so that a git which outlives
// us still holds it.
//
// The package needs a Unix: process groups and flock.
package gitops
