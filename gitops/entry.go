package gitops

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// entry is what the files of a linked worktree's entry in the common git
// directory say, those of a half-written one included.
type entry struct {
	// path is the entry itself.
	path string
	// directory is the worktree, "" where that isn't written yet.
	directory string
	// attempt is the attempt of ours that made it, "" for anybody else's.
	attempt string
	// marker is zero where the entry has none.
	marker marker
}

// readEntries returns the entries of all linked worktrees, by name.
func readEntries(commonDir string) ([]entry, error) {
	names, err := os.ReadDir(filepath.Join(commonDir, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []entry
	for _, name := range names {
		if name.IsDir() {
			all = append(all, readEntry(filepath.Join(commonDir, "worktrees", name.Name())))
		}
	}
	return all, nil
}

func readEntry(path string) entry {
	e := entry{path: path, directory: entryDirectory(path), marker: readMarker(path)}
	e.attempt = e.marker.Attempt
	if reason, _, _ := lockReason(path); e.attempt == "" {
		if attempt, ok := strings.CutPrefix(reason, makingReason); ok {
			e.attempt = attempt
		}
	}
	return e
}

// entryDirectory returns the worktree that an entry is of, "" if that is not
// written.
func entryDirectory(path string) string {
	content, err := os.ReadFile(filepath.Join(path, "gitdir"))
	if err != nil {
		return ""
	}
	dotGit := strings.TrimSuffix(string(content), "\n")
	if dotGit == "" {
		return ""
	}
	if !filepath.IsAbs(dotGit) {
		dotGit = filepath.Join(path, dotGit)
	}
	return filepath.Dir(filepath.Clean(dotGit))
}

// of reports whether the entry is that of directory, which is resolved except
// for its last part.
func (e entry) of(directory string) bool {
	return e.directory != "" && (e.directory == directory || resolvedParent(e.directory) == directory)
}

// unwritten reports whether git was ended before it wrote what the entry is
// of and whose it is.
func (e entry) unwritten() bool {
	if e.directory != "" || e.attempt != "" {
		return false
	}
	files, err := os.ReadDir(e.path)
	if err != nil {
		return false
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || f.Name() != "locked" || info.Size() > 0 {
			return false
		}
	}
	return true
}

// named reports whether git would give the entry of a worktree in directory
// this name: the directory's own, with a number where it is taken.
func (e entry) named(directory string) bool {
	rest, ok := strings.CutPrefix(filepath.Base(e.path), filepath.Base(directory))
	return ok && strings.Trim(rest, "0123456789") == ""
}

// heldBy returns the working copy, but for that of the entry except, in which
// the branch is checked out or in which an operation on it is under way, "" if
// there is none.
func (r *Repository) heldBy(ctx context.Context, p workspace.Project, mainTop, branch, except string) (directory string, err error) {
	if mainTop != "" && r.holds(ctx, p.ID, branch) {
		return mainTop, nil
	}
	entries, err := readEntries(p.ID)
	if err != nil {
		return "", unreadable(p.ID, err)
	}
	for _, e := range entries {
		if e.path != except && e.directory != "" && r.holds(ctx, e.path, branch) {
			return e.directory, nil
		}
	}
	return "", nil
}

// holds reports whether the checkout of a git directory has the branch. An
// entry that can't be read has none.
func (r *Repository) holds(ctx context.Context, gitDir, branch string) bool {
	if head, err := r.headOf(ctx, gitDir); err == nil && head.branch() == branch {
		return true
	}
	is := func(name, want string) bool {
		content, err := os.ReadFile(filepath.Join(gitDir, name))
		return err == nil && strings.TrimSpace(string(content)) == want
	}
	ref := "refs/heads/" + branch
	return is("rebase-merge/head-name", ref) || is("rebase-apply/head-name", ref) || is("BISECT_START", branch)
}
