package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const attributesFile = ".gitattributes"

// materialised are files as a checkout of the new commit writes them, in a
// directory of ours.
type materialised struct{ dir string }

func (f *materialised) remove() { _ = os.RemoveAll(f.dir) }

// materialise writes the new content of those paths that now are files or
// links. One whose filter fails isn't there afterwards: nothing is known of
// it.
func (m *move) materialise(ctx context.Context, paths []differing) (*materialised, error) {
	made := &materialised{dir: m.files.scratch()}
	if err := os.RemoveAll(made.dir); err != nil {
		return nil, err
	}
	var entries strings.Builder
	for _, d := range paths {
		if (d.now.Kind == kindFile || d.now.Kind == kindLink) && d.Mode != 0 && d.Mode != modeSubmodule {
			fmt.Fprintf(&entries, "%o %s\t%s\x00", d.Mode, d.ID, d.path)
		}
	}
	if entries.Len() == 0 {
		return made, nil
	}
	attributes, err := m.attributes(ctx)
	if err != nil {
		return nil, err
	}
	entries.WriteString(attributes)
	if err := os.Mkdir(made.dir, 0o700); err != nil {
		return nil, err
	}
	c := m.command()
	c.dir = made.dir
	c.env = []string{"GIT_DIR=" + m.at.gitDir, "GIT_WORK_TREE=" + made.dir, "GIT_INDEX_FILE=" + m.files.next() + ".scratch"}
	defer os.Remove(m.files.next() + ".scratch")
	c.args = []string{"update-index", "-z", "--index-info"}
	c.stdin = strings.NewReader(entries.String())
	if _, err := m.r.git.run(ctx, c); err != nil {
		return nil, err
	}
	c.args, c.stdin = []string{"checkout-index", "-a", "-q"}, nil
	if _, err := m.r.git.run(ctx, c); exitCode(err) < 0 {
		return nil, err
	}
	return made, nil
}

// attributes returns the new commit's files with attributes, by which the
// others are written, as entries of an index.
func (m *move) attributes(ctx context.Context) (string, error) {
	out, err := m.r.git.run(ctx, m.command("ls-tree", "-r", "-z", "--full-tree", m.journal.New))
	if err != nil {
		return "", err
	}
	var entries strings.Builder
	for line := range strings.SplitSeq(string(out), "\x00") {
		meta, name, ok := strings.Cut(line, "\t")
		fields := strings.Fields(meta)
		if ok && len(fields) == 3 && path.Base(name) == attributesFile {
			fmt.Fprintf(&entries, "%s %s\t%s\x00", fields[0], fields[2], name)
		}
	}
	return entries.String(), nil
}

// begins reports whether what is at a path is the new content, or a beginning
// of it: git writes in place.
func (f *materialised) begins(d differing, at string) (bool, error) {
	whole := filepath.Join(f.dir, filepath.FromSlash(d.path))
	mark, err := markOf(whole)
	if err != nil || mark.Kind != d.now.Kind {
		return false, err
	}
	if mark.Kind == kindLink {
		want, err := os.Readlink(whole)
		if err != nil {
			return false, err
		}
		got, err := os.Readlink(at)
		return got == want, err
	}
	if d.now.Size > mark.Size {
		return false, nil
	}
	return sameBeginning(at, whole)
}

// sameBeginning reports whether the first file is a beginning of the second.
func sameBeginning(part, whole string) (bool, error) {
	a, err := os.Open(part)
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := os.Open(whole)
	if err != nil {
		return false, err
	}
	defer b.Close()
	const chunk = 64 << 10
	one, two := make([]byte, chunk), make([]byte, chunk)
	for {
		n, err := io.ReadFull(a, one)
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return false, err
		}
		if _, err := io.ReadFull(b, two[:n]); err != nil || !bytes.Equal(one[:n], two[:n]) {
			return false, nil //nolint:nilerr // the whole is shorter
		}
		if ended {
			return true, nil
		}
	}
}
