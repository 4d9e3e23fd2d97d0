package opencode

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// Taker is what a [Git] has besides where it can go on with a worktree that
// the server has made.
type Taker interface {
	// Take does what Create does, with a worktree that start makes.
	Take(ctx context.Context, req workspace.CreateRequest, start func(ctx context.Context, plan workspace.Plan) (directory string, err error)) (workspace.Created, error)
	// Own marks a worktree as made for an attempt, so that Clear removes it.
	Own(ctx context.Context, project workspace.Project, directory string, attempt workspace.Attempt) error
}

// createThere has the server make the worktree, with an adapter of its own,
// and git go on with it.
func (p *Provider) createThere(ctx context.Context, req workspace.CreateRequest, client *Client, adapter string) (workspace.Created, error) {
	taker, ok := p.cfg.Git.(Taker)
	if !ok {
		return p.alone(ctx, req, &workspace.Error{
			Code: workspace.ErrProviderUnavailable, Message: "OpenCode has no adapter of ours, and its own can't be used here; nothing was made",
			Hint: "load the threadtree plugin in OpenCode",
		})
	}
	m := &there{p: p, client: client, adapter: adapter, id: p.cfg.NewID(), project: req.Project, began: time.Now()}
	given, claim := req, req.Claim
	req.Claim = func(ctx context.Context, plan workspace.Plan) error {
		plan.ProviderID = m.id
		if err := claim(ctx, plan); err != nil {
			return err
		}
		m.plan = plan
		return nil
	}
	created, err := taker.Take(ctx, req, func(ctx context.Context, plan workspace.Plan) (string, error) {
		req.Progress(workspace.Event{Phase: workspace.PhaseAdd, Message: "OpenCode makes a worktree"})
		return m.make(ctx, plan)
	})
	if err == nil {
		created.Plan.ProviderID = m.id
		return created, nil
	}
	if !m.failed && !errors.Is(err, workspace.ErrProviderFailed) && !errors.Is(err, workspace.ErrPermissionDenied) || !p.cfg.Auto || ctx.Err() != nil {
		return workspace.Created{}, err
	}
	p.forget(client, req.Project)
	left, clearErr := p.Clear(ctx, req.Project, m.remains(req))
	if clearErr != nil {
		left = append(left, reason(clearErr))
	}
	created, err = p.alone(ctx, given, err)
	if len(left) > 0 {
		created.Warnings = append(created.Warnings, "what OpenCode made before could not be cleared: "+strings.Join(left, "; "))
	}
	return created, err
}

// there is one create of a worktree by the server.
type there struct {
	p       *Provider
	client  *Client
	adapter string
	id      string
	project workspace.Project
	began   time.Time
	// plan is the last one that was claimed.
	plan workspace.Plan
	// failed is true where it is the server that did.
	failed bool
}

// remains are what a failed create may have left.
func (m *there) remains(req workspace.CreateRequest) workspace.Workspace {
	return workspace.Workspace{
		ThreadID: req.ThreadID, Provider: workspace.ProviderOpenCode, ProviderID: m.id, Branch: m.plan.Branch,
		BranchCreated: m.plan.BranchCreated, BaseCommit: m.plan.BaseCommit, Directory: m.plan.Directory,
		Attempt: workspace.Attempt{ID: req.Attempt, StartedAt: m.began},
	}
}

// make has the server make the worktree and waits until it is whole.
func (m *there) make(ctx context.Context, plan workspace.Plan) (string, error) {
	limit, cancel := context.WithTimeoutCause(ctx, m.p.cfg.Timeout, ErrTimeout)
	defer cancel()
	directory, err := m.ask(limit, plan)
	if err != nil {
		m.failed = true
		return "", failure(ctx, "OpenCode did not make the worktree", "what it made is cleared away", m.p.late(err))
	}
	return directory, nil
}

// ask makes the call. The server's own adapter answers before the files are
// there: an event tells when they are, for which one has to be listening
// before.
func (m *there) ask(ctx context.Context, plan workspace.Plan) (string, error) {
	wanted := NewWorkspace{ID: m.id, Type: m.adapter}
	if m.adapter != AdapterWorktree {
		// Somebody's adapter: it names a branch of its own where it is given
		// none, and is waited for until it is done.
		if plan.BranchCreated {
			wanted.Branch = plan.Branch
		}
		wanted.Extra = map[string]string{"baseBranch": plan.BaseCommit}
		made, err := m.client.CreateWorkspace(ctx, placeOf(m.project, ""), wanted)
		return made.Directory, flagged(err)
	}
	l, err := listen(ctx, m.client)
	if err != nil {
		return "", err
	}
	defer l.stop()
	made, err := m.client.CreateWorkspace(ctx, placeOf(m.project, ""), wanted)
	if err != nil {
		return "", flagged(err)
	}
	if made.Directory == "" {
		return "", &Error{Op: "create workspace", Err: ErrMalformed, Message: "it didn't say where the worktree is"}
	}
	return made.Directory, l.wait(ctx, made.Directory)
}

// listener waits for the worktrees that a server makes.
type listener struct {
	stop func()
	mu   sync.Mutex
	// done has what became of each worktree, by directory.
	done    map[string]error
	changed chan struct{}
	ended   error
	// over is closed once nothing more will be heard, for the reason ended.
	over chan struct{}
}

// listen returns once it is listening.
func listen(ctx context.Context, client *Client) (*listener, error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	l := &listener{done: make(map[string]error), changed: make(chan struct{}), over: make(chan struct{})}
	l.stop = func() { cancel(); wg.Wait() }
	connected := make(chan struct{})
	var once sync.Once
	wg.Go(func() {
		// One connection alone: what is told after it broke is missed.
		err := client.listen(ctx, func(e Event) {
			switch e.Type {
			case "server.connected":
				once.Do(func() { close(connected) })
			case "worktree.ready":
				l.tell(e.Directory, nil)
			case "worktree.failed":
				l.tell(e.Directory, &Error{Op: "create workspace", Name: e.Type, Message: messageOf(e)})
			}
		})
		if err == nil {
			err = &Error{Op: "create workspace", Err: ErrUnreachable, Message: "the connection broke while it was at it"}
		}
		l.end(err)
	})
	select {
	case <-connected:
		return l, nil
	case <-l.over:
		l.stop()
		return nil, l.ended
	case <-ctx.Done():
		l.stop()
		return nil, context.Cause(ctx)
	}
}

func messageOf(e Event) string {
	var p struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(e.Properties, &p)
	return p.Message
}

func (l *listener) tell(directory string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[resolved(directory)] = err
	close(l.changed)
	l.changed = make(chan struct{})
}

// end is called once.
func (l *listener) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = err
	close(l.over)
	close(l.changed)
	l.changed = make(chan struct{})
}

// wait returns when the worktree at directory is whole.
func (l *listener) wait(ctx context.Context, directory string) error {
	directory = resolved(directory)
	for {
		l.mu.Lock()
		err, done := l.done[directory]
		ended, changed := l.ended, l.changed
		l.mu.Unlock()
		switch {
		case done:
			return err
		case ended != nil:
			return ended
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// located is w with the directory that the server has for it, where the
// record has none: a create was interrupted before it knew. kept says what is
// there and is not the attempt's.
func (p *Provider) located(ctx context.Context, project workspace.Project, w workspace.Workspace) (_ workspace.Workspace, kept []string, err error) {
	taker, ok := p.cfg.Git.(Taker)
	if !ok || w.Directory != "" || w.ProviderID == "" {
		return w, nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.cfg.Timeout, ErrTimeout)
	defer cancel()
	client, err := p.cfg.Connection.Client(ctx)
	if err != nil {
		return w, nil, err
	}
	rows, err := client.Workspaces(ctx, placeOf(project, ""))
	if err != nil {
		return w, nil, err
	}
	for _, row := range rows {
		if row.ID != w.ProviderID || row.Directory == "" || row.Type == AdapterThreadtree {
			continue
		}
		switch err := taker.Own(ctx, project, row.Directory, w.Attempt); {
		case errors.Is(err, workspace.ErrProviderFailed):
			kept = append(kept, reason(err))
		case err != nil:
			return w, nil, err
		default:
			w.Directory = row.Directory
		}
	}
	return w, kept, nil
}
