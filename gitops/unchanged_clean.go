package gitops

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

const (
	// maxIndex is how large an index may be to be compared here.
	maxIndex = 1 << 20
	// emptyBlob is the id of a file with nothing in it.
	emptyBlob   = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	kindBits    = 0o170000
	kindRegular = 0o100000
	kindSymlink = 0o120000
)

// simpleIndex is an index that is whole in itself and has no submodules.
type simpleIndex struct {
	entries []notedFile
	// plain is true where nothing is in conflict, only announced, or not to be
	// looked at.
	plain bool
	// tree is the id of the tree that the entries make, "" where git has not
	// noted it.
	tree    string
	written time.Time
}

// notedFile is a file as an index has it.
type notedFile struct {
	path string
	// stat are the ten numbers that git notes of a file.
	stat [10]uint32
	id   string
}

// The numbers of an index entry.
const (
	statCtime = iota
	statCtimeNano
	statMtime
	statMtimeNano
	statDevice
	statInode
	statMode
	statUser
	statGroup
	statSize
)

// readSimpleIndex reads an index. The error is errUnprovable where it is not a
// simple one.
func readSimpleIndex(path string) (*simpleIndex, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxIndex {
		return nil, errUnprovable
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	x := &simpleIndex{written: info.ModTime(), plain: true}
	submodules := false
	flags, whole := walkIndex(data, func(name, fixed []byte) {
		e := notedFile{path: string(name), id: hex.EncodeToString(fixed[indexStat : indexStat+indexIDLength])}
		for i := range e.stat {
			e.stat[i] = binary.BigEndian.Uint32(fixed[4*i:])
		}
		kind := e.stat[statMode] & kindBits
		submodules = submodules || kind != kindRegular && kind != kindSymlink
		const stage = 0x3000
		x.plain = x.plain && binary.BigEndian.Uint16(fixed[len(fixed)-2:])&stage == 0
		x.entries = append(x.entries, e)
	})
	if !whole || submodules {
		return nil, errUnprovable
	}
	x.plain = x.plain && len(flags.assumed)+len(flags.skipped)+len(flags.intended) == 0
	x.tree, _ = indexTree(data)
	return x, nil
}

// clean reports whether nothing is uncommitted: the index is HEAD's tree, no
// file is there that isn't in it, and each is as git noted it. It goes by git's
// own rule; a file that may have been changed in the moment in which it was
// noted is compared by its content. It may be false where git would find
// nothing either.
func (l *looker) clean(ctx context.Context, now sight) bool {
	x := now.index
	if !x.plain || x.tree == "" || l.w.Head == "" || len(x.entries) != len(now.files) {
		return false
	}
	if tree, err := l.c.refs.treeOf(l.w.Head); err != nil || tree != x.tree {
		return false
	}
	for _, e := range x.entries {
		if ctx.Err() != nil {
			return false
		}
		info, ok := now.files[e.path]
		if !ok || !e.matches(info) {
			return false
		}
		if e.racy(x.written) && (!l.c.around.plain || now.attributes || !e.hasContent(l.w.Directory, info)) {
			return false
		}
	}
	return true
}

// matches reports whether a file is as the entry has it.
func (e notedFile) matches(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	have, ok := indexStatOf(st)
	if !ok {
		return false
	}
	have[statDevice] = e.stat[statDevice] // git doesn't compare it
	mode := have[statMode] & kindBits
	if mode == kindRegular {
		mode |= 0o644
		if have[statMode]&0o100 != 0 {
			mode |= 0o111
		}
	}
	have[statMode] = mode
	// git notes no size for a file that it isn't sure of.
	return have == e.stat && (e.stat[statSize] != 0 || e.id == emptyBlob)
}

// racy reports whether the file may have been changed after it was noted
// without another time: within the second, by git's rule.
func (e notedFile) racy(written time.Time) bool {
	seconds := uint32(written.Unix())
	return e.stat[statMtime] >= seconds || e.stat[statCtime] >= seconds
}

// hasContent reports whether a file has the content of the entry.
func (e notedFile) hasContent(dir string, info fs.FileInfo) bool {
	path := filepath.Join(dir, filepath.FromSlash(e.path))
	var content []byte
	var err error
	if info.Mode()&fs.ModeSymlink != 0 {
		var target string
		target, err = os.Readlink(path)
		content = []byte(target)
	} else {
		content, err = os.ReadFile(path)
	}
	if err != nil {
		return false
	}
	sum := sha1.New()
	fmt.Fprintf(sum, "blob %d\x00", len(content))
	sum.Write(content)
	return hex.EncodeToString(sum.Sum(nil)) == e.id
}

// treeOf returns the id of a commit's tree.
func (x *refs) treeOf(sha string) (string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	commit, err := x.repo.CommitObject(plumbing.NewHash(sha))
	if err != nil {
		return "", err
	}
	return commit.TreeHash.String(), nil
}
