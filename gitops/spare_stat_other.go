//go:build !linux

package gitops

// statAt looks at the file of a name, which ends in a NUL, in an open folder.
func statAt(folder int, name []byte, into *noted) error { return plainStatAt(folder, name, into) }
