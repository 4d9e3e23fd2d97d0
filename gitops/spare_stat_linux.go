package gitops

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// statAt looks at the file of a name, which ends in a NUL, in an open folder. The
// name goes to the system as it is: a copy for each of many thousands of files
// would take as long as the looking.
func statAt(folder int, name []byte, into *noted) error {
	var st unix.Statx_t
	const wanted = unix.STATX_TYPE | unix.STATX_MODE | unix.STATX_INO | unix.STATX_SIZE | unix.STATX_CTIME
	_, _, failed := unix.Syscall6(
		unix.SYS_STATX, uintptr(folder), uintptr(unsafe.Pointer(&name[0])), unix.AT_SYMLINK_NOFOLLOW, wanted, uintptr(unsafe.Pointer(&st)), 0,
	)
	switch {
	case failed == 0:
		into.mode, into.inode, into.size = uint32(st.Mode), st.Ino, int64(st.Size)
		into.changed = st.Ctime.Sec*1e9 + int64(st.Ctime.Nsec)
		return nil
	case errors.Is(failed, unix.ENOSYS), errors.Is(failed, unix.EPERM):
		return plainStatAt(folder, name, into) // an old system, or a sandbox
	}
	return failed
}
