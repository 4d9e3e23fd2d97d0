package gitops

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// markerFile is the file in a worktree's entry that says who made it.
	markerFile = "threadtree"
	// makingReason begins the reason of the lock that a worktree has while it
	// is being made. It is the first thing that git writes into the entry, so
	// that even a half-written one names its attempt; and nobody prunes it.
	makingReason = "being made by threadtree, attempt "
)

// marker says which attempt made a worktree, and whether it came to its end.
type marker struct {
	Attempt string `json:"attempt"`
	Thread  string `json:"thread"`
	// Start is the commit that the attempt made its branch at.
	Start string `json:"start,omitempty"`
	// Complete is true once nothing is left to do.
	Complete bool `json:"complete"`
}

// readMarker returns the marker in an entry, zero where there is none.
func readMarker(admin string) marker {
	var m marker
	content, err := os.ReadFile(filepath.Join(admin, markerFile))
	if err != nil || json.Unmarshal(content, &m) != nil {
		return marker{}
	}
	return m
}

func writeMarker(admin string, m marker) error {
	content, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(admin, markerFile), append(content, '\n'))
}

// replaceFile writes a file so that nobody sees a part of it.
func replaceFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// lockReason returns why an entry is locked, and whether it is.
func lockReason(admin string) (reason string, locked bool, err error) {
	content, err := os.ReadFile(filepath.Join(admin, "locked"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	return strings.TrimSpace(string(content)), true, nil
}

// finishEntry ends the making of a worktree: it is unlocked, and then marked
// as complete. A crash between the two leaves one that is not complete.
func finishEntry(admin string, m marker) error {
	reason, locked, err := lockReason(admin)
	if err != nil {
		return err
	}
	if locked && reason == makingReason+m.Attempt {
		if err := os.Remove(filepath.Join(admin, "locked")); err != nil {
			return err
		}
	}
	m.Complete = true
	return writeMarker(admin, m)
}
