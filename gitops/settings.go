package gitops

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// settings is what the making of a worktree has to know of git's
// configuration, whichever file sets it.
type settings struct {
	// values are shared, and not to be changed.
	values map[string][]string
	// mainTop is the top of the main checkout, "" where there is none.
	mainTop string
	// hooks is the directory of the hooks.
	hooks string
	// hooksInTree is true where the hooks lie in a work tree of the project:
	// they are code that the repository brings.
	hooksInTree bool
}

// settings reads the configuration as it holds for the project.
func (r *Repository) settings(ctx context.Context, p workspace.Project) (*settings, error) {
	values, err := r.configuration(ctx, p)
	if err != nil {
		return nil, err
	}
	s := &settings{values: values}
	if s.mainTop, err = r.mainTop(ctx, p); err != nil {
		return nil, err
	}
	return s, s.findHooks(ctx, r, p)
}

func (s *settings) get(key string) string {
	v := s.values[key]
	if len(v) == 0 {
		return ""
	}
	return v[len(v)-1]
}

// truth returns a boolean setting as git reads it; what is no boolean is true.
func (s *settings) truth(key string) bool {
	switch strings.ToLower(s.get(key)) {
	case "", "false", "no", "off", "0":
		return false
	}
	return true
}

// findHooks finds the directory that git takes hooks from when it is run in
// the main checkout.
func (s *settings) findHooks(ctx context.Context, r *Repository, p workspace.Project) error {
	s.hooks = filepath.Join(p.ID, "hooks")
	if configured := s.get("core.hookspath"); configured != "" {
		if strings.HasPrefix(configured, "~") {
			expanded, err := r.git.line(ctx, command{dir: workDir(p), args: []string{"config", "--type=path", "--get", "core.hooksPath"}})
			if err != nil {
				return failure("create", "the setting core.hooksPath can't be read; nothing was made", "correct it", err)
			}
			configured = expanded
		}
		if !filepath.IsAbs(configured) {
			// Taken relative to a checkout, it is whatever that holds.
			s.hooksInTree = !p.Bare
			if s.mainTop != "" {
				configured = filepath.Join(s.mainTop, configured)
			} else {
				configured = filepath.Join(p.ID, configured)
			}
		}
		s.hooks = configured
	}
	if !s.hooksInTree {
		s.hooksInTree = s.inWorkTree(p, resolveExisting(s.hooks))
	}
	return nil
}

// inWorkTree reports whether a resolved path lies in a checkout of the
// project and not in its git directory.
func (s *settings) inWorkTree(p workspace.Project, path string) bool {
	if within(path, p.ID) {
		return false
	}
	for _, top := range []string{p.TopLevel, s.mainTop} {
		if top != "" && within(path, resolveExisting(top)) {
			return true
		}
	}
	entries, err := readEntries(p.ID)
	return err != nil || slices.ContainsFunc(entries, func(e entry) bool {
		return e.directory != "" && within(path, resolveExisting(e.directory))
	})
}

// hooksOff is the configuration for a git command that must not run the hooks
// which the repository brings.
func (s *settings) hooksOff(allowed bool) []string {
	if s.hooksInTree && !allowed {
		return []string{"core.hooksPath=" + os.DevNull}
	}
	return nil
}

// sshEnv keeps ssh from asking questions, unless the user chose how ssh is
// called.
func (r *Repository) sshEnv(s *settings) []string {
	chosen := slices.ContainsFunc(r.git.env, func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_SSH_COMMAND=") || strings.HasPrefix(kv, "GIT_SSH=")
	})
	if chosen || s.get("core.sshcommand") != "" {
		return nil
	}
	return []string{"GIT_SSH_COMMAND=ssh -oBatchMode=yes"}
}

// fetches reports whether an ordinary fetch from the remote would bring the
// branch, so that a missing tracking ref says something.
func (s *settings) fetches(remote, branch string) bool {
	ref := "refs/heads/" + branch
	for _, spec := range s.values["remote."+remote+".fetch"] {
		source, _, _ := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
		before, after, glob := strings.Cut(source, "*")
		if source == ref || glob && strings.HasPrefix(ref, before) && strings.HasSuffix(ref, after) {
			return true
		}
	}
	return false
}
