package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// States finds out the state of each worktree, as many at once as Go may use
// processors, and calls each once a query, one call at a time, as soon as a
// state is known: in about the order of the queries. A worktree that takes
// longer than Options.StateTimeout has the rest of its state unknown. The error
// is that of a repository that can't be read, or of ctx; after it each isn't
// called any more.
//
// The commits of all are compared together, by as few processes as that takes,
// while the files are looked at, and what was found out about the same commits
// before is not looked for again. The files of a small worktree are looked at
// without git where none of them, nor anything else that a status depends on,
// has changed since the last status, or since git noted them in the index: as
// the file system tells, by more than git itself goes by.
func (r *Repository) States(ctx context.Context, p workspace.Project, queries []workspace.StateQuery, each func(int, workspace.State)) error {
	if len(queries) == 0 {
		return nil
	}
	c, err := r.newComparer(ctx, p)
	if err != nil {
		return withOp("list", failure("list", "the state of the worktrees could not be found out", "", err))
	}
	c.working() // before processes of ours work in the worktrees
	ctx, cancel := context.WithCancel(ctx)
	l := &stateLooks{r: r, c: c, queries: queries, surveyed: make(chan struct{}), results: make(chan stateResult)}
	defer l.group.Wait()
	defer cancel()
	l.group.Go(func() {
		defer close(l.surveyed)
		c.lookOutside(ctx)
		c.survey(ctx, queries)
	})
	for range min(runtime.GOMAXPROCS(0), len(queries)) {
		l.group.Go(func() { l.work(ctx) })
	}
	for range queries {
		select {
		case res := <-l.results:
			// What was cut short by the end of ctx is no result.
			if ctx.Err() == nil {
				each(res.i, res.state)
				continue
			}
		case <-ctx.Done():
		}
		return failure("list", "the state of the worktrees could not be found out", "try again", ctx.Err())
	}
	return nil
}

// looker finds out the state of one worktree.
type looker struct {
	r      *Repository
	c      *comparer
	q      workspace.StateQuery
	w      workspace.Worktree
	gitDir string
	state  workspace.State
}

// unknown notes what could not be found out, and why.
func (l *looker) unknown(what, why string) {
	l.state.Unknown = append(l.state.Unknown, what+" not known, because "+why)
}

// because is because with the time that was allowed.
func (l *looker) because(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return fmt.Sprintf("it took longer than %s", l.r.stateTimeout)
	}
	return because(err)
}

func (r *Repository) newLooker(c *comparer, q workspace.StateQuery) *looker {
	l := &looker{r: r, c: c, q: q, w: q.Worktree, gitDir: c.project.ID}
	if !q.Worktree.Main {
		l.gitDir = filepath.Join(c.project.ID, "worktrees", q.Worktree.Admin)
	}
	return l
}

// nowhere notes that there is nothing to look at.
func (l *looker) nowhere() bool {
	if l.w.Main || l.w.Admin != "" {
		return false
	}
	l.unknown("its state", "the worktree has no entry in the repository")
	return true
}

// files looks at what is in the working copy and in its git directory.
func (l *looker) files(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.r.stateTimeout)
	defer cancel()
	l.state.Operation = operation(l.gitDir)
	l.state.Committed = committed(l.gitDir)
	l.changes(ctx)
}

// commits looks at what is checked out.
func (l *looker) commits(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.r.stateTimeout)
	defer cancel()
	// What the files told comes after.
	told := l.state.Unknown
	l.state.Unknown = nil
	l.process()
	l.unfinished(ctx)
	l.compare(ctx, l.q.Base, l.q.Own)
	l.activity(ctx)
	l.state.Unknown = append(l.state.Unknown, told...)
}

// compare finds out how HEAD stands to the base.
func (l *looker) compare(ctx context.Context, base, own string) {
	defer l.elsewhere(ctx, base, own)
	s := l.c.side(ctx, base)
	l.state.Default = l.w.Branch != "" && (l.w.Branch == l.c.main || l.w.Branch == s.branch)
	const what = "ahead, behind and merged"
	switch {
	case l.w.Head == "" && l.w.Broken != "":
		l.unknown(what, l.w.Broken)
		return
	case l.w.Head == "":
		l.unknown(what, "there is no commit yet")
		return
	case s.unknown != "":
		l.unknown(what, s.unknown)
		return
	}
	rel, err := l.c.relation(ctx, s.sha, l.w.Head)
	if err != nil {
		l.unknown(what, l.because(ctx, err))
		return
	}
	l.state.Ahead, l.state.Behind, l.state.Merged = &rel.ahead, &rel.behind, rel.merged
	if rel.merged == nil {
		l.unknown("merged", rel.unknown)
	}
}

// activity finds out when something was last done: a commit, or a change of
// the index or of HEAD.
func (l *looker) activity(ctx context.Context) {
	var newest time.Time
	for _, file := range []string{"index", "HEAD", "logs/HEAD"} {
		if info, err := os.Stat(filepath.Join(l.gitDir, file)); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	if l.w.Head != "" {
		made, err := l.c.refs.committed(ctx, l.w.Head)
		if err != nil {
			l.unknown("the time of the last commit", l.because(ctx, err))
		}
		if made.After(newest) {
			newest = made
		}
	}
	if newest.IsZero() {
		l.unknown("the last activity", "the worktree has neither a commit nor an index")
		return
	}
	newest = newest.UTC()
	l.state.LastActivity = &newest
}

// unfinished looks for a merge of ours. A journal that can't be read counts.
func (l *looker) unfinished(ctx context.Context) {
	what, err := l.r.unfinishedMerge(ctx, l.c, l.gitDir, l.w.Branch, l.w.Head)
	if err != nil {
		what = "a merge that can't be judged (" + l.because(ctx, err) + ")"
	}
	l.state.Unfinished = what
}

// process looks for a process that works in the directory.
func (l *looker) process() {
	if l.w.Main || l.w.Missing || l.w.Directory == "" {
		return
	}
	if p, ok := processIn(l.c.working(), resolveExisting(l.w.Directory)); ok {
		l.state.Process = fmt.Sprintf("the process %d (%s)", p.pid, p.command)
	}
}

// changes finds out what isn't committed.
func (l *looker) changes(ctx context.Context) {
	const what = "uncommitted work"
	if why := l.absent(); why != "" {
		l.unknown(what, why)
		return
	}
	old, known, now, provable := l.unchanged(ctx)
	if known {
		l.count(old)
		l.state.Dirty = new(old.dirty())
		if now.settled {
			l.r.seen.put(l.seenKey(), seen{now.print, old})
		}
		return
	}
	report, err := l.r.status(ctx, l.gitDir, l.w.Directory, "normal")
	if err != nil {
		l.unknown(what, l.because(ctx, err))
		return
	}
	n := report.counts()
	hidden, err := l.r.hiddenEdits(ctx, l.gitDir, l.w.Directory)
	for _, path := range hidden {
		if !report.has(path) {
			n.modified++
			n.changed++
		}
	}
	l.count(n)
	if err != nil {
		l.unknown("edits of files marked assume-unchanged or skip-worktree", l.because(ctx, err))
		if !n.dirty() {
			return
		}
	} else if provable && now.settled && report.oid == l.w.Head {
		l.r.seen.put(l.seenKey(), seen{now.print, n})
	}
	l.state.Dirty = new(n.dirty())
}

// count tells the changes.
func (l *looker) count(n counts) {
	l.state.Changed = &n.changed
	l.state.Staged, l.state.Modified, l.state.Conflicted, l.state.Untracked = &n.staged, &n.modified, &n.conflicted, &n.untracked
}

// absent says why there is no working copy to look at, "" if there is one.
func (l *looker) absent() string {
	switch {
	case l.w.Missing:
		return "the directory is missing"
	case l.w.Directory == "":
		return l.w.Broken
	case l.w.Main:
		return ""
	}
	// Looked at anew: git would go on to the repository around a directory
	// that has lost its .git.
	dotGit := filepath.Join(l.w.Directory, ".git")
	target, err := readGitFile(dotGit)
	switch {
	case isAbsent(err):
		return fmt.Sprintf("there is no working copy at %s", l.w.Directory)
	case err != nil:
		return strings.TrimSpace(fmt.Sprintf("%s can't be read: %v", dotGit, err))
	case !samePlace(target, l.gitDir):
		return fmt.Sprintf("%s belongs to another repository or worktree", l.w.Directory)
	}
	return ""
}
