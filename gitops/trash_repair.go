package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// repairEntries mends the entries of worktrees that keep git from working in
// the whole repository, because their file commondir is empty or missing as a
// crash leaves it. Only those are touched that an attempt of ours made, or a
// removal of ours, and of whose attempt alive says that nobody is left: one
// with a directory or an index gets the file written, so that nothing is lost,
// and one without either is removed. It returns a line for each, and for those
// that it left.
func (r *Repository) repairEntries(ctx context.Context, p workspace.Project, alive func(attempt string) bool) ([]string, error) {
	lock, err := r.lock(ctx, p)
	if err != nil {
		return nil, err
	}
	entries, err := readEntries(p.ID)
	var lines, aside []string
	for _, e := range entries {
		if err != nil {
			break
		}
		if wholeCommon(e.path) {
			continue
		}
		line, dead, repairErr := r.repairEntry(p, e, alive)
		if line != "" {
			lines = append(lines, fmt.Sprintf("the entry %s, whose commondir file is empty or missing, %s", filepath.Base(e.path), line))
		}
		if dead != "" {
			aside = append(aside, dead)
		}
		err = repairErr
	}
	lock.release()
	if removeErr := removeTrees(aside); err == nil {
		err = removeErr
	}
	return lines, cantRemove("", "a damaged entry", err)
}

// wholeCommon reports whether an entry says where its repository is.
func wholeCommon(admin string) bool {
	content, err := os.ReadFile(filepath.Join(admin, "commondir"))
	return err == nil && strings.TrimSpace(string(content)) != ""
}

func (r *Repository) repairEntry(p workspace.Project, e entry, alive func(string) bool) (line, dead string, err error) {
	reason, _, err := lockReason(e.path)
	switch {
	case isAbsent(err):
		return "", "", nil
	case err != nil:
		return "", "", err
	case e.attempt == "" && !isTrash(reason):
		return "was made by somebody else and was left; if no git command runs there, write \"../..\" into it", "", nil
	case e.attempt != "" && !isTrash(reason) && alive(e.attempt):
		return "is being made and was left", "", nil
	}
	kept := false
	for _, path := range []string{e.directory, filepath.Join(e.path, "index")} {
		if path != "" {
			_, err := os.Lstat(path)
			kept = kept || !isAbsent(err)
		}
	}
	if !kept {
		dead, err = buryEntry(p.ID, e.path)
		return "had neither a directory nor an index and was removed", dead, err
	}
	if err := replaceFile(filepath.Join(e.path, "commondir"), []byte("../..\n")); err != nil {
		return "", "", err
	}
	if h, err := readHead(e.path); err != nil || h == (headFile{}) {
		return "was mended, but its HEAD is broken as well: write the commit or \"ref: \" and the branch into it", "", nil //nolint:nilerr // that is what is told
	}
	return "was mended", "", nil
}
