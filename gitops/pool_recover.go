package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/threadtree/threadtree/workspace"
)

var (
	_ workspace.Recoverer = (*Pool)(nil)
	_ workspace.Sparer    = (*Provider)(nil)
)

// Recover removes what killed processes left of spares: half-made ones, and
// those that a create had claimed and not yet made its own. It returns a line
// for each. Ready ones stay.
func (x *Pool) Recover(ctx context.Context, p workspace.Project) ([]string, error) {
	var lines []string
	dir := x.r.sparesDir(p)
	records, err := x.r.spareRecords(dir)
	all := errors.Join(err, forgetLocks(dir))
	for _, rec := range records {
		if rec.Phase == spareReady {
			continue
		}
		s, err := x.r.openSpare(dir, rec.ID)
		if err != nil || s == nil {
			all = errors.Join(all, err)
			continue
		}
		if s.rec.Phase != spareReady {
			if err = s.discard(ctx, p); err == nil {
				lines = append(lines, fmt.Sprintf("the spare %s, which was interrupted while it was %s, is gone", rec.Directory, rec.Phase))
			}
			all = errors.Join(all, err)
		}
		s.release()
	}
	return lines, withOp("repair", errors.Join(all, x.r.sweepStrays(ctx, p)))
}

// Spares returns the project's spares, and those of projects that are gone:
// see [workspace.Sparer].
func (p *Provider) Spares(ctx context.Context, project workspace.Project) ([]workspace.Spare, error) {
	pool := p.o.Pool
	if pool == nil {
		pool = NewPool(p.r, PoolOptions{})
	}
	list, err := pool.spares(ctx, project)
	return list, withOp("gc", err)
}

func (x *Pool) spares(ctx context.Context, project workspace.Project) ([]workspace.Spare, error) {
	f := &filling{x: x, p: project}
	if err := f.look(ctx); err != nil {
		return nil, err
	}
	records, err := x.r.spareRecords(x.r.sparesDir(project))
	if err != nil {
		return nil, unreadable(x.r.sparesDir(project), err)
	}
	var list []workspace.Spare
	for _, rec := range records {
		spare := workspace.Spare{ID: rec.ID, Directory: rec.Directory, Size: rec.Size, Made: rec.Made}
		switch held, err := lockHeld(filepath.Join(x.r.sparesDir(project), rec.ID+".lock")); {
		case err != nil || held:
			// Somebody is at work on it.
		case rec.Phase != spareReady:
			spare.Reason = fmt.Sprintf("it was interrupted while it was %s", rec.Phase)
		default:
			if spare.Reason = f.unwanted(rec); spare.Reason == "" {
				f.done.Ready++
				f.bytes += rec.Size
			}
		}
		list = append(list, spare)
	}
	gone, err := x.r.goneSpares()
	for _, s := range gone {
		list = append(list, workspace.Spare{
			ID: s.rec.ID, Directory: s.rec.Directory, Size: s.rec.Size, Made: s.rec.Made, Reason: "its repository " + s.rec.Common + " is gone",
		})
	}
	return list, err
}

// DiscardSpare removes a spare, if it is one still: see [workspace.Sparer].
func (p *Provider) DiscardSpare(ctx context.Context, project workspace.Project, id string) error {
	return withOp("gc", p.r.discardSpare(ctx, project, id))
}

func (r *Repository) discardSpare(ctx context.Context, p workspace.Project, id string) error {
	s, err := r.openSpare(r.sparesDir(p), id)
	if err != nil {
		return cantRemove("gc", "the spare", err)
	}
	if s != nil {
		defer s.release()
		if s.rec.Phase == spareReady {
			m := &making{r: r, req: workspace.CreateRequest{Project: p, Progress: func(workspace.Event) {}}}
			if m.set, err = r.settings(ctx, p); err != nil {
				return err
			}
			line, err := s.judge(ctx, m)
			if err != nil || line != "" {
				return cantRemove("gc", "the spare", errors.Join(err, keptError(line)))
			}
		}
		return s.discard(ctx, p)
	}
	gone, err := r.goneSpares()
	for _, s := range gone {
		if s.rec.ID == id {
			return errors.Join(err, s.discardGone())
		}
	}
	return err
}

// keptError is that of a spare which somebody has worked in.
func keptError(line string) error {
	if line == "" {
		return nil
	}
	return &workspace.Error{
		Code: workspace.ErrDirtyWorktree, Message: line,
		Hint: "look what is in it, then remove it with git worktree remove",
	}
}

// goneSpares returns the spares whose repository is gone, without their locks.
func (r *Repository) goneSpares() ([]*spare, error) {
	root := filepath.Join(r.home, "spares")
	names, err := os.ReadDir(root)
	if err != nil && !isAbsent(err) {
		return nil, unreadable(root, err)
	}
	var gone []*spare
	for _, name := range names {
		dir := filepath.Join(root, name.Name())
		records, err := r.spareRecords(dir)
		if err != nil {
			return gone, unreadable(dir, err)
		}
		for _, rec := range records {
			if _, err := os.Lstat(rec.Common); isAbsent(err) {
				gone = append(gone, &spare{r: r, dir: dir, rec: rec})
			}
		}
	}
	return gone, nil
}

// discardGone removes the directory of a spare without a repository, if nobody
// has worked in it.
func (s *spare) discardGone() error {
	held, err := s.r.openSpare(s.dir, s.rec.ID)
	if err != nil || held == nil {
		return cantRemove("gc", s.rec.Directory, err)
	}
	defer held.release()
	if held.rec.Phase == spareReady && held.owns(held.rec.Directory) {
		if same, err := untouched(held.path(".files"), held.trees()[0]); err != nil || !same {
			return keptError("the repository of the spare " + held.rec.Directory + " is gone and somebody has worked in it; it was left there")
		}
	}
	if filepath.Dir(held.rec.Directory) == resolveExisting(filepath.Join(s.r.home, "worktrees", filepath.Base(s.dir))) {
		if err := removeTree(held.rec.Directory); err != nil {
			return cantRemove("gc", held.rec.Directory, err)
		}
	}
	return cantRemove("gc", held.rec.Directory, held.forget())
}
