//go:build !linux

package gitops

// awaitExit returns once a child has ended, or at once where the system can't
// tell.
func awaitExit(int) {}
