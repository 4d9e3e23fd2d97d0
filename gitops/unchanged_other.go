//go:build !linux

package gitops

import (
	"io/fs"
	"syscall"
	"time"
)

// statNumbers knows nothing here.
func statNumbers(fs.FileInfo) (numbers []uint64, changed time.Time, ok bool) {
	return nil, time.Time{}, false
}

// localFiles knows of no file system here.
func localFiles(string) bool { return false }

// indexStatOf is not known here.
func indexStatOf(*syscall.Stat_t) (stat [10]uint32, ok bool) { return stat, false }
