package gitops

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// leftovers are the files that git, ended in the middle, can have left in the
// workspace without its index knowing them. git takes them for somebody's
// then, and refuses to overwrite them.
type leftovers struct {
	m *merging
	// blobs are the contents that git can have been writing, by path.
	blobs map[string]map[string]bool
	// since is when git began.
	since time.Time
}

// clearLeftovers removes what a git of ours was writing when it was ended.
// When it began there was no such file, or it had not begun; what is removed
// is younger than that, isn't in the index, lies at a path that git was to
// write, and is what it was to write there, or a beginning of it. So nothing
// is lost that isn't in a commit, or in what the same commits give again.
func (m *merging) clearLeftovers(ctx context.Context) error {
	l := &leftovers{m: m, blobs: make(map[string]map[string]bool), since: m.journal.Started.Add(-time.Second)}
	now := m.journal.Now
	if err := l.add(ctx, m.refs.command("diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", now.Before, now.Onto, "--")); err != nil {
		return err
	}
	if err := l.add(ctx, m.refs.command(rawLog(now.Before, m.journal.Tip, "^"+now.Onto)...)); err != nil {
		return err
	}
	in := func(args ...string) (command, error) { return m.withoutHooks(args...), nil }
	if err := l.clear(ctx, in); err != nil {
		return err
	}
	report, err := m.r.status(ctx, m.at.gitDir, m.at.top, "all")
	if err != nil || report.counts().untracked == 0 {
		return err
	}
	return l.clearComposed(ctx)
}

// rawLog lists all that the commits of a range change, merges among them.
func rawLog(commits ...string) []string {
	args := []string{"log", "-z", "--format=", "--raw", "-m", "--no-abbrev", "--no-renames", "--no-show-signature", "--ignore-submodules=none"}
	return append(append(args, commits...), "--")
}

// clearComposed is for what is in no commit: a file that both sides changed,
// at a path that one of them has given it. What git made of it is made again.
// Where that can't be done there is no telling.
func (l *leftovers) clearComposed(ctx context.Context) error {
	m, now := l.m, l.m.journal.Now
	in := m.composeInput()
	in.strategy, in.onto, in.tip = now.Strategy, now.Onto, now.Before
	err := m.r.rehearse(ctx, in, func(tried composed, inside func(...string) (command, error)) error {
		if tried.conflict != nil {
			return nil
		}
		there := func(args ...string) (command, error) {
			c, err := inside(args...)
			c.dir, c.env = m.at.top, append(c.env, "GIT_WORK_TREE="+m.at.top)
			return c, err
		}
		c, err := inside(rawLog(tried.tip, "^"+now.Onto, "^"+now.Before)...)
		if err != nil {
			return err
		}
		if err := l.add(ctx, c); err != nil {
			return err
		}
		return l.clear(ctx, there)
	})
	if ctx.Err() != nil {
		return err
	}
	return nil
}

// add notes the contents that git lists as old or new: going forth or back it
// writes either.
func (l *leftovers) add(ctx context.Context, c command) error {
	out, err := l.m.r.git.run(ctx, c)
	if err != nil {
		return err
	}
	changes, err := parseTreeChanges(bytes.ReplaceAll(out, []byte("\x00\x00"), []byte{0}))
	for _, change := range changes {
		for mode, id := range map[uint32]string{change.oldMode: change.oldID, change.newMode: change.newID} {
			if mode == 0 || mode == modeSubmodule {
				continue
			}
			if l.blobs[change.path] == nil {
				l.blobs[change.path] = make(map[string]bool)
			}
			l.blobs[change.path][id] = true
		}
	}
	return err
}

// clear removes the files that are git's. by makes a command that reads the
// contents.
func (l *leftovers) clear(ctx context.Context, by func(...string) (command, error)) error {
	found, err := l.unknown(ctx)
	if err != nil {
		return err
	}
	for _, path := range found {
		for id := range l.blobs[path] {
			c, err := by("cat-file", "--filters", "--path="+path, id)
			if err != nil {
				return err
			}
			removed, err := l.remove(ctx, path, c)
			if err != nil {
				return fmt.Errorf("%s, which git has left: %w", path, err)
			}
			if removed {
				break
			}
		}
	}
	return nil
}

// unknown returns the paths at which there is a file that is young enough and
// that the index doesn't have.
func (l *leftovers) unknown(ctx context.Context) ([]string, error) {
	var found []string
	for path := range l.blobs {
		mark, err := l.mark(path)
		if err != nil {
			return nil, err
		}
		if (mark.Kind == kindFile || mark.Kind == kindLink) && !time.Unix(0, mark.Time).Before(l.since) {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	c := l.m.withoutHooks("ls-files", "-z")
	c.write = false
	out, err := l.m.r.git.run(ctx, c)
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool)
	for path := range strings.SplitSeq(string(out), "\x00") {
		known[path] = true
	}
	slices.Sort(found)
	return slices.DeleteFunc(found, func(path string) bool { return known[path] }), nil
}

// mark looks at a path of the workspace. What is behind a link isn't there.
func (l *leftovers) mark(path string) (fileMark, error) {
	for _, parent := range parents(path) {
		mark, err := markOf(l.m.at.path(parent))
		if err != nil || mark.Kind != kindDirectory {
			return fileMark{}, err
		}
	}
	return markOf(l.m.at.path(path))
}

// remove removes a file that is, or begins, what the command prints, and the
// directories that are empty by that.
func (l *leftovers) remove(ctx context.Context, path string, c command) (bool, error) {
	before, err := l.mark(path)
	if err != nil || before.Kind == kindAbsent {
		return false, err
	}
	at := l.m.at.path(path)
	begins, err := l.begins(ctx, at, before.Kind, c)
	if err != nil || !begins {
		return false, err
	}
	if now, err := l.mark(path); err != nil || now != before {
		return false, err
	}
	if err := removeIfThere(at); err != nil {
		return false, err
	}
	for _, parent := range slices.Backward(parents(path)) {
		if os.Remove(l.m.at.path(parent)) != nil {
			break // there is something else in it
		}
	}
	return true, nil
}

// begins reports whether a file is what the command prints, or a beginning of
// it. git writes in place.
func (l *leftovers) begins(ctx context.Context, at, kind string, c command) (bool, error) {
	var content io.Reader
	if kind == kindLink {
		target, err := os.Readlink(at)
		if err != nil {
			return false, err
		}
		content = strings.NewReader(filepath.ToSlash(target))
	} else {
		file, err := os.Open(at)
		if err != nil {
			return false, err
		}
		defer file.Close()
		content = file
	}
	part := &beginning{of: bufio.NewReader(content)}
	if err := l.m.r.git.stream(ctx, c, part); err != nil {
		if errors.Is(err, context.Canceled) || exitCode(err) < 0 {
			return false, err
		}
		return false, nil // a filter that fails: nothing is known of it
	}
	return part.whole()
}

// beginning compares what is written to it with a reader, as far as that goes.
type beginning struct {
	of     *bufio.Reader
	differ bool
	buffer []byte
}

// Write implements io.Writer.
func (b *beginning) Write(p []byte) (int, error) {
	if b.differ {
		return len(p), nil
	}
	b.buffer = slices.Grow(b.buffer[:0], len(p))[:len(p)]
	n, err := io.ReadFull(b.of, b.buffer)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, err
	}
	b.differ = !bytes.Equal(b.buffer[:n], p[:n])
	return len(p), nil
}

// whole reports whether all of the reader was what was written, or begins it.
func (b *beginning) whole() (bool, error) {
	if b.differ {
		return false, nil
	}
	_, err := b.of.ReadByte()
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}
