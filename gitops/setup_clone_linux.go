package gitops

import (
	"os"

	"golang.org/x/sys/unix"
)

// cloneFile makes the file name, which must not be there, in dst. cloned is
// true where it shares its contents with src, until one of them is written;
// otherwise it is empty.
func cloneFile(src *os.File, dst *os.Root, name string) (out *os.File, cloned bool, err error) {
	if out, err = createFile(dst, name); err != nil {
		return nil, false, err
	}
	return out, unix.IoctlFileClone(int(out.Fd()), int(src.Fd())) == nil, nil
}
