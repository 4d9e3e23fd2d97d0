package gitops

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// The bounds of the search for repositories in what git ignores.
const (
	embeddedDirs  = 20_000
	embeddedDepth = 10
	// dependencyDepth is that below a folder of dependencies: enough for
	// node_modules/@scope/name.
	dependencyDepth = 2
	embeddedTime    = 10 * time.Second
)

// dependencies are further names of folders which tools fill, with clones of
// other people's repositories for one.
var dependencies = map[string]bool{
	"vendor": true, "venv": true, "site-packages": true, "_deps": true, "Pods": true, "bower_components": true, ".build": true,
}

func holdsDependencies(name string) bool { return regenerable[name] || dependencies[name] }

// embeddedRepo is a repository of its own in an ignored directory.
type embeddedRepo struct {
	// name is its path in the worktree.
	name string
	// dependency is true where a tool is likely to have cloned it.
	dependency bool
}

// embedded looks for work in repositories that lie in directories which git
// ignores: no status tells of it, and no snapshot has it.
func (j *judge) embedded(ctx context.Context) error {
	if j.v.admin == "" || j.v.missing {
		return nil
	}
	ignored, err := j.ignored, j.ignoredErr
	if err != nil {
		if ctx.Err() == nil && j.force {
			j.v.embedded = append(j.v.embedded, "repositories in what git ignores, which could not be listed")
			return nil
		}
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, embeddedTime)
	defer cancel()
	found, unsearched := findEmbedded(bounded, j.v.directory, ignored)
	for i, repo := range found {
		if err := j.embeddedWork(bounded, repo); err == nil {
			continue
		} else if ctx.Err() != nil {
			return err
		} else if bounded.Err() != nil {
			for _, rest := range found[i:] {
				unsearched = append(unsearched, rest.name)
			}
			break
		}
		j.v.embedded = append(j.v.embedded, "the repository "+repo.name+" within it, which git can't read")
		if !repo.dependency {
			j.object(rankUnmerged, workspace.ErrUnmerged, "see what git says there",
				"whether the ignored repository %s has work that is nowhere else is not known", repo.name)
		}
	}
	if len(unsearched) > 0 {
		j.v.embedded = append(j.v.embedded, "repositories, if there are any, in the ignored "+someOf(unsearched)+", where there is too much to search")
	}
	return ctx.Err()
}

// embeddedWork objects to the loss of commits and changes that only an ignored
// repository has.
func (j *judge) embeddedWork(ctx context.Context, repo embeddedRepo) error {
	dir := filepath.Join(j.v.directory, filepath.FromSlash(repo.name))
	gitDir := gitDirOf(dir)
	if gitDir == "" {
		return nil
	}
	common, err := gitDirectory(gitDir)
	if err != nil || common == "" {
		return err // an empty .git is none
	}
	commits, err := j.unpublishedEmbedded(ctx, gitDir, common, repo.name)
	if err != nil {
		return err
	}
	if len(commits) > 0 {
		what := fmt.Sprintf("%s of the repository %s within it, up to %s", plural(len(commits), "commit"), repo.name, commits[0])
		j.v.embedded = append(j.v.embedded, what)
		j.object(rankUnmerged, workspace.ErrUnmerged, "push them from there, or move the repository away", "%s, are nowhere else", what)
	}
	untracked := "normal"
	if repo.dependency {
		untracked = "no" // what a build left there
	}
	out, err := j.r.git.line(ctx, command{
		dir: dir, env: []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + dir}, config: []string{"core.fsmonitor=false"},
		args: []string{"status", "--porcelain", "--no-renames", "--untracked-files=" + untracked},
	})
	if err == nil && out != "" {
		what := "uncommitted work in the repository " + repo.name + " within it"
		j.v.embedded = append(j.v.embedded, what)
		j.object(rankDirty, workspace.ErrDirtyWorktree, "commit and push it from there, or move the repository away", "there is %s", what)
	}
	return err
}

// unpublishedEmbedded returns the commits of a repository that neither its
// remotes, as far as is known, nor the main checkout's copy have.
func (j *judge) unpublishedEmbedded(ctx context.Context, gitDir, common, name string) ([]string, error) {
	args := []string{"rev-list", "--all"}
	remote, err := j.r.git.line(ctx, command{dir: gitDir, env: []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + gitDir}, args: []string{"remote"}})
	switch {
	case err != nil:
		return nil, err
	case !within(resolveExisting(common), resolveExisting(j.v.directory)):
		// A worktree of a repository that stays, with all its refs.
		args = []string{"rev-list", "HEAD", "--not", "--branches", "--remotes", "--tags"}
		if h, err := readHead(gitDir); err != nil || h.branch() != "" {
			return nil, err
		}
	case remote != "":
		// Tags and single commits are fetched, too.
		args = append(append(args, "--not", "--remotes", "--tags"), fetchedHeads(gitDir)...)
	}
	return j.onlyIn(ctx, gitDir, gitDirOf(filepath.Join(j.mainTop, filepath.FromSlash(name))), args)
}

// fetchedHeads are the commits of the last fetch.
func fetchedHeads(gitDir string) []string {
	content, err := os.ReadFile(filepath.Join(gitDir, "FETCH_HEAD"))
	if err != nil {
		return nil
	}
	var ids []string
	for line := range strings.Lines(string(content)) {
		if id, _, _ := strings.Cut(line, "\t"); isObjectID(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// findEmbedded looks for repositories in directories, near ones first, and
// returns those directories that were not searched to their end.
func findEmbedded(ctx context.Context, top string, ignored []string) (found []embeddedRepo, unsearched []string) {
	type place struct {
		embeddedRepo
		root  string
		depth int
	}
	var queue []place
	for _, name := range ignored {
		if name, is := strings.CutSuffix(name, "/"); is {
			queue = append(queue, place{embeddedRepo: embeddedRepo{name: name}, root: name, depth: embeddedDepth})
		}
	}
	cut := make(map[string]bool)
	stop := func(root string) {
		if !cut[root] {
			cut[root] = true
			unsearched = append(unsearched, root)
		}
	}
	for n := 0; n < len(queue); n++ {
		p := queue[n]
		if n == embeddedDirs || ctx.Err() != nil {
			for _, rest := range queue[n:] {
				stop(rest.root)
			}
			break
		}
		if holdsDependencies(path.Base(p.name)) && !p.dependency {
			p.dependency, p.depth = true, dependencyDepth
		}
		entries, err := os.ReadDir(filepath.Join(top, filepath.FromSlash(p.name)))
		if err != nil && !isAbsent(err) {
			stop(p.root)
		}
		for _, e := range entries {
			switch {
			case e.Name() == ".git":
				found = append(found, p.embeddedRepo)
			case !e.IsDir():
			case p.depth > 0:
				queue = append(queue, place{embeddedRepo{path.Join(p.name, e.Name()), p.dependency}, p.root, p.depth - 1})
			case !p.dependency:
				stop(p.root)
			}
		}
	}
	return found, unsearched
}
