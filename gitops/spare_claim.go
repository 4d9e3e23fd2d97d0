package gitops

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/threadtree/threadtree/workspace"
)

// reservation is a spare that is being looked at for a create.
type reservation struct {
	// first gives the record of the one that is looked at first, zero for none.
	first <-chan spareRecord
	// found gives the spare with its lock held, nil for none.
	found <-chan *spare
}

// reserve looks for a spare while the create finds out what it needs one for,
// and proves that nobody has touched it.
func (m *making) reserve() *reservation {
	first, found := make(chan spareRecord, 1), make(chan *spare, 1)
	if m.p == nil || m.p.o.Pool == nil {
		first <- spareRecord{}
		found <- nil
	} else {
		go func() {
			found <- m.r.reserveSpare(m.req.Project, m.req.Setup, first)
			close(first)
		}()
	}
	return &reservation{first: first, found: found}
}

// drop gives up what was or will be found.
func (v *reservation) drop() {
	go func() {
		if s := <-v.found; s != nil {
			s.release()
		}
	}()
}

// reserveSpare returns an untouched spare with its lock held: that of the
// commit which the project has checked out, if there is one.
func (r *Repository) reserveSpare(p workspace.Project, setup bool, first chan<- spareRecord) *spare {
	dir := r.sparesDir(p)
	records, err := r.spareRecords(dir)
	if err != nil || len(records) == 0 {
		return nil
	}
	head, _, _ := r.head(context.Background(), p)
	if !setup {
		records = slices.DeleteFunc(records, func(rec spareRecord) bool { return rec.Setup != nil })
	}
	for _, at := range []bool{true, false} {
		for _, rec := range records {
			if rec.Phase != spareReady || (rec.Commit == head) != at || rec.Common != p.ID || filepath.Dir(rec.Directory) != r.worktreesDir(p) {
				continue
			}
			s, err := r.openSpare(dir, rec.ID)
			if err != nil || s == nil {
				continue
			}
			select {
			case first <- s.rec:
			default:
			}
			if s.whole() {
				return s
			}
			s.release()
		}
	}
	return nil
}

// wholeFor is how long a spare is taken for untouched after the look at it. To
// reach a remote may take longer.
const wholeFor = time.Second

// bring takes the spare that was reserved to the commit that the create will
// start from, if it can be of use.
func (m *making) bring(ctx context.Context, c *chooser, reserved *reservation) {
	to := c.start()
	// What the way there looks like is found out while the files are looked at.
	way := m.wayTo(ctx, c, <-reserved.first, to)
	s := <-reserved.found
	if s == nil {
		return
	}
	if ctx.Err() != nil || to == "" || s.rec.Settings != m.fingerprint() || !s.usable(m) || m.set.spareless(m.r.openRefs(s.rec.Common)) != "" ||
		time.Since(s.seen) > wholeFor && !s.whole() {
		s.release()
		return
	}
	if s.rec.Commit != to {
		if way.from != s.rec.Commit {
			way = m.wayTo(ctx, c, s.rec, to)
		}
		if err := s.move(ctx, m, way); err != nil {
			m.giveBack(s)
			return
		}
	}
	m.spare = s
}

// way is that of a spare's files from one commit to another.
type way struct {
	from, to string
	// refused is why it can't be gone, nil if it can.
	refused error
	// place is where the spare will probably be claimed for, "" if that isn't
	// known.
	place string
}

// wayTo finds the way of a spare. Of one that is there already it isn't asked.
func (m *making) wayTo(ctx context.Context, c *chooser, rec spareRecord, to string) way {
	if rec.Commit == "" || to == "" || rec.Commit == to {
		return way{}
	}
	w := way{from: rec.Commit, to: to, refused: m.reachable(ctx, rec, to)}
	if probable, err := c.choose(ctx); err == nil {
		w.place = probable.plan.Directory
	}
	return w
}

// giveBack gives a spare up that wasn't used. One whose move was interrupted
// goes, later.
func (m *making) giveBack(s *spare) {
	if s == nil {
		return
	}
	switch {
	case s.moved:
		s.leave()
	case s.rec.Phase != spareReady:
		_ = s.write(spareGoing)
	}
	s.release()
}

// leave leaves a spare to the next Fill, which finds out whether somebody has
// worked in it.
func (s *spare) leave() {
	if s.placed != "" && relocateIndex(s.rec.Admin, s.placed, s.rec.Directory) == nil {
		s.placed = ""
	}
	s.moved = false
	_ = s.write(spareReady)
}

// wake has the pool look after the project.
func (m *making) wake() {
	if m.p != nil && m.p.o.Pool != nil {
		m.p.o.Pool.wake(m.req.Project)
	}
}

// claimSpare makes the spare the worktree of the choice, under the repository's
// lock. Where it can't, nothing of it is left and ok is false. The journal
// names the attempt before anything changes, until the entry does.
func (m *making) claimSpare(ctx context.Context, lock *repoLock, made choice) (admin string, ok bool) {
	s := m.spare
	m.spare = nil
	if s == nil {
		return "", false
	}
	// The lock may have been waited for.
	if !m.fits(ctx, s, made) || time.Since(s.seen) > wholeFor && !s.still(ctx, m) {
		m.giveBack(s)
		return "", false
	}
	defer s.release()
	admin, err := m.convert(ctx, lock, s, made)
	if err == nil {
		m.claimed, m.setup, m.start = s.rec.Directory, s.rec.Setup, s.rec.Commit
		_ = s.forget() // what stays of it is dropped with the next look at it
		return admin, true
	}
	// What the entry says by now decides who clears it.
	aside, buryErr := s.bury()
	if buryErr == nil {
		_ = errors.Join(removeTrees(aside), s.forget())
	}
	if err := m.clearTry(ctx, made); err != nil {
		m.warn(workspace.PhaseAdd, "a spare could not be used, and what that left could not be cleared: %s", because(err))
	}
	return "", false
}

// still reports whether a spare that was whole is so still. Of one that was moved
// git alone can tell.
func (s *spare) still(ctx context.Context, m *making) bool {
	if s.rec.Phase == spareReady {
		return s.whole()
	}
	status, err := s.r.statusOf(ctx, s.command(m), false)
	return err == nil && status == s.rec.Status
}

// fits reports whether the choice is what the spare was brought for.
func (m *making) fits(ctx context.Context, s *spare, made choice) bool {
	start := made.start
	if !made.plan.BranchCreated {
		start, _ = m.r.tip(ctx, m.req.Project, "refs/heads/"+made.plan.Branch)
	}
	return start == s.rec.Commit
}

// convert takes the steps of a claim. The branch comes first: it is what
// somebody else may have made meanwhile.
func (m *making) convert(ctx context.Context, lock *repoLock, s *spare, made choice) (admin string, err error) {
	s.rec.Attempt, s.rec.Target = m.req.Attempt, made.plan.Directory
	if err := s.write(spareClaimed); err != nil {
		return "", err
	}
	m.r.at("claimed")
	if m.placed = cmp.Or(s.placed, s.rec.Directory); s.rec.Index != nil {
		if err := s.rec.Index.relocate(s.rec.Admin, m.placed, made.plan.Directory); err != nil {
			return "", err
		}
		m.placed = made.plan.Directory
	}
	m.r.at("claimed index")
	if made.plan.BranchCreated {
		if err := m.writeBranch(ctx, lock, made); err != nil {
			return "", err
		}
		m.r.at("claimed branch")
	}
	if err := os.MkdirAll(filepath.Dir(made.plan.Directory), 0o755); err != nil {
		return "", err
	}
	// An empty directory may be in its place.
	if err := unix.Rename(s.rec.Directory, made.plan.Directory); err != nil {
		return "", &os.LinkError{Op: "rename", Old: s.rec.Directory, New: made.plan.Directory, Err: err}
	}
	m.r.at("claimed renamed")
	if err := m.rewriteEntry(ctx, s, made); err != nil {
		return "", err
	}
	m.r.at("claimed entry")
	if admin, err = placeEntry(s.rec.Common, s.rec.Admin, filepath.Base(made.plan.Directory)); err != nil {
		return "", err
	}
	m.r.at("claimed placed")
	if err := replaceLike(filepath.Join(made.plan.Directory, ".git"), []byte("gitdir: "+admin+"\n")); err != nil {
		return "", err
	}
	m.r.at("claimed dot git")
	// From the new lock on the entry is the attempt's.
	if err := replaceLike(filepath.Join(admin, "locked"), []byte(makingReason+m.req.Attempt+"\n")); err != nil {
		return "", err
	}
	m.r.at("claimed locked")
	err = writeMarker(admin, m.marker(made))
	m.r.at("claimed marked")
	return admin, err
}

// rewriteEntry has the entry say what a new one would.
func (m *making) rewriteEntry(ctx context.Context, s *spare, made choice) error {
	for _, file := range []struct{ name, line string }{
		{"gitdir", filepath.Join(made.plan.Directory, ".git")},
		{"HEAD", "ref: refs/heads/" + made.plan.Branch},
		{"ORIG_HEAD", s.rec.Commit},
	} {
		if err := replaceLike(filepath.Join(s.rec.Admin, file.name), []byte(file.line+"\n")); err != nil {
			return err
		}
	}
	return m.rewriteLog(ctx, s, made)
}

// rewriteLog has the log of HEAD say what a checkout leaves there, and that of
// ORIG_HEAD, which is kept only where all are.
func (m *making) rewriteLog(ctx context.Context, s *spare, made choice) error {
	logs := filepath.Join(s.rec.Admin, "logs")
	if m.set.get("core.logallrefupdates") != "" && !m.set.truth("core.logallrefupdates") {
		return os.RemoveAll(logs) // none is kept
	}
	who, err := m.committer(ctx, made)
	if err != nil {
		return err
	}
	none, at := strings.Repeat("0", len(s.rec.Commit)), s.rec.Commit
	content := fmt.Appendf(nil, "%s %s %s\n%s %s %s\treset: moving to HEAD\n", none, at, who, at, at, who)
	if err := replaceLike(filepath.Join(logs, "ORIG_HEAD"), fmt.Appendf(nil, "%s %s %s\treset: updating ORIG_HEAD\n", none, at, who)); err != nil && !isAbsent(err) {
		return err
	}
	path := filepath.Join(logs, "HEAD")
	if err := replaceLike(path, content); !isAbsent(err) {
		return err
	}
	if err := os.Mkdir(logs, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.WriteFile(path, content, 0o666) //nolint:gosec // what git leaves to the umask
}

// committer is who a log names for what is done now: as git has just written it
// into the log of the branch that it made, or says.
func (m *making) committer(ctx context.Context, made choice) (string, error) {
	if made.plan.BranchCreated {
		content, err := os.ReadFile(filepath.Join(m.req.Project.ID, "logs", "refs", "heads", filepath.FromSlash(made.plan.Branch)))
		lines := bytes.Split(bytes.TrimSuffix(content, []byte{'\n'}), []byte{'\n'})
		who, _, _ := bytes.Cut(lines[len(lines)-1], []byte{'\t'})
		if fields := bytes.SplitN(who, []byte{' '}, 3); err == nil && len(fields) == 3 {
			return string(fields[2]), nil
		}
	}
	return m.r.git.line(ctx, command{dir: workDir(m.req.Project), args: []string{"var", "GIT_COMMITTER_IDENT"}, inherit: m.req.Inherit})
}

// settleClaim does for a claimed spare what is left of the writing of files.
func (m *making) settleClaim(ctx context.Context, made choice, admin string) error {
	var err error
	if m.placed != made.plan.Directory {
		err = relocateIndex(admin, m.placed, made.plan.Directory)
	}
	m.r.at("claimed settled")
	if err == nil {
		return nil
	}
	// It is the same that a checkout would leave.
	_, err = m.r.git.run(ctx, command{
		dir: made.plan.Directory, args: []string{"update-index", "--untracked-cache"}, write: true, inherit: m.req.Inherit,
		config: m.set.hooksOff(m.req.Setup),
	})
	return m.failed(made.plan, "the index could not be written", "see what git says", err)
}
