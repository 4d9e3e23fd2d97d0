package gitops

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// regenerable are names of folders that can be made again from what is in the
// repository.
var regenerable = map[string]bool{
	"node_modules": true, "target": true, "dist": true, "build": true, ".next": true, ".venv": true, "__pycache__": true,
}

// DiscardRegenerable lets go of the folders in a kept directory that git
// ignores and that can be made again, such as node_modules, and returns how
// many bytes that freed. One with a repository in it stays. Cancelled, it has
// let go of some.
func (p *Provider) DiscardRegenerable(ctx context.Context, project workspace.Project, t workspace.Trashed) (freed int64, err error) {
	err = p.r.withTrash(ctx, project, t, func(j *trashJournal, lock *trashLock) error {
		d := &discarding{r: p.r, p: project, j: j, lock: lock}
		freed, err = d.regenerable(ctx)
		return err
	})
	return freed, withOp("discard", err)
}

func (d *discarding) regenerable(ctx context.Context) (freed int64, err error) {
	if d.j.Phase != trashKept || !d.j.keepsDirectory() || !d.j.moved() {
		return 0, nil
	}
	if err := d.check(false); err != nil {
		return 0, err
	}
	ignored, err := d.r.ignored(ctx, d.j.Admin, d.j.Hidden)
	if err != nil {
		return 0, failure("", "the folders that can be made again could not be found", "see what git says, then try again", err)
	}
	for _, name := range ignored {
		if !strings.HasSuffix(name, "/") || !regenerable[path.Base(name)] {
			continue
		}
		dir := filepath.Join(d.j.Hidden, filepath.FromSlash(name))
		if has, err := hasRepository(ctx, dir); err != nil || has {
			if err != nil {
				return freed, cantRemove("", dir, err)
			}
			continue
		}
		size, err := diskUse(ctx, dir)
		if err != nil {
			return freed, err
		}
		d.j.Dropped = append(d.j.Dropped, strings.TrimSuffix(name, "/"))
		if err := d.j.write(d.p.ID); err != nil {
			return freed, noJournal(err, "")
		}
		if err := removeTree(dir); err != nil {
			return freed, cantRemove("", dir, err)
		}
		freed += size
	}
	return freed, nil
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
