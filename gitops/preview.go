package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/threadtree/threadtree/workspace"
)

// Preview says what a merge would do now, as [workspace.Merging] says: by the
// same judgement and the same composition, in a store of objects that is gone
// afterwards. What signs commits isn't tried, and no hook is run.
func (g *Merger) Preview(ctx context.Context, req workspace.MergeRequest) (workspace.Preview, error) {
	v := &previewing{merging: g.looking(req)}
	err := v.preview(ctx)
	return v.p, withOp("preview", err)
}

// previewing is one look ahead.
type previewing struct {
	*merging
	p workspace.Preview
	// clean and inWorkspace are what speaks against the workspace, inTarget
	// against the target.
	clean, inWorkspace, inTarget error
}

func (v *previewing) preview(ctx context.Context) error {
	// It takes a while to start, in which the rest is looked at.
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	objects, err := v.r.openObjects(reading, v.req.Project.ID)
	if err != nil {
		return composeFailure(err)
	}
	defer objects.close()
	if err := v.lookAtWorkspace(ctx); err != nil {
		return err
	}
	if stop := v.lookAtOperation(ctx); stop != nil {
		return v.stopped(ctx, stop)
	}
	if err := v.lookAtTarget(ctx); err != nil {
		return err
	}
	v.head()
	if v.onto == v.tip {
		v.p.Refusals = append(v.p.Refusals, v.nothing(0))
		return nil
	}
	var group errgroup.Group
	group.Go(func() error {
		if !v.req.CommitsAlone {
			v.clean = v.merging.clean(ctx)
		}
		if v.clean == nil {
			v.clean = v.leftBehind(ctx)
		}
		return nil
	})
	in := v.composeInput()
	in.preview, in.alone, in.objects = true, v.req.CommitsAlone, objects
	err = v.r.rehearse(ctx, in, func(done composed, command func(...string) (command, error)) error {
		return v.take(ctx, done, command)
	})
	_ = group.Wait()
	if err != nil {
		if !standsInWay(err) {
			return err
		}
		v.p.Refusals = append(v.p.Refusals, err)
		if v.p.Commits == nil {
			if err := v.listCommits(ctx); err != nil {
				return err
			}
		}
	}
	for _, stands := range []error{v.clean, v.inWorkspace, v.inTarget} {
		switch {
		case stands == nil:
		case standsInWay(stands):
			v.p.Refusals = append(v.p.Refusals, stands)
		default:
			return stands
		}
	}
	v.p.Clean = v.p.Conflict == nil && len(v.p.Refusals) == 0
	return nil
}

func (v *previewing) head() {
	v.p.Branch, v.p.Target, v.p.Strategy = v.branch, v.target, v.strategy
}

// standsInWay reports whether an error is what a merge would say, and not one of
// finding that out.
func standsInWay(err error) bool {
	switch workspace.CodeOf(err) {
	case workspace.ErrGitFailed, workspace.ErrTimeout, workspace.ErrInternal, "":
		return false
	}
	return true
}

// stopped is the preview where something is under way in the workspace.
func (v *previewing) stopped(ctx context.Context, stop error) error {
	if !standsInWay(stop) {
		return stop
	}
	v.p.Refusals = append(v.p.Refusals, stop)
	if c, ok := errors.AsType[*workspace.Conflict](stop); ok {
		v.p.Conflict = c
		if err := v.listCommits(ctx); err != nil {
			return err
		}
	} else if err := v.lookAtTarget(ctx); err != nil {
		return err
	}
	v.head()
	return nil
}

// listCommits finds the commits where nothing was composed that would tell. For
// a rebase those aren't among them that the target has already.
func (v *previewing) listCommits(ctx context.Context) error {
	which := []string{v.tip, "^" + v.onto}
	if v.strategy == workspace.StrategyRebase {
		which = []string{"--cherry-pick", "--right-only", v.onto + "..." + v.tip}
	}
	commits, err := v.r.commitInfos(ctx, v.refs, math.MaxInt32, append([]string{"--no-merges", "--topo-order", "--reverse"}, append(which, "--")...)...)
	if err != nil {
		return failure("", "the commits of "+v.what()+" can't be listed", "see what git says in the repository", err)
	}
	v.p.Commits = commits
	return nil
}

// take describes what was composed.
func (v *previewing) take(ctx context.Context, done composed, command func(...string) (command, error)) error {
	v.p.Commits, v.p.FastForward = done.source, done.fastForward
	switch {
	case done.conflict != nil:
		c, err := v.conflict(ctx, done.conflict.files, done.conflict.commit)
		if err != nil {
			return err
		}
		c.Instructions = instructions(c, v.tip, v.onto)
		v.p.Conflict = c
		return nil
	case done.tip == v.onto:
		v.p.Refusals = append(v.p.Refusals, v.nothing(done.dropped))
		return nil
	}
	v.p.Gains = done.commits
	return v.outcome(ctx, done, command)
}

// outcome describes what the target would become, and looks at what stands in
// the way of that.
func (v *previewing) outcome(ctx context.Context, done composed, seeing func(...string) (command, error)) error {
	// Made once it is needed: it has what was composed written down.
	stat := sync.OnceValues(func() (command, error) {
		stat, err := seeing(append([]string{"diff-tree", "-r", "-z", "--no-abbrev", "--raw", "--numstat"}, append(diffOptions, v.onto, done.tip, "--")...)...)
		stat.config = append(stat.config, diffConfig...)
		return stat, err
	})
	var onWay command
	if done.onWay == nil && !v.req.CommitsAlone {
		var err error
		if onWay, err = seeing("diff-tree", "-r", "-z", "--no-renames", "--raw", "--ignore-submodules=none", v.tip, done.tip, "--"); err != nil {
			return err
		}
	}
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error {
		changes, err := done.changes, error(nil)
		if v.p.Files = done.files; v.p.Files == nil {
			changes, err = v.stat(both, stat)
		}
		if err == nil {
			v.p.Warnings = v.r.unpushedSubmodules(both, v.at.top, changes)
		}
		if err == nil && !v.req.CommitsAlone {
			v.inTarget = v.foresee(both, done.tip, changes, stat)
		}
		return err
	})
	group.Go(func() (err error) {
		if v.req.CommitsAlone {
			return nil
		}
		changes := done.onWay
		if changes == nil {
			var out []byte
			if out, err = v.r.git.run(both, onWay); err == nil {
				changes, err = parseTreeChanges(out)
			}
		}
		if err == nil {
			v.inWorkspace = v.free(both, changes)
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return failure("", fmt.Sprintf("what %s would change can't be found out", v.target), "see what git says in the repository", err)
	}
	return nil
}

// stat has git say what the target would change in.
func (v *previewing) stat(ctx context.Context, seeing func() (command, error)) ([]treeChange, error) {
	c, err := seeing()
	if err != nil {
		return nil, err
	}
	out, err := v.r.git.run(ctx, c)
	if err != nil {
		return nil, err
	}
	changes, numstat, err := splitRaw(out)
	if err == nil {
		v.p.Files, err = parseNumstat(numstat)
	}
	return changes, err
}

// splitRaw reads the first part of the output of "git diff-tree --raw
// --numstat -z", a rename as the two changes that it is, and returns the rest.
func splitRaw(out []byte) (changes []treeChange, numstat []byte, err error) {
	var plain bytes.Buffer
	for len(out) > 0 && out[0] == ':' {
		meta, rest, ok := bytes.Cut(out, []byte{0})
		fields := strings.Fields(string(meta))
		path, after, ended := bytes.Cut(rest, []byte{0})
		if !ok || !ended || len(fields) != 5 {
			return nil, nil, fmt.Errorf("a line of the difference can't be read: %q", clip(meta))
		}
		out = after
		if kind := fields[4][0]; kind != 'R' && kind != 'C' {
			fmt.Fprintf(&plain, "%s\x00%s\x00", meta, path)
			continue
		}
		to, after, ended := bytes.Cut(out, []byte{0})
		if !ended {
			return nil, nil, fmt.Errorf("the difference ends within a rename: %q", clip(path))
		}
		none := strings.Repeat("0", len(fields[2]))
		if fields[4][0] == 'R' {
			fmt.Fprintf(&plain, "%s 000000 %s %s D\x00%s\x00", fields[0], fields[2], none, path)
		}
		fmt.Fprintf(&plain, ":000000 %s %s %s A\x00%s\x00", fields[1], none, fields[3], to)
		out = after
	}
	changes, err = parseTreeChanges(plain.Bytes())
	return changes, out, err
}
