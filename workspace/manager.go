package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"
)

// Config is what a [Manager] works with. Store, Repository, Provider and
// Locker are needed; the rest has defaults.
type Config struct {
	// Store remembers workspaces, sessions and what was deleted.
	Store interface {
		Workspaces
		Sessions
		Trash
	}
	// Repository reads git.
	Repository Repository
	// Provider makes new workspaces.
	Provider Provider
	// Removers are further providers whose workspaces may turn up in the
	// store: each workspace is removed by the provider that made it.
	Removers []Provider
	// Locker tells live attempts from dead ones.
	Locker Locker
	// Recoverers take part in [Manager.Reconcile]; a [Merging] is one.
	Recoverers []Recoverer

	// Prefix begins the branches of typed and derived names; DefaultPrefix if
	// empty.
	Prefix string
	// CreateTimeout bounds one create, 30 min if 0.
	CreateTimeout time.Duration
	// RollbackTimeout bounds the clearing after a failed create, 1 min if 0.
	RollbackTimeout time.Duration
	// OrphanWait bounds how long a create waits for a process that an
	// interrupted attempt left behind, 2 min if 0.
	OrphanWait time.Duration
	// Lease is how long other machines take an attempt for alive after its
	// last sign of life, 2 min if 0.
	Lease time.Duration
	// KeepDirectory is how long a deleted workspace's directory is kept whole,
	// 24 h if 0.
	KeepDirectory time.Duration
	// KeepSnapshot is how long a deleted workspace can be restored at all, 14
	// days if 0.
	KeepSnapshot time.Duration
	// Poll is how often Await and Watch look at the store, 200 ms if 0.
	Poll time.Duration
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// NewID makes the ids of attempts, random ones if nil. An id may be used
	// as a file name.
	NewID func() string
	// Logger gets what nobody can be told otherwise, slog.Default if nil.
	Logger *slog.Logger
}

// Manager is the life cycle of workspaces. It is safe for concurrent use, also
// by several processes on one store and one repository.
type Manager struct {
	cfg Config
}

// NewManager checks the configuration and returns a Manager. The error has
// the code internal and names what is missing.
func NewManager(cfg Config) (*Manager, error) {
	var missing []string
	for name, absent := range map[string]bool{
		"Store": cfg.Store == nil, "Repository": cfg.Repository == nil,
		"Provider": cfg.Provider == nil, "Locker": cfg.Locker == nil,
	} {
		if absent {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, &Error{Code: ErrInternal, Message: "the manager's configuration lacks " + strings.Join(missing, ", ")}
	}
	if cfg.Prefix == "" {
		cfg.Prefix = DefaultPrefix
	}
	if why := refFault(cfg.Prefix + "x"); why != "" {
		return nil, &Error{Code: ErrInternal, Message: fmt.Sprintf("the branch prefix %s can't be used: %s", quote(cfg.Prefix), why)}
	}
	setDefault(&cfg.CreateTimeout, 30*time.Minute)
	setDefault(&cfg.RollbackTimeout, time.Minute)
	setDefault(&cfg.OrphanWait, 2*time.Minute)
	setDefault(&cfg.Lease, 2*time.Minute)
	setDefault(&cfg.KeepDirectory, 24*time.Hour)
	setDefault(&cfg.KeepSnapshot, 14*24*time.Hour)
	setDefault(&cfg.Poll, 200*time.Millisecond)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = func() string { return strings.ToLower(rand.Text()) }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Manager{cfg: cfg}, nil
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}

// Get returns the thread's workspace as it is remembered. Without one the code
// is not_found, and the error wraps [ErrDeleted] if it had one.
func (m *Manager) Get(ctx context.Context, threadID string) (Workspace, error) {
	w, err := m.cfg.Store.Workspace(ctx, threadID)
	return w, m.explain("get", threadID, err)
}

// explain puts the operation, the thread and, for an absent workspace, a hint
// on an error.
func (m *Manager) explain(op, threadID string, err error) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrNotFound) {
		return within(op, threadID, err)
	}
	e := &Error{
		Code: ErrNotFound, Op: op, ThreadID: threadID, Err: err,
		Message: fmt.Sprintf("thread %s has no workspace", threadID),
		Hint:    "create one first",
	}
	if errors.Is(err, ErrDeleted) {
		e.Message = fmt.Sprintf("the workspace of thread %s was deleted", threadID)
		e.Hint = "restore it, or create a new one"
	}
	return e
}

// within puts operation and thread on an error that lacks them.
func within(op, threadID string, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return &Error{Code: CodeOf(err), Op: op, ThreadID: threadID, Message: err.Error(), Err: err}
	}
	told := *e
	if told.Op == "" {
		told.Op = op
	}
	if told.ThreadID == "" {
		told.ThreadID = threadID
	}
	told.Err = err
	if told.Message == "" {
		told.Message = e.Error()
	}
	return &told
}

// providerOf returns the provider that may remove or clear w.
func (m *Manager) providerOf(w Workspace) (Provider, error) {
	name := w.Provider
	if name == ProviderKimaki {
		// Kimaki's worktrees are plain git worktrees.
		name = ProviderGit
	}
	for _, p := range append([]Provider{m.cfg.Provider}, m.cfg.Removers...) {
		if p.Name() == name {
			return p, nil
		}
	}
	return nil, &Error{
		Code:     ErrProviderUnavailable,
		ThreadID: w.ThreadID,
		Message:  fmt.Sprintf("the workspace was made by the provider %q, which is not configured here; nothing was changed", w.Provider),
		Hint:     "start with that provider",
	}
}

// projectOf opens the project of a workspace.
func (m *Manager) projectOf(ctx context.Context, w Workspace) (Project, error) {
	project, err := m.cfg.Repository.Open(ctx, w.ProjectDirectory)
	if err != nil && w.ProjectID != "" {
		// The spelling that the caller used may be gone, a link removed for
		// one, while the repository is still where it was.
		if p, err := m.cfg.Repository.Open(ctx, w.ProjectID); err == nil && p.ID == w.ProjectID {
			return p, nil
		}
	}
	if err == nil && w.ProjectID != "" && project.ID != w.ProjectID {
		return Project{}, &Error{
			Code: ErrNotFound, ThreadID: w.ThreadID,
			Message: fmt.Sprintf("%s is another repository now than the one the workspace was made from; nothing was changed", w.ProjectDirectory),
			Hint:    "put the repository back in its place, or point the channel at where it is now",
		}
	}
	return project, err
}

// rowsOf returns all rows of a project, whoever wrote them.
func (m *Manager) rowsOf(ctx context.Context, project Project) ([]Workspace, error) {
	q, err := m.queryOf(ctx, project)
	if err != nil {
		return nil, err
	}
	return m.cfg.Store.ListWorkspaces(ctx, q)
}

// queryOf selects all that is recorded of a project.
func (m *Manager) queryOf(ctx context.Context, project Project) (Query, error) {
	spellings, err := m.cfg.Store.ProjectDirectories(ctx)
	if err != nil {
		return Query{}, err
	}
	q := Query{ProjectID: project.ID}
	for _, dir := range spellings {
		if p, err := m.cfg.Repository.Open(ctx, dir); err == nil && p.ID == project.ID {
			q.ProjectDirectories = append(q.ProjectDirectories, dir)
		}
	}
	return q, nil
}

// sameProject reports whether w belongs to project.
func (m *Manager) sameProject(ctx context.Context, w Workspace, project Project) bool {
	if w.ProjectID != "" {
		return w.ProjectID == project.ID
	}
	p, err := m.cfg.Repository.Open(ctx, w.ProjectDirectory)
	return err == nil && p.ID == project.ID
}

// canonical returns the path by which two spellings of one directory are the
// same. Of a directory that is gone, the part that exists is resolved.
func canonical(dir string) string {
	if dir == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if parent == dir || parent == "." {
		return filepath.Clean(dir)
	}
	return filepath.Join(canonical(parent), filepath.Base(dir))
}

// progress returns a function that may be called whether or not the caller
// wants to be told.
func progress(f func(Event)) func(Event) {
	if f == nil {
		return func(Event) {}
	}
	return f
}
