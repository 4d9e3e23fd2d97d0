//go:build !unix

package opencode

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// process is never made here.
type process struct {
	tail  *tail
	ended chan struct{}
	err   error
}

// spawn returns an error: a server that would outlive this process, or leave
// processes behind, is not started.
func spawn(_ string, _, _ []string, _ io.Writer, _ time.Duration) (*process, error) {
	return nil, fmt.Errorf("%w: on %s none is started from here; start one yourself and give its address", ErrNoServer, runtime.GOOS)
}

func (p *process) stop() {}

// writeWhole writes a file that is there as a whole or not at all.
func writeWhole(path string, content []byte) error {
	part := path + ".part"
	if err := os.WriteFile(part, content, 0o600); err != nil {
		return err
	}
	return os.Rename(part, path)
}
