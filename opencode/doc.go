// Package opencode is OpenCode: a [Client] of its HTTP API, a [Server] process
// of our own, the [Provider] that makes workspaces known to it, and the
// [Agent] through which threads talk to their sessions.
//
// # Who makes the worktree
//
// The worktrees are made, judged and removed by a git provider. OpenCode is
// told of them by an adapter of ours, a small plugin that is embedded here and
// that the server which we start loads: it takes a worktree that exists, and
// its removal deletes nothing. With a server that doesn't have it, or on
// request, an adapter that the server brings makes the worktree, detached, and
// git goes on from there: branch, base and set-up are by the same rules, and
// the removal is git's too.
//
// A server must be started with OPENCODE_EXPERIMENTAL_WORKSPACES=1, and be
// version 1.15.13 or newer. With Auto, git makes the workspace alone where
// OpenCode is missing, too old, without that flag, unreachable or failing,
// with a warning on the workspace that says which.
//
// # What the guard rail is
//
// A session in a workspace may not write outside of it with OpenCode's own
// tools, nor spell out the path of the project's main checkout in a shell
// command, unless the workspace lies inside of that; what would
// have to be asked for is refused, so that an unattended agent never waits for
// ever. That is a guard rail and no boundary: a shell command can still write
// there by a path that it puts together. Who needs a boundary runs the server
// in a sandbox of the system's.
//
// The server that we start, and what its agents have started, ends with it and
// with this process. Of the latter, what was started with an environment of
// its own is overlooked, and without a /proc what has left the server's
// process group.
//
// OpenCode itself adds a "$schema" to a project's opencode.json that has none,
// in each checkout that it opens. Commit one with it, or every workspace has a
// change in it from the start.
//
// # Sessions and undo
//
// OpenCode deletes the sessions of a workspace that it drops. Here they are
// let go first and marked, and bound again when the workspace is restored. A
// server without the plugin can't be told of one that is restored: there the
// conversation goes on in the directory alone. A turn that runs in a workspace
// is stopped before that is deleted, unless the delete is refused.
//
// # What is remembered
//
// A server goes on with what it was asked for when nobody waits any more, and
// may make a worktree after the create has failed. Before it is asked, that is
// noted in the store under an id of ours, and what comes of it is cleared by
// the next create or by Recover: only what has that id, was made since, and has
// nobody's work in it.
//
// How long a call of the Provider's waits for OpenCode is bounded as a whole,
// see [ProviderConfig].
//
// # Systems
//
// The client, the provider and the agent work wherever git's provider does. A
// server of our own is started on Unix alone, for only there can it be seen to
// that nothing outlives it.
//
// There is an official SDK in Go; its module can't be had from the module
// proxies that we reach, and it has no calls for workspaces, so the client is
// written here.
package opencode

// minVersion is the oldest OpenCode whose workspace API does what is asked of
// it: older ones make the branch that they like.
const minVersion = "1.15.13"
