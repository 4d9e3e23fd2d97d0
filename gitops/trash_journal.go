package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/threadtree/threadtree/workspace"
)

const (
	// trashRefs is where the refs lie that keep snapshots.
	trashRefs = "refs/threadtree/trash/"
	// trashReason begins the reason of the lock that a deleted worktree has,
	// so that nobody prunes it and nobody takes it for his own.
	trashReason = "deleted by threadtree, trash "
	// asideDeleted is why its directory has another name.
	asideDeleted = "deleted"
)

// trashPhase says how far a deleted workspace has come.
type trashPhase string

const (
	// trashBegun: the removal has begun; it can be finished or taken back.
	trashBegun trashPhase = "begun"
	// trashKept: it is removed, and kept.
	trashKept trashPhase = "kept"
	// trashRestoring: it is being brought back, as Restore says.
	trashRestoring trashPhase = "restoring"
	// trashRestored: it is back and alive; what was kept isn't needed.
	trashRestored trashPhase = "restored"
)

// trashJournal says on disk, before anything is done, what is being done to a
// deleted workspace, so that a process which was killed can be followed by
// another. It stays as long as anything is kept.
type trashJournal struct {
	ID     string     `json:"id"`
	Thread string     `json:"thread"`
	Phase  trashPhase `json:"phase"`
	Force  bool       `json:"force,omitempty"`
	// Directory is where the working copy was, Hidden where it is put. Inode
	// is that of the directory, by which it is known again.
	Directory string `json:"directory"`
	Hidden    string `json:"hidden,omitempty"`
	Inode     uint64 `json:"inode,omitempty"`
	// InPlace is true where the directory can't be renamed and is emptied.
	InPlace bool `json:"inPlace,omitempty"`
	// Discarded is true once the directory and the entry are being let go.
	Discarded bool `json:"discarded,omitempty"`
	// Admin is the worktree's entry, "" where it had none.
	Admin string `json:"admin,omitempty"`
	// Forgotten is an entry that it had before Admin and that git has lost.
	Forgotten string `json:"forgotten,omitempty"`
	// Locked is the reason of the lock that it had before, nil for none.
	Locked *string `json:"locked,omitempty"`
	// Head is the commit that was checked out, Branch the branch, if any.
	Head   string `json:"head,omitempty"`
	Branch string `json:"branch,omitempty"`
	// Own is the branch that goes with the workspace if it still stands at
	// OwnTip, with its configuration; OwnGone is true once it has gone.
	Own       string       `json:"own,omitempty"`
	OwnTip    string       `json:"ownTip,omitempty"`
	OwnGone   bool         `json:"ownGone,omitempty"`
	OwnConfig []configLine `json:"ownConfig,omitempty"`
	// Renamed are the files of the entry from which a branch's name was
	// taken, because an operation is under way on it.
	Renamed []namedFile `json:"renamed,omitempty"`
	// Ref keeps Snapshot; Lacks is what that hasn't got.
	Ref      string   `json:"ref"`
	Snapshot string   `json:"snapshot,omitempty"`
	Lacks    []string `json:"lacks,omitempty"`
	Left     []string `json:"left,omitempty"`
	// Dropped are the folders that were let go because they can be made again.
	Dropped []string     `json:"dropped,omitempty"`
	Restore *restorePlan `json:"restore,omitempty"`
}

// configLine is a line of the configuration.
type configLine struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// namedFile is a file of an entry that named a branch.
type namedFile struct {
	Name   string `json:"name"`
	Branch string `json:"branch"`
}

// restorePlan is what a restore is about to make.
type restorePlan struct {
	Attempt   string `json:"attempt"`
	Directory string `json:"directory"`
	// Branch is what Own is called from now on, "" where none is made.
	Branch string `json:"branch,omitempty"`
	// Attach is the branch that HEAD is put on, "" for a detached one.
	Attach string `json:"attach,omitempty"`
	// Tip is where Branch is made.
	Tip string `json:"tip,omitempty"`
	// Record is the branch for the workspace's record.
	Record string `json:"record,omitempty"`
	// Anew is true where it is made anew, from the snapshot.
	Anew     bool     `json:"anew,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

func trashDir(commonDir string) string { return filepath.Join(commonDir, privateDir, "trash") }

func trashPath(commonDir, id string) string { return filepath.Join(trashDir(commonDir), id+".json") }

// checkTrashID refuses an id that can't be a file name and a part of a ref.
func checkTrashID(id string) error {
	if id != "" && id == filepath.Base(id) && !strings.HasPrefix(id, ".") && workspace.CheckRef(trashRefs+id) == nil {
		return nil
	}
	return &workspace.Error{
		Code:    workspace.ErrInternal,
		Message: fmt.Sprintf("%q can't be the id of a deleted workspace; nothing was changed", id),
		Hint:    "give an id of letters, digits and dashes",
	}
}

// readTrash returns a journal, nil where there is none.
func readTrash(commonDir, id string) (*trashJournal, error) {
	content, err := os.ReadFile(trashPath(commonDir, id))
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(trashPath(commonDir, id), err)
	}
	j := new(trashJournal)
	if err := json.Unmarshal(content, j); err != nil || j.ID != id {
		return nil, &workspace.Error{
			Code: workspace.ErrInternal, Err: err,
			Message: fmt.Sprintf("the journal %s of a deleted workspace can't be read; nothing was changed", trashPath(commonDir, id)),
			Hint:    "the snapshot, if one was taken, is kept as " + trashRefs + id,
		}
	}
	return j, nil
}

// write makes the journal last.
func (j *trashJournal) write(commonDir string) error {
	content, err := json.MarshalIndent(j, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(trashDir(commonDir), 0o755); err != nil {
		return err
	}
	return renameio.WriteFile(trashPath(commonDir, j.ID), append(content, '\n'), 0o644, renameio.WithTempDir(trashDir(commonDir)))
}

func (j *trashJournal) forget(commonDir string) error {
	return removeIfThere(trashPath(commonDir, j.ID))
}

// removed is what the removal came to.
func (j *trashJournal) removed() workspace.Removed {
	r := workspace.Removed{Tip: j.Head, Left: j.Left}
	if j.OwnGone {
		r.Branch, r.BranchTip = j.Own, j.OwnTip
	}
	kept := workspace.Kept{Tip: j.Head, Branch: j.Branch, Missing: j.Lacks}
	if j.Snapshot != "" {
		kept.Ref, kept.Snapshot = j.Ref, j.Snapshot
	}
	if j.keepsDirectory() {
		kept.Directory = j.Hidden
	}
	if kept.Snapshot != "" || kept.Directory != "" {
		r.Kept = &kept
	}
	return r
}

// keepsDirectory reports whether the directory is, or will be, kept whole.
func (j *trashJournal) keepsDirectory() bool {
	return j.Hidden != "" && !j.InPlace && !j.Discarded
}

// moved reports whether the directory has left its place for the hidden one.
func (j *trashJournal) moved() bool {
	if j.Hidden == "" {
		return false
	}
	_, err := os.Lstat(j.Hidden)
	return err == nil
}

// reason is that of the lock which the worktree has while it is kept.
func (j *trashJournal) reason() string { return trashReason + j.ID }

// isTrash reports whether a lock's reason is that of a deleted workspace.
func isTrash(reason string) bool { return strings.HasPrefix(reason, trashReason) }

// deleted reports whether the record is that of a deleted workspace's hidden
// directory.
func (e record) deleted() bool {
	return isTrash(e.reason) && strings.Contains(filepath.Base(e.directory()), "."+asideDeleted+"-")
}

// trashLock keeps two processes from restoring or discarding the same at once.
type trashLock struct{ file *os.File }

// lockTrash waits for the lock of one deleted workspace, until ctx ends.
func (r *Repository) lockTrash(ctx context.Context, p workspace.Project, id string) (*trashLock, error) {
	ctx, cancel := context.WithTimeout(ctx, r.lockTimeout)
	defer cancel()
	path := filepath.Join(p.ID, privateDir, "trash-"+id+".lock")
	for {
		file, err := waitForFile(ctx, path)
		if err != nil {
			return nil, failure("", "the deleted workspace could not be locked; nothing was changed", "try again", err)
		}
		// The one before may have removed the file with its lock.
		mine, err := file.Stat()
		now, statErr := os.Stat(path)
		if err == nil && statErr == nil && os.SameFile(mine, now) {
			return &trashLock{file: file}, nil
		}
		_ = file.Close()
		if err := errors.Join(err, statErr); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, unreadable(path, err)
		}
	}
}

func (l *trashLock) inherit() []*os.File { return []*os.File{l.file} }

func (l *trashLock) release() {
	_ = os.Remove(l.file.Name())
	closeUnlocked(l.file)
}
