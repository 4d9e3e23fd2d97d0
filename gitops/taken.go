package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// taken is what stands in the way of new branches and directories of a
// project at one moment, compared without regard to case and Unicode form.
type taken struct {
	// branches has the branches by folded name.
	branches map[string]string
	// above has, for each folded directory of branches, one branch below it.
	above map[string]string
	// parent is where the directories lie.
	parent string
	// names has the folded names in parent, those of entries whose directory
	// is missing included, with why each is not to be had; "" for an empty
	// directory, which may be used under exactly its name.
	names map[string]string
	exact map[string]bool
}

func (r *Repository) taken(ctx context.Context, p workspace.Project) (*taken, error) {
	t := &taken{
		branches: make(map[string]string), above: make(map[string]string), parent: r.worktreesDir(p),
		names: make(map[string]string), exact: make(map[string]bool),
	}
	branches, err := r.branchNames(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, b := range branches {
		folded := workspace.Fold(b)
		t.branches[folded] = b
		for i := range folded {
			if folded[i] == '/' {
				t.above[folded[:i]] = b
			}
		}
	}
	return t, t.readDirectories(p)
}

func (t *taken) readDirectories(p workspace.Project) error {
	directories, err := entryDirectories(p.ID)
	if err != nil {
		return unreadable(p.ID, err)
	}
	resolved := make(map[string]string)
	for _, d := range directories {
		parent, base := filepath.Split(d)
		if _, ok := resolved[parent]; !ok {
			resolved[parent] = resolveExisting(parent)
		}
		if resolved[parent] == t.parent {
			t.names[workspace.Fold(base)] = "it belongs to a worktree"
		}
	}
	files, err := os.ReadDir(t.parent)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cantHold(t.parent, "; nothing was made", err)
	}
	for _, f := range files {
		folded := workspace.Fold(f.Name())
		if t.names[folded] != "" {
			continue
		}
		free, err := emptyOrAbsent(filepath.Join(t.parent, f.Name()))
		switch {
		case err != nil:
			t.names[folded] = "it can't be looked at"
		case free:
			t.names[folded] = ""
			t.exact[f.Name()] = true
		default:
			t.names[folded] = "there are files in it that are not ours"
		}
	}
	return nil
}

// cantHold says why no worktrees can lie in parent, and what was left.
func cantHold(parent, left string, err error) error {
	e := &workspace.Error{
		Code: workspace.ErrDirectoryExists, Op: "create",
		Message: fmt.Sprintf("worktrees can't lie in %s: %v", parent, err) + left,
		Hint:    "move away what is in its place, or choose another home directory",
		Err:     err,
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		e.Code, e.Hint = workspace.ErrPermissionDenied, "see that the home directory for worktrees can be written to"
	case !isAbsent(err) && !errors.Is(err, fs.ErrExist):
		e.Code = workspace.ErrGitFailed
	}
	return e
}

// directory returns the path for a slug, or why it is not to be had.
func (t *taken) directory(slug string) (path, why string) {
	path = filepath.Join(t.parent, slug)
	why, there := t.names[workspace.Fold(slug)]
	if there && why == "" && !t.exact[slug] {
		why = "another spelling of its name exists"
	}
	return path, why
}

// clash returns the existing branch that keeps a branch of this name from
// being made, "" if there is none, and whether it is that very branch.
func (t *taken) clash(branch string) (other string, same bool) {
	folded := workspace.Fold(branch)
	if b, ok := t.branches[folded]; ok {
		return b, b == branch
	}
	if b, ok := t.above[folded]; ok {
		return b, false
	}
	for i := range folded {
		if folded[i] == '/' {
			if b, ok := t.branches[folded[:i]]; ok {
				return b, false
			}
		}
	}
	return "", false
}

// freeName returns the first variant of a name whose branch can be made.
func (t *taken) freeName(name workspace.Name) string {
	typed := name.Kind != workspace.NameBranch
	for i := 2; i < maxVariants; i++ {
		branch := name.Suffixed(i).Branch
		if !typed {
			branch = fmt.Sprintf("%s-%d", strings.TrimSuffix(name.Branch, "/"), i)
		}
		if other, _ := t.clash(branch); other == "" {
			return branch
		}
	}
	return ""
}
