package gitops

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	ioprioWhoProcess = 1
	ioprioIdle       = 3 << 13 // the class in the upper bits
)

// lowerPriority gives a process what others leave of processor and disk. Where
// it can't, the process runs as any other.
func lowerPriority(pid int) {
	_ = unix.Setpriority(unix.PRIO_PROCESS, pid, 19)
	// In a session of its own the priority counts only within that.
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/autogroup", []byte("19"), 0)
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, uintptr(pid), ioprioIdle)
}
