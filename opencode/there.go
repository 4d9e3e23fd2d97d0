package opencode

import (
	"context"
	"encoding/json"
	"errors"
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
	// Reclaim removes a worktree that was made for an attempt that has given
	// up, and says what it leaves; an error, with one of the codes of Remove,
	// where somebody has worked in it, or where it isn't whole and not
	// abandoned.
	Reclaim(ctx context.Context, project workspace.Project, w workspace.Workspace, abandoned bool) (left []string, err error)
}

// createThere has the server make the worktree, with an adapter of its own,
// and git go on with it.
func (p *Provider) createThere(ctx context.Context, req workspace.CreateRequest, client *Client, adapter string, a *allowance) (workspace.Created, error) {
	taker, ok := p.cfg.Git.(Taker)
	if !ok {
		return p.alone(ctx, req, &workspace.Error{
			Code: workspace.ErrProviderUnavailable, Message: "OpenCode has no adapter of ours, and its own can't be used here; nothing was made",
			Hint: "load the threadtree plugin in OpenCode",
		})
	}
	m := &there{p: p, client: client, adapter: adapter, id: p.cfg.NewID(), req: req, began: time.Now(), a: a}
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
		p.forgetLate(ctx, m.id)
		created.Plan.ProviderID = m.id
		return created, nil
	}
	if !m.failed && !errors.Is(err, workspace.ErrProviderFailed) && !errors.Is(err, workspace.ErrPermissionDenied) || !p.cfg.Auto || ctx.Err() != nil {
		return workspace.Created{}, err
	}
	p.forget(client, req.Project)
	left, clearErr := p.Clear(ctx, req.Project, m.remains())
	if clearErr != nil {
		left = append(left, reason(clearErr)+"; it is cleared when the project is reconciled")
	}
	created, err = p.alone(ctx, given, err)
	for _, line := range left {
		created.Warnings = append(created.Warnings, "of what OpenCode made before: "+line)
	}
	return created, err
}

// there is one create of a worktree by the server.
type there struct {
	p       *Provider
	client  *Client
	adapter string
	id      string
	req     workspace.CreateRequest
	began   time.Time
	a       *allowance
	// plan is the last one that was claimed.
	plan workspace.Plan
	// failed is true where it is the server that did.
	failed bool
}

// remains are what a failed create may have left.
func (m *there) remains() workspace.Workspace {
	return workspace.Workspace{
		ThreadID: m.req.ThreadID, Provider: workspace.ProviderOpenCode, ProviderID: m.id, Branch: m.plan.Branch,
		BranchCreated: m.plan.BranchCreated, BaseCommit: m.plan.BaseCommit, Directory: m.plan.Directory,
		Attempt: workspace.Attempt{ID: m.req.Attempt, StartedAt: m.began},
	}
}

// make has the server make the worktree and waits until it is whole. What it
// is asked for is remembered first, for it may come when nobody waits any more.
func (m *there) make(ctx context.Context, plan workspace.Plan) (string, error) {
	wanted := NewWorkspace{ID: m.id, Type: m.adapter}
	asked := late{ID: m.id, Project: m.req.Project.ID, Server: m.client.URL(), Attempt: m.req.Attempt, Began: m.began}
	if m.adapter != AdapterWorktree {
		// Somebody's adapter: it names a branch of its own where it is given
		// none, and is waited for until it is done.
		if plan.BranchCreated {
			wanted.Branch, asked.Branch, asked.BaseCommit = plan.Branch, plan.Branch, plan.BaseCommit
		}
		wanted.Extra = map[string]string{"baseBranch": plan.BaseCommit}
	}
	limit, done := m.a.wait(ctx)
	defer done()
	directory, err := m.ask(limit, wanted, &asked)
	if err == nil {
		return directory, nil
	}
	m.failed = true
	if asked.Answered || asked.Directory != "" {
		kept, stop := context.WithTimeout(context.WithoutCancel(ctx), maxSpare)
		defer stop()
		err = errors.Join(err, m.p.remember(kept, asked))
	}
	return "", failure(ctx, "OpenCode did not make the worktree", "what it made is cleared away", m.p.late(err))
}

// ask makes the call. The server's own adapter answers before the files are
// there: an event tells when they are, for which one has to be listening
// before. What the answers tell is noted in asked.
func (m *there) ask(ctx context.Context, wanted NewWorkspace, asked *late) (string, error) {
	place := placeOf(m.req.Project, "")
	var l *listener
	if m.adapter == AdapterWorktree {
		var err error
		if l, err = listen(ctx, m.client); err != nil {
			return "", err
		}
		defer l.stop()
	}
	if err := m.p.remember(ctx, *asked); err != nil {
		return "", err
	}
	made, err := m.client.CreateWorkspace(ctx, place, wanted)
	if e, ok := errors.AsType[*Error](err); ok && e.Status != 0 {
		asked.Answered = true
	}
	if err != nil {
		return "", flagged(err)
	}
	asked.Directory = made.Directory
	if made.Directory == "" {
		return "", &Error{Op: "create workspace", Err: ErrMalformed, Message: "it didn't say where the worktree is"}
	}
	if l != nil {
		err = l.wait(ctx, made.Directory)
	}
	asked.Answered = err == nil || ctx.Err() == nil && !errors.Is(err, ErrUnreachable)
	return made.Directory, err
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
