package gitops

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// checkout writes the files, exactly as "git worktree add" has it done. It
// needs no lock: nobody else knows of the worktree yet.
func (m *making) checkout(ctx context.Context, plan workspace.Plan, admin string) error {
	const what = "Checking out files"
	m.req.Progress(workspace.Event{Phase: workspace.PhaseCheckout, Message: what})
	_, err := m.r.git.run(ctx, command{
		dir: plan.Directory, args: []string{"reset", "--hard", "--no-recurse-submodules"}, write: true,
		env:     []string{"GIT_DIR=" + admin, "GIT_WORK_TREE=" + plan.Directory, "GIT_PROGRESS_DELAY=0"},
		config:  append(m.cacheFromStart(), m.set.hooksOff(m.req.Setup)...),
		idle:    m.idle,
		inherit: m.req.Inherit, progress: &fileProgress{what: what, tell: m.req.Progress, now: m.r.now},
	})
	if err == nil && m.written {
		err = firstLog(admin)
	}
	return m.failed(plan, "the files could not be checked out", "see what git says: a filter that is required may be missing, or the disk be full", err)
}

// largeIndex is the size of an index from which on keeping track of untracked
// files is worth its writing: some ten thousand files. After a move git
// complains of such an index with each status, so small ones go without.
const largeIndex = 1 << 20

// cachesUntracked is the configuration with which git makes an index that keeps
// track of untracked files, so that each later status is faster; none where
// the user has decided about it, or the index couldn't hold it.
func (s *settings) cachesUntracked() []string {
	if s.get("core.untrackedcache") != "" || s.get("core.splitindex") != "" || s.get("feature.manyfiles") != "" {
		return nil
	}
	return []string{"core.untrackedCache=true"}
}

// cacheFromStart is cachesUntracked for a worktree that will probably be large,
// as the caller's checkout or the main one is.
func (m *making) cacheFromStart() []string {
	dirs := []string{m.req.Project.ID}
	if dir, err := checkoutGitDir(m.req.Project); err == nil {
		dirs = append(dirs, dir)
	}
	if !slices.ContainsFunc(dirs, isLarge) {
		return nil
	}
	return m.set.cachesUntracked()
}

// isLarge reports whether the index in a git directory is large.
func isLarge(gitDir string) bool {
	info, err := os.Stat(filepath.Join(gitDir, "index"))
	return err == nil && info.Size() >= largeIndex
}

// cacheUntracked makes each later status of a worktree faster that turned out
// to be large. Where it can't, nothing is lost.
func (m *making) cacheUntracked(ctx context.Context, directory, admin string) {
	if !isLarge(admin) || m.set.cachesUntracked() == nil || m.cacheFromStart() != nil {
		return
	}
	_, _ = m.r.git.run(ctx, command{
		dir: directory, args: []string{"update-index", "--untracked-cache"}, write: true, inherit: m.req.Inherit, idle: m.idle,
		config: m.set.hooksOff(m.req.Setup), timeout: time.Minute,
	})
}

// progressEvery is how often the progress of one step is told at most.
const progressEvery = 100 * time.Millisecond

// fileProgress reads what git says of its progress, "Updating files:  12%
// (34/280)", and tells it.
type fileProgress struct {
	what string
	tell func(workspace.Event)
	now  func() time.Time
	line []byte
	told time.Time
}

func (p *fileProgress) Write(b []byte) (int, error) {
	for _, c := range b {
		if c != '\r' && c != '\n' {
			p.line = append(p.line, c)
			continue
		}
		p.say()
		p.line = p.line[:0]
	}
	return len(b), nil
}

func (p *fileProgress) say() {
	done, total, ok := parseProgress(p.line)
	if !ok {
		return
	}
	now := p.now()
	if done != total && now.Sub(p.told) < progressEvery {
		return
	}
	p.told = now
	p.tell(workspace.Event{Phase: workspace.PhaseCheckout, Message: p.what, Done: done, Total: total})
}

// parseProgress reads a line of git's about its progress with files.
func parseProgress(line []byte) (done, total int, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte("Updating files:"))
	if !ok {
		return 0, 0, false
	}
	_, rest, ok = bytes.Cut(rest, []byte("("))
	count, _, closed := bytes.Cut(rest, []byte(")"))
	before, after, slash := bytes.Cut(count, []byte("/"))
	if !ok || !closed || !slash {
		return 0, 0, false
	}
	done, err := strconv.Atoi(string(before))
	if err != nil {
		return 0, 0, false
	}
	total, err = strconv.Atoi(string(after))
	return done, total, err == nil && total > 0
}
