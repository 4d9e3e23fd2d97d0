package workspace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// CreateOptions says what workspace a thread asks for. At most one of Name,
// Title and Branch is set; with none the name is derived from the thread's id.
type CreateOptions struct {
	// Project is a directory of the repository; a subdirectory gives the
	// thread the same subdirectory of its working copy.
	Project  string
	ThreadID string
	// Name was typed by a person; an existing branch of that name is
	// attached.
	Name string
	// Title is what a name is derived from; it never joins an existing
	// branch.
	Title string
	// Branch is the literal name of a branch, new or existing.
	Branch string
	// Base is where a new branch starts: "" for the project's current HEAD,
	// or a branch, a remote branch, a tag or a commit.
	Base string
	// NoFetch keeps the create off the network.
	NoFetch bool
	// Setup allows the set-up of the fresh working copy, which may run code
	// that the repository brings.
	Setup bool
	// Progress, if set, is told of each step, in order, by one goroutine at a
	// time. It should return soon.
	Progress func(Event)
}

// Create makes the thread's workspace and returns when it is ready. It is
// synchronous; cancelling ctx ends it, clears what it made and leaves the row
// in the status error, as does whatever else fails once it has begun.
//
// Bad input leaves no row, and neither does what the provider can refuse
// beforehand, a [Prechecker], for a thread that has none: a branch that is
// checked out, a name that clashes, a repository without commits, a base that
// is none or that no remote could have. A row that is there stays or becomes
// error.
//
// A thread that has a ready workspace gets that one back; where another branch
// or base was asked for, with an error that has the code already_exists. While
// somebody else is making it the code is in_progress. Remains of an attempt
// that failed or died are cleared first. Other codes are those of
// [Repository].Open and [Provider].Create, and invalid_name, invalid_ref and
// store_failed; the workspace that is returned with an error is the row as it
// stands, or zero.
func (m *Manager) Create(ctx context.Context, o CreateOptions) (Workspace, error) {
	w, err := m.create(ctx, o)
	return w, within("create", o.ThreadID, err)
}

func (m *Manager) create(ctx context.Context, o CreateOptions) (Workspace, error) {
	o.Progress = progress(o.Progress)
	name, err := m.nameOf(o)
	if err != nil {
		return Workspace{}, err
	}
	project, err := m.cfg.Repository.Open(ctx, o.Project)
	if err != nil {
		return Workspace{}, err
	}
	// A row can change between the look at it and the guarded write; each
	// round starts from what the row is by then.
	for round := 0; ; round++ {
		w, err := m.createOnce(ctx, project, name, o)
		if !errors.Is(err, errLookAgain) {
			return w, err
		}
		if round == 5 {
			return w, busy(o.ThreadID)
		}
	}
}

// errLookAgain says that the row was no longer what it was taken for.
var errLookAgain = fmt.Errorf("look again: %w", ErrStale)

func (m *Manager) createOnce(ctx context.Context, project Project, name Name, o CreateOptions) (Workspace, error) {
	w, err := m.cfg.Store.Workspace(ctx, o.ThreadID)
	switch {
	case errors.Is(err, ErrNotFound):
		ctx, done := context.WithCancel(ctx)
		defer done() // and with it what a precheck keeps
		id := m.cfg.NewID()
		checked, err := m.precheck(ctx, project, name, id, o)
		if err != nil {
			return Workspace{}, err
		}
		return m.attempt(ctx, project, name, id, o, Guard{}, checked)
	case err != nil:
		return Workspace{}, err
	case !m.sameProject(ctx, w, project):
		return w, ofAnother(w)
	case w.Status == StatusReady:
		return m.present(ctx, w, name, o)
	}
	lock, err := m.takeOver(ctx, w, o.Progress)
	if err != nil {
		return w, err
	}
	defer release(lock, m)
	w, err = m.settle(ctx, project, w, o.Progress)
	if err != nil {
		return w, err
	}
	if w.Status == StatusReady {
		return m.present(ctx, w, name, o)
	}
	return m.attempt(ctx, project, name, m.cfg.NewID(), o, GuardOf(w), false)
}

// ofAnother says that a thread's workspace belongs to another project.
func ofAnother(w Workspace) error {
	e := &Error{
		Code: ErrAlreadyExists, ThreadID: w.ThreadID, Workspace: &w,
		Message: fmt.Sprintf("thread %s has a workspace of another project, %s; nothing was changed", w.ThreadID, w.ProjectDirectory),
		Hint:    "work in that one, or delete it first",
	}
	if absent(w.ProjectDirectory) {
		e.Message = fmt.Sprintf("thread %s has a workspace of another project, %s, and that is gone; nothing was changed", w.ThreadID, w.ProjectDirectory)
		e.Hint = "if it was moved to here, run git worktree repair and a reconcile here first: the records follow it; if not, put it back"
	}
	return e
}

// nameOf validates what the caller asked for, before anything is touched.
func (m *Manager) nameOf(o CreateOptions) (Name, error) {
	if err := CheckThreadID(o.ThreadID); err != nil {
		return Name{}, err
	}
	if o.Base != "" {
		if err := CheckRef(o.Base); err != nil {
			return Name{}, err
		}
	}
	given := 0
	for _, s := range []string{o.Name, o.Title, o.Branch} {
		if s != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return Name{}, &Error{
			Code: ErrInvalidName, Message: "more than one of name, title and branch was given",
			Hint: "give one of them",
		}
	case o.Branch != "":
		return NameFromBranch(o.Branch)
	case o.Name != "":
		return NameFromTyped(m.cfg.Prefix, o.Name)
	}
	return NameFromTitle(m.cfg.Prefix, o.Title, o.ThreadID), nil
}

// present returns a ready workspace, or says why it isn't the one asked for.
func (m *Manager) present(ctx context.Context, w Workspace, name Name, o CreateOptions) (Workspace, error) {
	if err := m.inPlace(ctx, w); err != nil {
		return w, err
	}
	var other []string
	if name.Kind != NameTitle && name.Branch != w.Branch {
		other = append(other, fmt.Sprintf("branch %s", name.Branch))
	}
	if o.Base != "" && o.Base != "HEAD" && o.Base != w.Base && o.Base != w.BaseCommit {
		other = append(other, fmt.Sprintf("base %s", o.Base))
	}
	if len(other) > 0 {
		return w, &Error{
			Code: ErrAlreadyExists, Workspace: &w,
			Message: fmt.Sprintf("thread %s has a workspace already, on branch %s from %s at %s; %s was not made",
				o.ThreadID, shown(w.Branch, "none"), shown(w.Base, "an unknown base"), w.Directory, strings.Join(other, " with ")),
			Hint: "work in that one, or delete it first",
		}
	}
	return w, nil
}

func shown(s, none string) string {
	if s == "" {
		return none
	}
	return s
}

// attempt makes one try, of that id, with a row that takes the place of the one that
// guard describes.
func (m *Manager) attempt(ctx context.Context, project Project, name Name, id string, o CreateOptions, guard Guard, checked bool) (Workspace, error) {
	w, lock, err := m.begin(ctx, id, Workspace{
		ThreadID: o.ThreadID, Provider: m.cfg.Provider.Name(), Name: name.Slug, Branch: name.Branch, Base: o.Base,
		ProjectID: project.ID, ProjectDirectory: project.Directory, Subdirectory: project.Subdirectory,
	}, guard)
	if err != nil {
		return w, err
	}
	defer release(lock, m)

	making, cancel := context.WithTimeoutCause(ctx, m.cfg.CreateTimeout, &Error{
		Code:    ErrTimeout,
		Message: fmt.Sprintf("the workspace was not ready within %s", m.cfg.CreateTimeout),
		Hint:    "try again, or raise the time limit",
	})
	defer cancel()
	making, lost := m.keepLease(making, w)
	claimed := w
	created, err := m.cfg.Provider.Create(making, CreateRequest{
		Project: project, ThreadID: o.ThreadID, Attempt: w.Attempt.ID, Name: name, Base: o.Base,
		NoFetch: o.NoFetch, Setup: o.Setup, Progress: o.Progress, Inherit: lock.Inherit(), Prechecked: checked,
		Claim: func(ctx context.Context, plan Plan) error {
			next, err := m.cfg.Store.UpdateWorkspace(ctx, o.ThreadID, GuardOf(w), claim(plan))
			if err == nil {
				claimed = next
			}
			return err
		},
	})
	if ended := making.Err(); err != nil && ended != nil && errors.Is(err, ended) {
		err = causeOf(context.Cause(making), err)
	}
	if lostErr := lost(); err == nil {
		err = lostErr
	}
	if err != nil {
		return m.rollBack(ctx, project, claimed, m.whose(ctx, project, err), o.Progress)
	}
	w, err = m.finish(ctx, project, claimed, created, o.Progress)
	if err == nil {
		o.Progress(Event{Phase: PhaseDone, Message: "Ready"})
	}
	return w, err
}

// begin takes the lock of a new attempt and writes its pending row.
func (m *Manager) begin(ctx context.Context, id string, w Workspace, guard Guard) (Workspace, Lock, error) {
	lock, err := m.cfg.Locker.Lock(ctx, id)
	if err != nil {
		return Workspace{}, nil, err
	}
	now := m.cfg.Now()
	w.Status = StatusPending
	w.CreatedAt = now.UTC().Truncate(time.Second)
	w.Attempt = Attempt{ID: id, Host: m.cfg.Locker.Host(), Lock: lock.Path(), StartedAt: now, Lease: now.Add(m.cfg.Lease)}
	w, err = m.cfg.Store.BeginWorkspace(ctx, w, guard)
	if err == nil {
		return w, lock, nil
	}
	release(lock, m)
	if errors.Is(err, ErrStale) {
		err = errLookAgain
	}
	return Workspace{}, nil, err
}

// claim is the change that records a plan before it is carried out.
func claim(p Plan) Change {
	return Change{
		Claim: true, ProviderID: &p.ProviderID, Name: &p.Name, Branch: &p.Branch, BranchCreated: &p.BranchCreated,
		Base: &p.Base, BaseCommit: &p.BaseCommit, Directory: &p.Directory,
	}
}

// finish writes the ready row. ctx may have ended by now: the working copy is
// whole, so the row is written all the same.
func (m *Manager) finish(ctx context.Context, project Project, w Workspace, c Created, tell func(Event)) (Workspace, error) {
	ctx, cancel := m.detached(ctx)
	defer cancel()
	change := claim(c.Plan)
	change.Claim = false
	change.Status = new(StatusReady)
	change.Warnings = &c.Warnings
	if c.Provider != "" {
		change.Provider = &c.Provider
	}
	ready, err := m.cfg.Store.UpdateWorkspace(ctx, w.ThreadID, GuardOf(w), change)
	switch {
	case err == nil:
		return ready, nil
	case errors.Is(err, ErrStale), errors.Is(err, ErrNotFound):
		// Somebody took the row over. What was made belongs to no row now.
		return m.rollBack(ctx, project, w, busy(w.ThreadID), tell)
	}
	return w, &Error{
		Code:    CodeOf(err),
		Message: fmt.Sprintf("the workspace is made, at %s, but that could not be recorded: %v", c.Plan.Directory, err),
		Hint:    "reconcile once the store works again: the workspace becomes ready then",
		Err:     err,
	}
}

// rollBack clears what the attempt made, of which w is the last record, and
// writes the error row. Where somebody else has the row by now it is left as it
// is. The error is always cause, and says what the row says.
func (m *Manager) rollBack(ctx context.Context, project Project, w Workspace, cause error, tell func(Event)) (Workspace, error) {
	ctx, cancel := m.detached(ctx)
	defer cancel()
	if remains(w) {
		tell(Event{Phase: PhaseClear, Message: "Clearing what was made"})
	}
	failed, err := m.fail(ctx, project, w, cause)
	if err != nil && !errors.Is(err, ErrStale) && !errors.Is(err, ErrNotFound) {
		m.cfg.Logger.ErrorContext(ctx, "a failed workspace could not be recorded", "thread", w.ThreadID, "error", err)
	}
	if e, ok := errors.AsType[*Error](cause); ok && err == nil {
		told := *e
		told.Message = failed.Error
		return failed, &told
	}
	return failed, cause
}

// keepLease renews the lease of an attempt until the returned function is
// called, which returns the reason if the row was lost to somebody else. The
// context that it returns ends then.
func (m *Manager) keepLease(ctx context.Context, w Workspace) (context.Context, func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(m.cfg.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			_, err := m.cfg.Store.UpdateWorkspace(ctx, w.ThreadID, GuardOf(w), Change{Lease: new(m.cfg.Now().Add(m.cfg.Lease))})
			if errors.Is(err, ErrStale) || errors.Is(err, ErrNotFound) {
				cancel(busy(w.ThreadID))
				return
			}
		}
	}()
	return ctx, func() error {
		cancel(nil)
		<-done
		if cause := context.Cause(ctx); errors.Is(cause, ErrInProgress) {
			return cause
		}
		return nil
	}
}

// detached returns a context for what must be done although ctx has ended.
func (m *Manager) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), m.cfg.RollbackTimeout)
}

// causeOf returns the cause of a context's end where that is told to people.
func causeOf(cause, err error) error {
	if _, ok := errors.AsType[*Error](cause); ok {
		return cause
	}
	return &Error{
		Code: ErrTimeout, Message: "the create was cancelled",
		Hint: "create it again when you want it", Err: err,
	}
}

// whose names, on a branch that is checked out elsewhere, the thread that has
// it.
func (m *Manager) whose(ctx context.Context, project Project, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != ErrBranchCheckedOut || e.Workspace != nil || len(e.Files) != 1 {
		return err
	}
	ctx, cancel := m.detached(ctx)
	defer cancel()
	rows, listErr := m.rowsOf(ctx, project)
	if listErr != nil {
		return err
	}
	dir := canonical(e.Files[0])
	for _, w := range rows {
		if w.Directory != "" && canonical(w.Directory) == dir {
			told := *e
			told.Workspace = &w
			told.Message = fmt.Sprintf("%s (thread %s works there)", e.Message, w.ThreadID)
			return &told
		}
	}
	return err
}

func busy(threadID string) error {
	return &Error{
		Code: ErrInProgress, ThreadID: threadID, Err: ErrStale,
		Message: fmt.Sprintf("somebody else is making the workspace of thread %s; this request changed nothing", threadID),
		Hint:    "wait for it",
	}
}

func release(lock Lock, m *Manager) {
	if lock == nil {
		return
	}
	if err := lock.Release(); err != nil {
		m.cfg.Logger.Warn("an attempt's lock could not be removed", "path", lock.Path(), "error", err)
	}
}
