package opencode

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// Adapter types.
const (
	// AdapterThreadtree is the adapter of the embedded plugin, which takes a
	// worktree that exists.
	AdapterThreadtree = "threadtree"
	// AdapterWorktree is the adapter that OpenCode brings, which makes a
	// worktree of its own.
	AdapterWorktree = "worktree"
)

// Git is the provider that makes and removes the worktrees that OpenCode is
// told of.
type Git interface {
	workspace.Provider
	workspace.Restorer
}

// Records is what the provider asks the store for. Under a namespace of its own
// it notes what a server may make yet after a create has given up.
type Records interface {
	workspace.Notes

	// ListWorkspaces returns the rows that q selects.
	ListWorkspaces(ctx context.Context, q workspace.Query) ([]workspace.Workspace, error)
	// ListTrash returns the deleted ones that q selects.
	ListTrash(ctx context.Context, q workspace.Query) ([]workspace.Trashed, error)
}

// ProviderConfig is what a [Provider] works with. Connection, Git and Records
// are needed.
type ProviderConfig struct {
	Connection Connection
	Git        Git
	Records    Records
	// Adapter is the type of workspaces to make: [AdapterThreadtree] where
	// the server has it and [AdapterWorktree] otherwise, if empty.
	Adapter string
	// Auto has git make the workspace alone, with a warning that says why,
	// where OpenCode is not to be had or fails.
	Auto bool
	// Timeout bounds what a create, a delete or a restore waits for OpenCode
	// in all, beside git's own work: for the server to start, and for all that
	// it is asked; 30 s if 0. One that fails may take half of it longer, 10 s
	// at most, to clear away.
	Timeout time.Duration
	// NewID makes the ids of workspaces, [NewWorkspaceID] if nil.
	NewID func() string
	// Logger gets what nobody can be told otherwise, slog.Default if nil.
	Logger *slog.Logger
}

// Provider makes workspaces that OpenCode knows, so that sessions can be bound
// to them. The worktree, its branch and its base are git's work, by the rules
// of the provider that it is given; so is whether one may be removed. It is
// safe for concurrent use.
type Provider struct {
	cfg ProviderConfig

	mu sync.Mutex
	// able has, by server and project, the adapters that were found there.
	able map[[2]string]found
	// allowed has what the creates of attempts may still wait.
	allowed map[string]*allowance
}

// found are the adapters that a server had for a project.
type found struct {
	adapters []string
	at       time.Time
}

var (
	_ workspace.Provider   = (*Provider)(nil)
	_ workspace.Restorer   = (*Provider)(nil)
	_ workspace.Prechecker = (*Provider)(nil)
	_ workspace.Recoverer  = (*Provider)(nil)
)

// NewProvider returns a provider. It asks no server for anything yet.
func NewProvider(cfg ProviderConfig) (*Provider, error) {
	if cfg.Connection == nil || cfg.Git == nil || cfg.Records == nil {
		return nil, &workspace.Error{
			Code: workspace.ErrInternal, Message: "the OpenCode provider's configuration lacks Connection, Git or Records",
		}
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.NewID == nil {
		cfg.NewID = NewWorkspaceID
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Provider{cfg: cfg, able: make(map[[2]string]found), allowed: make(map[string]*allowance)}, nil
}

// NewWorkspaceID returns a random id that OpenCode takes for a workspace.
func NewWorkspaceID() string { return "wrk_" + rand.Text() }

// Name returns [workspace.ProviderOpenCode].
func (p *Provider) Name() string { return workspace.ProviderOpenCode }

// Precheck has git look ahead: see [workspace.Prechecker].
func (p *Provider) Precheck(ctx context.Context, req workspace.CreateRequest) error {
	if c, ok := p.cfg.Git.(workspace.Prechecker); ok {
		return c.Precheck(ctx, req)
	}
	return nil
}

// Create makes the worktree and has OpenCode know it. What git refuses is
// refused, whoever was to make it. Where OpenCode can't be had or fails, the
// codes are provider_unavailable, provider_failed and timeout; with Auto the
// workspace is git's, with a warning that says so.
func (p *Provider) Create(ctx context.Context, req workspace.CreateRequest) (workspace.Created, error) {
	req.Progress(workspace.Event{Phase: workspace.PhaseWait, Message: "Waiting for OpenCode"})
	a := p.allow(req.Attempt)
	limit, done := a.wait(ctx)
	client, adapter, err := p.ready(limit, req.Project)
	if err == nil {
		p.settleEarlier(limit, client, req.Project)
	}
	done()
	if err != nil {
		err = failure(ctx, "OpenCode can't make a workspace", "nothing was made", p.late(err))
		if !p.cfg.Auto && !req.Prechecked {
			if refusal := p.Precheck(ctx, req); refusal != nil {
				err = refusal
			}
		}
		return p.alone(ctx, req, err)
	}
	if adapter != AdapterThreadtree {
		return p.createThere(ctx, req, client, adapter, a)
	}
	return p.createHere(ctx, req, client, a)
}

// late is err, or that the time was up.
func (p *Provider) late(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrTimeout) {
		return fmt.Errorf("%w (%s)", ErrTimeout, p.cfg.Timeout)
	}
	return err
}

// alone has git make the workspace, where that is wanted in OpenCode's place.
func (p *Provider) alone(ctx context.Context, req workspace.CreateRequest, why error) (workspace.Created, error) {
	if !p.cfg.Auto || ctx.Err() != nil {
		return workspace.Created{}, why
	}
	warning := standIn(why)
	req.Progress(workspace.Event{Phase: workspace.PhaseAdd, Message: warning, Warning: true})
	created, err := p.cfg.Git.Create(ctx, req)
	if err != nil {
		return created, err
	}
	created.Warnings = append([]string{warning}, created.Warnings...)
	return p.asGit(created), nil
}

// asGit is a workspace that git has made alone.
func (p *Provider) asGit(created workspace.Created) workspace.Created {
	created.Provider, created.Plan.ProviderID = p.cfg.Git.Name(), ""
	return created
}

func standIn(why error) string {
	return fmt.Sprintf("git made this workspace, OpenCode doesn't know it (%s)", reason(why))
}

// createHere makes the worktree with git and tells OpenCode of it.
func (p *Provider) createHere(ctx context.Context, req workspace.CreateRequest, client *Client, a *allowance) (workspace.Created, error) {
	id := p.cfg.NewID()
	claim := req.Claim
	req.Claim = func(ctx context.Context, plan workspace.Plan) error {
		plan.ProviderID = id
		return claim(ctx, plan)
	}
	created, err := p.cfg.Git.Create(ctx, req)
	if err != nil {
		return created, err
	}
	created.Plan.ProviderID = id
	p.tell(req.Progress)
	limit, done := a.wait(ctx)
	err = p.register(limit, client, treeOf(req.Project, workspace.Workspace{
		ProviderID: id, Directory: created.Plan.Directory, Branch: created.Plan.Branch, Subdirectory: req.Project.Subdirectory,
	}))
	done()
	if err == nil {
		return created, nil
	}
	p.forget(client, req.Project)
	err = failure(ctx, "OpenCode did not take the worktree", "it is cleared away", p.late(err))
	if !p.cfg.Auto || ctx.Err() != nil {
		return workspace.Created{}, err
	}
	tidy, stop := a.tidy(ctx)
	defer stop()
	if err := client.RemoveWorkspace(tidy, "", id); err != nil {
		p.cfg.Logger.WarnContext(ctx, "OpenCode may list a workspace that is none of its own", "id", id, "error", err)
	}
	warning := standIn(err)
	req.Progress(workspace.Event{Phase: workspace.PhaseRegister, Message: warning, Warning: true})
	created.Warnings = append([]string{warning}, created.Warnings...)
	return p.asGit(created), nil
}

// Complete has git tell whether the worktree was made to the end. That
// OpenCode knows it is put right by Recover.
func (p *Provider) Complete(ctx context.Context, project workspace.Project, w workspace.Workspace) error {
	return p.cfg.Git.Complete(ctx, project, w)
}

// Clear removes what the attempt of w made, and OpenCode's row. A server that
// can't be reached is no error where git made the worktree: what it may still
// list is said. Where the server was to make it, it alone knows where that is.
// What it may make later is said, and cleared by Recover or by the next create
// in the project.
func (p *Provider) Clear(ctx context.Context, project workspace.Project, w workspace.Workspace) ([]string, error) {
	limit, done := p.allowedFor(w.Attempt.ID).tidy(ctx)
	defer done()
	if w.Directory == "" && w.ProviderID != "" {
		left, err := p.clearThere(limit, project, w)
		if err != nil {
			err = failure(ctx, "what OpenCode made could not be looked for", "it may have left a worktree", p.late(err))
		}
		return left, err
	}
	left, err := p.cfg.Git.Clear(ctx, project, w)
	if err != nil || w.ProviderID == "" {
		return left, err
	}
	_, unsure := p.letGo(limit, w, p.somePlace(limit, project))
	if len(unsure) == 0 {
		// A server without the workspace flag has the row and doesn't list it.
		// No session was ever bound to what was never ready.
		client, err := p.cfg.Connection.Client(limit)
		if err == nil {
			err = client.RemoveWorkspace(limit, "", w.ProviderID)
		}
		if err == nil {
			p.forgetLate(ctx, w.ProviderID)
		}
	}
	return append(left, unsure...), nil
}

// Remove has git judge and put aside the worktree, and then lets go of
// OpenCode's sessions and of its row: the sessions stay, bound to nothing. One
// that is at work is stopped before, unless git refuses.
func (p *Provider) Remove(ctx context.Context, req workspace.RemoveRequest) (workspace.Removed, error) {
	a := newAllowance(p.cfg.Timeout)
	stopped, err := p.stopWork(ctx, req, a)
	if err != nil {
		return workspace.Removed{}, err
	}
	removed, err := p.cfg.Git.Remove(ctx, req)
	for try := 0; errors.Is(err, workspace.ErrInUse) && try < inUseTries && ctx.Err() == nil; try++ {
		time.Sleep(stopEvery)
		removed, err = p.cfg.Git.Remove(ctx, req)
	}
	if err != nil {
		return removed, withStopped(err, stopped)
	}
	p.tell(req.Progress)
	removed.Warnings = append(removed.Warnings, stopped...)
	removed.Left = append(removed.Left, p.letGoRemoved(ctx, req, removed, a, true)...)
	return removed, nil
}

// Resume finishes a removal that was interrupted.
func (p *Provider) Resume(ctx context.Context, req workspace.RemoveRequest) (workspace.Removed, bool, error) {
	removed, found, err := p.cfg.Git.Resume(ctx, req)
	if err == nil && found {
		p.tell(req.Progress)
		removed.Left = append(removed.Left, p.letGoRemoved(ctx, req, removed, newAllowance(p.cfg.Timeout), false)...)
	}
	return removed, found, err
}

// Restore has git bring the worktree back, tells OpenCode of it under the same
// id, and binds the sessions again that were let go. What OpenCode can't do is
// a warning.
func (p *Provider) Restore(ctx context.Context, req workspace.RestoreRequest) (workspace.Restored, error) {
	restored, err := p.cfg.Git.Restore(ctx, req)
	if err != nil {
		return restored, err
	}
	p.tell(req.Progress)
	w := req.Trashed.Workspace
	w.Directory, w.Branch = restored.Directory, restored.Branch
	limit, cancel := context.WithTimeoutCause(ctx, p.cfg.Timeout, ErrTimeout)
	defer cancel()
	if _, err := p.rejoin(limit, req.Project, w); err != nil {
		restored.Warnings = append(restored.Warnings, fmt.Sprintf(
			"OpenCode doesn't know the restored workspace yet (%s): reconcile the project when it answers", reason(p.late(err))))
	}
	return restored, nil
}

// Discard lets go of what git kept.
func (p *Provider) Discard(ctx context.Context, project workspace.Project, t workspace.Trashed, all bool) error {
	return p.cfg.Git.Discard(ctx, project, t, all)
}

// DiskUse measures a directory.
func (p *Provider) DiskUse(ctx context.Context, directory string) (int64, error) {
	return p.cfg.Git.DiskUse(ctx, directory)
}

func (p *Provider) tell(progress func(workspace.Event)) {
	progress(workspace.Event{Phase: workspace.PhaseRegister, Message: "Telling OpenCode"})
}
