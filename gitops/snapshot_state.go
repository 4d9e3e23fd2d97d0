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
	// The others are files of the entry of the same name.
	stateConfig = "config.worktree"
	stateSparse = "sparse-checkout"
)

// stateSources are the files of an entry that belong to the state.
var stateSources = map[string]string{stateConfig: "config.worktree", stateSparse: "info/sparse-checkout"}

// snapshotState is what of a working copy's state fits into no tree.
type snapshotState struct {
	// index is true where the index file is kept.
	index bool
	// modes are the permissions of files, as "0600 path".
	modes []string
	// present are files that the index says aren't on disk.
	present []string
	// sources are the files that are kept as they are, by name.
	sources map[string]string
}

func (s snapshotState) needed() bool { return s.index || len(s.modes) > 0 || len(s.sources) > 0 }

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
	state.index = state.index || slices.ContainsFunc(look.report.changes, func(c change) bool { return c.conflicted })
	for _, f := range files {
		plain := f.mode == entryFile && f.perm == 0o644 || f.mode == entryExecutable && f.perm == 0o755
		if (f.mode == entryFile || f.mode == entryExecutable) && !plain {
			state.modes = append(state.modes, fmt.Sprintf("%04o %s", f.perm, f.path))
		}
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
	for name, lines := range map[string][]string{stateModes: state.modes, statePresent: state.present} {
		if len(lines) == 0 {
			continue
		}
		path := filepath.Join(s.scratch, name)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\x00")+"\x00"), 0o600); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// indexStage is an entry of the index that is no plain one.
type indexStage struct{ mode, id, path string }

// stages lists the conflicts of the index copy, or those that were resolved.
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
