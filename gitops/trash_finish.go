package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// at tells of a step that was done.
func (r *Repository) at(step string) {
	if r.reached != nil {
		r.reached(step)
	}
}

// finish carries on a removal whose directory has left its place, from
// wherever it stopped.
func (t *trashing) finish(ctx context.Context) (workspace.Removed, bool, error) {
	cant := func(err error) error {
		return failure("remove", "the removal of "+t.j.Directory+" could not be finished; what was there is kept", "delete it again", err)
	}
	if err := t.keepRef(ctx); err != nil {
		return workspace.Removed{}, true, cant(err)
	}
	if err := t.settleDirectory(); err != nil {
		return workspace.Removed{}, true, cant(err)
	}
	t.r.at("settled")
	if t.j.keepsDirectory() {
		t.detach(ctx)
		t.r.at("detached")
	}
	if err := t.dropBranch(ctx); err != nil {
		return workspace.Removed{}, true, cant(err)
	}
	t.r.at("branch")
	t.j.Phase = trashKept
	if err := t.j.write(t.p.ID); err != nil {
		return workspace.Removed{}, true, noJournal(err, "; what was removed is kept")
	}
	t.r.at("kept")
	t.aside = append(t.aside, buried(t.p.ID)...)
	return t.j.removed(), true, nil
}

func (t *trashing) leave(format string, args ...any) {
	t.j.Left = append(t.j.Left, fmt.Sprintf(format, args...))
}

// settleDirectory sees to it that the directory and the entry are where they
// are to be.
func (t *trashing) settleDirectory() error {
	switch {
	case t.j.moved():
		return t.point(t.j.Hidden)
	case t.j.InPlace:
		if err := t.bury(); err != nil {
			return err
		}
		return t.empty()
	case t.j.Hidden != "":
		t.leave("the directory went away while it was removed; the snapshot has what was in it")
		t.j.Hidden = ""
	}
	return t.bury()
}

// bury takes the entry away, if it still is that of the directory.
func (t *trashing) bury() error {
	if t.j.Admin == "" || !readEntry(t.j.Admin).of(t.j.Directory) {
		return nil
	}
	to, err := buryEntry(t.p.ID, t.j.Admin)
	if err == nil {
		t.aside = append(t.aside, to)
	}
	return err
}

// empty deletes what is in a directory that can't be renamed, and the
// directory where that can be done.
func (t *trashing) empty() error {
	dir := t.j.Directory
	if t.j.Inode != 0 && inodeOf(dir) != t.j.Inode {
		t.leave("what is at %s now was put there by somebody else and was left", dir)
		return nil
	}
	for _, mount := range mountsWithin(resolveExisting(dir)) {
		if mount != resolveExisting(dir) {
			return fmt.Errorf("a file system is mounted at %s", mount)
		}
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := removeTree(filepath.Join(dir, name.Name())); err != nil {
			return err
		}
	}
	if err := removeIfThere(dir); err != nil {
		t.leave("the empty directory %s was left: %v", dir, err)
	}
	return nil
}

// branchFiles are the files of an entry in which an operation that is under
// way keeps the name of its branch, by which git takes it for checked out.
var branchFiles = []string{"rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"}

// detach frees the name of the branch that the kept directory has checked out.
// What can't be freed is left and said.
func (t *trashing) detach(ctx context.Context) {
	admin := t.j.Admin
	h, err := t.r.headOf(ctx, admin)
	if err == nil && h.ref != "" && t.j.Head != "" {
		// Only where it still stands at the commit that was judged.
		_, err = t.r.git.run(ctx, command{
			dir: admin, env: []string{"GIT_DIR=" + admin}, write: true, inherit: t.lock.inherit(),
			args:   []string{"update-ref", "--no-deref", "-m", "threadtree: delete", "HEAD", t.j.Head, t.j.Head},
			config: t.set.hooksOff(false), timeout: trashHookTimeout,
		})
	}
	if err == nil {
		err = t.freeNames(ctx)
	}
	if err != nil {
		t.leave("the kept directory still has the branch %s checked out: %s", t.j.Branch, because(err))
	}
}

// freeNames takes the branch's name out of an operation that is under way, and
// notes it for the restore.
func (t *trashing) freeNames(ctx context.Context) error {
	for _, name := range branchFiles {
		path := filepath.Join(t.j.Admin, filepath.FromSlash(name))
		content, err := os.ReadFile(path)
		if isAbsent(err) {
			continue
		}
		if err != nil {
			return err
		}
		branch, stand := strings.TrimSpace(string(content)), "detached HEAD"
		if name == "BISECT_START" {
			if stand, err = t.r.tip(ctx, t.p, "refs/heads/"+branch); err != nil {
				return err
			}
			branch = "refs/heads/" + branch
		}
		if stand == "" || !strings.HasPrefix(branch, "refs/heads/") {
			continue
		}
		named := namedFile{Name: name, Branch: strings.TrimPrefix(branch, "refs/heads/")}
		if !slices.Contains(t.j.Renamed, named) {
			t.j.Renamed = append(t.j.Renamed, named)
		}
		if err := t.j.write(t.p.ID); err != nil {
			return err
		}
		if err := replaceFile(path, []byte(stand+"\n")); err != nil {
			return err
		}
	}
	return nil
}

// dropBranch deletes the branch that goes with the workspace, if it stands
// where it was judged, with its configuration.
func (t *trashing) dropBranch(ctx context.Context) error {
	j := t.j
	if j.Own == "" || j.OwnGone {
		return nil
	}
	if j.OwnConfig == nil {
		config, err := t.r.config(ctx, t.p.ID)
		if err != nil {
			return err
		}
		if j.OwnConfig = branchConfig(config, j.Own); len(j.OwnConfig) > 0 {
			if err := j.write(t.p.ID); err != nil {
				return err
			}
		}
	}
	bounded, cancel := context.WithTimeout(ctx, trashHookTimeout)
	defer cancel()
	kept := false
	err := t.r.deleteBranchBy(bounded, t.p, t.set, j.Own, j.OwnTip, func(format string, args ...any) {
		kept = true
		t.leave(format, args...)
	})
	if err != nil {
		// A hook, for one, may not let it go.
		t.leave("%v", err)
		return nil
	}
	if j.OwnGone = !kept; j.OwnGone {
		if err := t.r.forgetBranch(ctx, t.p, j.Own); err != nil {
			t.leave("%v", err)
		}
	}
	return nil
}

// branchConfig is what the configuration says of a branch.
func branchConfig(config *repoConfig, branch string) []configLine {
	var lines []configLine
	for key, values := range config.values {
		rest, ok := strings.CutPrefix(key, "branch."+branch+".")
		if !ok || strings.Contains(rest, ".") {
			continue
		}
		for _, value := range values {
			lines = append(lines, configLine{Key: rest, Value: value})
		}
	}
	slices.SortStableFunc(lines, func(a, b configLine) int { return strings.Compare(a.Key, b.Key) })
	return lines
}
