package gitops

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// includeMatcher asks git which paths a set of ignore patterns matches. It
// does so in an empty repository of its own, where no other patterns are, so
// nothing but the names is looked at.
type includeMatcher struct {
	git     *git
	scratch string
	inherit []*os.File
	files   int
}

// newIncludeMatcher makes the empty repository; close removes it.
func newIncludeMatcher(ctx context.Context, g *git, inherit []*os.File) (*includeMatcher, error) {
	scratch, err := os.MkdirTemp("", "threadtree-include-")
	if err != nil {
		return nil, err
	}
	m := &includeMatcher{git: g, scratch: scratch, inherit: inherit}
	if err := os.Mkdir(m.tree(), 0o700); err != nil {
		m.close()
		return nil, err
	}
	_, err = g.run(ctx, command{
		dir: scratch, write: true, inherit: inherit,
		args: []string{"init", "--quiet", "--bare", "--template=", "--", m.repository()},
	})
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *includeMatcher) close() { _ = os.RemoveAll(m.scratch) }

func (m *includeMatcher) repository() string { return filepath.Join(m.scratch, "repository") }
func (m *includeMatcher) tree() string       { return filepath.Join(m.scratch, "tree") }

// match returns those of the paths that the lines match.
func (m *includeMatcher) match(ctx context.Context, lines []includeLine, paths []string) (map[string]bool, error) {
	m.files++
	file := filepath.Join(m.scratch, fmt.Sprintf("patterns-%d", m.files))
	if err := os.WriteFile(file, []byte(includeText(lines)), 0o600); err != nil {
		return nil, err
	}
	return checkIgnore(ctx, m.git, command{
		dir:     m.tree(),
		config:  []string{"core.excludesFile=" + file},
		env:     []string{"GIT_DIR=" + m.repository(), "GIT_WORK_TREE=" + m.tree()},
		inherit: m.inherit,
	}, paths)
}

// checkIgnore returns those of the paths that are ignored where c runs. The
// index is not asked: a tracked file that a pattern matches is among them.
func checkIgnore(ctx context.Context, g *git, c command, paths []string) (map[string]bool, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	var in strings.Builder
	for _, p := range paths {
		// Without the dot a name that begins with a colon would be magic.
		in.WriteString("./" + p + "\x00")
	}
	c.args = []string{"check-ignore", "--no-index", "-z", "--stdin"}
	c.stdin = strings.NewReader(in.String())
	out, err := g.run(ctx, c)
	if err != nil && exitCode(err) != 1 {
		return nil, err
	}
	ignored := make(map[string]bool)
	for p := range bytes.SplitSeq(out, []byte{0}) {
		if len(p) > 0 {
			ignored[strings.TrimPrefix(string(p), "./")] = true
		}
	}
	return ignored, nil
}

// ignoredEntries returns what git ignores in a checkout: files, and folders
// that are ignored as a whole, which end in a slash and are not entered.
func (r *Repository) ignoredEntries(ctx context.Context, q setupRequest) ([]string, error) {
	out, err := r.git.run(ctx, command{
		dir: q.source,
		args: []string{
			"status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching",
			"--no-renames", "--ignore-submodules=all",
		},
		inherit: q.inherit,
	})
	if err != nil {
		return nil, err
	}
	var entries []string
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if path, ok := strings.CutPrefix(entry, "!! "); ok {
			entries = append(entries, path)
		}
	}
	return entries, nil
}
