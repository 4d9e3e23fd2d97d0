package gitops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

const (
	// halfWritten is how often an entry that isn't whole is read again: git
	// writes the files of an entry one by one, and removes them so.
	halfWritten      = 3
	halfWrittenPause = 2 * time.Millisecond
)

// recordFiles are the files of a worktree's entry; nil where one isn't there.
type recordFiles struct {
	gitdir, head, commondir, locked []byte
}

// record is a linked worktree as the repository has it in its records.
type record struct {
	// admin is the path of the entry.
	admin string
	// dotGit is the path of the worktree's .git file, "" if it isn't known.
	dotGit string
	head   headFile
	locked bool
	reason string
	// fault says what is wrong with the entry, "" if nothing is.
	fault string
	// partial is true where files are missing that are written later than the
	// entry is made.
	partial bool
}

// directory is the top of the worktree.
func (e record) directory() string {
	if e.dotGit == "" {
		return ""
	}
	return strings.TrimSuffix(e.dotGit, "/.git")
}

// parseRecord reads the content of an entry's files.
func parseRecord(admin string, f recordFiles) record {
	e := record{admin: admin, locked: f.locked != nil, reason: strings.TrimSpace(string(f.locked))}
	e.reason = strings.ToValidUTF8(e.reason, "\uFFFD")
	var faults []string
	gitdir := strings.TrimRight(string(f.gitdir), " \t\n\v\f\r")
	switch {
	case f.gitdir == nil:
		faults = append(faults, "its gitdir file is missing, so where the worktree is isn't known")
	case gitdir == "" || strings.IndexByte(gitdir, 0) >= 0:
		faults = append(faults, "its gitdir file is empty or broken, so where the worktree is isn't known")
	case filepath.IsAbs(gitdir):
		e.dotGit = filepath.Clean(gitdir)
	default:
		e.dotGit = filepath.Join(admin, gitdir)
	}
	e.head = parseHead(f.head)
	switch {
	case f.head == nil:
		faults = append(faults, "its HEAD file is missing")
	case e.head == (headFile{}):
		faults = append(faults, "its HEAD file is empty or broken")
	}
	switch {
	case f.commondir == nil:
		faults = append(faults, "its commondir file is missing")
	case strings.TrimSpace(string(f.commondir)) == "":
		faults = append(faults, "its commondir file is empty, which keeps git from listing any worktree")
	}
	if len(faults) > 0 {
		e.partial = true
		e.fault = fmt.Sprintf("the entry %s is half written or damaged: %s", filepath.Base(admin), strings.Join(faults, "; "))
	}
	return e
}

// readRecord reads an entry. ok is false where it isn't there any more.
func readRecord(admin string) (e record, ok bool, err error) {
	for try := 0; ; try++ {
		f, err := readRecordFiles(admin)
		if err != nil {
			return record{}, false, err
		}
		e = parseRecord(admin, f)
		if !e.partial {
			readLinkedHead(&e)
			return e, true, nil
		}
		if info, err := os.Stat(admin); err != nil || !info.IsDir() {
			return record{}, false, nil
		}
		if try == halfWritten {
			return e, true, nil
		}
		time.Sleep(halfWrittenPause)
	}
}

// readLinkedHead takes a HEAD that is a symbolic link, of which the content of
// the ref was read.
func readLinkedHead(e *record) {
	if e.head.sha == "" {
		return
	}
	if h, err := readHead(e.admin); err == nil && h.ref != "" {
		e.head = h
	}
}

func readRecordFiles(admin string) (f recordFiles, err error) {
	for _, file := range []struct {
		name string
		to   *[]byte
	}{{"gitdir", &f.gitdir}, {"HEAD", &f.head}, {"commondir", &f.commondir}, {"locked", &f.locked}} {
		data, err := os.ReadFile(filepath.Join(admin, file.name))
		switch {
		case err == nil:
			*file.to = data
			if data == nil {
				*file.to = []byte{}
			}
		case isAbsent(err), errors.Is(err, syscall.EISDIR):
		default:
			return f, unreadable(admin, err)
		}
	}
	return f, nil
}

// readRecords reads all records of the repository with that common directory.
// One that goes away meanwhile is left out.
func readRecords(common string) ([]record, error) {
	root := filepath.Join(common, "worktrees")
	listed, err := os.ReadDir(root)
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(root, err)
	}
	records := make([]*record, len(listed))
	errs := make([]error, len(listed))
	inParallel(len(listed), func(i int) {
		if !listed[i].IsDir() {
			return
		}
		e, ok, err := readRecord(filepath.Join(root, listed[i].Name()))
		if errs[i] = err; ok {
			records[i] = &e
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	found := make([]record, 0, len(records))
	for _, e := range records {
		if e != nil {
			found = append(found, *e)
		}
	}
	return found, nil
}

// inParallel calls do for each i below n, as many at once as Go may use
// processors.
func inParallel(n int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}

// look finds out what is on disk where the entry says that its worktree is. It
// leaves out what is checked out there.
func (e record) look() workspace.Worktree {
	w := workspace.Worktree{
		Directory:  e.directory(),
		Admin:      filepath.Base(e.admin),
		Locked:     e.locked,
		LockReason: e.reason,
		Broken:     e.fault,
		Spare:      e.spare(),
	}
	if e.dotGit == "" {
		if !e.locked {
			w.Prunable = "its gitdir file is missing or not valid"
		}
		return w
	}
	info, err := os.Lstat(e.dotGit)
	switch {
	case err == nil:
		if w.Broken == "" {
			w.Broken = e.backFault(info)
		}
		return w
	case !isAbsent(err):
		w.Broken = joinFault(w.Broken, fmt.Sprintf("%s can't be looked at: %v", w.Directory, err))
		return w
	}
	if !e.locked {
		w.Prunable = "gitdir file points to non-existent location"
	}
	// What is there without its .git may be a person's files.
	if _, err := os.Lstat(w.Directory); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		w.Missing = true
	} else {
		w.Broken = joinFault(w.Broken, fmt.Sprintf("%s is no working copy: it has no .git file", w.Directory))
	}
	return w
}

// backFault says what is wrong with the worktree's .git file, "" if it points
// back to the entry.
func (e record) backFault(info os.FileInfo) string {
	if info.IsDir() {
		return fmt.Sprintf("%s is a repository of its own now", e.directory())
	}
	target, err := readGitFile(e.dotGit)
	if err != nil {
		return fmt.Sprintf("%s can't be read: %v", e.dotGit, err)
	}
	if target == e.admin || samePlace(target, e.admin) {
		return ""
	}
	return fmt.Sprintf("%s belongs to %s and not to this entry; if it was moved, run: git worktree repair", e.directory(), target)
}

// samePlace reports whether two paths lead to one directory or file.
func samePlace(a, b string) bool {
	if a == b {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func joinFault(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
