package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Modes of entries in an index, as git writes them.
const (
	entryFile       = "100644"
	entryExecutable = "100755"
	entryLink       = "120000"
	entryGitlink    = "160000"
)

// lookedAt is what a look at a working copy found.
type lookedAt struct {
	report statusReport
	// hidden are edited files that the status doesn't tell.
	hidden []string
	// options are what the status was asked with.
	options statusOptions
}

// lookAt looks at all that isn't committed.
func (r *Repository) lookAt(ctx context.Context, admin, dir string, o statusOptions) (lookedAt, error) {
	look := lookedAt{options: o}
	group, both := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		look.report, err = r.statusWith(both, admin, dir, "all", o)
		return err
	})
	group.Go(func() (err error) {
		look.hidden, err = r.hiddenEdits(both, admin, dir)
		return err
	})
	err := group.Wait()
	return look, err
}

// lookHard is lookAt which does without filters where one fails.
func (r *Repository) lookHard(ctx context.Context, admin, dir string, o statusOptions) (lookedAt, error) {
	look, err := r.lookAt(ctx, admin, dir, o)
	if err == nil || ctx.Err() != nil {
		return look, err
	}
	if o.config, err = r.withoutFilters(ctx, admin, dir); err != nil {
		return look, err
	}
	return r.lookAt(ctx, admin, dir, o)
}

// withoutFilters is the configuration in which no filter runs, for files that
// one fails on: what it is for counts as changed then.
func (r *Repository) withoutFilters(ctx context.Context, admin, dir string) ([]string, error) {
	out, err := r.git.run(ctx, command{
		dir: dir, env: []string{"GIT_DIR=" + admin, "GIT_WORK_TREE=" + dir},
		args: []string{"config", "-z", "--name-only", "--get-regexp", `^filter\..*\.(clean|smudge|process|required)$`},
	})
	if err != nil && exitCode(err) != 1 {
		return nil, err
	}
	var off []string
	for key := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		switch {
		case key == "":
		case strings.HasSuffix(key, ".required"):
			off = append(off, key+"=false")
		default:
			off = append(off, key+"=")
		}
	}
	return off, nil
}

// snapshotFile is a path of the snapshot that differs from the index.
type snapshotFile struct {
	path string
	// mode is "" for a file that is gone.
	mode string
	// source is the file that has the content, id that of a submodule's
	// commit.
	source, id string
	perm       fs.FileMode
	// indexMode is what the index has, where that counts.
	indexMode string
}

// collect finds what differs from the index, and notes what can't be kept.
func (s *snapshotter) collect(ctx context.Context, look lookedAt) []snapshotFile {
	var files []snapshotFile
	links := make(map[string]bool)
	add := func(path string) {
		if f, ok := s.file(path, links); ok {
			files = append(files, f)
		}
	}
	for _, c := range look.report.changes {
		switch {
		case c.untracked && strings.HasSuffix(c.path, "/"):
			s.lack("the repository %s within it", c.path)
		case c.submodule != "":
			if f, ok := s.submodule(ctx, c); ok {
				files = append(files, f)
			}
		case c.untracked || c.modified || c.conflicted:
			add(c.path)
		}
	}
	for _, path := range look.hidden {
		if !slices.ContainsFunc(files, func(f snapshotFile) bool { return f.path == path }) {
			add(path)
		}
	}
	if look.options.withoutSubmodules {
		files = append(files, s.gitlinks(ctx)...)
	}
	return files
}

// gitlinks finds the submodules that stand at another commit than the index
// has, where the status can't be asked: their place is not where they were.
func (s *snapshotter) gitlinks(ctx context.Context) []snapshotFile {
	out, err := s.r.git.run(ctx, command{
		dir: s.dir, env: []string{"GIT_DIR=" + s.admin, "GIT_WORK_TREE=" + s.dir}, config: []string{"core.fsmonitor=false"},
		args: []string{"ls-files", "-s", "-t", "-z"},
	})
	if err != nil {
		return nil // what comes next fails as well
	}
	var files []snapshotFile
	for path, commit := range parseGitlinks(out) {
		if id := s.submoduleHead(ctx, path); id != "" && id != commit {
			files = append(files, snapshotFile{path: path, mode: entryGitlink, id: id})
		}
	}
	return files
}

// submoduleHead returns the commit that a submodule stands at, "" for none.
func (s *snapshotter) submoduleHead(ctx context.Context, path string) string {
	gitDir := gitDirOf(filepath.Join(s.dir, filepath.FromSlash(path)))
	if gitDir == "" {
		return ""
	}
	id, err := s.r.git.line(ctx, command{
		dir: gitDir, env: []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + gitDir}, args: []string{"rev-parse", "--verify", "-q", "HEAD"},
	})
	if err != nil || !isObjectID(id) {
		return ""
	}
	return id
}

func (s *snapshotter) lack(format string, args ...any) {
	s.lacks = append(s.lacks, fmt.Sprintf(format, args...))
}

// file looks at one path. links remembers which directories are links.
func (s *snapshotter) file(path string, links map[string]bool) (snapshotFile, bool) {
	f := snapshotFile{path: path, source: filepath.Join(s.dir, filepath.FromSlash(path))}
	info, err := os.Lstat(f.source)
	switch {
	case isAbsent(err), behindLink(s.dir, path, links):
		return snapshotFile{path: path}, true
	case err != nil:
		s.lack("the file %s, which can't be looked at: %v", path, errors.Unwrap(err))
		return f, false
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		// What is in it has paths of its own.
		return snapshotFile{path: path}, true
	case mode&fs.ModeSymlink != 0:
		f.mode = entryLink
		return f, true
	case !mode.IsRegular():
		s.lack("the special file %s", path)
		return snapshotFile{path: path}, true
	case mode&0o100 != 0:
		f.mode = entryExecutable
	default:
		f.mode = entryFile
	}
	f.perm = info.Mode().Perm()
	if open, err := os.Open(f.source); err != nil {
		s.lack("the file %s, which can't be read: %v", path, errors.Unwrap(err))
		return f, false
	} else if err := open.Close(); err != nil {
		return f, false
	}
	return f, true
}

// behindLink reports whether a directory above the path is a symbolic link:
// what lies behind it is not part of the working copy.
func behindLink(dir, path string, links map[string]bool) bool {
	for i := range path {
		if path[i] != '/' {
			continue
		}
		above := path[:i]
		is, known := links[above]
		if !known {
			info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(above)))
			is = err == nil && info.Mode()&fs.ModeSymlink != 0
			links[above] = is
		}
		if is {
			return true
		}
	}
	return false
}

// submodule takes the commit that a submodule stands at, and notes what else
// is in it.
func (s *snapshotter) submodule(ctx context.Context, c change) (snapshotFile, bool) {
	if strings.ContainsAny(c.submodule, "MU") {
		s.lack("uncommitted work in the submodule %s", c.path)
	}
	dir := filepath.Join(s.dir, filepath.FromSlash(c.path))
	if _, err := os.Lstat(dir); isAbsent(err) {
		return snapshotFile{path: c.path}, true
	}
	if !strings.Contains(c.submodule, "C") && !c.conflicted {
		return snapshotFile{}, false
	}
	id := s.submoduleHead(ctx, c.path)
	if id == "" {
		s.lack("the commit that the submodule %s stands at", c.path)
		return snapshotFile{}, false
	}
	return snapshotFile{path: c.path, mode: entryGitlink, id: id}, true
}

// store writes the contents of files, and of the further ones given by their
// place on disk, as they are and through no filter. It returns the ids in that
// order, "" for what has none.
func (s *snapshotter) store(ctx context.Context, files []snapshotFile, extra []string) ([]string, error) {
	ids := make([]string, len(files)+len(extra))
	var input strings.Builder
	var of []int
	ask := func(i int, path string) {
		of = append(of, i)
		input.WriteString(quotedPath(path) + "\n")
	}
	for i, f := range files {
		switch f.mode {
		case "":
		case entryGitlink:
			ids[i] = f.id
		case entryLink:
			target, err := os.Readlink(f.source)
			if err != nil {
				return nil, err
			}
			copied := filepath.Join(s.scratch, "link"+strconv.Itoa(i))
			if err := os.WriteFile(copied, []byte(target), 0o600); err != nil {
				return nil, err
			}
			ask(i, copied)
		default:
			ask(i, f.source)
		}
	}
	for i, path := range extra {
		ask(len(files)+i, path)
	}
	if len(of) == 0 {
		return ids, nil
	}
	cmd := s.command("hash-object", "-w", "--no-filters", "--stdin-paths")
	cmd.stdin = strings.NewReader(input.String())
	out, err := s.r.git.line(ctx, cmd)
	if err != nil {
		return nil, err
	}
	lines, err := splitLines(out, len(of))
	if err != nil {
		return nil, err
	}
	for k, i := range of {
		ids[i] = lines[k]
	}
	return ids, nil
}

// splitLines splits what git said of n files.
func splitLines(out string, n int) ([]string, error) {
	lines := strings.Split(out, "\n")
	if len(lines) != n {
		return nil, fmt.Errorf("git read %d of %d files", len(lines), n)
	}
	return lines, nil
}

// quotedPath quotes a path in git's way where it has to be.
func quotedPath(path string) string {
	special := func(c byte) bool { return c < ' ' || c == 0x7f || c == '"' || c == '\\' }
	if !slices.ContainsFunc([]byte(path), special) {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		if c := path[i]; special(c) {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// indexLines make an index what the files are. What is gone comes first, so
// that a directory may take the place of a file, and the other way round.
func indexLines(files []snapshotFile, ids []string) []byte {
	var gone, there []byte
	for i, f := range files {
		if f.mode == "" {
			gone = append(gone, removalLine(f.path)...)
		} else {
			there = append(there, f.mode+" "+ids[i]+"\t"+f.path+"\x00"...)
		}
	}
	return append(gone, there...)
}

// removalLine takes a path out of an index, all of its stages.
func removalLine(path string) string { return "0 " + strings.Repeat("0", 40) + "\t" + path + "\x00" }
