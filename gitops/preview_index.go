package gitops

import (
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"os"
	"syscall"
)

// indexEntry is what an index has of a path.
type indexEntry struct {
	mode, inode, size uint32
	// times are those of the last change of the file, of any kind and of its
	// content: seconds and nanoseconds of both.
	times [4]uint32
	id    string
	// hidden is true for one that git doesn't compare with the disk.
	hidden bool
}

// stageBits are set in the flags of an entry that is unmerged.
const stageBits = 0x3000

// entriesOf reads the entries of the wanted paths from an index. ok is false
// where git has to be asked: for scanIndex's reasons, and for an index with
// something unmerged.
func entriesOf(data []byte, wanted map[string]bool) (found map[string]indexEntry, ok bool) {
	found = make(map[string]indexEntry, len(wanted))
	unmerged := false
	_, ok = walkIndex(data, func(name, fixed []byte) {
		flags := binary.BigEndian.Uint16(fixed[indexStat+indexIDLength:])
		unmerged = unmerged || flags&stageBits != 0
		if !wanted[string(name)] {
			return
		}
		field := func(n int) uint32 { return binary.BigEndian.Uint32(fixed[4*n:]) }
		found[string(name)] = indexEntry{
			times: [4]uint32{field(0), field(1), field(2), field(3)}, inode: field(5), mode: field(6), size: field(9),
			id: hex.EncodeToString(fixed[indexStat : indexStat+indexIDLength]), hidden: flags&(flagAssumed|flagExtended) != 0,
		}
	})
	return found, ok && !unmerged
}

// is reports whether the file is for certain the one that the entry was made
// from. One that was changed as late as the index was written isn't certain.
func (e indexEntry) is(info os.FileInfo, index os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || e.hidden || !info.ModTime().Before(index.ModTime()) {
		return false
	}
	numbers, ok := indexStatOf(stat)
	if !ok {
		return false
	}
	mode := uint32(entryModeFile)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		mode = entryModeLink
	case !info.Mode().IsRegular():
		return false
	case info.Mode()&0o100 != 0:
		mode = entryModeExecutable
	}
	return e.mode == mode && e.size == numbers[statSize] && e.inode == numbers[statInode] && e.times == [4]uint32(numbers[:statDevice])
}

// Modes of an index's entries.
const (
	entryModeFile       = 0o100644
	entryModeExecutable = 0o100755
	entryModeLink       = 0o120000
)

// untouched reports whether each path that the move changes is for certain as
// the old commit has it, in the index as on the disk. It asks no git.
func (m *move) untouched() bool {
	data, err := os.ReadFile(m.files.next())
	if err != nil {
		return false
	}
	index, err := os.Stat(m.files.next())
	if err != nil {
		return false
	}
	wanted := make(map[string]bool, len(m.changes))
	for _, c := range m.changes {
		wanted[c.path] = true
	}
	entries, ok := entriesOf(data, wanted)
	if !ok {
		return false
	}
	for _, c := range m.changes {
		e, tracked := entries[c.path]
		if c.oldMode == 0 {
			if tracked {
				return false
			}
			continue
		}
		info, err := os.Lstat(m.at.path(c.path))
		if err != nil || !tracked || e.id != c.oldID || e.mode != c.oldMode || !e.is(info, index) {
			return false
		}
	}
	return true
}
