package gitops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/threadtree/threadtree/workspace"
)

// copyChunk is how much is copied between two looks at the context.
const copyChunk = 8 << 20

// errSkip is the reason why a file is left out.
type errSkip string

func (e errSkip) Error() string { return string(e) }

// folderStates remembers of each folder of the fresh worktree why nothing may
// be put into it, "" if something may.
type folderStates map[string]string

func (s folderStates) check(dst *os.Root, folder string) string {
	if folder == "." {
		return ""
	}
	if reason, ok := s[folder]; ok {
		return reason
	}
	reason := s.check(dst, path.Dir(folder))
	if reason == "" {
		reason = folderState(dst, folder)
	}
	s[folder] = reason
	return reason
}

func folderState(dst *os.Root, folder string) string {
	info, err := dst.Lstat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil || !info.IsDir():
		return skipInTheWay
	}
	if _, err := dst.Lstat(path.Join(folder, ".git")); err == nil {
		return skipNested
	}
	return ""
}

// place copies the files. One that fails doesn't keep the others out.
func (c *copying) place(ctx context.Context, files []ignoredFile) error {
	var size int64
	for _, f := range files {
		size += f.size
	}
	c.q.tell(workspace.PhaseCopy, fmt.Sprintf("Copying %s, %s", plural(len(files), "ignored file"), byteSize(size)))
	made := make(map[string]bool)
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := c.placeOne(ctx, f.path, made)
		var skip errSkip
		switch {
		case err == nil:
			if c.q.copied != nil {
				c.q.copied(f.path)
			}
		case errors.Is(err, fs.ErrExist):
		case errors.As(err, &skip):
			c.skipped.add(string(skip), f.path)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
			return err
		default:
			c.skipped.addError(f.path, err)
		}
	}
	return nil
}

func (c *copying) placeOne(ctx context.Context, name string, made map[string]bool) error {
	info, err := c.src.Lstat(name)
	if err != nil {
		return err
	}
	link := info.Mode()&fs.ModeSymlink != 0
	if !link && !info.Mode().IsRegular() {
		return errSkip(skipSpecial)
	}
	if err := c.makeFolder(path.Dir(name), made); err != nil {
		return err
	}
	if link {
		return c.placeLink(name)
	}
	return c.placeFile(ctx, name)
}

// makeFolder makes a folder and those above it, as open as the source's.
func (c *copying) makeFolder(folder string, made map[string]bool) error {
	if folder == "." || made[folder] {
		return nil
	}
	if err := c.makeFolder(path.Dir(folder), made); err != nil {
		return err
	}
	perm := fs.FileMode(0o755)
	if info, err := c.src.Lstat(folder); err == nil && info.IsDir() {
		perm = info.Mode().Perm() | 0o700
	}
	if err := c.dst.Mkdir(folder, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	made[folder] = true
	return nil
}

// placeLink copies a symbolic link whose target lies in the project.
func (c *copying) placeLink(name string) error {
	target, err := c.src.Readlink(name)
	if err != nil {
		return err
	}
	lexical := path.Join(path.Dir(name), filepath.ToSlash(target))
	if filepath.IsAbs(target) || lexical == ".." || strings.HasPrefix(lexical, "../") {
		return errSkip(skipOutside)
	}
	if _, err := c.src.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errSkip(skipOutside)
	}
	return c.dst.Symlink(target, name)
}

// placeFile copies a file with its mode and time of change.
func (c *copying) placeFile(ctx context.Context, name string) (err error) {
	// A pipe that has taken the file's place must not hold us up.
	in, err := c.src.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errSkip(skipSpecial)
	}
	out, cloned, err := cloneFile(in, c.dst, name)
	if err != nil {
		return err
	}
	defer func() {
		if closed := out.Close(); err == nil {
			err = closed
		}
		if err == nil {
			err = c.dst.Chtimes(name, info.ModTime(), info.ModTime())
		} else {
			_ = c.dst.Remove(name)
		}
	}()
	if !cloned {
		if err := copyContents(ctx, out, in); err != nil {
			return err
		}
	}
	return out.Chmod(info.Mode().Perm())
}

// copyContents copies in pieces, inside the kernel where that can be done.
func copyContents(ctx context.Context, dst, src *os.File) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := io.CopyN(dst, src, copyChunk)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// createFile makes a file that isn't there yet, for its owner's eyes only
// until it gets its mode.
func createFile(dst *os.Root, name string) (*os.File, error) {
	return dst.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}
