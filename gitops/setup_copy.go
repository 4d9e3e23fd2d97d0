package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

const (
	// includeFile names, in the top of a checkout, the ignored files that a
	// fresh worktree gets copies of.
	includeFile = ".worktreeinclude"
	// includeLimit is how large it may be.
	includeLimit = 1 << 20
	// probe is a name that is asked about to learn whether patterns match a
	// whole folder.
	probe = "\x01threadtree"
)

// Why a file was not copied.
const (
	skipOutside    = "a symbolic link that leaves the project"
	skipSpecial    = "neither a file nor a symbolic link"
	skipNested     = "a repository of its own, or in one"
	skipNotIgnored = "on this branch git does not ignore that"
	skipInTheWay   = "a file or a symbolic link stands where its folder would be"
)

// copying is one copy of ignored files into a fresh worktree.
type copying struct {
	r        *Repository
	q        setupRequest
	src, dst *os.Root
	skipped  skips
}

// ignoredFile is a file to be copied, by its path in slashes.
type ignoredFile struct {
	path string
	size int64
}

// copyIgnored copies the ignored files that .worktreeinclude names.
func (r *Repository) copyIgnored(ctx context.Context, q setupRequest) []string {
	c := &copying{r: r, q: q}
	err := c.run(ctx)
	warnings := c.skipped.warnings()
	switch {
	case errors.Is(err, context.Canceled):
		warnings = append(warnings, "copying the ignored files was cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		warnings = append(warnings, "copying the ignored files took too long and was ended; copy what is missing by hand")
	case err != nil:
		warnings = append(warnings, "the ignored files could not be copied: "+err.Error()+"; copy them by hand")
	}
	return warnings
}

func (c *copying) run(ctx context.Context) error {
	var err error
	if c.src, err = os.OpenRoot(c.q.source); err != nil {
		return err
	}
	defer c.src.Close()
	lines, err := readInclude(c.src)
	if err != nil || len(lines) == 0 {
		return err
	}
	if c.dst, err = os.OpenRoot(c.q.directory); err != nil {
		return err
	}
	defer c.dst.Close()
	c.q.tell(workspace.PhaseCopy, "Looking for the ignored files that "+includeFile+" names")
	files, err := c.choose(ctx, lines)
	if err != nil {
		return err
	}
	if files, err = c.placeable(ctx, files); err != nil || len(files) == 0 {
		return err
	}
	return c.place(ctx, files)
}

// readInclude returns the lines of the include file, none if there is none.
func readInclude(src *os.Root) ([]includeLine, error) {
	info, err := src.Stat(includeFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > includeLimit {
		return nil, fmt.Errorf("%s is no file of at most %d bytes", includeFile, includeLimit)
	}
	content, err := src.ReadFile(includeFile)
	return parseInclude(string(content)), err
}

// choose returns the files that are ignored and that the lines match.
func (c *copying) choose(ctx context.Context, lines []includeLine) ([]ignoredFile, error) {
	entries, err := c.r.ignoredEntries(ctx, c.q)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	m, err := newIncludeMatcher(ctx, c.r.git, c.q.inherit)
	if err != nil {
		return nil, err
	}
	defer m.close()
	asked := make([]string, len(entries))
	for i, e := range entries {
		if asked[i] = e; strings.HasSuffix(e, "/") {
			asked[i] = e + probe
		}
	}
	matched, err := m.match(ctx, lines, asked)
	if err != nil {
		return nil, err
	}
	var files []ignoredFile
	inside := make(map[string]*picked)
	for i, e := range entries {
		folder, isFolder := strings.CutSuffix(e, "/")
		switch {
		case isFolder:
			use := lines
			if !matched[asked[i]] {
				use = narrowed(lines, folder)
			}
			if err := c.collect(ctx, folder, use, inside); err != nil {
				return nil, err
			}
		case matched[e]:
			if info, err := c.src.Lstat(e); err == nil {
				files = append(files, ignoredFile{path: e, size: info.Size()})
			}
		}
	}
	for _, p := range inside {
		found, err := p.match(ctx, m)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	slices.SortFunc(files, func(a, b ignoredFile) int { return strings.Compare(a.path, b.path) })
	return files, nil
}

// picked are files in ignored folders that the same lines have to match.
type picked struct {
	lines []includeLine
	files []ignoredFile
}

func (p *picked) match(ctx context.Context, m *includeMatcher) ([]ignoredFile, error) {
	paths := make([]string, len(p.files))
	for i, f := range p.files {
		paths[i] = f.path
	}
	matched, err := m.match(ctx, p.lines, paths)
	if err != nil {
		return nil, err
	}
	var files []ignoredFile
	for _, f := range p.files {
		if matched[f.path] {
			files = append(files, f)
		}
	}
	return files, nil
}

// collect adds the files below an ignored folder to those that the lines have
// to match. Without lines the folder is not entered.
func (c *copying) collect(ctx context.Context, folder string, lines []includeLine, into map[string]*picked) error {
	if len(lines) == 0 {
		return nil
	}
	key := includeText(lines)
	if into[key] == nil {
		into[key] = &picked{lines: lines}
	}
	return c.walk(ctx, folder, into[key])
}

// walk adds the files below folder. Symbolic links are not followed, and a
// repository within is not entered: that is how a worktree of the project's,
// the fresh one for instance, is kept out.
func (c *copying) walk(ctx context.Context, folder string, into *picked) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := c.src.Lstat(path.Join(folder, ".git")); err == nil {
		c.skipped.add(skipNested, folder)
		return nil
	}
	entries, err := readDir(c.src, folder)
	if err != nil {
		c.skipped.addError(folder, err)
		return nil
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if e.IsDir() {
			if err := c.walk(ctx, name, into); err != nil {
				return err
			}
			continue
		}
		f := ignoredFile{path: name}
		if info, err := c.src.Lstat(name); err == nil {
			f.size = info.Size()
		}
		into.files = append(into.files, f)
	}
	return nil
}

func readDir(root *os.Root, name string) ([]os.DirEntry, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// placeable drops the files that must not be put into the fresh worktree:
// those that are there, that lie behind a link, or that git doesn't ignore
// there, so that an agent's commit would take them.
func (c *copying) placeable(ctx context.Context, files []ignoredFile) ([]ignoredFile, error) {
	folders := make(folderStates)
	var free []ignoredFile
	var paths []string
	for _, f := range files {
		if reason := folders.check(c.dst, path.Dir(f.path)); reason != "" {
			c.skipped.add(reason, f.path)
			continue
		}
		if _, err := c.dst.Lstat(f.path); err == nil {
			continue
		}
		free = append(free, f)
		paths = append(paths, f.path)
	}
	ignored, err := checkIgnore(ctx, c.r.git, command{dir: c.q.directory, inherit: c.q.inherit}, paths)
	if err != nil {
		return nil, err
	}
	files = files[:0]
	for _, f := range free {
		if !ignored[f.path] {
			c.skipped.add(skipNotIgnored, f.path)
			continue
		}
		files = append(files, f)
	}
	return files, nil
}
