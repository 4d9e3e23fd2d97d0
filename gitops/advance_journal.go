package gitops

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// moveFiles are the files of ours in the git directory of a checkout while
// its files are moved.
type moveFiles string

func (f moveFiles) in(name string) string { return filepath.Join(string(f), name) }

// journal says what is being done, for whoever comes after a crash.
func (f moveFiles) journal() string { return f.in("threadtree-ff.json") }

// torn is a journal that is being written.
func (f moveFiles) torn() string { return f.in("threadtree-ff.json.new") }

// held is locked as long as somebody is at work. Children inherit it.
func (f moveFiles) held() string { return f.in("threadtree-ff.lock") }

// next is the index to be.
func (f moveFiles) next() string { return f.in("threadtree-ff.index") }

// scratch is a directory with files as the new commit has them.
func (f moveFiles) scratch() string { return f.in("threadtree-ff.files") }

// nonce becomes the lock of the index.
func (f moveFiles) nonce() string { return f.in("threadtree-ff.nonce") }

// index is the checkout's index.
func (f moveFiles) index() string { return f.in("index") }

// lock is that by which git's commands take turns at it.
func (f moveFiles) lock() string { return f.in("index.lock") }

// dropNext removes the index to be and what came of its making.
func (f moveFiles) dropNext() error {
	return errors.Join(removeIfThere(f.next()), removeIfThere(f.next()+".lock"), removeIfThere(f.nonce()), os.RemoveAll(f.scratch()))
}

// Phases of a move.
const (
	// phaseBegun: nothing but files of ours was written.
	phaseBegun = "begun"
	// phaseWriting: the checkout's files may be written to.
	phaseWriting = "writing"
)

// journalVersion is that of the journal's format.
const journalVersion = 1

// journal is what a move writes down before it touches anything.
type journal struct {
	Version int    `json:"version"`
	Phase   string `json:"phase"`
	Ref     string `json:"ref"`
	Old     string `json:"old"`
	New     string `json:"new"`
	// Detach is true where it is HEAD that moves, off its branch.
	Detach bool `json:"detach,omitempty"`
	// Nonce is the content of our lock on the index.
	Nonce string `json:"nonce"`
	// Index is the index that the new one was made from.
	Index fileMark `json:"index"`
	// Paths are those that the move changes, as they were.
	Paths []pathMark `json:"paths,omitempty"`
	// Made are the directories that the move has to make, outermost first.
	Made [][]byte `json:"made,omitempty"`
}

// pathMark is a path that a move changes. Names are bytes: they need not be
// UTF-8.
type pathMark struct {
	Path []byte `json:"path"`
	// Mode and ID are what the new commit has there, 0 if nothing.
	Mode uint32 `json:"mode,omitempty"`
	ID   string `json:"id,omitempty"`
	// Was is what was there.
	Was fileMark `json:"was"`
}

// Kinds of files.
const (
	kindAbsent    = ""
	kindFile      = "file"
	kindLink      = "link"
	kindDirectory = "directory"
	kindOther     = "other"
)

// fileMark tells whether a file is still the one that it was.
type fileMark struct {
	Kind  string      `json:"kind,omitempty"`
	Perm  fs.FileMode `json:"perm,omitempty"`
	Size  int64       `json:"size,omitempty"`
	Time  int64       `json:"time,omitempty"`
	Inode uint64      `json:"inode,omitempty"`
}

// same reports whether nothing happened to the file. Of a directory nothing
// but its being there is compared.
func (m fileMark) same(other fileMark) bool {
	return m == other || m.Kind == kindDirectory && other.Kind == kindDirectory
}

// markOf looks at a path without following it.
func markOf(path string) (fileMark, error) {
	info, err := os.Lstat(path)
	switch {
	case isAbsent(err):
		return fileMark{}, nil
	case err != nil:
		return fileMark{}, err
	}
	m := fileMark{Perm: info.Mode().Perm(), Size: info.Size(), Time: info.ModTime().UnixNano()}
	switch mode := info.Mode(); {
	case mode.IsRegular():
		m.Kind = kindFile
	case mode&fs.ModeSymlink != 0:
		m.Kind = kindLink
	case mode.IsDir():
		m.Kind = kindDirectory
	default:
		m.Kind = kindOther
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		m.Inode = stat.Ino
	}
	return m, nil
}

// write makes the journal durable, as a whole or not at all.
func (j journal) write(f moveFiles) error {
	content, err := json.Marshal(j)
	if err != nil {
		return err
	}
	file, err := os.Create(f.torn())
	if err != nil {
		return err
	}
	_, err = file.Write(append(content, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(f.torn(), f.journal())
}

// readMove reads the journal of a checkout. ok is false where there is none.
func readMove(f moveFiles) (j journal, ok bool, err error) {
	content, err := os.ReadFile(f.journal())
	switch {
	case isAbsent(err):
		return journal{}, false, nil
	case err != nil:
		return journal{}, false, err
	}
	if err := json.Unmarshal(content, &j); err != nil {
		return journal{}, true, fmt.Errorf("%s: %w", f.journal(), err)
	}
	if j.Version != journalVersion {
		return journal{}, true, fmt.Errorf("%s: its version is %d, not %d", f.journal(), j.Version, journalVersion)
	}
	return j, true, nil
}

// drop removes the journal, and with it the last trace of the move.
func (f moveFiles) drop() error {
	if err := errors.Join(f.dropNext(), removeIfThere(f.torn())); err != nil {
		return err
	}
	return errors.Join(removeIfThere(f.journal()), removeIfThere(f.held()))
}
