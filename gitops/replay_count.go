package gitops

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// The bounds of what is counted here: git has to start for more.
const (
	countFiles = 100
	countSize  = 1 << 20
)

// countLines counts the lines that changes add and delete, as "git diff
// --numstat" does. It returns nil where that takes git: where something may be
// renamed, attributes may say what is binary, and where a file has changed in
// more places than one.
func (c *composer) countLines(changes []treeChange) ([]workspace.FileChange, error) {
	added := slices.ContainsFunc(changes, func(t treeChange) bool { return t.oldMode == 0 })
	deleted := slices.ContainsFunc(changes, func(t treeChange) bool { return t.newMode == 0 })
	const kind = 0o170000
	odd := slices.ContainsFunc(changes, func(t treeChange) bool {
		return t.oldMode == modeSubmodule || t.newMode == modeSubmodule || t.oldMode != 0 && t.newMode != 0 && t.oldMode&kind != t.newMode&kind
	})
	if added && deleted || odd || len(changes) == 0 || len(changes) > countFiles || c.r.attributed(c.in.project) {
		return nil, nil
	}
	contents, err := c.contents(changes)
	if err != nil || contents == nil {
		return nil, err
	}
	files := make([]workspace.FileChange, 0, len(changes))
	for _, t := range changes {
		f := workspace.FileChange{Path: t.path}
		before, after := contents[t.oldID], contents[t.newID]
		switch {
		case t.oldID == t.newID:
		case isBinary(before) || isBinary(after):
			f.Added, f.Deleted = -1, -1
		default:
			var ok bool
			if f.Added, f.Deleted, ok = countPiece(before, after); !ok {
				return nil, nil
			}
		}
		files = append(files, f)
	}
	return files, nil
}

// contents reads both sides of changes by id, nil where one is large.
func (c *composer) contents(changes []treeChange) (map[string][]byte, error) {
	all := make(map[string][]byte)
	var ids []string
	for _, t := range changes {
		if t.oldID == t.newID {
			continue
		}
		for _, id := range []string{t.oldID, t.newID} {
			if _, known := all[id]; known || strings.Trim(id, "0") == "" {
				continue
			}
			o, made, err := c.get(id)
			if err != nil {
				return nil, err
			}
			if all[id] = o.data; !made {
				ids = append(ids, id)
			}
		}
	}
	err := c.objects.all("blob", ids, func(i int, data []byte) error {
		all[ids[i]] = data
		return nil
	})
	for _, data := range all {
		if len(data) > countSize {
			return nil, err
		}
	}
	return all, err
}

// isBinary takes for binary what git does.
func isBinary(data []byte) bool {
	const looked = 8000
	return bytes.IndexByte(data[:min(len(data), looked)], 0) >= 0
}

// countPiece counts the lines by which two texts differ, where it is one piece
// that differs, in which they have no line in common: then there is but one way
// to count.
func countPiece(before, after []byte) (added, deleted int, ok bool) {
	a, b := lines(before), lines(after)
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[0], b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) > 0 {
		known := make(map[string]bool, len(a))
		for _, line := range a {
			known[string(line)] = true
		}
		if slices.ContainsFunc(b, func(line []byte) bool { return known[string(line)] }) {
			return 0, 0, false
		}
	}
	return len(b), len(a), true
}

// lines splits a text into its lines, each with its end.
func lines(text []byte) [][]byte {
	all := bytes.SplitAfter(text, []byte("\n"))
	if n := len(all); len(all[n-1]) == 0 {
		all = all[:n-1]
	}
	return all
}

// attributed reports whether there may be attributes that hold without a work
// tree, which may have git compare files in another way. In doubt there are.
func (r *Repository) attributed(p workspace.Project) bool {
	env := make(map[string]string)
	for _, kv := range r.git.env {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	system := filepath.Join(filepath.Dir(filepath.Dir(r.git.path)), "etc")
	own := filepath.Join(cmp.Or(env["XDG_CONFIG_HOME"], filepath.Join(env["HOME"], ".config")), "git")
	there := func(path string) bool {
		_, err := os.Lstat(path)
		return !isAbsent(err)
	}
	attributes := []string{
		filepath.Join(p.ID, "info", "attributes"), filepath.Join(own, "attributes"),
		filepath.Join(system, "gitattributes"), "/etc/gitattributes",
	}
	config := []string{
		filepath.Join(p.ID, "config"), filepath.Join(p.ID, "config.worktree"), filepath.Join(own, "config"), filepath.Join(env["HOME"], ".gitconfig"),
		filepath.Join(system, "gitconfig"), "/etc/gitconfig", env["GIT_CONFIG_GLOBAL"], env["GIT_CONFIG_SYSTEM"],
	}
	return slices.ContainsFunc(attributes, there) || slices.ContainsFunc(config, mayName)
}

// mayName reports whether a file of configuration may name one of attributes,
// or another file that may.
func mayName(path string) bool {
	if path == "" {
		return false
	}
	content, err := os.ReadFile(path)
	content = bytes.ToLower(content)
	return err != nil && !isAbsent(err) || bytes.Contains(content, []byte("attributesfile")) || bytes.Contains(content, []byte("include"))
}
