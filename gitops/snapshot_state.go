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
	// stateSkipped has the first and the last of the files that follow each
	// other in the index and have a flag that they aren't on disk.
	stateSkipped = "skipped"
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
	// skipped are the entries of the index that a sparse checkout leaves out,
	// where the index isn't kept.
	skipped []indexRun
	// converts is true where git may convert files when it writes them, and
	// converted are then those that it would write as they are on disk; all
	// others are on disk as they are stored.
	converts  bool
	converted []string
	// sources are the files that are kept as they are, by name.
	sources map[string]string
}

func (s snapshotState) needed() bool {
	return s.index || s.converts || len(s.modes) > 0 || len(s.sources) > 0 || len(s.skipped) > 0
}

// stateOf finds out what has to be kept besides the trees.
func (s *snapshotter) stateOf(ctx context.Context, look lookedAt, files []snapshotFile) (snapshotState, error) {
	state := snapshotState{sources: make(map[string]string)}
	data, err := os.ReadFile(filepath.Join(s.admin, "index"))
	if err != nil && !isAbsent(err) {
		return state, err
	}
	if err == nil {
		flags, ok := scanSparse(data)
		if !ok || s.dir != "" && unfolded(s.dir, flags.skipped) {
			ok = false
			if flags, err = s.r.hiddenFlags(ctx, s.admin, s.workDir()); err != nil {
				return state, err
			}
		}
		state.index = !ok || len(flags.assumed)+len(flags.intended) > 0
		state.skipped = flags.runs
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

// stateFiles returns the contents to keep for the state by name, but for the
// index.
func (s *snapshotter) stateFiles(state snapshotState) (map[string][]byte, error) {
	files := make(map[string][]byte)
	for name, path := range state.sources {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files[name] = content
	}
	var skipped []string
	if !state.index {
		for _, run := range state.skipped {
			skipped = append(skipped, run.first, run.last)
		}
	}
	for name, lines := range map[string][]string{
		stateModes: state.modes, statePresent: state.present, stateSkipped: skipped, stateConverted: state.converted,
	} {
		if len(lines) > 0 || name == stateConverted && state.converts {
			files[name] = joinNUL(lines)
		}
	}
	return files, nil
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

// writeState makes the tree of the state. index is the object of the index,
// "" where that isn't kept.
func (s *snapshotter) writeState(ctx context.Context, state snapshotState, unmerged []indexStage, index string) (string, error) {
	files, err := s.stateFiles(state)
	if err != nil {
		return "", err
	}
	var entries []treeEntry
	add := func(mode, id, name string) error {
		raw, err := unhex(id)
		entries = append(entries, treeEntry{mode: mode, name: name, id: raw})
		return err
	}
	for name, content := range files {
		if err := add(modeFile, s.made.put("blob", content), name); err != nil {
			return "", err
		}
	}
	if index != "" {
		objects, err := s.stateObjects(ctx, unmerged)
		if err == nil {
			err = add(modeFile, index, stateIndex)
		}
		if err == nil && objects != "" {
			err = add(modeTree, objects, stateObjects)
		}
		if err != nil {
			return "", err
		}
	}
	slices.SortFunc(entries, compareEntries)
	return s.made.put("tree", formatTree(entries)), nil
}

// stateObjects writes a tree of the objects that only the index needs, and
// returns "" where there are none.
func (s *snapshotter) stateObjects(ctx context.Context, unmerged []indexStage) (string, error) {
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
	if objects.Len() == 0 {
		return "", nil
	}
	return s.makeTree(ctx, objects.String())
}

func (s *snapshotter) makeTree(ctx context.Context, lines string) (string, error) {
	cmd := s.command("mktree", "-z", "--missing")
	cmd.stdin = strings.NewReader(lines)
	return s.r.git.line(ctx, cmd)
}
