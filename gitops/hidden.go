package gitops

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hiddenEdits returns the paths of edited files that git status doesn't tell:
// those marked assume-unchanged or skip-worktree. A file that a sparse
// checkout leaves out is none. Mostly it only reads the index; where there is
// something to look at, git compares it by a copy of the index in the
// directory for temporary files. Nothing is written to the repository.
func (r *Repository) hiddenEdits(ctx context.Context, gitDir, dir string) ([]string, error) {
	flags, err := r.hiddenFlags(ctx, gitDir, dir)
	if err != nil {
		return nil, err
	}
	flags.skipped = present(dir, flags.skipped)
	if len(flags.assumed) == 0 && len(flags.skipped) == 0 {
		return nil, nil
	}
	index, remove, err := copyIndex(gitDir)
	if err != nil {
		return nil, err
	}
	defer remove()
	env := []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + index}
	config := []string{"core.fsmonitor=false", "core.splitIndex=false", "core.ignoreStat=false", "core.hooksPath=" + os.DevNull}
	for _, reveal := range []struct {
		option string
		paths  []string
	}{{"--no-assume-unchanged", flags.assumed}, {"--no-skip-worktree", flags.skipped}} {
		if len(reveal.paths) == 0 {
			continue
		}
		_, err := r.git.run(ctx, command{
			dir: dir, env: env, config: config, write: true, // it writes the copy
			args:  []string{"update-index", "-z", reveal.option, "--stdin"},
			stdin: strings.NewReader(strings.Join(reveal.paths, "\x00") + "\x00"),
		})
		if err != nil {
			return nil, err
		}
	}
	out, err := r.git.run(ctx, command{
		dir: dir, env: env, config: config,
		args: []string{"status", "--porcelain=v2", "-z", "--untracked-files=no", "--ignore-submodules=none", "--no-renames"},
	})
	if err != nil {
		return nil, err
	}
	report, err := parseStatus(out)
	if err != nil {
		return nil, err
	}
	return flags.edited(report), nil
}

// edited returns the hidden paths that differ in the working tree.
func (h hiddenFlags) edited(report statusReport) []string {
	hidden := make(map[string]bool)
	for _, path := range h.assumed {
		hidden[path] = true
	}
	for _, path := range h.skipped {
		hidden[path] = true
	}
	var edited []string
	for _, c := range report.changes {
		if c.modified && hidden[c.path] {
			edited = append(edited, c.path)
		}
	}
	return edited
}

// hiddenFlags reads which entries of the index are hidden.
func (r *Repository) hiddenFlags(ctx context.Context, gitDir, dir string) (hiddenFlags, error) {
	data, err := os.ReadFile(filepath.Join(gitDir, "index"))
	if isAbsent(err) {
		return hiddenFlags{}, nil
	}
	if err != nil {
		return hiddenFlags{}, err
	}
	if flags, ok := scanSparse(data); ok && !unfolded(dir, flags.skipped) {
		return flags, nil
	}
	out, err := r.git.run(ctx, command{
		dir: dir, env: []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + dir}, config: []string{"core.fsmonitor=false"},
		args: []string{"ls-files", "-v", "-z"},
	})
	if err != nil {
		return hiddenFlags{}, err
	}
	return parseFlags(out), nil
}

// parseFlags reads the output of "git ls-files -v -z": S is for skip-worktree,
// and a small letter for assume-unchanged.
func parseFlags(out []byte) (flags hiddenFlags) {
	for record := range bytes.SplitSeq(out, []byte{0}) {
		if len(record) < 3 || record[1] != ' ' {
			continue
		}
		tag, path := record[0], string(record[2:])
		if tag >= 'a' && tag <= 'z' {
			flags.assumed = append(flags.assumed, path)
		}
		if tag == 'S' || tag == 's' {
			flags.skipped = append(flags.skipped, path)
		}
	}
	return flags
}

// unfolded reports whether a directory that a sparse index has but one entry of
// is on disk: then git has to say what in it is.
func unfolded(dir string, skipped []string) bool {
	return slices.ContainsFunc(skipped, func(path string) bool {
		return strings.HasSuffix(path, "/") && len(present(dir, []string{path})) > 0
	})
}

// present returns those of the paths that are on disk. A sparse checkout leaves
// out whole directories, which are looked for once.
func present(dir string, paths []string) []string {
	var there []string
	absent := make(map[string]bool)
	for _, path := range paths {
		if slices.ContainsFunc(parents(path), func(parent string) bool { return absentOnce(dir, parent, absent) }) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path))); err == nil {
			there = append(there, path)
		}
	}
	return there
}

// absentOnce reports whether a directory isn't there, and remembers it.
func absentOnce(dir, path string, known map[string]bool) bool {
	gone, ok := known[path]
	if !ok {
		_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(path)))
		gone = isAbsent(err)
		known[path] = gone
	}
	return gone
}

// copyIndex copies an index out of the repository.
func copyIndex(gitDir string) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "threadtree-index-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, "index")
	if err := copyFile(filepath.Join(gitDir, "index"), path); err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}

// copyFile copies a file, an index for one. The copy has the time of the
// original: by it git tells which entries are too young to be trusted.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
