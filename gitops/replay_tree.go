package gitops

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// treeEntry is one entry of a tree object. The strings are parts of the
// object's content: the id is in its raw form.
type treeEntry struct{ mode, name, id string }

const (
	modeTree = "40000"
	modeFile = "100644"
	modeExec = "100755"
	modeLink = "120000"
	modeRepo = "160000"
)

func (e treeEntry) isTree() bool { return e.mode == modeTree }

// isFile reports whether it is a file and no link.
func (e treeEntry) isFile() bool { return e.mode == modeFile || e.mode == modeExec }

// compareEntries is the order of entries in a tree: that of their names, as if
// a tree's ended with a slash.
func compareEntries(a, b treeEntry) int {
	n := min(len(a.name), len(b.name))
	if c := strings.Compare(a.name[:n], b.name[:n]); c != 0 {
		return c
	}
	return int(a.after(n)) - int(b.after(n))
}

// after is the byte of the name that follows the first n.
func (e treeEntry) after(n int) byte {
	switch {
	case len(e.name) > n:
		return e.name[n]
	case e.isTree():
		return '/'
	}
	return 0
}

// entryNamed returns the entry of that name that is a tree, or none.
func entryNamed(entries []treeEntry, name string, tree bool) (treeEntry, bool) {
	wanted := treeEntry{name: name}
	if tree {
		wanted.mode = modeTree
	}
	at, found := slices.BinarySearchFunc(entries, wanted, compareEntries)
	if !found {
		return treeEntry{}, false
	}
	return entries[at], true
}

// errOddTree is for trees that git would write another way.
var errOddTree = errors.New("a tree isn't in git's usual form")

// parseTree reads the content of a tree object whose ids have that many bytes.
func parseTree(content string, idLen int) ([]treeEntry, error) {
	var entries []treeEntry
	for content != "" {
		header, rest, ok := strings.Cut(content, "\x00")
		mode, name, spaced := strings.Cut(header, " ")
		if !ok || !spaced || name == "" || len(rest) < idLen {
			return nil, errors.New("a tree object is damaged")
		}
		e := treeEntry{mode, name, rest[:idLen]}
		switch mode {
		case modeTree, modeFile, modeExec, modeLink, modeRepo:
		default:
			return nil, errOddTree
		}
		if len(entries) > 0 && compareEntries(entries[len(entries)-1], e) >= 0 {
			return nil, errOddTree
		}
		entries, content = append(entries, e), rest[idLen:]
	}
	return entries, nil
}

// formatTree is the content of a tree object.
func formatTree(entries []treeEntry) []byte {
	var b []byte
	for _, e := range entries {
		b = append(b, e.mode...)
		b = append(b, ' ')
		b = append(b, e.name...)
		b = append(b, 0)
		b = append(b, e.id...)
	}
	return b
}

// treeStore reads trees and makes new ones. It is for one goroutine.
type treeStore struct {
	objects    *objectReader
	quarantine *quarantine
	// known are the trees that were read, by raw id.
	known map[string][]treeEntry
	// empty is the raw id of the tree without an entry, which git knows of
	// itself.
	empty string
}

func newTreeStore(objects *objectReader, q *quarantine) *treeStore {
	h := q.newHash()
	h.Write([]byte("tree 0\x00"))
	empty := string(h.Sum(nil))
	return &treeStore{objects: objects, quarantine: q, empty: empty, known: map[string][]treeEntry{empty: nil}}
}

// emptyTree is the id of the tree without an entry.
func (t *treeStore) emptyTree() string { return hex.EncodeToString([]byte(t.empty)) }

// load returns the entries of a tree; id is raw, "" for a tree that isn't
// there.
func (t *treeStore) load(id string) ([]treeEntry, error) {
	entries, ok := t.known[id]
	if ok || id == "" {
		return entries, nil
	}
	content, err := t.read("tree", id)
	if err != nil {
		return nil, err
	}
	return t.parse(id, content)
}

// parse notes the entries of a tree that was read.
func (t *treeStore) parse(id string, content []byte) ([]treeEntry, error) {
	entries, err := parseTree(string(content), len(id))
	if err == nil && slices.ContainsFunc(entries, func(e treeEntry) bool { return e.id == t.empty }) {
		err = errOddTree
	}
	if err != nil {
		return nil, fmt.Errorf("%x: %w", id, err)
	}
	t.known[id] = entries
	return entries, nil
}

// prefetch reads those of the trees that aren't known, all at once.
func (t *treeStore) prefetch(ids []string) error {
	asked := make(map[string]bool)
	var raw, names []string
	for _, id := range ids {
		if _, known := t.known[id]; known || id == "" || asked[id] {
			continue
		}
		asked[id] = true
		name := hex.EncodeToString([]byte(id))
		if _, made, err := t.quarantine.get(name); err != nil {
			return err
		} else if !made {
			raw, names = append(raw, id), append(names, name)
		}
	}
	return t.objects.all("tree", names, func(i int, data []byte) error {
		_, err := t.parse(raw[i], data)
		return err
	})
}

// read returns the content of an object, by its raw id.
func (t *treeStore) read(kind, id string) ([]byte, error) {
	name := hex.EncodeToString([]byte(id))
	o, made, err := t.quarantine.get(name)
	if made || err != nil {
		return o.data, err
	}
	return t.objects.get(kind, name)
}

// save makes a tree and returns its raw id, "" for one without an entry.
func (t *treeStore) save(entries []treeEntry) (string, error) {
	if len(entries) == 0 {
		return "", nil
	}
	raw, err := hex.DecodeString(t.quarantine.put("tree", formatTree(entries)))
	t.known[string(raw)] = entries
	return string(raw), err
}

// find returns the entry of a path in a tree.
func (t *treeStore) find(tree, file string) (treeEntry, bool, error) {
	id, err := unhex(tree)
	if err != nil {
		return treeEntry{}, false, err
	}
	for {
		entries, err := t.load(id)
		if err != nil {
			return treeEntry{}, false, err
		}
		name, rest, below := strings.Cut(file, "/")
		e, found := entryNamed(entries, name, below)
		if !found || !below {
			return e, found, nil
		}
		id, file = e.id, rest
	}
}
