package gitops

import (
	"context"
	"crypto/sha256"
	"os"
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
	files, visible := r.configFiles(p)
	begun := time.Now()
	before, _, _ := printOf(files)
	out, err := r.git.run(ctx, command{dir: dir, args: []string{"config", "-z", "--show-origin", "--list"}})
	if err != nil {
		return nil, failure("create", "the repository's configuration can't be read; nothing was made", "see what git says in that directory", err)
	}
	values, origins := readConfigured(out)
	if visible && onlyIn(files, values, origins) {
		// A link that was pointed elsewhere meanwhile shows no new time.
		if print, seen, ok := printOf(files); ok && print == before && seen.settled(begun) {
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

// configFiles are the files that git reads, whether they are there or not.
// visible is false where a change of them can't be seen for certain.
func (r *Repository) configFiles(p workspace.Project) (files []string, visible bool) {
	env := environment(r.git.env)
	files = []string{filepath.Join(p.ID, "config"), "/etc/gitconfig"}
	programs := []string{r.git.path}
	if program, err := filepath.EvalSymlinks(r.git.path); err == nil {
		programs = append(programs, program)
	}
	for _, program := range programs {
		files = append(files, filepath.Join(filepath.Dir(filepath.Dir(program)), "etc", "gitconfig"))
	}
	// The paths are those that git makes, where a link may come before "..".
	if home := env["HOME"]; home != "" {
		files = append(files, home+"/.gitconfig", home+"/.config/git/config")
	}
	if xdg := env["XDG_CONFIG_HOME"]; xdg != "" {
		files = append(files, xdg+"/git/config")
	}
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		if env[name] != "" {
			files = append(files, env[name])
		}
	}
	slices.Sort(files)
	files = slices.Compact(files)
	return files, !slices.ContainsFunc(files, func(path string) bool {
		// One that isn't absolute is taken relative to where git is by then.
		return !filepath.IsAbs(path) || foreign(path) || foreign(filepath.Dir(path))
	})
}

// foreign reports whether a file is there, and on a file system that may not
// tell of its changes.
func foreign(path string) bool {
	_, err := os.Stat(path)
	return err == nil && !localFiles(path)
}

// onlyIn reports whether the files are all that git has read, the repository's
// own among them, and that there can be no others: such as files include, or
// that a worktree has of its own.
func onlyIn(files []string, values map[string][]string, origins []string) bool {
	for key := range values {
		if strings.HasPrefix(key, "include.") || strings.HasPrefix(key, "includeif.") || key == "extensions.worktreeconfig" {
			return false
		}
	}
	// git leaves a repository's out, where it takes that for another user's.
	_, own := values["core.repositoryformatversion"]
	return own && !slices.ContainsFunc(origins, func(path string) bool { return !slices.Contains(files, path) })
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
