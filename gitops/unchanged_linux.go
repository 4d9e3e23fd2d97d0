package gitops

import (
	"io/fs"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// statNumbers returns what the file system tells about a file, and the time of
// its last change of any kind.
func statNumbers(info fs.FileInfo) (numbers []uint64, changed time.Time, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, changed, false
	}
	return []uint64{
		uint64(st.Dev), st.Ino, uint64(st.Mode), uint64(st.Uid), uint64(st.Gid), uint64(st.Size),
		uint64(st.Mtim.Sec), uint64(st.Mtim.Nsec), uint64(st.Ctim.Sec), uint64(st.Ctim.Nsec),
	}, time.Unix(st.Ctim.Unix()), true
}

// local are the file systems on which each change of a file gives it a new
// time of change, seen at once.
var local = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC,
	unix.OVERLAYFS_SUPER_MAGIC,
}

// localFiles reports whether a directory is on such a file system.
func localFiles(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && slices.Contains(local, int64(st.Type))
}

// indexStatOf returns the numbers that git's index has of a file.
func indexStatOf(st *syscall.Stat_t) (stat [10]uint32, ok bool) {
	return [10]uint32{
		uint32(st.Ctim.Sec), uint32(st.Ctim.Nsec), uint32(st.Mtim.Sec), uint32(st.Mtim.Nsec),
		uint32(st.Dev), uint32(st.Ino), st.Mode, st.Uid, st.Gid, uint32(st.Size),
	}, true
}
