package workspace

import (
	"context"
	"fmt"
	"strings"
)

// Merger brings the commits of workspaces home. It is safe for concurrent use.
type Merger struct {
	m   *Manager
	git Merging
}

// NewMerger returns a Merger over the life cycle of m.
func NewMerger(m *Manager, git Merging) *Merger { return &Merger{m: m, git: git} }

// MergeOptions say what to merge and how.
type MergeOptions struct {
	ThreadID string
	// Attempt, if set, is the id of the attempt that made what is meant: where
	// the thread has another workspace by now, nothing is done, and the code is
	// in_progress, wrapping [ErrStale].
	Attempt string
	// Target, Strategy, Message, Resolve, KeepBranch and CommitsAlone are as in
	// [MergeRequest]. Where a rebase has no use for the message, a warning says
	// so.
	Target       string
	Strategy     Strategy
	Message      string
	Resolve      bool
	KeepBranch   bool
	CommitsAlone bool
	// Progress, if set, is told of each step, in order.
	Progress func(Event)
}

// Preview says what a merge would do, and touches nothing. What stands in its
// way is in the preview; an error is returned where that can't be found out.
func (g *Merger) Preview(ctx context.Context, o MergeOptions) (Preview, error) {
	req, err := g.request(ctx, o)
	if err != nil {
		return Preview{}, within("preview", o.ThreadID, err)
	}
	p, err := g.git.Preview(ctx, req)
	return p, within("preview", o.ThreadID, err)
}

// Merge brings the workspace's commits to the target branch, as
// [Merging].Merge says. Afterwards the workspace sits on the target's tip,
// detached, and its branch is gone unless it was to be kept, or is the base of
// another workspace, which is told in a warning.
func (g *Merger) Merge(ctx context.Context, o MergeOptions) (Merged, error) {
	return g.finish(ctx, "merge", o, g.git.Merge)
}

// Continue finishes a merge that was left paused on a conflict. Where the target
// has moved on by now and a new conflict comes of it, that one is left paused as
// the first was, whatever o.Resolve says.
func (g *Merger) Continue(ctx context.Context, o MergeOptions) (Merged, error) {
	o.Resolve = true // nothing is ever paused unasked
	return g.finish(ctx, "continue", o, g.git.Continue)
}

// Abort restores what was before a paused merge, and returns the workspace.
func (g *Merger) Abort(ctx context.Context, o MergeOptions) (Workspace, error) {
	req, err := g.request(ctx, o)
	if err == nil {
		err = g.git.Abort(ctx, req)
	}
	return req.Workspace, within("abort", o.ThreadID, err)
}

// Recover finishes or undoes what a killed process left of merges in a
// project, brings the records in line with it, and returns what it did.
func (g *Merger) Recover(ctx context.Context, projectDir string) ([]string, error) {
	project, err := g.m.cfg.Repository.Open(ctx, projectDir)
	if err != nil {
		return nil, within("recover", "", err)
	}
	done, err := g.git.Recover(ctx, project)
	for _, action := range g.m.followMerges(ctx, project, g.git) {
		done = append(done, fmt.Sprintf("%s: %s", action.Directory, action.Detail))
	}
	return done, within("recover", "", err)
}

// request checks what was asked for and finds the workspace.
func (g *Merger) request(ctx context.Context, o MergeOptions) (MergeRequest, error) {
	if o.Target != "" {
		if err := CheckRef(o.Target); err != nil {
			return MergeRequest{}, err
		}
	}
	switch o.Strategy {
	case "":
		o.Strategy = StrategyRebase
	case StrategyRebase, StrategySquash, StrategyMerge:
	default:
		return MergeRequest{}, &Error{
			Code: ErrInvalidRef, Message: fmt.Sprintf("there is no strategy %s", quote(string(o.Strategy))),
			Hint: "use rebase, squash or merge",
		}
	}
	w, project, err := g.m.ready(ctx, o.ThreadID)
	if err == nil {
		err = meant(w, o.Attempt, "done")
	}
	if err != nil {
		return MergeRequest{Workspace: w}, err
	}
	return MergeRequest{
		Project: project, Workspace: w, Target: o.Target, Strategy: o.Strategy, Message: o.Message,
		Resolve: o.Resolve, KeepBranch: o.KeepBranch, CommitsAlone: o.CommitsAlone, Progress: progress(o.Progress),
	}, nil
}

// finish runs a merge and brings the record in line with it.
func (g *Merger) finish(ctx context.Context, op string, o MergeOptions, merge func(context.Context, MergeRequest) (Merged, error)) (Merged, error) {
	req, err := g.request(ctx, o)
	if err != nil {
		return Merged{}, within(op, o.ThreadID, err)
	}
	stacked, err := g.m.stackedOn(ctx, req.Project, req.Workspace)
	if err != nil {
		return Merged{}, within(op, o.ThreadID, err)
	}
	req.KeepBranch = req.KeepBranch || len(stacked) > 0
	merged, err := merge(ctx, req)
	if err != nil {
		// It may have finished an earlier one, whose process was killed.
		if teller, ok := g.git.(MergeTeller); ok {
			_, _, _ = g.m.followMerge(context.WithoutCancel(ctx), teller, req.Project, req.Workspace)
		}
		return merged, within(op, o.ThreadID, err)
	}
	if o.Message != "" && merged.Strategy == StrategyRebase {
		merged.Warnings = append(merged.Warnings, "the message was not used: a rebase keeps those of the commits; squash or merge makes a commit that has it")
	}
	if len(stacked) > 0 && merged.BranchKept && !o.KeepBranch {
		merged.Warnings = append(merged.Warnings, fmt.Sprintf("the branch %s was kept: it is the base of %s, and what is merged there goes to it, not to %s, unless another target is named",
			merged.Branch, joinShort(stacked, 3), merged.Target))
	}
	if err := g.m.recordMerge(ctx, req.Workspace, merged); err != nil {
		merged.Warnings = append(merged.Warnings, fmt.Sprintf("the merge is done, but the record could not follow it: %s", messageOf(err)))
	}
	return merged, nil
}

// stackedOn names the other threads whose workspaces have the branch of this
// one as their base.
func (m *Manager) stackedOn(ctx context.Context, project Project, w Workspace) ([]string, error) {
	if w.Branch == "" {
		return nil, nil
	}
	rows, err := m.rowsOf(ctx, project)
	if err != nil {
		return nil, err
	}
	var threads []string
	for _, other := range rows {
		if other.ThreadID != w.ThreadID && other.Status != StatusError && strings.TrimPrefix(other.Base, "refs/heads/") == w.Branch {
			threads = append(threads, "thread "+other.ThreadID)
		}
	}
	return threads, nil
}

// ready returns a thread's workspace that can be worked in, and its project.
func (m *Manager) ready(ctx context.Context, threadID string) (Workspace, Project, error) {
	w, err := m.Get(ctx, threadID)
	if err != nil {
		return w, Project{}, err
	}
	switch w.Status {
	case StatusReady:
	case StatusError:
		return w, Project{}, failed("", w)
	default:
		return w, Project{}, &Error{
			Code: ErrNotReady, Workspace: &w,
			Message: fmt.Sprintf("the workspace of thread %s is still being made", threadID),
			Hint:    "wait until it is ready",
		}
	}
	project, err := m.projectOf(ctx, w)
	if err != nil {
		return w, project, err
	}
	return w, project, m.inPlace(ctx, w)
}
