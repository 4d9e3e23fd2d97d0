package gitops

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
)

// hiddenFlags are the index entries that git status doesn't look at.
type hiddenFlags struct {
	// assumed are marked assume-unchanged.
	assumed []string
	// skipped are marked skip-worktree, mostly by a sparse checkout.
	skipped []string
	// intended are only announced to be added. Where git has to be asked for
	// the flags they are not known.
	intended []string
	// runs are the first and the last of the skipped that follow each other in
	// the index. They aren't known either where git has to be asked.
	runs []indexRun

	// running is true where the last entry was skipped.
	running bool
}

// indexRun is the first and the last of some entries.
type indexRun struct{ first, last string }

// has reports whether a path of an index is one of them, or lies below a
// directory, which ends in a slash, that is.
func (r indexRun) has(path string) bool {
	return path >= r.first && (path <= r.last || strings.HasSuffix(r.last, "/") && strings.HasPrefix(path, r.last))
}

// skip notes an entry that is skipped.
func (h *hiddenFlags) skip(name string) {
	h.skipped = append(h.skipped, name)
	if h.running {
		h.runs[len(h.runs)-1].last = name
	} else {
		h.runs, h.running = append(h.runs, indexRun{name, name}), true
	}
}

const (
	indexHeader    = 12
	indexStat      = 40 // what stands before the object id of an entry
	indexIDLength  = 20
	flagAssumed    = 0x8000
	flagExtended   = 0x4000
	flagSkipped    = 0x4000 // in the extended flags
	flagIntended   = 0x2000 // in the extended flags
	flagNameLength = 0x0fff
)

// scanIndex finds the hidden entries of an index file with SHA-1 ids. ok is
// false where git has to be asked: for a split or a sparse index, which don't
// have all entries in them, and for one that isn't understood.
func scanIndex(data []byte) (flags hiddenFlags, ok bool) {
	return walkIndex(data, func(_, _ []byte) {})
}

// scanSparse is scanIndex that takes a sparse index, too. Of a directory
// outside the cone that has but one entry: its name ends in a slash.
func scanSparse(data []byte) (flags hiddenFlags, ok bool) {
	return walkEntries(data, true, func(_, _ []byte) {})
}

// walkIndex is scanIndex that tells of each entry its name, which is good
// until the next, and what of fixed length stands before it.
func walkIndex(data []byte, each func(name, fixed []byte)) (flags hiddenFlags, ok bool) {
	return walkEntries(data, false, each)
}

func walkEntries(data []byte, sparse bool, each func(name, fixed []byte)) (flags hiddenFlags, ok bool) {
	if len(data) < indexHeader+indexIDLength || string(data[:4]) != "DIRC" {
		return flags, false
	}
	version := binary.BigEndian.Uint32(data[4:])
	count := binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return flags, false
	}
	s := indexScanner{data: data[:len(data)-indexIDLength], at: indexHeader, version: version, sparse: sparse}
	for range count {
		start := s.at
		if !s.entry(&flags) {
			return hiddenFlags{}, false
		}
		each(s.name, data[start:start+indexStat+indexIDLength+2])
	}
	return flags, s.complete(func(string, []byte) {})
}

// indexTree returns the id of the tree that all entries of an index make, as
// git noted it there; it drops the note with every change. ok is false where
// there is none, and for an index with SHA-1 ids that isn't whole.
func indexTree(data []byte) (id string, ok bool) {
	var flags hiddenFlags
	if len(data) < indexHeader+indexIDLength || string(data[:4]) != "DIRC" {
		return "", false
	}
	s := indexScanner{data: data[:len(data)-indexIDLength], at: indexHeader, version: binary.BigEndian.Uint32(data[4:])}
	count := binary.BigEndian.Uint32(data[8:])
	if s.version < 2 || s.version > 4 {
		return "", false
	}
	for range count {
		if !s.entry(&flags) {
			return "", false
		}
	}
	var note []byte
	whole := s.complete(func(signature string, content []byte) {
		if signature == "TREE" {
			note = content
		}
	})
	// The root comes first: no name, how many entries, how many trees below,
	// and the id.
	head, rest, _ := bytes.Cut(note, []byte("\n"))
	counts, root := bytes.CutPrefix(head, []byte{0})
	entries, _, _ := bytes.Cut(counts, []byte(" "))
	if !whole || !root || string(entries) != strconv.FormatUint(uint64(count), 10) || len(rest) < indexIDLength {
		return "", false
	}
	return hex.EncodeToString(rest[:indexIDLength]), true
}

type indexScanner struct {
	data    []byte
	at      int
	version uint32
	name    []byte
	// sparse is true where directories may stand for what is in them.
	sparse bool
}

// entry reads one entry and notes it where it is hidden.
func (s *indexScanner) entry(into *hiddenFlags) bool {
	start := s.at
	s.at += indexStat + indexIDLength + 2
	if s.at > len(s.data) {
		return false
	}
	flags := binary.BigEndian.Uint16(s.data[s.at-2:])
	var extended uint16
	if flags&flagExtended != 0 {
		if s.version < 3 || s.at+2 > len(s.data) {
			return false
		}
		extended = binary.BigEndian.Uint16(s.data[s.at:])
		s.at += 2
	}
	if !s.readName(start, int(flags&flagNameLength)) {
		return false
	}
	if flags&flagAssumed != 0 {
		into.assumed = append(into.assumed, string(s.name))
	}
	if extended&flagSkipped != 0 {
		into.skip(string(s.name))
	} else {
		into.running = false
	}
	if extended&flagIntended != 0 {
		into.intended = append(into.intended, string(s.name))
	}
	return true
}

// readName reads the entry's name and goes to the next entry.
func (s *indexScanner) readName(start, length int) bool {
	if s.version == 4 {
		return s.readCompressed()
	}
	if length == flagNameLength {
		length = bytes.IndexByte(s.data[s.at:], 0)
	}
	if length < 0 || s.at+length > len(s.data) {
		return false
	}
	s.name = s.data[s.at : s.at+length]
	s.at += length
	// One to eight NULs make the entry's length a multiple of eight.
	s.at += 8 - (s.at-start)%8
	return s.at <= len(s.data)
}

// readCompressed reads a name of version 4: how much of the name before it
// falls away, and what comes instead.
func (s *indexScanner) readCompressed() bool {
	strip := 0
	for i := 0; ; i++ {
		if s.at >= len(s.data) || i > 4 {
			return false
		}
		b := s.data[s.at]
		s.at++
		if i > 0 {
			strip++
		}
		strip = strip<<7 | int(b&0x7f)
		if b&0x80 == 0 {
			break
		}
	}
	end := bytes.IndexByte(s.data[s.at:], 0)
	if end < 0 || strip > len(s.name) {
		return false
	}
	kept := s.name[:len(s.name)-strip]
	s.name = append(bytes.Clone(kept), s.data[s.at:s.at+end]...)
	s.at += end + 1
	return true
}

// complete reports whether the extensions say that all entries are in this
// file, each as a file's. It calls each with every extension.
func (s *indexScanner) complete(each func(signature string, content []byte)) bool {
	for s.at < len(s.data) {
		if s.at+8 > len(s.data) {
			return false
		}
		signature := string(s.data[s.at : s.at+4])
		size := uint64(binary.BigEndian.Uint32(s.data[s.at+4:]))
		if signature == "link" || signature == "sdir" && !s.sparse || uint64(s.at)+8+size > uint64(len(s.data)) {
			return false
		}
		each(signature, s.data[s.at+8:s.at+8+int(size)])
		s.at += 8 + int(size)
	}
	return true
}
