package gitops

import (
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// quarantine is a temporary directory with a store of objects, which sees the
// repository's, and a work tree without a file. What git writes while
// something is tried out lands there, and is gone with it.
type quarantine struct {
	in composeInput
	// dir is "" until something has to be written.
	dir string
	// newHash makes the hash that object ids are made with.
	newHash func() hash.Hash
	// pending are the objects that were made here, by id, and order is the
	// order they were made in.
	pending map[string]object
	order   []string
	// written is how many of order are in the store of objects.
	written int
	// compressor is nil until it is needed.
	compressor *zlib.Writer
}

// object is the type of an object and its content.
type object struct {
	kind string
	data []byte
}

func newQuarantine(in composeInput) *quarantine {
	return &quarantine{in: in, newHash: hashOf(in.onto), pending: make(map[string]object)}
}

// make makes the directory, once it is needed.
func (q *quarantine) make() error {
	if q.dir != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "threadtree-replay-")
	if err != nil {
		return err
	}
	q.dir = dir
	for _, path := range []string{q.store(), q.workTree()} {
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// hashOf is the hash that made an object id.
func hashOf(id string) func() hash.Hash {
	if len(id) == 2*sha256.Size {
		return sha256.New
	}
	return sha1.New
}

func (q *quarantine) remove() {
	if q.dir != "" {
		_ = os.RemoveAll(q.dir)
	}
}

func (q *quarantine) store() string { return filepath.Join(q.dir, "objects") }

func (q *quarantine) workTree() string { return filepath.Join(q.dir, "tree") }

// plain is a git command on the repository.
func (q *quarantine) plain(args ...string) command {
	return command{dir: q.in.gitDir, args: args, inherit: q.in.inherit, env: []string{"GIT_DIR=" + q.in.gitDir}}
}

// inside is a git command that sees what was made, and writes its own objects
// there. It doesn't see the work tree.
func (q *quarantine) inside(args ...string) (command, error) {
	if err := q.write(); err != nil {
		return command{}, err
	}
	c := q.plain(args...)
	c.env = append(c.env, "GIT_OBJECT_DIRECTORY="+q.store(),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+pathInList(filepath.Join(q.in.project.ID, "objects")))
	return c, nil
}

// pathInList is a path in a list of them.
func pathInList(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

// put makes an object and returns its id. It is in memory until write.
func (q *quarantine) put(kind string, data []byte) string {
	h := q.newHash()
	_, _ = fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	id := hex.EncodeToString(h.Sum(nil))
	if _, known := q.pending[id]; !known {
		q.pending[id] = object{kind, data}
		q.order = append(q.order, id)
	}
	return id
}

// write puts the objects that were made where git sees them, in one pack: many
// small files take longer than all the rest.
func (q *quarantine) write() error {
	if err := q.make(); err != nil {
		return err
	}
	ids := q.order[q.written:]
	if len(ids) == 0 {
		return nil
	}
	objects := make([]object, 0, len(ids))
	for _, id := range ids {
		objects = append(objects, q.pending[id])
	}
	p, err := q.pack(objects)
	if err != nil {
		return err
	}
	index, err := q.index(p, ids)
	if err != nil {
		return err
	}
	dir := filepath.Join(q.store(), "pack")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	name := filepath.Join(dir, "pack-"+hex.EncodeToString(p.sum))
	if err := os.WriteFile(name+".pack", p.data, 0o600); err != nil {
		return err
	}
	q.written = len(q.order)
	return os.WriteFile(name+".idx", index, 0o600)
}

// deflate writes some parts as one stream of zlib's form, and doesn't compress
// them: what is written is read at once and is gone, or packed anew by git.
func (q *quarantine) deflate(to io.Writer, parts ...[]byte) error {
	if q.compressor == nil {
		var err error
		if q.compressor, err = zlib.NewWriterLevel(to, zlib.NoCompression); err != nil {
			return err
		}
	}
	q.compressor.Reset(to)
	for _, part := range parts {
		if _, err := q.compressor.Write(part); err != nil {
			return err
		}
	}
	return q.compressor.Close()
}

// unhex returns the raw form of an object id.
func unhex(id string) (string, error) {
	raw, err := hex.DecodeString(id)
	return string(raw), err
}

// throwaway makes a commit that is needed for a moment only.
func (q *quarantine) throwaway(tree string, parents []string) string {
	const nobody = "nobody <> 0 +0000"
	return q.put("commit", formatCommit(tree, parents, signed{author: nobody}, nobody))
}
