package gitops

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// maxUnchanged is how many files a worktree may have to be looked through
	// for a change: for more, git's status costs less than twice that.
	maxUnchanged = 2000
	// raceMargin is how long nothing must have changed to be sure that the next
	// change will have another time.
	raceMargin = 100 * time.Millisecond
	// coarseMargin is the same where the file system knows whole seconds only.
	coarseMargin = 3 * time.Second
)

// errUnprovable is the error that whether a status has changed can't be told
// without it.
var errUnprovable = errors.New("what the status depends on can't be seen as a whole")

// sight is all that the status of a worktree depends on, as it was at one time:
// of each file and directory in it, and of those files outside that git reads,
// what the file system tells, the time of its last change among it, which
// nobody can set. It goes by the rule by which git takes a file for unchanged,
// but for all files and to the nanosecond.
type sight struct {
	print [sha256.Size]byte
	// settled is true where a later change would be seen for certain.
	settled bool
	index   *simpleIndex
	*looking
}

// seen is a status, and what was there before it was taken.
type seen struct {
	print  [sha256.Size]byte
	counts counts
}

// looking collects what a sight is made of.
type looking struct {
	sum    hash.Hash
	newest time.Time
	coarse bool
	// files are those of the working copy, by their paths with slashes.
	files map[string]fs.FileInfo
	// attributes is true where one says how files are compared.
	attributes bool
}

func newLooking() *looking {
	return &looking{sum: sha256.New(), coarse: true, files: make(map[string]fs.FileInfo)}
}

func (s *looking) text(parts ...string) {
	for _, part := range parts {
		var size [8]byte
		binary.LittleEndian.PutUint64(size[:], uint64(len(part)))
		s.sum.Write(size[:])
		s.sum.Write([]byte(part))
	}
}

// file notes a file under a name. Links in a working copy aren't followed.
func (s *looking) file(name, path string, follow bool) error {
	stat := os.Lstat
	if follow {
		stat = os.Stat
	}
	info, err := stat(path)
	if isAbsent(err) {
		s.text(name, "absent")
		return nil
	}
	if err != nil {
		return err
	}
	return s.info(name, info)
}

func (s *looking) info(name string, info fs.FileInfo) error {
	numbers, changed, ok := statNumbers(info)
	if !ok {
		return errUnprovable
	}
	s.text(name)
	for _, n := range numbers {
		var bytes [8]byte
		binary.LittleEndian.PutUint64(bytes[:], n)
		s.sum.Write(bytes[:])
	}
	if changed.After(s.newest) {
		s.newest = changed
	}
	s.coarse = s.coarse && changed.Nanosecond() == 0
	return nil
}

// tree notes all that is below a directory of a working copy. Directories tell
// of a file that was there for a moment, in which a status may have seen it.
func (s *looking) tree(dir, rel string) error {
	entries, err := os.ReadDir(filepath.Join(dir, rel))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if rel == "" && name == ".git" {
			continue
		}
		if strings.EqualFold(name, ".git") || len(s.files) == maxUnchanged {
			return errUnprovable // a repository of its own, or many files
		}
		s.attributes = s.attributes || strings.EqualFold(name, ".gitattributes")
		path := name
		if rel != "" {
			path = rel + "/" + name
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if err := s.info(path, info); err != nil {
			return err
		}
		if !info.IsDir() {
			s.files[path] = info
			continue
		}
		if err := s.tree(dir, path); err != nil {
			return err
		}
	}
	return nil
}

// sight looks at all that the status of a worktree depends on. The error is
// that it can't be seen as a whole: with a submodule, a split or sparse index,
// a filter, a file system that isn't a local one, or too many files.
func (c *comparer) sight(gitDir, dir, head string) (sight, error) {
	begun := time.Now()
	if !c.around.ok || !localFiles(dir) || !localFiles(gitDir) {
		return sight{}, errUnprovable
	}
	if _, err := os.Lstat(filepath.Join(gitDir, "config.worktree")); !isAbsent(err) {
		return sight{}, errUnprovable
	}
	s := newLooking()
	s.text(string(c.around.print[:]), dir, head)
	for _, name := range []string{"index", "info/sparse-checkout"} {
		if err := s.file(name, filepath.Join(gitDir, name), false); err != nil {
			return sight{}, err
		}
	}
	index, err := readSimpleIndex(filepath.Join(gitDir, "index"))
	if err != nil {
		return sight{}, err
	}
	if err := s.file("", dir, false); err != nil {
		return sight{}, err
	}
	if err := s.tree(dir, ""); err != nil {
		return sight{}, err
	}
	now := sight{settled: s.settled(begun), index: index, looking: s}
	s.sum.Sum(now.print[:0])
	return now, nil
}

// settled reports whether what changes after that time gets another time.
func (s *looking) settled(after time.Time) bool {
	margin := raceMargin
	if s.coarse {
		margin = coarseMargin
	}
	return s.newest.Before(after.Add(-margin))
}

// outside is what the status of all worktrees depends on, as it was before any
// of them was taken.
type outside struct {
	done  chan struct{} // closed once it is known
	print [sha256.Size]byte
	// ok is false where it may not be the same for all worktrees, or can't be
	// seen. plain is true where nothing of it has the content of files changed
	// before they are compared.
	ok, plain bool
}

// lookOutside looks at git's configuration, and at the files outside that say
// what is ignored and how files are compared.
func (c *comparer) lookOutside(ctx context.Context) {
	defer close(c.around.done)
	if c.refs.store == nil || c.refs.rewritten() {
		return
	}
	out, err := c.r.git.run(ctx, c.refs.command("config", "--show-origin", "-z", "--list"))
	if err != nil {
		return
	}
	env := environment(c.r.git.env)
	xdg := env["XDG_CONFIG_HOME"]
	if xdg == "" {
		xdg = filepath.Join(env["HOME"], ".config")
	}
	prefix := filepath.Dir(filepath.Dir(c.r.git.path))
	conf, ok := readOutside(out, c.project.ID, env["HOME"])
	if !ok {
		return
	}
	attributes := append(conf.attributes, filepath.Join(c.project.ID, "info", "attributes"),
		filepath.Join(xdg, "git", "attributes"), "/etc/gitattributes", filepath.Join(prefix, "etc", "gitattributes"))
	files := append(conf.files, c.r.git.path, filepath.Join(c.project.ID, "info", "exclude"), filepath.Join(xdg, "git", "ignore"))
	files = append(files, attributes...)
	s := newLooking()
	s.text(string(out))
	slices.Sort(files)
	for _, path := range slices.Compact(files) {
		if s.file(path, path, true) != nil {
			return
		}
	}
	s.sum.Sum(c.around.print[:0])
	c.around.ok = s.settled(time.Now())
	c.around.plain = conf.plain && !slices.ContainsFunc(attributes, func(path string) bool {
		_, err := os.Lstat(path)
		return !isAbsent(err)
	})
}

// outsideConfig is what the configuration says of what lies outside of the
// worktrees.
type outsideConfig struct {
	// files are those that it is in, and that it names.
	files []string
	// attributes are those that say how files are compared.
	attributes []string
	// plain is true where it has no line endings changed.
	plain bool
}

// readOutside reads the output of "git config --show-origin -z --list". ok is
// false where it isn't the same for all worktrees, or has programs take part
// in the comparison.
func readOutside(out []byte, common, home string) (conf outsideConfig, ok bool) {
	conf.plain = true
	records := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(records); i += 2 {
		if path, ok := strings.CutPrefix(records[i], "file:"); ok {
			if !filepath.IsAbs(path) {
				path = filepath.Join(common, path)
			}
			conf.files = append(conf.files, path)
		}
		key, value, _ := strings.Cut(records[i+1], "\n")
		switch {
		case strings.HasPrefix(key, "includeif."), strings.HasPrefix(key, "filter."):
			return conf, false
		case key == "core.autocrlf", key == "core.eol":
			conf.plain = false
		case key == "core.excludesfile", key == "core.attributesfile":
			if rest, ok := strings.CutPrefix(value, "~/"); ok {
				value = filepath.Join(home, rest)
			}
			if !filepath.IsAbs(value) {
				return conf, false
			}
			conf.files = append(conf.files, value)
			if key == "core.attributesfile" {
				conf.attributes = append(conf.attributes, value)
			}
		}
	}
	return conf, true
}

// environment returns the values of an environment by their names.
func environment(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	return env
}

// unchanged returns the status without asking git for it, where all that it
// depends on is as it was before the last one was taken, or where no file
// differs. now is what was seen, which isn't provable where it says nothing.
func (l *looker) unchanged(ctx context.Context) (old counts, known bool, now sight, provable bool) {
	last, ok := l.r.seen.get(l.seenKey())
	if ok {
		select {
		case <-l.c.around.done:
		case <-ctx.Done():
		}
	}
	select {
	case <-l.c.around.done:
	default:
		return old, false, now, false // it must have been looked at before the status
	}
	now, err := l.c.sight(l.gitDir, l.w.Directory, l.w.Head)
	if err != nil {
		return old, false, now, false
	}
	if ok && last.print == now.print {
		return last.counts, true, now, true
	}
	return old, l.clean(ctx, now), now, true
}

func (l *looker) seenKey() string { return l.gitDir + "\x00" + l.w.Directory }
