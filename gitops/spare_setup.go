package gitops

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/threadtree/threadtree/workspace"
)

// spareSetup is what a set-up has done in a spare.
type spareSetup struct {
	// Options stand for what was asked for, Include for the file that names
	// what is copied.
	Options string `json:"options"`
	Include string `json:"include"`
	// Commit is the one that dependencies were installed for.
	Commit string       `json:"commit"`
	Copied []copiedFile `json:"copied,omitempty"`
}

// copiedFile is a file that was copied, as it was where it came from.
type copiedFile struct {
	Path     string `json:"path"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"`
	Inode    uint64 `json:"inode"`
	Mode     uint32 `json:"mode"`
}

// movableInstalls are the programs whose installed dependencies work wherever the
// folder is. Others write its path into what they install.
var movableInstalls = []string{"npm", "yarn", "bun", "go", "cargo"}

// setupKey stands for what a set-up is asked to do, and where.
func (m *making) setupKey(o SetupOptions) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%t %t %q %q %q %q", o.Copy, o.Install, o.Commands, o.Env, m.req.Project.Subdirectory, m.set.mainTop))
	return hex.EncodeToString(sum[:16])
}

func (m *making) includeKey() string {
	content, err := os.ReadFile(filepath.Join(m.set.mainTop, includeFile))
	sum := sha256.Sum256(fmt.Appendf(content, "%t", err == nil))
	return hex.EncodeToString(sum[:16])
}

// ahead reports whether the set-up can be done in a spare, before anybody has
// claimed it: not what comes after submodules or a hook, what the operator's
// commands do, or what knows the path of its folder.
func (s *spare) ahead(m *making, o SetupOptions) bool {
	if o.nothing() || len(o.Commands) > 0 {
		return false
	}
	if _, err := os.Lstat(filepath.Join(s.rec.Directory, ".gitmodules")); err == nil {
		return false
	}
	if info, err := os.Stat(filepath.Join(m.set.hooks, "post-checkout")); err == nil && info.Mode().Perm()&0o111 != 0 {
		return false
	}
	steps, warnings := planSteps(s.setupRequest(m, o), nil)
	return len(warnings) == 0 && !slices.ContainsFunc(steps, func(step setupStep) bool { return !slices.Contains(movableInstalls, step.argv[0]) })
}

func (s *spare) setupRequest(m *making, o SetupOptions) setupRequest {
	return setupRequest{
		options: o, source: m.set.mainTop, directory: s.rec.Directory, subdirectory: m.req.Project.Subdirectory,
		inherit: append(s.inherit(), m.req.Inherit...), idle: m.idle,
	}
}

// setUp does the set-up in a spare. ok is false where it went less than well:
// its warnings are for the one who gets the worktree.
func (s *spare) setUp(ctx context.Context, m *making, o SetupOptions) (ok bool, err error) {
	done := spareSetup{Options: m.setupKey(o), Include: m.includeKey(), Commit: s.rec.Commit}
	if s.rec.Setup != nil {
		if done.Copied, err = s.rec.Setup.refresh(m, s.rec.Directory); err != nil {
			return false, err
		}
	}
	q := s.setupRequest(m, o)
	q.copied = func(path string) {
		if f, err := m.copiedFrom(path); err == nil {
			done.Copied = append(done.Copied, f)
		}
	}
	warnings := s.r.setup(ctx, q)
	s.rec.Setup = &done
	return len(warnings) == 0, ctx.Err()
}

func (m *making) copiedFrom(path string) (copiedFile, error) {
	info, err := os.Lstat(filepath.Join(m.set.mainTop, filepath.FromSlash(path)))
	if err != nil {
		return copiedFile{}, err
	}
	f := copiedFile{Path: path, Size: info.Size(), Modified: info.ModTime().UnixNano(), Mode: uint32(info.Mode())}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		f.Inode = stat.Ino
	}
	return f, nil
}

// refresh removes from a worktree the copies that are no longer what their
// files are, or no longer asked for, and returns the others.
func (u *spareSetup) refresh(m *making, directory string) (kept []copiedFile, err error) {
	if len(u.Copied) == 0 {
		return nil, nil
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	same := u.Include == m.includeKey()
	for _, f := range u.Copied {
		if now, err := m.copiedFrom(f.Path); same && err == nil && now == f {
			kept = append(kept, f)
			continue
		}
		if err := root.Remove(f.Path); err != nil && !isAbsent(err) {
			return nil, err
		}
	}
	return kept, nil
}

// meets reports whether one of the paths is where a copy lies, or its folder, or
// below it.
func (u *spareSetup) meets(paths map[string]bool) bool {
	if u == nil {
		return false
	}
	copied := make(map[string]bool)
	for _, f := range u.Copied {
		if copied[f.Path] = true; paths[f.Path] {
			return true
		}
	}
	return below(copied, paths) || below(paths, copied)
}

// setupAfter is what is left of a set-up for a worktree that was a spare: what
// is copied is looked at again, and what was installed for this commit is there.
func (m *making) setupAfter(o SetupOptions, made choice) SetupOptions {
	if m.setup == nil {
		return o
	}
	if _, err := m.setup.refresh(m, made.plan.Directory); err != nil {
		m.warn(workspace.PhaseCopy, "copies of ignored files may be old: %s", because(err))
	}
	if m.setup.Commit == m.start {
		o.Install = false
	}
	return o
}

// usable reports whether a spare may be handed out to the create as far as
// set-up goes: what the repository's code has done in one is for those alone
// who allow it.
func (s *spare) usable(m *making) bool {
	return s.rec.Setup == nil || m.req.Setup && s.rec.Setup.Options == m.setupKey(m.p.o.Setup)
}
