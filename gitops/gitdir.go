package gitops

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/threadtree/threadtree/workspace"
)

// place is where a directory stands in git's eyes.
type place struct {
	// directory is the resolved directory that was asked about.
	directory string
	// dotGit is the .git that was found, "" where directory lies in a git
	// directory.
	dotGit string
	// beside is the resolved directory that dotGit was found in.
	beside string
	// gitDir is the resolved git directory: for a linked worktree its entry.
	gitDir string
	// common is the resolved common git directory.
	common string
}

// linked reports whether the place is a linked worktree. A submodule is none:
// its git directory is nobody's entry.
func (p place) linked() bool { return p.gitDir != p.common }

// findPlace walks up from a resolved directory to the repository that it lies
// in, as git does.
func findPlace(directory string) (place, error) {
	p := place{directory: directory}
	device, err := deviceOf(directory)
	if err != nil {
		return p, err
	}
	for current := directory; ; {
		found, err := p.try(current)
		if found || err != nil {
			return p, err
		}
		parent := filepath.Dir(current)
		if parent == current {
			break
		}
		// git stops where another file system begins.
		if d, err := deviceOf(parent); err != nil || d != device {
			break
		}
		current = parent
	}
	return p, &workspace.Error{
		Code:    workspace.ErrNotARepository,
		Message: fmt.Sprintf("%s lies in no git repository", directory),
		Hint:    "give a directory of a git repository, or make one with: git init",
	}
}

// try looks for a repository at one directory.
func (p *place) try(current string) (found bool, err error) {
	dotGit := filepath.Join(current, ".git")
	info, err := os.Stat(dotGit)
	switch {
	case err == nil && info.Mode().IsRegular():
		p.dotGit, p.beside = dotGit, current
		return true, p.follow()
	case err == nil && info.IsDir():
		ok, err := p.settle(dotGit)
		if ok || err != nil {
			p.dotGit, p.beside = dotGit, current
			return ok, err
		}
	case err != nil && !isAbsent(err):
		return false, unreadable(current, err)
	}
	return p.settle(current)
}

// settle takes dir for the git directory if it is one.
func (p *place) settle(dir string) (bool, error) {
	common, err := gitDirectory(dir)
	if err != nil || common == "" {
		return false, err
	}
	if p.gitDir, err = filepath.EvalSymlinks(dir); err != nil {
		return false, unreadable(dir, err)
	}
	if p.common, err = filepath.EvalSymlinks(common); err != nil {
		return false, unreadable(common, err)
	}
	return true, nil
}

// follow goes where the .git file points.
func (p *place) follow() error {
	target, err := readGitFile(p.dotGit)
	if err != nil {
		if isAbsent(err) || errors.Is(err, fs.ErrPermission) {
			return unreadable(p.dotGit, err)
		}
		return &workspace.Error{
			Code:    workspace.ErrNotARepository,
			Message: fmt.Sprintf("%s doesn't name a git directory", p.dotGit),
			Hint:    "see what the file is; a worktree's is mended with: git worktree repair",
			Err:     err,
		}
	}
	ok, err := p.settle(target)
	if ok || err != nil {
		return err
	}
	return missingGitDir(p.beside, target)
}

// missingGitDir says what became of the git directory that a .git file names.
func missingGitDir(directory, target string) error {
	worktrees := filepath.Dir(target)
	common := filepath.Dir(worktrees)
	e := &workspace.Error{
		Code:    workspace.ErrNotARepository,
		Message: fmt.Sprintf("the git directory %s of %s is missing or broken; the files are kept", target, directory),
		Hint:    "see whether the repository was moved",
	}
	if filepath.Base(worktrees) != "worktrees" {
		return e
	}
	main := strings.TrimSuffix(common, "/.git")
	if _, err := os.Stat(common); isAbsent(err) {
		e.Message = fmt.Sprintf("main repository missing at %s; files in the worktree %s are kept", main, directory)
		e.Hint = "bring the repository back, or, where it was moved, run in it: git worktree repair " + quoted(directory)
		return e
	}
	e.Message = fmt.Sprintf("the repository %s has no whole entry %s for the worktree %s any more; its files are kept",
		main, filepath.Base(target), directory)
	e.Hint = "copy what is needed out of the directory, or make the worktree anew and move the files there"
	return e
}

// readGitFile returns the git directory that a .git file names.
func readGitFile(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	target, ok := parseGitFile(data)
	if !ok {
		return "", errors.New("no gitdir line in it")
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return filepath.Clean(target), nil
}

// parseGitFile reads the content of a .git file.
func parseGitFile(data []byte) (string, bool) {
	target, ok := bytes.CutPrefix(data, []byte("gitdir: "))
	target = bytes.TrimRight(target, "\r\n")
	return string(target), ok && len(target) > 0 && bytes.IndexByte(target, 0) < 0
}

// gitDirectory returns the common directory of dir if dir is a git directory,
// "" otherwise.
func gitDirectory(dir string) (string, error) {
	head, err := readHead(dir)
	if err != nil {
		if isAbsent(err) || errors.Is(err, syscall.EISDIR) {
			return "", nil
		}
		return "", unreadable(dir, err)
	}
	if head == (headFile{}) {
		return "", nil
	}
	common, err := commonOf(dir)
	if err != nil {
		return "", err
	}
	for _, part := range []string{"objects", "refs"} {
		info, err := os.Stat(filepath.Join(common, part))
		if err != nil && !isAbsent(err) {
			return "", unreadable(common, err)
		}
		if err != nil || !info.IsDir() {
			return "", nil
		}
	}
	return common, nil
}

// commonOf returns the common directory of a git directory.
func commonOf(gitDir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if isAbsent(err) {
		return gitDir, nil
	}
	if err != nil {
		return "", unreadable(gitDir, err)
	}
	common := strings.TrimRight(string(data), "\r\n")
	if common == "" {
		return "", &workspace.Error{
			Code:    workspace.ErrNotARepository,
			Message: fmt.Sprintf("the worktree's entry %s is half written: its commondir file is empty", gitDir),
			Hint:    "wait if a git command runs there; else remove that one entry by hand",
		}
	}
	if !filepath.IsAbs(common) {
		common = filepath.Join(gitDir, common)
	}
	return filepath.Clean(common), nil
}

// headFile is what a HEAD file says: a ref or an object id.
type headFile struct {
	ref string
	sha string
}

// branch returns the short name of the branch, "" where HEAD is none.
func (h headFile) branch() string {
	if b, ok := strings.CutPrefix(h.ref, "refs/heads/"); ok {
		return b
	}
	return ""
}

// readHead reads the HEAD file of a git directory. It is zero where the file
// says neither.
func readHead(gitDir string) (headFile, error) {
	path := filepath.Join(gitDir, "HEAD")
	// Very old repositories, and core.preferSymlinkRefs, have a link there.
	if target, err := os.Readlink(path); err == nil && strings.HasPrefix(target, "refs/") {
		return headFile{ref: target}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return headFile{}, err
	}
	return parseHead(data), nil
}

// parseHead reads the content of a HEAD file.
func parseHead(data []byte) headFile {
	text := strings.TrimRight(string(data), " \t\r\n")
	if ref, ok := strings.CutPrefix(text, "ref:"); ok {
		ref = strings.TrimLeft(ref, " \t")
		if !strings.HasPrefix(ref, "refs/") || strings.IndexByte(ref, 0) >= 0 {
			return headFile{}
		}
		return headFile{ref: ref}
	}
	if isObjectID(text) {
		return headFile{sha: text}
	}
	return headFile{}
}

// isObjectID reports whether text is a whole object id, SHA-1 or SHA-256.
func isObjectID(text string) bool {
	if len(text) != 40 && len(text) != 64 {
		return false
	}
	return strings.Trim(text, "0123456789abcdef") == ""
}

// isAbsent reports whether err says that there is no such file.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// unreadable is the error for a file that can't be looked at.
func unreadable(path string, err error) error {
	e := &workspace.Error{
		Code:    workspace.ErrGitFailed,
		Message: fmt.Sprintf("%s can't be read: %v", path, err),
		Err:     err,
	}
	if errors.Is(err, fs.ErrPermission) {
		e.Code = workspace.ErrPermissionDenied
		e.Hint = "see that this user may read the repository"
	}
	return e
}

func deviceOf(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, unreadable(path, err)
	}
	return uint64(info.Sys().(*syscall.Stat_t).Dev), nil //nolint:unconvert // its type differs between systems
}
