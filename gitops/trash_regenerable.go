package gitops

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// regenerable are names of folders that can be made again from what is in the
// repository.
var regenerable = map[string]bool{
	"node_modules": true, "target": true, "dist": true, "build": true, ".next": true, ".venv": true, "__pycache__": true,
}

var _ workspace.Thinner = (*Provider)(nil)

// Regenerable returns the folders in a kept directory that git ignores and
// that can be made again, such as node_modules, and how many bytes they take.
// One with a repository in it is none. See [workspace.Thinner].
func (p *Provider) Regenerable(ctx context.Context, project workspace.Project, t workspace.Trashed) (folders []string, size int64, err error) {
	err = p.r.withTrash(ctx, project, t, func(j *trashJournal, lock *trashLock) error {
		d := &discarding{r: p.r, p: project, j: j, lock: lock}
		found, err := d.regenerable(ctx)
		for _, f := range found {
			folders = append(folders, f.name)
			size += f.size
		}
		return err
	})
	return folders, size, withOp("measure", err)
}

// DiscardRegenerable lets go of those folders that are still what Regenerable
// says, and returns how many bytes that freed. Cancelled, it has let go of
// some. See [workspace.Thinner].
func (p *Provider) DiscardRegenerable(ctx context.Context, project workspace.Project, t workspace.Trashed, folders []string) (freed int64, err error) {
	err = p.r.withTrash(ctx, project, t, func(j *trashJournal, lock *trashLock) error {
		d := &discarding{r: p.r, p: project, j: j, lock: lock}
		found, err := d.regenerable(ctx)
		for _, f := range found {
			if err == nil && slices.Contains(folders, f.name) {
				if err = d.drop(f); err == nil {
					freed += f.size
				}
			}
		}
		return err
	})
	return freed, withOp("discard", err)
}

// folder is one in a kept directory, with what it takes.
type folder struct {
	name string
	size int64
}

func (d *discarding) regenerable(ctx context.Context) ([]folder, error) {
	if d.j.Phase != trashKept || !d.j.keepsDirectory() || !d.j.moved() {
		return nil, nil
	}
	if err := d.check(false); err != nil {
		return nil, err
	}
	ignored, err := d.r.ignored(ctx, d.j.Admin, d.j.Hidden)
	if err != nil {
		return nil, failure("", "the folders that can be made again could not be found", "see what git says, then try again", err)
	}
	var found []folder
	for _, name := range ignored {
		if !strings.HasSuffix(name, "/") || !regenerable[path.Base(name)] {
			continue
		}
		dir := filepath.Join(d.j.Hidden, filepath.FromSlash(name))
		has, err := hasRepository(ctx, dir)
		if err != nil {
			return nil, cantRemove("", dir, err)
		}
		if has {
			continue
		}
		size, err := diskUse(ctx, dir)
		if err != nil {
			return nil, err
		}
		found = append(found, folder{strings.TrimSuffix(name, "/"), size})
	}
	return found, nil
}

// drop lets go of one folder.
func (d *discarding) drop(f folder) error {
	d.j.Dropped = append(d.j.Dropped, f.name)
	if err := d.j.write(d.p.ID); err != nil {
		return noJournal(err, "")
	}
	dir := filepath.Join(d.j.Hidden, filepath.FromSlash(f.name))
	return cantRemove("", dir, removeTree(dir))
}

// hasRepository reports whether a repository lies somewhere in a directory.
func hasRepository(ctx context.Context, dir string) (bool, error) {
	found := errors.New("found")
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && e.Name() == ".git" {
			return found
		}
		return err
	})
	if errors.Is(err, found) {
		return true, nil
	}
	return false, err
}
