package gitops

import (
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// cloneFile makes the file name, which must not be there, in dst. cloned is
// true where it shares its contents with src, until one of them is written;
// otherwise it is empty.
func cloneFile(src *os.File, dst *os.Root, name string) (out *os.File, cloned bool, err error) {
	if fclone(src, dst, name) == nil {
		// The clone has the source's mode, which may not let it be written.
		if out, err = dst.Open(name); err == nil {
			return out, true, nil
		}
		_ = dst.Remove(name)
		return nil, false, err
	}
	out, err = createFile(dst, name)
	return out, false, err
}

func fclone(src *os.File, dst *os.Root, name string) error {
	folder, err := dst.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer folder.Close()
	return unix.Fclonefileat(int(src.Fd()), int(folder.Fd()), path.Base(name), unix.CLONE_NOFOLLOW)
}
