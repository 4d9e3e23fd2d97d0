package gitops

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// PoolOptions are the settings of a [Pool]. The zero value is usable.
type PoolOptions struct {
	// Spares is how many spares a project has, 2 if 0, and none for NoSpares.
	Spares int
	// MaxAge is how old a spare may become, 3 days if 0.
	MaxAge time.Duration
	// MaxBytes is how much the spares of a project may take on the disk, 4 GB
	// if 0.
	MaxBytes int64
	// Setup is what is done in spares where it can be done before anybody works
	// in them, and where the operator has allowed it: it runs code that the
	// repository brings. Such spares are for creates alone that allow set-up,
	// of a Provider with the same options. The zero value does nothing.
	Setup SetupOptions
	// Every is how often Run looks whether a base has moved, 1 min if 0.
	Every time.Duration
	// Logger gets what Run could not do, slog's default if nil.
	Logger *slog.Logger
}

// NoSpares is the number of spares of a pool that lets those go that there are.
const NoSpares = -1

// Pool keeps spare worktrees, so that a create needs not write all files: see
// the package's documentation for when one is handed out. Spares lie beside the
// project's worktrees, in directories whose names begin with ".spare-", and
// belong to all processes with the same home directory. A Pool is safe for
// concurrent use.
type Pool struct {
	r *Repository
	o PoolOptions

	mu       sync.Mutex
	projects map[string]workspace.Project
	woken    chan struct{}
}

// NewPool returns a Pool of the repositories that r reads. Nothing is made
// until [Pool.Fill] or [Pool.Run].
func NewPool(r *Repository, o PoolOptions) *Pool {
	o.Spares = cmp.Or(o.Spares, 2)
	o.MaxAge = cmp.Or(o.MaxAge, 72*time.Hour)
	o.MaxBytes = cmp.Or(o.MaxBytes, 4<<30)
	o.Every = cmp.Or(o.Every, time.Minute)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Pool{r: r, o: o, projects: make(map[string]workspace.Project), woken: make(chan struct{}, 1)}
}

// Filled is what a [Pool.Fill] came to.
type Filled struct {
	// Ready is how many spares wait now, Made and Moved how many of them were
	// made and brought to the base, Removed how many went.
	Ready, Made, Moved, Removed int
	// Kept has a line for each that somebody has worked in: it is a spare no
	// more, and stays where it is.
	Kept []string
	// Without says why the repository has no spares, "" if it can have some.
	Without string
}

// Fill makes the project's spares what they should be: those that are too old,
// too many, too large or of no use go, those at another commit than the one
// that the project has checked out are brought there, and missing ones are
// made. Ended early it leaves nothing half made, but for what a kill leaves,
// which the next Fill, or [Pool.Recover], removes. Spares that others are at
// work on are left to them. The codes are those of [Provider].Create.
func (x *Pool) Fill(ctx context.Context, p workspace.Project) (Filled, error) {
	f := &filling{x: x, p: p}
	dir := x.r.sparesDir(p)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return f.done, withOp("fill", cantHold(dir, "; no spare was made", err))
	}
	// Two at once would make twice as many.
	lock, err := waitForFile(ctx, filepath.Join(dir, "filling"))
	if err != nil {
		return f.done, failure("fill", "the spares could not be looked after", "try again", err)
	}
	defer closeUnlocked(lock)
	err = f.fill(ctx)
	return f.done, withOp("fill", err)
}

// filling is one Fill.
type filling struct {
	x     *Pool
	p     workspace.Project
	m     *making
	base  string
	print string
	bytes int64
	done  Filled
}

func (f *filling) fill(ctx context.Context) error {
	if err := f.look(ctx); err != nil {
		return err
	}
	if err := f.sweep(ctx); err != nil {
		return err
	}
	for f.done.Without == "" && f.done.Ready < f.x.o.Spares && !f.full() {
		if err := f.x.r.idle(ctx); err != nil {
			return failure("fill", "the spares could not be made", "try again", err)
		}
		if err := f.add(ctx); err != nil {
			return err
		}
	}
	return nil
}

// look finds out what a spare has to be.
func (f *filling) look(ctx context.Context) error {
	f.m = &making{r: f.x.r, idle: true, req: workspace.CreateRequest{Project: f.p, Progress: func(workspace.Event) {}}}
	if err := f.x.r.takesWorktrees(ctx, f.p); err != nil {
		return err
	}
	var err error
	if f.m.set, err = f.x.r.settings(ctx, f.p); err != nil {
		return err
	}
	f.done.Without = f.m.set.spareless(f.x.r.openRefs(f.p.ID))
	f.print = f.m.fingerprint()
	if f.base, _, err = f.x.r.head(ctx, f.p); errors.Is(err, workspace.ErrNoCommits) {
		f.done.Without, err = "it has no commit yet", nil
	}
	return err
}

// full reports whether another spare, as large as those before it, would be too
// much.
func (f *filling) full() bool {
	one := int64(0)
	if content, err := os.ReadFile(f.sizeFile()); err == nil {
		one, _ = strconv.ParseInt(string(content), 10, 64)
	}
	return f.bytes+one > f.x.o.MaxBytes
}

// sizeFile remembers how large the last spare was that was made.
func (f *filling) sizeFile() string { return filepath.Join(f.x.r.sparesDir(f.p), "size") }

// add makes a spare.
func (f *filling) add(ctx context.Context) error {
	var id [6]byte
	if _, err := rand.Read(id[:]); err != nil {
		return err
	}
	s, err := f.x.r.newSpare(f.p, hex.EncodeToString(id[:]), f.base, f.print)
	if err != nil {
		return cantHold(f.x.r.sparesDir(f.p), "; no spare was made", err)
	}
	defer s.release()
	f.m.req.Inherit = s.inherit()
	err = s.build(ctx, f.m, f.setup())
	if errors.Is(err, errSetup) {
		// It is made without, and the create says what went wrong.
		return errors.Join(f.noSetup(), s.remove(ctx, f.p))
	}
	if err != nil {
		calm, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return errors.Join(failure("fill", "a spare could not be made", "see what git says", err), s.remove(calm, f.p))
	}
	size := strconv.FormatInt(s.rec.Size, 10)
	if err := os.WriteFile(f.sizeFile(), []byte(size), 0o600); err != nil || f.bytes+s.rec.Size > f.x.o.MaxBytes {
		return errors.Join(err, s.remove(ctx, f.p))
	}
	f.done.Made++
	f.done.Ready++
	f.bytes += s.rec.Size
	return nil
}

// setup is what is done in the next spare: nothing where it failed for this
// commit before.
func (f *filling) setup() SetupOptions {
	failed, _ := os.ReadFile(f.failedFile())
	if string(failed) == f.base+f.m.setupKey(f.x.o.Setup) {
		return SetupOptions{}
	}
	return f.x.o.Setup
}

// noSetup remembers that the set-up fails for this commit.
func (f *filling) noSetup() error {
	return os.WriteFile(f.failedFile(), []byte(f.base+f.m.setupKey(f.x.o.Setup)), 0o600)
}

func (f *filling) failedFile() string { return filepath.Join(f.x.r.sparesDir(f.p), "failed") }

// Keep has [Pool.Run] keep spares of the project. A project that a create of
// this process has been for is kept as well.
func (x *Pool) Keep(p workspace.Project) { x.wake(p) }

// wake has Run look after the project soon.
func (x *Pool) wake(p workspace.Project) {
	x.mu.Lock()
	x.projects[p.ID] = p
	x.mu.Unlock()
	select {
	case x.woken <- struct{}{}:
	default:
	}
}

// Run keeps the spares of the projects until ctx ends: one is made at a time,
// at low priority, and only while this process neither creates nor merges.
func (x *Pool) Run(ctx context.Context) {
	tick := time.NewTicker(x.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.woken:
		case <-tick.C:
		}
		for _, p := range x.kept() {
			if x.r.idle(ctx) != nil {
				return
			}
			filled, err := x.Fill(ctx, p)
			if _, gone := os.Lstat(p.ID); isAbsent(gone) {
				x.drop(p)
				continue
			}
			if err != nil && ctx.Err() == nil {
				x.o.Logger.Warn("spare worktrees could not be kept", "project", p.Directory, "error", err)
			}
			for _, line := range filled.Kept {
				x.o.Logger.Warn(line, "project", p.Directory)
			}
		}
	}
}

// drop ends the keeping of a project.
func (x *Pool) drop(p workspace.Project) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.projects, p.ID)
}

func (x *Pool) kept() []workspace.Project {
	x.mu.Lock()
	defer x.mu.Unlock()
	var list []workspace.Project
	for _, p := range x.projects {
		list = append(list, p)
	}
	return list
}
