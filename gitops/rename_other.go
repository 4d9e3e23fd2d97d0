//go:build !linux

package gitops

// renameNew renames a directory to a name that must be free.
func renameNew(from, to string) error { return renameOver(from, to) }
