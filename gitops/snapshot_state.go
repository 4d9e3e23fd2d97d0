package gitops

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names in the tree of a snapshot's state.
const (
	// stateIndex is the index file itself, where its tree doesn't say all:
	// conflicts, flags, files that are only announced.
	stateIndex = "index"
	// stateObjects has the objects that only this index needs.
	stateObjects = "objects"
	// stateModes has the permissions of files that git has no mode for.
	stateModes = "modes"
	// statePresent names files that are on disk although the index has a flag
	// that they aren't.
	statePresent = "present"
	// stateConverted names the files that git converts when it writes them.
	stateConverted = "converted"
	// The others are files of the entry of the same name.
	stateConfig = "config.worktree"
	stateSparse = "sparse-checkout"
)

// stateSources are the files of an entry that belong to the state.
var stateSources = map[string]string{stateConfig: "config.worktree", stateSparse: "info/sparse-checkout"}

// snapshotState is what of a working copy's state fits into no tree.
type snapshotState struct {
	// index is true where the index file is kept, as for conflicts in it.
	index, conflicts bool
	// modes are the permissions of files, as "0600 path".
	modes []string
	// present are files that the index says aren't on disk.
	present []string
	// converts is true where git may convert files when it writes them, and
	// converted are then those that it would write as they are on disk; all
	// others are on disk as they are stored.
	converts  bool
	converted []string
	// sources are the files that are kept as they are, by name.
	sources map[string]string
}

func (s snapshotState) needed() bool {
	return s.index || s.converts || len(s.modes) > 0 || len(s.sources) > 0
}

// stateOf finds out what has to be kept besides the trees.
func (s *snapshotter) stateOf(ctx context.Context, look lookedAt, files []snapshotFile) (snapshotState, error) {
	state := snapshotState{sources: make(map[string]string)}
	data, err := os.ReadFile(filepath.Join(s.admin, "index"))
	if err != nil && !isAbsent(err) {
		return state, err
	}
	if err == nil {
		flags, ok := scanIndex(data)
		if !ok {
			if flags, err = s.r.hiddenFlags(ctx, s.admin, s.workDir()); err != nil {
				return state, err
			}
		}
		state.index = !ok || len(flags.assumed)+len(flags.skipped)+len(flags.intended) > 0
		if s.dir != "" {
			state.present = present(s.dir, flags.skipped)
		}
	}
	state.conflicts = slices.ContainsFunc(look.report.changes, func(c change) bool { return c.conflicted })
	state.index = state.index || state.conflicts
	for _, f := range files {
		s.noteMode(f, &state)
	}
	for name, file := range stateSources {
		path := filepath.Join(s.admin, filepath.FromSlash(file))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			state.sources[name] = path
		}
	}
	return state, nil
}

// makeWhole rewrites the copy of the index so that it needs no other file and
// speaks of no place: it may be restored elsewhere.
func (s *snapshotter) makeWhole(ctx context.Context) error {
	_, err := s.r.git.run(ctx, s.command("update-index", "--no-untracked-cache", "--no-fsmonitor", "--force-write-index"))
	return err
}

// stateFiles returns the files to store for the state, each named as it will
// be called.
func (s *snapshotter) stateFiles(state snapshotState) ([]string, error) {
	var paths []string
	for name, path := range state.sources {
		to := filepath.Join(s.scratch, name)
		if err := copyFile(path, to); err != nil {
			return nil, err
		}
		paths = append(paths, to)
	}
	if state.index {
		paths = append(paths, s.index)
	}
	for name, lines := range map[string][]string{stateModes: state.modes, statePresent: state.present, stateConverted: state.converted} {
		if len(lines) == 0 && (name != stateConverted || !state.converts) {
			continue
		}
		path := filepath.Join(s.scratch, name)
		if err := os.WriteFile(path, joinNUL(lines), 0o600); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// joinNUL ends each line with a NUL.
func joinNUL(lines []string) []byte {
	var b []byte
	for _, line := range lines {
		b = append(append(b, line...), 0)
	}
	return b
}

// splitNUL is the inverse of joinNUL.
func splitNUL(content []byte) []string {
	if len(content) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(content), "\x00"), "\x00")
}

func modeLine(f snapshotFile) string { return fmt.Sprintf("%04o %s", f.perm, f.path) }

// indexStage is an entry of the index.
type indexStage struct{ mode, id, path string }

// stages lists entries of the index copy: --unmerged, --resolve-undo or --stage.
func (s *snapshotter) stages(ctx context.Context, which string) ([]indexStage, error) {
	out, err := s.r.git.run(ctx, s.command("ls-files", which, "-z"))
	if err != nil {
		return nil, err
	}
	var all []indexStage
	for record := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		head, path, _ := strings.Cut(string(record), "\t")
		if fields := strings.Fields(head); len(fields) == 3 {
			all = append(all, indexStage{fields[0], fields[1], path})
		}
	}
	return all, nil
}

// writeState writes the tree of the state. files have been stored as ids.
func (s *snapshotter) writeState(ctx context.Context, state snapshotState, unmerged []indexStage, files, ids []string) (string, error) {
	var lines strings.Builder
	for i, path := range files {
		fmt.Fprintf(&lines, "%s blob %s\t%s\x00", entryFile, ids[i], filepath.Base(path))
	}
	if state.index {
		resolved, err := s.stages(ctx, "--resolve-undo")
		if err != nil {
			return "", err
		}
		var objects strings.Builder
		seen := make(map[string]bool)
		for _, e := range append(resolved, unmerged...) {
			if e.mode != entryGitlink && !seen[e.id] {
				fmt.Fprintf(&objects, "%s blob %s\t%s\x00", entryFile, e.id, e.id)
				seen[e.id] = true
			}
		}
		if objects.Len() > 0 {
			tree, err := s.makeTree(ctx, objects.String())
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&lines, "040000 tree %s\t%s\x00", tree, stateObjects)
		}
	}
	return s.makeTree(ctx, lines.String())
}

func (s *snapshotter) makeTree(ctx context.Context, lines string) (string, error) {
	cmd := s.command("mktree", "-z", "--missing")
	cmd.stdin = strings.NewReader(lines)
	return s.r.git.line(ctx, cmd)
}
