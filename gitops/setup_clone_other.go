//go:build !linux && !darwin

package gitops

import "os"

// cloneFile makes the file name, which must not be there, in dst, empty: no
// way to share contents is known here.
func cloneFile(_ *os.File, dst *os.Root, name string) (out *os.File, cloned bool, err error) {
	out, err = createFile(dst, name)
	return out, false, err
}
