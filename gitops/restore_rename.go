package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// byRename brings the directory back as a whole, under the repository's lock.
func (re *restoring) byRename(ctx context.Context) error {
	lock, err := re.r.lock(ctx, re.p)
	if err != nil {
		return err
	}
	defer lock.release()
	hidden := re.j.moved()
	if hidden {
		usable, err := re.planUsable(ctx)
		if err != nil {
			return err
		}
		if !usable {
			head, err := re.currentHead(ctx)
			if err != nil {
				return cantRestore(err)
			}
			if err := re.plan(ctx, head, false); err != nil {
				return err
			}
		}
	}
	// From here on it is carried through, whatever becomes of the caller.
	ctx = context.WithoutCancel(ctx)
	if err := re.attach(ctx, lock); err != nil {
		return cantRestore(err)
	}
	plan := re.j.Restore
	if hidden {
		// An empty directory may be in its place.
		if err := unix.Rmdir(plan.Directory); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cantRestore(err)
		}
		if err := os.Rename(re.j.Hidden, plan.Directory); err != nil {
			return cantRestore(err)
		}
		re.r.at("back")
	}
	if err := pointEntry(re.j.Admin, plan.Directory); err != nil {
		return cantRestore(err)
	}
	re.r.at("pointed")
	if plan.Directory != re.j.Directory {
		if err := re.settleElsewhere(ctx); err != nil {
			return cantRestore(err)
		}
	}
	return re.mark()
}

// planUsable reports whether what an interrupted restore was about to make can
// still be made.
func (re *restoring) planUsable(ctx context.Context) (bool, error) {
	plan := re.j.Restore
	if plan == nil || plan.Anew {
		return false, nil
	}
	if empty, err := emptyOrAbsent(plan.Directory); err != nil || !empty {
		return false, nil //nolint:nilerr // another place is looked for
	}
	if plan.Branch == "" {
		return true, nil
	}
	tip, err := re.r.tip(ctx, re.p, "refs/heads/"+plan.Branch)
	return tip == "" || tip == plan.Tip, err
}

// currentHead returns the commit that the kept directory has checked out: a
// process may have gone on in it.
func (re *restoring) currentHead(ctx context.Context) (string, error) {
	h, err := re.r.headOf(ctx, re.j.Admin)
	if err != nil {
		return "", err
	}
	sha, branch, err := re.r.openRefs(re.p.ID).checkedOut(ctx, h)
	if branch != "" {
		re.j.Branch = branch // it was switched, or never could be detached
	}
	return sha, err
}

// attach makes the branch again and puts HEAD on it.
func (re *restoring) attach(ctx context.Context, lock *repoLock) error {
	plan := re.j.Restore
	inherit := append(lock.inherit(), re.lock.inherit()...)
	if plan.Branch != "" {
		ref := "refs/heads/" + plan.Branch
		tip, err := re.r.tip(ctx, re.p, ref)
		if err != nil {
			return err
		}
		if tip == "" {
			if err := re.r.updateRef(ctx, re.p, re.set, inherit, ref, plan.Tip, ""); err != nil {
				return err
			}
		}
		re.configure(ctx, plan.Branch)
	}
	re.r.at("branched")
	if plan.Attach != "" {
		if h, err := re.r.headOf(ctx, re.j.Admin); err != nil || h.branch() != plan.Attach {
			_, err := re.r.git.run(ctx, command{
				dir: re.j.Admin, env: []string{"GIT_DIR=" + re.j.Admin}, write: true, inherit: inherit,
				args:   []string{"symbolic-ref", "-m", "threadtree: restore", "HEAD", "refs/heads/" + plan.Attach},
				config: re.set.hooksOff(false), timeout: trashHookTimeout,
			})
			if err != nil {
				return err
			}
		}
	}
	re.r.at("attached")
	if plan.Anew {
		return nil
	}
	return re.nameAgain()
}

// configure gives the branch back what the configuration said of it.
func (re *restoring) configure(ctx context.Context, branch string) {
	config, err := re.r.config(ctx, re.p.ID)
	if err != nil || len(branchConfig(config, branch)) > 0 {
		return
	}
	for _, line := range re.j.OwnConfig {
		_, err := re.r.git.run(ctx, command{
			dir: workDir(re.p), write: true, inherit: re.lock.inherit(),
			args: []string{"config", "--local", "--add", "branch." + branch + "." + line.Key, line.Value},
		})
		if err != nil {
			re.j.Restore.warn("the setting %s of the branch could not be made again: %s", line.Key, because(err))
		}
	}
}

// nameAgain puts the branch's name back into an operation that is under way.
func (re *restoring) nameAgain() error {
	for _, named := range re.j.Renamed {
		path := filepath.Join(re.j.Admin, filepath.FromSlash(named.Name))
		if _, err := os.Lstat(path); isAbsent(err) {
			continue // it has ended
		}
		name := named.Branch
		if name == re.j.Own && re.j.Restore.Branch != "" {
			name = re.j.Restore.Branch
		}
		if named.Name != "BISECT_START" {
			name = "refs/heads/" + name
		}
		if err := replaceFile(path, []byte(name+"\n")); err != nil {
			return err
		}
	}
	return nil
}

// settleElsewhere mends what names the place that the directory had.
func (re *restoring) settleElsewhere(ctx context.Context) error {
	plan := re.j.Restore
	dirs, err := moduleDirs(filepath.Join(re.j.Admin, "modules"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := re.moveSubmodule(ctx, dir); err != nil {
			return fmt.Errorf("the submodule at %s: %w", dir, err)
		}
	}
	index, err := os.ReadFile(filepath.Join(re.j.Admin, "index"))
	if err != nil || !bytes.Contains(index, []byte("UNTR")) {
		return nil
	}
	// git would warn of it in each status.
	_, err = re.r.git.run(ctx, command{
		dir: plan.Directory, args: []string{"update-index", "--untracked-cache"}, write: true,
		config: re.set.hooksOff(false), timeout: trashHookTimeout, inherit: re.lock.inherit(),
	})
	if err != nil {
		plan.warn("git's cache of untracked files could not be moved: %s", because(err))
	}
	return nil
}

// moveSubmodule has a submodule's git directory name its new place.
func (re *restoring) moveSubmodule(ctx context.Context, gitDir string) error {
	file := filepath.Join(gitDir, "config")
	config, err := re.r.git.readConfigFile(ctx, file)
	if err != nil {
		return err
	}
	worktree, ok := config.get("core.worktree")
	if !ok {
		return nil
	}
	at := worktree
	if !filepath.IsAbs(at) {
		at = filepath.Join(gitDir, at)
	}
	rest, err := filepath.Rel(re.j.Directory, at)
	if err != nil || !filepath.IsLocal(rest) {
		return nil // it is another place's, or was moved already
	}
	to := filepath.Join(re.j.Restore.Directory, rest)
	if !filepath.IsAbs(worktree) {
		if to, err = filepath.Rel(gitDir, to); err != nil {
			return err
		}
	}
	_, err = re.r.git.run(ctx, command{dir: workDir(re.p), args: []string{"config", "--file", file, "core.worktree", to}, write: true})
	return err
}
