package gitops

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// entryDirectories returns where the repository has its worktrees.
func entryDirectories(commonDir string) ([]string, error) {
	root := filepath.Join(commonDir, "worktrees")
	names, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	directories := make([]string, len(names))
	inParallel(len(names), func(i int) {
		directories[i] = entryDirectory(filepath.Join(root, names[i].Name()))
	})
	return slices.DeleteFunc(directories, func(d string) bool { return d == "" }), nil
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
// there is none. Of a branch that stands for another, either is meant.
func (r *Repository) heldBy(ctx context.Context, p workspace.Project, mainTop, branch, except string) (directory string, err error) {
	refs := r.openRefs(p.ID)
	wanted := []string{branch, followed(ctx, refs, branch)}
	if mainTop != "" && r.holds(ctx, refs, p.ID, wanted) {
		return mainTop, nil
	}
	entries, err := readEntries(p.ID)
	if err != nil {
		return "", unreadable(p.ID, err)
	}
	for _, e := range entries {
		if e.path != except && e.directory != "" && r.holds(ctx, refs, e.path, wanted) {
			return e.directory, nil
		}
	}
	return "", nil
}

// followed returns the branch that a branch stands for, itself unless its ref
// is symbolic.
func followed(ctx context.Context, x *refs, branch string) string {
	target, _, err := x.resolve(ctx, "refs/heads/"+branch)
	if err != nil || !strings.HasPrefix(target, "refs/heads/") {
		return branch
	}
	return strings.TrimPrefix(target, "refs/heads/")
}

// holds reports whether the checkout of a git directory has one of the
// branches. An entry that can't be read has none.
func (r *Repository) holds(ctx context.Context, x *refs, gitDir string, branches []string) bool {
	if head, err := r.headOf(ctx, gitDir); err == nil && head.branch() != "" {
		if b := head.branch(); slices.Contains(branches, b) || slices.Contains(branches, followed(ctx, x, b)) {
			return true
		}
	}
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(gitDir, name))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(content))
	}
	return slices.ContainsFunc(branches, func(branch string) bool {
		ref := "refs/heads/" + branch
		return read("rebase-merge/head-name") == ref || read("rebase-apply/head-name") == ref || read("BISECT_START") == branch
	})
}
