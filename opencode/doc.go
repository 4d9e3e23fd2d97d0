// Package opencode is OpenCode: a client of its HTTP API, its server process,
// and the provider that makes workspaces known to it.
package opencode

// minVersion is the oldest OpenCode whose workspace API does what is asked of
// it: older ones make the branch that they like.
const minVersion = "1.15.13"
