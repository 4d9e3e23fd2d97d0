package gitops

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// transfer brings a commit that was composed, and all that it needs, into the
// repository. git does it: it knows how objects are kept there.
func (q *quarantine) transfer(ctx context.Context, g *git, tip string) error {
	w := &harvest{q: q, seen: make(map[string]bool), disk: make(map[string]bool)}
	if err := w.look(); err != nil {
		return err
	}
	if err := w.take(tip); err != nil || len(w.objects) == 0 {
		return err
	}
	p, err := q.pack(w.objects)
	if err != nil {
		return err
	}
	cmd := q.plain("unpack-objects", "-q")
	cmd.write, cmd.stdin = true, bytes.NewReader(p.data)
	_, err = g.run(ctx, cmd)
	return err
}

// harvest collects the quarantined objects that one of them needs, each after
// those that it needs itself.
type harvest struct {
	q    *quarantine
	seen map[string]bool
	// disk are the ids of the objects that git has put here.
	disk    map[string]bool
	objects []object
}

// look finds the objects that git has written.
func (w *harvest) look() error {
	if w.q.dir == "" {
		return nil
	}
	paths, err := filepath.Glob(filepath.Join(w.q.store(), "??", "*"))
	for _, path := range paths {
		w.disk[filepath.Base(filepath.Dir(path))+filepath.Base(path)] = true
	}
	return err
}

func (w *harvest) take(id string) error {
	if w.seen[id] {
		return nil
	}
	w.seen[id] = true
	if !w.disk[id] && w.q.pending[id].kind == "" {
		return nil
	}
	o, found, err := w.q.get(id)
	if err != nil || !found {
		return err
	}
	switch o.kind {
	case "commit":
		header, _, _ := strings.Cut(string(o.data), "\n\n")
		for line := range strings.SplitSeq(header, "\n") {
			if key, value, _ := strings.Cut(line, " "); key == "parent" || key == "tree" {
				if err := w.take(value); err != nil {
					return err
				}
			}
		}
	case "tree":
		entries, err := parseTree(string(o.data), len(id)/2)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := w.take(hex.EncodeToString([]byte(e.id))); err != nil {
				return err
			}
		}
	}
	w.objects = append(w.objects, o)
	return nil
}

// get returns an object that was made here or that git has put here.
func (q *quarantine) get(id string) (object, bool, error) {
	if o, ok := q.pending[id]; ok || q.dir == "" {
		return o, ok, nil
	}
	o, err := readLoose(filepath.Join(q.store(), id[:2], id[2:]))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return object{}, false, nil
	case err != nil:
		return object{}, false, fmt.Errorf("the new object %s can't be read: %w", id, err)
	}
	return o, true, nil
}

// readLoose reads the file of a loose object.
func readLoose(path string) (object, error) {
	file, err := os.Open(path)
	if err != nil {
		return object{}, err
	}
	defer file.Close()
	z, err := zlib.NewReader(file)
	if err != nil {
		return object{}, err
	}
	all, err := io.ReadAll(z)
	if err != nil {
		return object{}, err
	}
	header, data, _ := bytes.Cut(all, []byte{0})
	kind, size, _ := strings.Cut(string(header), " ")
	if n, err := strconv.Atoi(size); err != nil || n != len(data) {
		return object{}, errors.New("its size is another than it says")
	}
	return object{kind, data}, nil
}
