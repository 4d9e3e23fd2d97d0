package gitops

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// noted is what was noted of one file or directory: that none of it is other
// than it was is the proof that nobody has touched it. The time of change
// can't be set back, as the time of modification can; that of a directory
// changes with every name in it.
type noted struct {
	name    []byte // with a NUL at the end, below the root
	mode    uint32
	inode   uint64
	size    int64
	changed int64
}

const (
	notedFixed = 4 + 8 + 8 + 8 + 2
	// notedHead begins the file, with a version.
	notedHead = "threadtree files 1\n"
)

// settledFor is how long nothing may have been written before files are noted:
// then a later change has a later time. Some file systems count in seconds.
const (
	settledFor       = 25 * time.Millisecond
	settledForCoarse = 2100 * time.Millisecond
)

// tree is a directory whose files are noted.
type tree struct {
	root string
	// without are names at the top that are left out.
	without []string
}

// noteFiles notes all that is in the trees and returns how many bytes it takes
// on the disk. Symbolic links are noted and not followed.
func noteFiles(path string, trees ...tree) (bytesOnDisk int64, err error) {
	time.Sleep(settledFor)
	var content bytes.Buffer
	for try := 0; ; try++ {
		content.Reset()
		content.WriteString(notedHead)
		size, coarse := int64(0), true
		for _, t := range trees {
			n := noting{out: &content, coarse: true, tree: t}
			if err := n.note("."); err != nil {
				return 0, err
			}
			binary.Write(&content, binary.LittleEndian, make([]byte, notedFixed)) //nolint:errcheck // a buffer takes all
			size, coarse = size+n.size, coarse && n.coarse
		}
		if !coarse || try > 0 {
			return size, replaceFile(path, content.Bytes())
		}
		time.Sleep(settledForCoarse)
	}
}

type noting struct {
	tree
	out    *bytes.Buffer
	size   int64
	coarse bool // no time has a part of a second
}

func (n *noting) note(name string) error {
	var st unix.Stat_t
	path := filepath.Join(n.root, name)
	if err := unix.Lstat(path, &st); err != nil {
		return &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	entry := notedOf(name, &st)
	n.coarse = n.coarse && entry.changed%int64(time.Second) == 0
	n.size += st.Blocks * blockSize
	entry.append(n.out)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, below := range names {
		if name == "." && slices.Contains(n.without, below) {
			continue
		}
		if err := n.note(filepath.Join(name, below)); err != nil {
			return err
		}
	}
	return nil
}

func notedOf(name string, st *unix.Stat_t) noted {
	return noted{
		name: append([]byte(name), 0), mode: uint32(st.Mode), inode: st.Ino, //nolint:unconvert // types differ between systems
		size: st.Size, changed: st.Ctim.Nano(),
	}
}

func (n noted) append(to *bytes.Buffer) {
	var fixed [notedFixed]byte
	binary.LittleEndian.PutUint32(fixed[0:], n.mode)
	binary.LittleEndian.PutUint64(fixed[4:], n.inode)
	binary.LittleEndian.PutUint64(fixed[12:], uint64(n.size))
	binary.LittleEndian.PutUint64(fixed[20:], uint64(n.changed))
	binary.LittleEndian.PutUint16(fixed[28:], uint16(len(n.name)))
	to.Write(fixed[:])
	to.Write(n.name)
}

// errNotes says that what was noted can't be read.
var errNotes = errors.New("the notes of the spare's files can't be read")

// untouched reports whether all that was noted is as it was then, the trees
// being the same.
func untouched(path string, trees ...tree) (bool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return false, err
	}
	data, ok := bytes.CutPrefix(data, []byte(notedHead))
	if !ok {
		return false, errNotes
	}
	for _, t := range trees {
		var parts [][]byte
		if parts, data, ok = splitNoted(data); !ok {
			return false, errNotes
		}
		same, err := t.unchanged(parts)
		if err != nil || !same {
			return false, err
		}
	}
	return true, nil
}

// notedTogether is how many notes one processor looks at, at a time.
const notedTogether = 256

// splitNoted splits the notes of one tree into parts and returns what follows
// them.
func splitNoted(data []byte) (parts [][]byte, rest []byte, ok bool) {
	from, at := 0, 0
	for n := 0; len(data)-at >= notedFixed; n++ {
		length := int(binary.LittleEndian.Uint16(data[at+notedFixed-2:]))
		if length == 0 || n == notedTogether {
			if at > from {
				parts = append(parts, data[from:at])
			}
			if from, n = at, 0; length == 0 {
				return parts, data[at+notedFixed:], len(parts) > 0
			}
		}
		if at += notedFixed + length; at > len(data) || data[at-1] != 0 {
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// firstNoted reads the first of the notes in a part, and returns the others.
func firstNoted(part []byte) (n noted, rest []byte) {
	end := notedFixed + int(binary.LittleEndian.Uint16(part[notedFixed-2:]))
	return noted{
		name: part[notedFixed:end],
		mode: binary.LittleEndian.Uint32(part), inode: binary.LittleEndian.Uint64(part[4:]),
		size: int64(binary.LittleEndian.Uint64(part[12:])), changed: int64(binary.LittleEndian.Uint64(part[20:])),
	}, part[end:]
}

// unchanged compares, on as many processors as there are.
func (t tree) unchanged(parts [][]byte) (bool, error) {
	root, err := unix.Open(t.root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false, nil // gone, or something else
	}
	defer unix.Close(root) //nolint:errcheck // only read
	var next atomic.Int64
	var differs atomic.Bool
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(parts)) {
		group.Go(func() {
			at := lookedIn{root: root}
			defer at.close()
			for i := next.Add(1) - 1; i < int64(len(parts)) && !differs.Load(); i = next.Add(1) - 1 {
				for part := parts[i]; len(part) > 0; {
					var n noted
					if n, part = firstNoted(part); !at.has(&n) {
						differs.Store(true)
						return
					}
				}
			}
		})
	}
	group.Wait()
	return !differs.Load(), nil
}

// lookedIn is the folder whose files are looked at: what lies in one follows one
// another in the notes, and is found faster from there than from the root.
type lookedIn struct {
	root int
	name []byte
	fd   int
	open bool
}

// has reports whether a file is as it was noted.
func (f *lookedIn) has(n *noted) bool {
	i := bytes.LastIndexByte(n.name, '/')
	at := f.root
	if i >= 0 {
		if !f.enter(n.name[:i]) {
			return false
		}
		at = f.fd
	}
	var now noted
	if statAt(at, n.name[i+1:], &now) != nil {
		return false
	}
	return now.mode == n.mode && now.inode == n.inode && now.size == n.size && now.changed == n.changed
}

func plainStatAt(folder int, name []byte, into *noted) error {
	var st unix.Stat_t
	if err := unix.Fstatat(folder, string(name[:len(name)-1]), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	*into = notedOf("", &st)
	return nil
}

// enter opens a folder, unless it is open. That no link leads there was noted
// of each folder above.
func (f *lookedIn) enter(name []byte) bool {
	if f.open && bytes.Equal(f.name, name) {
		return true
	}
	f.close()
	fd, err := unix.Openat(f.root, string(name), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	f.fd, f.name, f.open = fd, name, true
	return true
}

func (f *lookedIn) close() {
	if f.open {
		_ = unix.Close(f.fd)
		f.open = false
	}
}
