//go:build !linux

package gitops

import "golang.org/x/sys/unix"

// lowerPriority gives a process what others leave of the processor. Where it
// can't, the process runs as any other.
func lowerPriority(pid int) { _ = unix.Setpriority(unix.PRIO_PROCESS, pid, 19) }
