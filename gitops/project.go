package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/threadtree/threadtree/workspace"
)

// Open finds the project that directory belongs to: the repository around it,
// whichever of its checkouts it lies in. A leading "~" is not expanded. The
// codes are not_found, not_a_repository, permission_denied and git_failed.
// Nothing is written, and no process is started for a repository that is the
// user's own.
func (r *Repository) Open(ctx context.Context, directory string) (workspace.Project, error) {
	s, err := r.site(ctx, directory)
	if err != nil {
		return workspace.Project{}, withOp("open", err)
	}
	return s.project(directory), nil
}

// site is a place and what its configuration makes of it.
type site struct {
	place
	// top is the resolved top of the checkout, "" where there is none.
	top string
	// bare is true where the repository has no checkout of its own.
	bare bool
	// fault says what keeps git from working in a linked worktree, "" if
	// nothing does.
	fault string
}

// site finds out all about a directory.
func (r *Repository) site(ctx context.Context, directory string) (site, error) {
	resolved, err := resolveDirectory(directory)
	if err != nil {
		return site{}, err
	}
	p, err := findPlace(resolved)
	if err != nil {
		return site{}, err
	}
	s := site{place: p}
	if err := r.settleCheckout(ctx, &s); err != nil {
		return site{}, err
	}
	return s, r.checkOwner(ctx, s)
}

// resolveDirectory returns the directory's absolute path without symlinks.
func resolveDirectory(directory string) (string, error) {
	if directory == "" {
		return "", &workspace.Error{
			Code:    workspace.ErrNotFound,
			Message: "no directory was given",
			Hint:    "give the directory of a git repository",
		}
	}
	abs, err := filepath.Abs(directory)
	if err != nil {
		return "", unreadable(directory, err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "", unreadable(abs, err)
	case err != nil:
		hint := "check the spelling"
		if strings.HasPrefix(directory, "~") {
			hint = `write the home directory out: a leading "~" is not expanded`
		}
		return "", &workspace.Error{
			Code:    workspace.ErrNotFound,
			Message: fmt.Sprintf("there is no directory %s", abs),
			Hint:    hint,
			Err:     err,
		}
	case !info.IsDir():
		return "", &workspace.Error{
			Code:    workspace.ErrNotARepository,
			Message: fmt.Sprintf("%s is a file, not a directory", abs),
			Hint:    "give the directory of a git repository",
		}
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", unreadable(abs, err)
	}
	return resolved, nil
}

// checkOwner refuses a repository that git would refuse because it is somebody
// else's. The owners are looked at here, and only where one is another user is
// git asked, which knows the exceptions that the user has configured.
func (r *Repository) checkOwner(ctx context.Context, s site) error {
	user := uint32(os.Geteuid())
	for _, path := range []string{s.dotGit, s.top, s.gitDir} {
		if path == "" {
			continue
		}
		info, err := os.Lstat(path)
		if err != nil {
			return unreadable(path, err)
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || stat.Uid == user {
			continue
		}
		if _, err := r.git.run(ctx, command{dir: s.directory, args: []string{"rev-parse", "--git-dir"}}); err != nil {
			if exitCode(err) < 0 {
				return failure("", "git could not be asked about the repository", "", err)
			}
			top := s.top
			if top == "" {
				top = s.gitDir
			}
			return &workspace.Error{
				Code:    workspace.ErrPermissionDenied,
				Message: fmt.Sprintf("%s belongs to another user, and git doesn't trust it", path),
				Hint:    "if you trust it, run: git config --global --add safe.directory " + quoted(top),
				Err:     err,
			}
		}
		return nil
	}
	return nil
}

// project returns the site as a project that was spelled so.
func (s site) project(directory string) workspace.Project {
	p := workspace.Project{
		ID:        s.common,
		Directory: directory,
		TopLevel:  s.top,
		Name:      projectName(s.common),
		Bare:      s.bare,
	}
	if s.top == "" {
		return p
	}
	if rel, err := filepath.Rel(s.top, s.directory); err == nil && rel != "." && filepath.IsLocal(rel) && !within(s.directory, s.common) {
		p.Subdirectory = filepath.ToSlash(rel)
	}
	return p
}

// projectName makes a name from the place of the common git directory.
func projectName(common string) string {
	base := filepath.Base(common)
	if strings.HasPrefix(base, ".") {
		base = filepath.Base(filepath.Dir(common))
	}
	if name := workspace.Slug(strings.TrimSuffix(base, ".git")); name != "" {
		return name
	}
	return "project"
}

// within reports whether path is dir or lies below it. Both are clean.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// withOp names the operation of an error for a person.
func withOp(op string, err error) error {
	var e *workspace.Error
	if errors.As(err, &e) && e.Op == "" {
		named := *e
		named.Op = op
		return &named
	}
	return err
}

// mainTop returns the top of the project's main checkout, "" where it has none
// or where only the checkout itself knows it.
func (r *Repository) mainTop(ctx context.Context, p workspace.Project) (string, error) {
	if p.Bare {
		return "", nil
	}
	c, err := r.git.checkoutConfig(ctx, p.ID, p.ID)
	if err != nil {
		return "", unreadable(p.ID, err)
	}
	s := site{place: place{gitDir: p.ID, common: p.ID}}
	switch {
	case c.worktree != "":
		err := s.setTop(c.worktree)
		return s.top, err
	case filepath.Base(p.ID) == ".git":
		return filepath.Dir(p.ID), nil
	}
	if gitDir, err := checkoutGitDir(p); err == nil && gitDir == p.ID {
		return p.TopLevel, nil
	}
	return "", nil
}
