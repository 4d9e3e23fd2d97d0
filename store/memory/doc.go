// Package memory keeps workspaces, sessions, channels, notes and trash in memory. It
// is for tests, for trying things out, and for a bot that may forget
// everything at its end; what has to outlive the process belongs into
// store/sqlite. It passes store/storetest.
package memory
