package gitops

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// packedLockHeld is longer than a git that lives holds the lock on packed refs,
// and that git waits for it.
const packedLockHeld = 1500 * time.Millisecond

// dropDeadPackedLock removes the lock on packed refs that a git of ours has left
// when it was killed, and what it was writing: with it there no ref goes, and git
// waits a second for each. That is left by ours which came after since, stays as
// it is for longer than a living git needs, and is not that of any git that works
// in the repository. Where that can't be told it stays.
func (r *Repository) dropDeadPackedLock(ctx context.Context, p workspace.Project, since time.Time) error {
	path := filepath.Join(p.ID, "packed-refs.lock")
	first, err := os.Lstat(path)
	if err != nil || since.IsZero() || first.ModTime().Before(since.Add(-time.Second)) {
		return nil
	}
	for waited := time.Duration(0); waited < packedLockHeld; waited += packedLockHeld / 50 {
		select {
		case <-time.After(packedLockHeld / 50):
		case <-ctx.Done():
			return failure("", "whether a killed git has left "+path+" could not be found out", "try again", ctx.Err())
		}
		if !sameStill(path, first) {
			return nil // who holds it is alive
		}
	}
	if r.gitAtWork(p) || !sameStill(path, first) {
		return nil
	}
	if err := removeIfThere(filepath.Join(p.ID, "packed-refs.new")); err != nil {
		return err
	}
	return removeIfThere(path)
}

// sameStill reports whether a file is the one that it was.
func sameStill(path string, was os.FileInfo) bool {
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(was, now) && now.ModTime().Equal(was.ModTime())
}

// dropDeadPackedLock is that of the repository, after a delete or a restore that
// was interrupted.
func (j *trashJournal) dropDeadPackedLock(ctx context.Context, r *Repository, p workspace.Project) error {
	info, err := os.Lstat(trashPath(p.ID, j.ID))
	if err != nil || j.Phase != trashBegun && j.Phase != trashRestoring {
		return nil
	}
	return r.dropDeadPackedLock(ctx, p, info.ModTime())
}

// gitAtWork reports whether a git works in the repository or a checkout of it, or
// that can't be told.
func (r *Repository) gitAtWork(p workspace.Project) bool {
	all := processes()
	entries, err := readEntries(p.ID)
	if len(all) == 0 || err != nil {
		return true
	}
	places := []string{p.ID, resolveExisting(p.TopLevel)}
	if filepath.Base(p.ID) == ".git" {
		places = append(places, filepath.Dir(p.ID))
	}
	for _, e := range entries {
		if e.directory != "" {
			places = append(places, resolveExisting(e.directory))
		}
	}
	return slices.ContainsFunc(all, func(process usingProcess) bool {
		name, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(process.pid), "comm"))
		return strings.HasPrefix(string(name), "git") && slices.ContainsFunc(places, func(place string) bool {
			return place != "" && within(process.directory, place)
		})
	})
}
