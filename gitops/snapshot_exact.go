package gitops

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A file that git takes for unchanged may have other bytes than a checkout
// would write: line ends, where git converts them, or what a filter makes of
// it. While the directory is kept that doesn't matter. Once the snapshot is
// all there is, such files are in it with their very bytes, and the state says
// which ones a checkout writes as they were.

// exactly finds the files that a checkout would write otherwise, and returns
// them with those that are in the snapshot anyway.
func (s *snapshotter) exactly(ctx context.Context, files []snapshotFile, state *snapshotState) ([]snapshotFile, error) {
	known := make(map[string]bool)
	for _, f := range files {
		known[f.path] = true
	}
	unchanged, ids, err := s.unchanged(ctx, known)
	if err != nil || len(unchanged) == 0 {
		return files, err
	}
	hashes, err := s.hash(ctx, unchanged)
	if err != nil {
		return files, err
	}
	var converted []snapshotFile
	for i, f := range unchanged {
		if hashes[i] != ids[i] {
			converted = append(converted, f)
		}
		s.noteMode(f, state)
	}
	if len(converted) == 0 && !s.converts(ctx) {
		return files, nil
	}
	state.converts = true
	same, err := s.checkedOut(ctx, converted)
	for _, f := range converted {
		if err == nil && same[f.path] {
			state.converted = append(state.converted, f.path)
		} else {
			files = append(files, f)
		}
	}
	return files, ctx.Err()
}

// unchanged lists the files on disk that the index has and that aren't known,
// with the ids that it has of them.
func (s *snapshotter) unchanged(ctx context.Context, known map[string]bool) (files []snapshotFile, ids []string, err error) {
	entries, err := s.stages(ctx, "--stage")
	links := make(map[string]bool)
	for _, e := range entries {
		if known[e.path] || e.mode != entryFile && e.mode != entryExecutable {
			continue
		}
		if f, ok := s.file(e.path, links); ok && f.mode != "" && f.mode != entryLink {
			f.indexMode = e.mode
			files, ids = append(files, f), append(ids, e.id)
		}
	}
	return files, ids, err
}

// hash returns the ids that files would have as they are.
func (s *snapshotter) hash(ctx context.Context, files []snapshotFile) ([]string, error) {
	var input strings.Builder
	for _, f := range files {
		input.WriteString(quotedPath(f.source) + "\n")
	}
	cmd := s.command("hash-object", "--no-filters", "--stdin-paths")
	cmd.stdin = strings.NewReader(input.String())
	out, err := s.r.git.line(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return splitLines(out, len(files))
}

// converts reports whether git may convert files when it writes them.
func (s *snapshotter) converts(ctx context.Context) bool {
	out, err := s.r.git.line(ctx, s.command("config", "--get-regexp", `^core\.(autocrlf|eol|attributesfile)$`))
	if err == nil && out != "" || exitCode(err) != 1 && err != nil {
		return true
	}
	attributes, err := s.r.git.line(ctx, s.command("ls-files", "-z", "--", ".gitattributes", "**/.gitattributes"))
	if err != nil || attributes != "" {
		return true
	}
	_, err = os.Stat(filepath.Join(s.p.ID, "info", "attributes"))
	return err == nil
}

// checkedOut has git write files to another place, and says which are as they
// are here.
func (s *snapshotter) checkedOut(ctx context.Context, files []snapshotFile) (map[string]bool, error) {
	if len(files) == 0 {
		return nil, nil
	}
	var input strings.Builder
	for _, f := range files {
		input.WriteString(f.path + "\x00")
	}
	prefix := filepath.Join(s.scratch, "checkout") + "/"
	defer func() { _ = os.RemoveAll(prefix) }()
	cmd := s.command("checkout-index", "-q", "-f", "--ignore-skip-worktree-bits", "--prefix="+prefix, "-z", "--stdin")
	cmd.stdin = strings.NewReader(input.String())
	if _, err := s.r.git.run(ctx, cmd); err != nil {
		return nil, err
	}
	same := make(map[string]bool)
	for _, f := range files {
		here, err := os.ReadFile(f.source)
		if err != nil {
			return nil, err
		}
		there, err := os.ReadFile(prefix + filepath.FromSlash(f.path))
		same[f.path] = err == nil && bytes.Equal(here, there)
	}
	return same, nil
}

// noteMode notes the permissions of a file where a checkout would give it
// others.
func (s *snapshotter) noteMode(f snapshotFile, state *snapshotState) {
	mode := f.mode
	if f.indexMode != "" {
		mode = f.indexMode
	}
	if mode != entryFile && mode != entryExecutable {
		return
	}
	if f.perm != s.usualPerm(mode) {
		state.modes = append(state.modes, modeLine(f))
	}
}

// usualPerm is what a new file gets here.
func (s *snapshotter) usualPerm(mode string) fs.FileMode {
	if s.usual == nil {
		s.usual = map[string]fs.FileMode{entryFile: 0o666, entryExecutable: 0o777}
		for kind, perm := range s.usual {
			f, err := os.OpenFile(filepath.Join(s.scratch, "mode"+kind), os.O_CREATE|os.O_WRONLY, perm)
			if err != nil {
				continue
			}
			if info, err := f.Stat(); err == nil {
				s.usual[kind] = info.Mode().Perm()
			}
			_ = f.Close()
		}
	}
	return s.usual[mode]
}
