package gitops

import (
	"context"
	"crypto/sha256"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// configured is what git made of its configuration, and what the files that it
// is in looked like.
type configured struct {
	values map[string][]string
	files  []string
	print  [sha256.Size]byte
}

// configuration returns all that is configured for the project, by the keys as
// git writes them. It isn't to be changed. git is asked unless all files that
// git reads are as they were when it was asked last.
func (r *Repository) configuration(ctx context.Context, p workspace.Project) (map[string][]string, error) {
	dir := workDir(p)
	key := p.ID + "\x00" + dir
	if last, ok := r.configured.get(key); ok {
		if print, _, ok := printOf(last.files); ok && print == last.print {
			return last.values, nil
		}
	}
	begun := time.Now()
	out, err := r.git.run(ctx, command{dir: dir, args: []string{"config", "-z", "--show-origin", "--list"}})
	if err != nil {
		return nil, failure("create", "the repository's configuration can't be read; nothing was made", "see what git says in that directory", err)
	}
	values, origins := readConfigured(out)
	if files, ok := r.configFiles(p, values, origins); ok {
		if print, seen, ok := printOf(files); ok && seen.settled(begun) {
			r.configured.put(key, configured{values: values, files: files, print: print})
		}
	}
	return values, nil
}

// readConfigured reads the output of "git config -z --show-origin --list", and
// returns the files that have full names, too.
func readConfigured(out []byte) (values map[string][]string, origins []string) {
	values = make(map[string][]string)
	records := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(records); i += 2 {
		if path, ok := strings.CutPrefix(records[i], "file:"); ok && filepath.IsAbs(path) {
			origins = append(origins, path)
		}
		key, value, ok := strings.Cut(records[i+1], "\n")
		if !ok {
			value = "true" // a key without "="
		}
		values[key] = append(values[key], value)
	}
	return values, origins
}

// configFiles are the files that git reads, whether they are there or not. ok is
// false where there may be others: such as files include, or that a worktree
// has of its own.
func (r *Repository) configFiles(p workspace.Project, values map[string][]string, origins []string) (files []string, ok bool) {
	for key := range values {
		if strings.HasPrefix(key, "include.") || strings.HasPrefix(key, "includeif.") || key == "extensions.worktreeconfig" {
			return nil, false
		}
	}
	env := environment(r.git.env)
	xdg := env["XDG_CONFIG_HOME"]
	if xdg == "" {
		xdg = filepath.Join(env["HOME"], ".config")
	}
	files = append(
		origins, filepath.Join(p.ID, "config"), filepath.Join(env["HOME"], ".gitconfig"), filepath.Join(xdg, "git", "config"),
		"/etc/gitconfig", filepath.Join(filepath.Dir(filepath.Dir(r.git.path)), "etc", "gitconfig"),
	)
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		if env[name] != "" {
			files = append(files, env[name])
		}
	}
	slices.Sort(files)
	files = slices.Compact(files)
	ok = !slices.ContainsFunc(files, func(path string) bool {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		return err == nil && !localFiles(dir)
	})
	return files, ok
}

// printOf is the same while the files are.
func printOf(files []string) (print [sha256.Size]byte, seen *looking, ok bool) {
	seen = newLooking()
	for _, path := range files {
		if seen.file(path, path, true) != nil {
			return print, seen, false
		}
	}
	seen.sum.Sum(print[:0])
	return print, seen, true
}
