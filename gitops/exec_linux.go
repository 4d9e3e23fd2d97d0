package gitops

import (
	"os"

	"golang.org/x/sys/unix"
)

// awaitExit returns once a child has ended, which stays to be waited for, or at
// once where the system can't tell. A goroutine that waits for a child without
// it keeps one of the runtime's processors to itself, for up to 10 ms: where
// there are two of them, all else then waits for the other.
func awaitExit(pid int) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return
	}
	child := os.NewFile(uintptr(fd), "child")
	defer child.Close()
	conn, err := child.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(fd uintptr) bool {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PIDFD, int(fd), &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		return err != nil || info.Signo != 0
	})
}
