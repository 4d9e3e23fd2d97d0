package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// sweep looks at each spare that nobody is at work on, and counts those that
// stay.
func (f *filling) sweep(ctx context.Context) error {
	var all error
	dir := f.x.r.sparesDir(f.p)
	records, err := f.x.r.spareRecords(dir)
	if err != nil {
		return err
	}
	if err := forgetLocks(dir); err != nil {
		return err
	}
	for _, rec := range records {
		if ctx.Err() != nil {
			return failure("fill", "the spares could not all be looked at", "try again", ctx.Err())
		}
		s, err := f.x.r.openSpare(dir, rec.ID)
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		if s == nil {
			f.busy(rec)
			continue
		}
		all = errors.Join(all, f.mind(ctx, s))
		s.release()
	}
	return errors.Join(all, f.x.r.sweepStrays(ctx, f.p))
}

// forgetLocks removes the locks of makers that died before they wrote a record.
func forgetLocks(dir string) error {
	ids, err := spareIDs(dir)
	if err != nil {
		return err
	}
	for _, id := range ids {
		path := filepath.Join(dir, id+".lock")
		lock, err := openLocked(path, 0)
		if err != nil {
			continue // held, or gone
		}
		if rec, err := readSpare(filepath.Join(dir, id+".json")); err == nil && rec.ID != id {
			_ = removeIfThere(path)
		}
		closeUnlocked(lock)
	}
	return nil
}

// busy counts a spare that somebody else is making or moving.
func (f *filling) busy(rec spareRecord) {
	if rec.Phase == spareMaking || rec.Phase == spareMoving {
		f.done.Ready++
		f.bytes += rec.Size
	}
}

// mind does what has to be done about one spare.
func (f *filling) mind(ctx context.Context, s *spare) error {
	if s.rec.Phase != spareReady {
		f.done.Removed++
		return s.discard(ctx, f.p)
	}
	line, err := s.judge(ctx, f.m)
	switch {
	case err != nil:
		return err
	case line != "":
		f.done.Kept = append(f.done.Kept, line)
		return nil
	case s.rec.Phase != spareReady:
		f.done.Removed++
		return s.discard(ctx, f.p)
	}
	if f.unwanted(s.rec) != "" {
		f.done.Removed++
		return s.discard(ctx, f.p)
	}
	if s.rec.Commit != f.base {
		if err := f.x.r.idle(ctx); err != nil {
			return err
		}
		ok, err := s.advance(ctx, f.m, f.base, f.x.o.Setup)
		if errors.Is(err, errStays) {
			return nil
		}
		if err != nil || !ok {
			f.done.Removed++
			return s.discard(ctx, f.p)
		}
		f.done.Moved++
	}
	f.done.Ready++
	f.bytes += s.rec.Size
	return nil
}

// unwanted says why a spare is of no use, "" if it is.
func (f *filling) unwanted(rec spareRecord) string {
	switch {
	case f.done.Without != "":
		return f.done.Without
	case rec.Settings != f.print:
		return "the configuration has changed since it was made"
	case rec.Setup != nil && !f.x.o.Setup.nothing() && rec.Setup.Options != f.m.setupKey(f.x.o.Setup):
		return "it was set up in another way"
	case f.x.r.now().Sub(rec.Made) > f.x.o.MaxAge:
		return "it is too old"
	case f.done.Ready >= f.x.o.Spares:
		return "there are enough"
	case f.bytes+rec.Size > f.x.o.MaxBytes:
		return "it takes too much room"
	}
	return ""
}

// discard removes a spare, or what a claim left of one that has become a
// worktree.
func (s *spare) discard(ctx context.Context, p workspace.Project) error {
	if s.rec.Phase == spareClaimed && s.handedOver() {
		return s.forget()
	}
	return s.remove(ctx, p)
}

// handedOver reports whether a claimed spare's entry is the attempt's by now.
func (s *spare) handedOver() bool {
	admin := gitDirOf(s.rec.Target)
	return admin != "" && readEntry(admin).attempt == s.rec.Attempt && s.rec.Attempt != ""
}

// judge looks whether somebody has worked in a ready spare. Where nothing was
// touched, or only touched and not changed, it stays ready. Where its place is
// gone, or it can't be told, it is one that goes. Where there is anything of
// somebody's in it, it is a spare no more, and the line says so.
func (s *spare) judge(ctx context.Context, m *making) (line string, err error) {
	if s.whole() {
		return "", nil
	}
	admin, err := s.entry()
	if err != nil {
		return "", err
	}
	if _, statErr := os.Lstat(s.rec.Directory); isAbsent(statErr) {
		s.rec.Phase = spareGoing
		return "", nil
	}
	if admin != "" && admin == s.rec.Admin && s.owns(s.rec.Directory) && gitDirOf(s.rec.Directory) == admin {
		h, headErr := readHead(admin)
		status, statusErr := s.r.statusOf(ctx, s.command(m), false)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if headErr == nil && statusErr == nil && h.sha == s.rec.Commit && status == s.rec.Status && operation(admin) == "" {
			return "", s.settle(ctx, m)
		}
	}
	return s.disown(ctx, m.req.Project, admin)
}

// disown makes a spare that somebody has worked in a worktree like any other.
func (s *spare) disown(ctx context.Context, p workspace.Project, admin string) (string, error) {
	lock, err := s.r.lock(ctx, p)
	if err != nil {
		return "", err
	}
	defer lock.release()
	if admin != "" {
		if err := removeIfThere(filepath.Join(admin, "locked")); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("somebody has worked in the spare %s: it is a worktree of its own now, and was left there", s.rec.Directory), s.forget()
}

// sweepStrays removes the entries and directories of spares that have no
// record: the machine may have stopped before that was on the disk.
func (r *Repository) sweepStrays(ctx context.Context, p workspace.Project) error {
	entries, err := readEntries(p.ID)
	if err != nil {
		return err
	}
	dir := r.sparesDir(p)
	for _, e := range entries {
		reason, locked, _ := lockReason(e.path)
		id, ok := strings.CutPrefix(reason, spareReason)
		if !locked || !ok || id != filepath.Base(id) || filepath.Dir(e.directory) != r.worktreesDir(p) || filepath.Base(e.directory) != spareBase+id {
			continue
		}
		if err := r.sweepStray(ctx, p, dir, id); err != nil {
			return err
		}
	}
	return nil
}

// sweepStray removes one, unless somebody is at work on it.
func (r *Repository) sweepStray(ctx context.Context, p workspace.Project, dir, id string) error {
	s := &spare{r: r, dir: dir, rec: spareRecord{ID: id, Common: p.ID, Directory: filepath.Join(r.worktreesDir(p), spareBase+id)}}
	if rec, err := readSpare(s.path(".json")); err != nil || rec.ID == id {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var err error
	s.lock, err = openLocked(s.path(".lock"), os.O_CREATE)
	if errors.Is(err, errLockBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.release()
	return s.remove(ctx, p)
}

// dropClaims removes the spares that the attempt had claimed and not yet made
// its own, under the repository's lock.
func (r *Repository) dropClaims(p workspace.Project, attempt string) (aside []string, err error) {
	dir := r.sparesDir(p)
	records, err := r.spareRecords(dir)
	if err != nil {
		return nil, cantRemove("clear", "a spare", err)
	}
	for _, rec := range records {
		if rec.Phase != spareClaimed || rec.Attempt != attempt {
			continue
		}
		s, err := r.openSpare(dir, rec.ID)
		if err != nil || s == nil {
			continue // the maker is at it, or its child
		}
		if !s.handedOver() {
			var more []string
			if more, err = s.bury(); err == nil {
				aside = append(aside, more...)
				err = removeTrees(more)
			}
		}
		if err == nil {
			err = s.forget()
		}
		s.release()
		if err != nil {
			return aside, cantRemove("clear", rec.Directory, err)
		}
	}
	return aside, nil
}
