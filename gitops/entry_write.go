package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// writable reports whether an entry that is written here is what "git worktree
// add" would write: no other ref storage, no configuration or sparse checkout
// that git would copy into it, no modes or paths of another kind.
func (s *settings) writable(x *refs) bool {
	if x.store == nil || s.truth("core.sparsecheckout") || s.truth("core.prefersymlinkrefs") || s.truth("worktree.userelativepaths") {
		return false
	}
	if shared := s.get("core.sharedrepository"); shared != "umask" && s.truth("core.sharedrepository") {
		return false
	}
	for key := range s.values {
		switch name, ok := strings.CutPrefix(key, "extensions."); {
		case !ok, name == "partialclone", name == "preciousobjects", name == "noop":
		default:
			return false
		}
	}
	return true
}

// writeOnce makes a new branch and its entry as addOnce does, with one process
// in place of three. The entry is written where nobody sees it and appears as a
// whole.
func (m *making) writeOnce(ctx context.Context, lock *repoLock, made choice) (admin string, err error) {
	m.r.at("no branch yet")
	if err := m.writeBranch(ctx, lock, made); err != nil {
		return "", err
	}
	m.r.at("branch")
	by := m.marker(made)
	admin, err = m.r.newEntry(m.req.Project.ID, filepath.Base(made.plan.Directory), entryFiles{
		directory: made.plan.Directory, head: "ref: refs/heads/" + made.plan.Branch, reason: makingReason + by.Attempt, by: &by,
	})
	if err != nil {
		return "", err
	}
	m.r.at("entry")
	err = writeDotGit(made.plan.Directory, admin)
	m.r.at("directory")
	return admin, err
}

// branchReason is what the log of a new branch says, before the commit.
const branchReason = "branch: Created from "

// writeBranch makes the branch, which must not be there.
func (m *making) writeBranch(ctx context.Context, lock *repoLock, made choice) error {
	ref := "refs/heads/" + made.plan.Branch
	if b := m.branch; b != nil && !b.used && b.start == made.start {
		return b.make(ref)
	}
	_, err := m.r.git.run(ctx, command{
		dir: workDir(m.req.Project), write: true,
		args:   []string{"update-ref", "-m", branchReason + made.start, ref, made.start, strings.Repeat("0", len(made.start))},
		config: m.set.hooksOff(m.req.Setup), inherit: append(lock.inherit(), m.req.Inherit...),
	})
	return err
}

// entryFiles is what a new entry says.
type entryFiles struct {
	directory, head string
	// reason is that of its lock.
	reason string
	// by is the mark of who makes it, nil for none.
	by *marker
}

// newEntry writes the entry of a worktree under the name, with a number behind
// it where that is taken, as git names it. What a crash leaves of it lies where
// remains of entries are cleared.
func (r *Repository) newEntry(commonDir, name string, f entryFiles) (admin string, err error) {
	if err := os.MkdirAll(deadDir(commonDir), 0o755); err != nil {
		return "", err
	}
	hidden, err := os.MkdirTemp(deadDir(commonDir), name+"-")
	if err != nil {
		return "", err
	}
	built := filepath.Join(hidden, "entry")
	if err = os.Mkdir(built, 0o777); err == nil {
		err = errors.Join(
			writeNew(filepath.Join(built, "locked"), f.reason),
			writeNew(filepath.Join(built, "gitdir"), filepath.Join(f.directory, ".git")),
			writeNew(filepath.Join(built, "HEAD"), f.head),
			writeNew(filepath.Join(built, "commondir"), "../.."),
		)
	}
	if err == nil && f.by != nil {
		err = writeMarker(built, *f.by)
	}
	r.at("entry built")
	if err == nil {
		admin, err = placeEntry(commonDir, built, name)
	}
	return admin, errors.Join(err, os.RemoveAll(hidden))
}

// placeEntry gives an entry a place among those of the repository, under the
// name or, where that is taken, with the first number behind it.
func placeEntry(commonDir, built, name string) (admin string, err error) {
	root := filepath.Join(commonDir, "worktrees")
	if err := os.Mkdir(root, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	for i := 0; ; i++ {
		admin = filepath.Join(root, name)
		if i > 0 {
			admin += strconv.Itoa(i)
		}
		if err := renameNew(built, admin); !errors.Is(err, fs.ErrExist) || i == maxVariants {
			return admin, err
		}
	}
}

// renameOver renames a directory to a name that it makes sure of by making it:
// a directory may be renamed over an empty one. Between the two others see the
// empty one.
func renameOver(from, to string) error {
	if err := os.Mkdir(to, 0o777); err != nil {
		return err
	}
	if err := unix.Rename(from, to); err != nil {
		_ = os.Remove(to)
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// writeNew writes a file of one line, with the mode that git would give it.
func writeNew(path, line string) error {
	return os.WriteFile(path, []byte(line+"\n"), 0o666) //nolint:gosec // what git leaves to the umask
}

// writeDotGit makes the directory, which may be there and empty, that of the
// entry.
func writeDotGit(directory, admin string) error {
	if err := os.Mkdir(directory, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if empty, err := emptyOrAbsent(directory); err != nil || !empty {
		return errors.Join(err, fmt.Errorf("%s is not empty", directory))
	}
	return writeNew(filepath.Join(directory, ".git"), "gitdir: "+admin)
}

// firstLog puts the line before those of a fresh worktree's log of HEAD that
// "git worktree add" writes when it puts HEAD on its branch.
func firstLog(admin string) error {
	path := filepath.Join(admin, "logs", "HEAD")
	content, err := os.ReadFile(path)
	if isAbsent(err) {
		return nil // no log is kept
	}
	if err != nil {
		return err
	}
	line, _, _ := bytes.Cut(content, []byte{'\n'})
	who, _, ok := bytes.Cut(line, []byte{'\t'})
	fields := bytes.SplitN(who, []byte{' '}, 3)
	if !ok || len(fields) != 3 {
		return nil
	}
	first := fmt.Sprintf("%s %s %s\n", strings.Repeat("0", len(fields[1])), fields[1], fields[2])
	return replaceLike(path, append([]byte(first), content...))
}

// replaceLike is replaceFile with the mode that the file has.
func replaceLike(path string, content []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
