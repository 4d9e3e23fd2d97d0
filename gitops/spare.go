package gitops

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

const (
	// spareReason begins the reason of the lock that a spare has, so that
	// nobody prunes it and it is known for what it is.
	spareReason = "kept as a spare by threadtree, "
	// spareBase begins the name of its directory, which no slug does.
	spareBase = ".spare-"
)

// sparePhase says what is being done to a spare.
type sparePhase string

const (
	// spareMaking: its files are being written.
	spareMaking sparePhase = "making"
	// spareReady: it waits, untouched since its files were noted.
	spareReady sparePhase = "ready"
	// spareMoving: it is being brought to another commit.
	spareMoving sparePhase = "moving"
	// spareClaimed: a create is making it its own.
	spareClaimed sparePhase = "claimed"
	// spareGoing: it is being removed.
	spareGoing sparePhase = "going"
)

// spareRecord says on disk what a spare is. With another phase than ready
// somebody holds its lock, or has died.
type spareRecord struct {
	ID    string     `json:"id"`
	Phase sparePhase `json:"phase"`
	// Common is the repository, Directory where the spare lies.
	Common    string `json:"common"`
	Directory string `json:"directory"`
	// Device and Inode are those of the directory.
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
	Admin  string `json:"admin,omitempty"`
	Commit string `json:"commit"`
	// Settings stands for all that decides what files a commit makes.
	Settings string    `json:"settings"`
	Made     time.Time `json:"made"`
	Size     int64     `json:"size,omitempty"`
	// Status stands for what git says of it, untouched.
	Status string `json:"status,omitempty"`
	// Index tells how to relocate the index, nil where all of it is needed.
	Index *indexHint `json:"index,omitempty"`
	// Setup is what a set-up has done in it, nil where none was done.
	Setup *spareSetup `json:"setup,omitempty"`
	// Attempt and Target are whose it becomes, and where.
	Attempt string `json:"attempt,omitempty"`
	Target  string `json:"target,omitempty"`
}

// spare is one whose lock is held.
type spare struct {
	r    *Repository
	dir  string
	rec  spareRecord
	lock *os.File
	// seen is when it was last found untouched.
	seen time.Time
	// moved is true where its files are those of another commit than was noted.
	moved bool
	// placed is where its index says that it is, "" for its directory.
	placed string
}

func (r *Repository) sparesDir(p workspace.Project) string {
	return filepath.Join(r.home, "spares", projectKey(p))
}

func (s *spare) path(kind string) string { return filepath.Join(s.dir, s.rec.ID+kind) }

// write makes the record what it is now. It need not outlive the machine: what
// that leaves is found by what lies there.
func (s *spare) write(phase sparePhase) error {
	s.rec.Phase = phase
	content, err := json.Marshal(s.rec)
	if err != nil {
		return err
	}
	return replaceFile(s.path(".json"), append(content, '\n'))
}

// inherit is the open file that children must inherit, so that one that
// outlives us still holds the lock.
func (s *spare) inherit() []*os.File { return []*os.File{s.lock} }

// release gives the lock up and leaves the spare as it is.
func (s *spare) release() {
	closeUnlocked(s.lock)
}

// forget drops the record, and with it the spare.
func (s *spare) forget() error {
	return errors.Join(removeIfThere(s.path(".files")), removeIfThere(s.path(".json")), removeIfThere(s.path(".lock")))
}

// newSpare begins a spare of the project, with its lock held.
func (r *Repository) newSpare(p workspace.Project, id, commit, settings string) (*spare, error) {
	s := &spare{r: r, dir: r.sparesDir(p), rec: spareRecord{
		ID: id, Common: p.ID, Commit: commit, Settings: settings, Made: r.now(),
		Directory: filepath.Join(r.worktreesDir(p), spareBase+id),
	}}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	if s.lock, err = openLocked(s.path(".lock"), os.O_CREATE|os.O_EXCL); err != nil {
		return nil, err
	}
	if err := s.write(spareMaking); err != nil {
		s.release()
		return nil, errors.Join(err, s.forget())
	}
	return s, nil
}

// openSpare takes the lock of a spare and reads its record. It returns nil
// where somebody else has the lock, or the spare is gone.
func (r *Repository) openSpare(dir, id string) (*spare, error) {
	s := &spare{r: r, dir: dir, rec: spareRecord{ID: id}}
	var err error
	s.lock, err = openLocked(s.path(".lock"), 0)
	switch {
	case errors.Is(err, errLockBusy), errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	rec, err := readSpare(s.path(".json"))
	if err != nil || rec.ID != id {
		s.release()
		return nil, err
	}
	s.rec = rec
	return s, nil
}

// readSpare reads a record. One that isn't there or can't be understood is
// zero.
func readSpare(path string) (spareRecord, error) {
	content, err := os.ReadFile(path)
	if isAbsent(err) {
		return spareRecord{}, nil
	}
	if err != nil {
		return spareRecord{}, err
	}
	var rec spareRecord
	if json.Unmarshal(content, &rec) != nil {
		return spareRecord{}, nil
	}
	return rec, nil
}

// spareIDs returns the ids of what has a lock in a directory of records.
func spareIDs(dir string) ([]string, error) {
	names, err := os.ReadDir(dir)
	if err != nil && !isAbsent(err) {
		return nil, err
	}
	var ids []string
	for _, name := range names {
		if id, ok := strings.CutSuffix(name.Name(), ".lock"); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// spareRecords returns the records of a project's spares as they are, newest
// first, without a lock.
func (r *Repository) spareRecords(dir string) ([]spareRecord, error) {
	ids, err := spareIDs(dir)
	if err != nil {
		return nil, err
	}
	var all []spareRecord
	for _, id := range ids {
		rec, err := readSpare(filepath.Join(dir, id+".json"))
		if err != nil {
			return nil, err
		}
		if rec.ID == id {
			all = append(all, rec)
		}
	}
	slices.SortFunc(all, func(a, b spareRecord) int { return b.Made.Compare(a.Made) })
	return all, nil
}

// isSpare reports whether a worktree's lock is that of a spare.
func isSpare(reason string) bool { return strings.HasPrefix(reason, spareReason) }

// spare reports whether the record is that of a spare in its place.
func (e record) spare() bool {
	return isSpare(e.reason) && strings.HasPrefix(filepath.Base(e.directory()), spareBase)
}

// entry returns the entry of the spare, "" if it has none.
func (s *spare) entry() (string, error) {
	entries, err := readEntries(s.rec.Common)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		reason, locked, _ := lockReason(e.path)
		// git may have been ended before it wrote the reason.
		if locked && reason == spareReason+s.rec.ID || e.unwritten() && strings.Contains(filepath.Base(e.path), spareBase[1:]+s.rec.ID) {
			return e.path, nil
		}
	}
	return "", nil
}
