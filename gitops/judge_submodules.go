package gitops

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// submoduleCommits looks for commits that were made in a submodule of the
// worktree: a linked worktree has git directories of its own for its
// submodules, and they go with it.
func (j *judge) submoduleCommits(ctx context.Context) error {
	if j.v.admin == "" || j.v.missing {
		return nil
	}
	modules := filepath.Join(j.v.admin, "modules")
	dirs, err := moduleDirs(modules)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		name, err := filepath.Rel(modules, dir)
		if err != nil {
			return err
		}
		commits, err := j.unpublished(ctx, dir, filepath.Join(j.project.ID, "modules", name))
		if err != nil {
			return err
		}
		if len(commits) > 0 {
			what := fmt.Sprintf("%s of the submodule %s, up to %s", plural(len(commits), "commit"), name, commits[0])
			j.v.submodules = append(j.v.submodules, what)
			j.object(rankUnmerged, workspace.ErrUnmerged, "push them from the submodule, or fetch them into that of the main checkout",
				"%s, are nowhere else", what)
		}
	}
	return nil
}

// moduleDirs returns the git directories below a directory of submodules.
func moduleDirs(root string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case isAbsent(err):
			return nil
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		}
		if common, err := gitDirectory(path); err != nil || common == "" {
			return err
		}
		dirs = append(dirs, path)
		nested, err := moduleDirs(filepath.Join(path, "modules"))
		dirs = append(dirs, nested...)
		if err != nil {
			return err
		}
		return filepath.SkipDir
	})
	return dirs, err
}

// unpublished returns the commits of a submodule's git directory that neither
// its remotes, as far as is known, nor the main checkout's copy have.
func (j *judge) unpublished(ctx context.Context, gitDir, copy string) ([]string, error) {
	return j.onlyIn(ctx, gitDir, copy, []string{"rev-list", "--all", "--not", "--remotes"})
}

// onlyIn returns those of the commits that a command lists in a git directory
// which a copy of it, "" for none, hasn't got.
func (j *judge) onlyIn(ctx context.Context, gitDir, copy string, list []string) ([]string, error) {
	out, err := j.r.git.line(ctx, command{
		dir: gitDir, env: []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + gitDir}, args: append(list, "--"),
	})
	if err != nil || out == "" {
		return nil, err
	}
	commits := strings.Split(out, "\n")
	if info, err := os.Stat(filepath.Join(copy, "objects")); copy == "" || err != nil || !info.IsDir() {
		return commits, nil
	}
	out, err = j.r.git.line(ctx, command{
		dir: copy, env: []string{"GIT_DIR=" + copy, "GIT_WORK_TREE=" + copy}, args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"},
		stdin: strings.NewReader(strings.Join(commits, "\n") + "\n"),
	})
	if err != nil {
		return nil, err
	}
	var missing []string
	for line := range strings.Lines(out) {
		if id, kind, _ := strings.Cut(strings.TrimSpace(line), " "); kind == "missing" {
			missing = append(missing, id)
		}
	}
	return missing, nil
}
