package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// trees are the directories whose files prove that nobody touched the spare:
// its own and its entry's. The log of HEAD, which git's housekeeping may
// rewrite, isn't part of it.
func (s *spare) trees() []tree {
	return []tree{{root: s.rec.Directory}, {root: s.rec.Admin, without: []string{"logs"}}}
}

// command is a git command on the spare's working copy.
func (s *spare) command(m *making) command {
	return command{
		dir: s.rec.Directory, write: true, idle: m.idle, config: m.set.hooksOff(m.req.Setup),
		env:     []string{"GIT_DIR=" + s.rec.Admin, "GIT_WORK_TREE=" + s.rec.Directory},
		inherit: append(s.inherit(), m.req.Inherit...),
	}
}

// errSetup says that a set-up in a spare went less than well.
var errSetup = errors.New("the set-up ahead of a create went less than well")

// build makes a spare's entry and files, and does the set-up where that can be
// done ahead.
func (s *spare) build(ctx context.Context, m *making, o SetupOptions) error {
	if err := s.addEntry(ctx, m); err != nil {
		return err
	}
	s.r.at("spare entry")
	var err error
	if s.rec.Device, err = deviceOf(s.rec.Directory); err != nil {
		return err
	}
	s.rec.Inode = inodeOf(s.rec.Directory)
	if err := s.write(spareMaking); err != nil {
		return err
	}
	s.r.at("spare inode")
	plan := workspace.Plan{Directory: s.rec.Directory}
	if err := m.checkout(ctx, plan, s.rec.Admin); err != nil {
		return err
	}
	s.r.at("spare files")
	m.cacheUntracked(ctx, s.rec.Directory, s.rec.Admin)
	if s.ahead(m, o) {
		ok, err := s.setUp(ctx, m, o)
		if err != nil {
			return err
		}
		if !ok {
			return errSetup
		}
		s.r.at("spare set up")
	}
	return s.settle(ctx, m)
}

// addEntry adds the entry of a spare under the repository's lock.
func (s *spare) addEntry(ctx context.Context, m *making) error {
	lock, err := s.r.lock(ctx, m.req.Project)
	if err != nil {
		return err
	}
	defer lock.release()
	if err := os.MkdirAll(filepath.Dir(s.rec.Directory), 0o755); err != nil {
		return cantHold(filepath.Dir(s.rec.Directory), "", err)
	}
	reason := spareReason + s.rec.ID
	if m.set.writable(s.r.openRefs(s.rec.Common)) {
		s.rec.Admin, err = s.r.newEntry(s.rec.Common, "spare-"+s.rec.ID, entryFiles{directory: s.rec.Directory, head: s.rec.Commit, reason: reason})
		if err != nil {
			return err
		}
		return writeDotGit(s.rec.Directory, s.rec.Admin)
	}
	_, err = s.r.git.run(ctx, command{
		dir: workDir(m.req.Project), write: true, config: m.set.hooksOff(false), inherit: append(lock.inherit(), s.inherit()...), idle: m.idle,
		args: []string{"worktree", "add", "-q", "--no-checkout", "--lock", "--reason=" + reason, "--detach", "--", s.rec.Directory, s.rec.Commit},
	})
	if s.rec.Admin = gitDirOf(s.rec.Directory); err == nil && !readEntry(s.rec.Admin).of(s.rec.Directory) {
		err = fmt.Errorf("git made an entry for %s that doesn't lead back to it", s.rec.Directory)
	}
	return err
}

// settle refreshes the index of a spare whose files are written, so that the
// first status of its thread is as fast as any, notes the files and makes it
// ready.
func (s *spare) settle(ctx context.Context, m *making) error {
	if isLarge(s.rec.Admin) {
		nextSecond()
	}
	var err error
	if s.rec.Status, err = s.r.statusOf(ctx, s.command(m), true); err != nil {
		return err
	}
	s.r.at("spare status")
	if s.rec.Size, err = noteFiles(s.path(".files"), s.trees()...); err != nil {
		return err
	}
	s.r.at("spare noted")
	s.rec.Index = hintOf(s.rec.Admin)
	return s.write(spareReady)
}

// nextSecond waits for the next second of the clock: git takes a file that was
// written in the second in which its index was for one that may have changed
// since, and reads it again.
func nextSecond() { time.Sleep(time.Second + settledFor - time.Duration(time.Now().Nanosecond())) }

// whole reports whether a ready spare is where and as it was noted.
func (s *spare) whole() bool {
	if s.rec.Phase != spareReady || s.rec.Inode == 0 || s.rec.Inode != inodeOf(s.rec.Directory) {
		return false
	}
	if device, err := deviceOf(s.rec.Directory); err != nil || device != s.rec.Device {
		return false
	}
	same, err := untouched(s.path(".files"), s.trees()...)
	s.seen = time.Now()
	return err == nil && same
}

// errStays says that git has refused to move a spare: somebody may be at work in
// it. It is left to the next Fill.
var errStays = errors.New("git refused to bring the spare to another commit")

// move brings the spare's files from its commit to another. It stays one that
// is moving: its files have to be noted anew, or it has to be claimed.
func (s *spare) move(ctx context.Context, m *making, w way) error {
	if w.refused != nil {
		return w.refused
	}
	if err := s.write(spareMoving); err != nil {
		return err
	}
	s.r.at("spare moving")
	// All of an index that git has written would have to be read for it.
	if s.rec.Index != nil && w.place != "" {
		if err := s.rec.Index.relocate(s.rec.Admin, s.rec.Directory, w.place); err != nil {
			return err
		}
		s.placed = w.place
	}
	// That refuses to write over what somebody has changed, and unlike
	// "read-tree -m" goes by what the index knows of trees.
	cmd := s.command(m)
	cmd.config = append(cmd.config, "core.untrackedCache=keep")
	cmd.args = []string{"reset", "-q", "--merge", "--no-recurse-submodules", w.to, "--"}
	if _, err := s.r.git.run(ctx, cmd); err != nil {
		if exitCode(err) > 0 {
			s.leave()
			err = errors.Join(errStays, err)
		}
		return err
	}
	s.rec.Commit, s.rec.Index, s.moved = w.to, nil, true
	s.r.at("spare moved")
	return nil
}

// files guesses how many files a spare has, by its index.
func (rec spareRecord) files() int {
	info, err := os.Stat(filepath.Join(rec.Admin, "index"))
	if err != nil {
		return 0
	}
	return int(info.Size() / 100)
}

// advance is move for a spare that is to stay one.
func (s *spare) advance(ctx context.Context, m *making, to string, o SetupOptions) (bool, error) {
	if err := s.move(ctx, m, way{to: to, refused: m.reachable(ctx, s.rec, to)}); err != nil {
		return false, err
	}
	if err := replaceLike(filepath.Join(s.rec.Admin, "ORIG_HEAD"), []byte(to+"\n")); err != nil && !isAbsent(err) {
		return false, err
	}
	if s.rec.Setup != nil {
		if ok, err := s.setUp(ctx, m, o); err != nil || !ok || !s.ahead(m, o) {
			return false, err
		}
	}
	return true, s.settle(ctx, m)
}

// remove removes a spare, wherever it is by now.
func (s *spare) remove(ctx context.Context, p workspace.Project) error {
	lock, err := s.r.lock(ctx, p)
	if err != nil {
		return err
	}
	aside, err := s.bury()
	lock.release()
	if err == nil {
		err = errors.Join(removeTrees(aside), s.forget())
	}
	return cantRemove("gc", s.rec.Directory, err)
}

// bury takes a spare out of everybody's sight, under the repository's lock, and
// returns what has to be deleted.
func (s *spare) bury() (aside []string, err error) {
	if err := s.write(spareGoing); err != nil {
		return nil, err
	}
	s.r.at("spare going")
	admin, err := s.entry()
	if err != nil {
		return nil, err
	}
	if admin != "" {
		to, err := buryEntry(s.rec.Common, admin)
		if err != nil {
			return nil, err
		}
		aside = append(aside, to)
	}
	s.r.at("spare buried")
	for _, dir := range []string{s.rec.Directory, s.rec.Target} {
		if dir != "" && s.owns(dir) {
			aside = append(aside, dir)
		}
	}
	return aside, nil
}

// owns reports whether a directory is the spare's: at the place that it alone
// has, or known again by its number.
func (s *spare) owns(dir string) bool {
	if _, err := os.Lstat(dir); err != nil {
		return false
	}
	if dir == s.rec.Directory {
		return true
	}
	device, err := deviceOf(dir)
	return err == nil && s.rec.Inode != 0 && inodeOf(dir) == s.rec.Inode && device == s.rec.Device
}
