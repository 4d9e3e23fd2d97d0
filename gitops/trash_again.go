package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// token reports whether the entry has the lock that the removal gave it. It
// is in the entry alone, and has the id of the deleted workspace.
func (j *trashJournal) token() bool {
	if j.Admin == "" {
		return false
	}
	reason, locked, err := lockReason(j.Admin)
	return err == nil && locked && reason == j.reason()
}

// paired reports whether a directory is the one that was deleted: it and the
// entry lead to each other, and it is the same file on the disk, or else, as
// a copy of the whole home is another, the entry has our lock.
func (j *trashJournal) paired(directory string) bool {
	if !leadsTo(directory, j.Admin) || !readEntry(j.Admin).of(directory) {
		return false
	}
	return j.sameFile(directory) || j.token()
}

// claims reports whether a directory says that it is the one that was deleted:
// it names the entry, whether that is still there or not.
func (j *trashJournal) claims(directory string) bool {
	return leadsTo(directory, j.Admin) || leadsTo(directory, j.Forgotten)
}

func leadsTo(directory, admin string) bool {
	gitDir := gitDirOf(directory)
	return admin != "" && gitDir != "" && resolveExisting(gitDir) == resolveExisting(admin)
}

func (j *trashJournal) sameFile(directory string) bool {
	return j.Inode != 0 && inodeOf(directory) == j.Inode
}

// findAgain finds the hidden directory where somebody has moved or copied it
// with all that lies beside it and told git of that, and gives it back a file
// .git that was lost.
func (j *trashJournal) findAgain() error {
	if j.Phase == trashRestored || !j.keepsDirectory() || !j.token() {
		return nil
	}
	e := readEntry(j.Admin)
	if !j.moved() {
		if filepath.Base(e.directory) == filepath.Base(j.Hidden) && leadsTo(e.directory, j.Admin) {
			j.Hidden = e.directory
		}
		return nil
	}
	dotGit := filepath.Join(j.Hidden, ".git")
	if _, err := os.Lstat(dotGit); !isAbsent(err) || !e.of(j.Hidden) || !j.sameFile(j.Hidden) {
		return nil
	}
	return replaceFile(dotGit, []byte("gitdir: "+j.Admin+"\n"))
}

// place is where the directory belongs: in its old place, or, where the hidden
// one was moved, beside that.
func (j *trashJournal) place() string {
	if j.Hidden == "" || filepath.Dir(j.Hidden) == filepath.Dir(j.Directory) {
		return j.Directory
	}
	return filepath.Join(filepath.Dir(j.Hidden), filepath.Base(j.Directory))
}

// rescue gives a kept directory that git doesn't know any more an entry again,
// made from the snapshot, so that it can be brought back by its name. It can
// be called again after it was interrupted.
func (re *restoring) rescue(ctx context.Context) error {
	hidden := re.j.Hidden
	parts, err := re.parts(ctx)
	if err != nil {
		return err
	}
	if re.j.Forgotten == "" {
		re.j.Forgotten = re.j.Admin
	}
	if err := re.addAnew(ctx, parts, hidden); err != nil {
		return err
	}
	made := re.j.Restore.Directory
	w := &writing{
		r: re.r, p: re.p, admin: re.j.Admin, directory: hidden, parts: parts,
		inherit: re.lock.inherit(), plan: re.j.Restore, set: re.set,
	}
	state, err := w.readState(ctx)
	if err == nil {
		err = w.writeIndex(ctx, state)
	}
	if err == nil {
		err = re.giveEntry(hidden, made)
	}
	if err == nil {
		// What differs is to differ.
		if _, err = re.r.git.run(ctx, w.command("update-index", "-q", "--refresh")); exitCode(err) > 0 {
			err = nil
		}
	}
	re.rescued = true
	return cantRestore(err)
}

// giveEntry makes the entry that of the hidden directory, in place of the
// empty one that it was made with.
func (re *restoring) giveEntry(hidden, made string) error {
	if err := replaceFile(filepath.Join(hidden, ".git"), []byte("gitdir: "+re.j.Admin+"\n")); err != nil {
		return err
	}
	re.r.at("claimed")
	if err := replaceFile(filepath.Join(re.j.Admin, "locked"), []byte(re.j.reason()+"\n")); err != nil {
		return err
	}
	re.r.at("reserved")
	if err := errors.Join(removeIfThere(filepath.Join(made, ".git")), removeIfThere(made)); err != nil {
		return err
	}
	re.r.at("cleared")
	err := pointEntry(re.j.Admin, hidden)
	re.r.at("given")
	return err
}

// buryLost takes the entry away that a directory has left which is something
// else by now, or gone: nothing would ever unlock it.
func (re *restoring) buryLost(ctx context.Context) error {
	if !re.j.token() || !readEntry(re.j.Admin).of(re.j.Hidden) {
		return nil
	}
	d := &discarding{r: re.r, p: re.p, j: re.j, lock: re.lock}
	return d.bury(ctx)
}
