package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Collector lets go of what is no longer needed: expired trash, and, where
// that is asked for, workspaces that are merged or idle. It is safe for
// concurrent use.
type Collector struct{ m *Manager }

// NewCollector returns a Collector over the life cycle of m.
func NewCollector(m *Manager) *Collector { return &Collector{m: m} }

// CollectOptions say what may go besides what has expired.
type CollectOptions struct {
	// Project is a directory of the repository.
	Project string
	// Merged lets workspaces go in which something was committed, and whose
	// base has all of it.
	Merged bool
	// Idle, if not 0, lets workspaces go in which nothing has happened for so
	// long, if they can be deleted without force: also those whose commits
	// are pushed or on another branch, not merged.
	Idle time.Duration
	// Closed lets workspaces go whose thread was deleted or archived, if they
	// can be deleted without force; [Manager.NoteThread] says which those are.
	Closed bool
	// MaxTrash, if not 0, is how many bytes the project's kept directories may
	// take, with NoBytes for none; above it folders in them that can be made
	// again go first, such as node_modules, then whole directories, the oldest before the others.
	MaxTrash int64
	// MaxSize, if not 0, is how many bytes the project's workspaces and kept
	// directories may take, with NoBytes for none; above it kept directories go
	// as for MaxTrash, and then the longest idle of the workspaces that can be
	// deleted without force. Those go to the trash, which frees their bytes
	// only later.
	MaxSize int64
}

// NoBytes is the bound of no bytes at all.
const NoBytes int64 = -1

// CollectKind says what would go.
type CollectKind string

// The kinds.
const (
	// CollectDirectory is the kept directory of a deleted workspace; it can be
	// restored from its snapshot still.
	CollectDirectory CollectKind = "directory"
	// CollectFolders are folders of a kept directory that can be made again.
	CollectFolders CollectKind = "folders"
	// CollectSnapshot is all that is left of a deleted workspace.
	CollectSnapshot CollectKind = "snapshot"
	// CollectWorkspace is a workspace; it goes to the trash.
	CollectWorkspace CollectKind = "workspace"
	// CollectSpare is a spare that should go, or what is left of one.
	CollectSpare CollectKind = "spare"
)

// Collected is a line of a plan, and what became of it.
type Collected struct {
	Kind      CollectKind
	ThreadID  string
	TrashID   string
	SpareID   string
	Directory string
	// Folders are those that go, relative to Directory, for CollectFolders.
	Folders []string
	// Size is the disk use in bytes, -1 where it isn't known.
	Size   int64
	Reason string
	// Lost has a line for each thing that goes for good with a
	// CollectDirectory, because the snapshot lacks it.
	Lost []string
	// Done is true once it is gone; Err is why it isn't.
	Done bool
	Err  error
	// attempt guards a workspace: a successor of it is not meant.
	attempt string
	// closed is true where it goes for its thread alone.
	closed bool
	// project is that of a spare.
	project Project
}

// sizeFresh is how long a measured size is taken for true.
const sizeFresh = time.Hour

// Plan says what could go now and why, and changes nothing but the remembered
// sizes. A workspace that is locked, pending, dirty or busy, of the default
// branch, whose branch is the base of another one, or in which nothing was ever
// committed and that is neither idle nor of a closed thread, is never in it.
func (c *Collector) Plan(ctx context.Context, o CollectOptions) ([]Collected, error) {
	plan, err := c.plan(ctx, o)
	return plan, within("gc", "", err)
}

func (c *Collector) plan(ctx context.Context, o CollectOptions) ([]Collected, error) {
	p := &planning{m: c.m, o: o, now: c.m.cfg.Now(), maxTrash: max(o.MaxTrash, 0), maxSize: max(o.MaxSize, 0)}
	if o.MaxSize == NoBytes {
		p.o.MaxSize = 1 // a bound is given: sizes are measured
	}
	trash, err := c.m.Trash(ctx, o.Project)
	if err != nil {
		return nil, err
	}
	for i := range trash {
		if err := p.expired(ctx, &trash[i]); err != nil {
			return nil, err
		}
	}
	if o.MaxTrash != 0 {
		if err := p.pressTrash(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.spares(ctx); err != nil {
		return nil, err
	}
	if !o.Merged && o.Idle == 0 && !o.Closed && o.MaxSize == 0 {
		return p.all(), nil
	}
	rows, _, err := c.m.list(ctx, ListOptions{Project: o.Project})
	if err != nil {
		return nil, err
	}
	p.bases = make(map[string]bool)
	for i := range rows {
		if w := rows[i].Workspace; w != nil && strings.TrimPrefix(w.Base, "refs/heads/") != w.Branch {
			p.bases[strings.TrimPrefix(w.Base, "refs/heads/")] = true
		}
	}
	for i := range rows {
		if err := p.row(ctx, &rows[i]); err != nil {
			return nil, err
		}
	}
	if o.MaxSize != 0 {
		if err := p.press(ctx); err != nil {
			return nil, err
		}
	}
	return p.all(), nil
}

// Trash returns what can be restored of a project, newest first, with the size
// of each kept directory, measured within the last hour. One that somebody has
// removed isn't kept.
func (c *Collector) Trash(ctx context.Context, projectDir string) ([]Trashed, error) {
	trash, err := c.m.Trash(ctx, projectDir)
	if err != nil {
		return nil, err
	}
	for i := range trash {
		if trash[i].Kept.Directory == "" {
			continue
		}
		if _, err := os.Lstat(trash[i].Kept.Directory); errors.Is(err, fs.ErrNotExist) {
			trash[i].Kept.Directory, trash[i].DirectoryUntil, trash[i].Size = "", time.Time{}, -1
			continue
		}
		if _, err := c.m.trashSize(ctx, &trash[i]); err != nil {
			return nil, within("trash", "", err)
		}
	}
	return trash, nil
}

// Takes returns how many bytes the project's workspaces and kept directories
// take, as far as that is known and measured within the last hour.
func (c *Collector) Takes(ctx context.Context, projectDir string) (int64, error) {
	trash, err := c.Trash(ctx, projectDir)
	if err != nil {
		return 0, err
	}
	var total int64
	for _, t := range trash {
		total += max(t.Size, 0)
	}
	rows, _, err := c.m.list(ctx, ListOptions{Project: projectDir, WithoutState: true})
	if err != nil {
		return 0, within("gc", "", err)
	}
	for _, row := range rows {
		if w := row.Workspace; w != nil && w.Status == StatusReady && row.Worktree != nil && !row.Missing {
			size, err := c.m.workspaceSize(ctx, *w)
			if err != nil {
				return 0, within("gc", "", err)
			}
			total += max(size, 0)
		}
	}
	return total, nil
}

// expired plans what has outlived its time.
func (p *planning) expired(ctx context.Context, t *Trashed) error {
	item := Collected{ThreadID: t.Workspace.ThreadID, TrashID: t.ID, Directory: t.Kept.Directory, Size: -1}
	if t.Kept.Directory != "" {
		size, err := p.m.trashSize(ctx, t)
		if err != nil {
			return err
		}
		item.Size = size
	}
	switch {
	case p.now.After(t.RestorableUntil):
		item.Kind, item.Reason = CollectSnapshot, "deleted on "+t.DeletedAt.Format(time.DateOnly)+", and kept until "+t.RestorableUntil.Format(time.DateOnly)
		p.plan = append(p.plan, item)
	case t.Kept.Directory == "":
	case p.now.After(t.DirectoryUntil):
		item.Lost = t.Kept.Missing
		item.Kind, item.Reason = CollectDirectory, "its directory was kept until "+t.DirectoryUntil.Format(time.RFC3339)
		p.plan = append(p.plan, item)
	default:
		item.Kind = CollectDirectory
		p.directories = append(p.directories, &keptDirectory{item: item, t: *t})
	}
	return nil
}

// row plans a workspace that is merged or idle.
func (p *planning) row(ctx context.Context, row *Row) error {
	w := row.Workspace
	if w == nil || w.Status != StatusReady || row.Worktree == nil || row.Missing {
		return nil
	}
	item := Collected{Kind: CollectWorkspace, ThreadID: w.ThreadID, Directory: row.Worktree.Directory, Size: -1, attempt: w.Attempt.ID}
	if p.o.MaxSize > 0 {
		size, err := p.m.workspaceSize(ctx, *w)
		if err != nil {
			return err
		}
		item.Size = size
		p.total += max(size, 0)
	}
	if !row.Deletable || w.Provider == ProviderAdopted || row.State.LastActivity == nil {
		return nil
	}
	if w.Branch != "" && w.BranchCreated && p.bases[w.Branch] {
		return nil // its branch would go with it
	}
	since := *row.State.LastActivity
	idle := p.now.Sub(since)
	merged := row.State.Merged != nil && *row.State.Merged
	switch {
	case p.o.Merged && merged && worked(row):
		item.Reason = "all its commits are in " + shown(w.Base, "the default branch")
	case p.o.Idle > 0 && idle >= p.o.Idle:
		item.Reason = "nothing has happened in it since " + since.Format(time.RFC3339)
		if row.State.Merged != nil && !merged {
			item.Reason += "; its commits aren't merged, another branch or a remote has them"
		}
	case p.o.Closed && row.Thread != ThreadOpen:
		item.closed = true
	default:
		if p.o.MaxSize > 0 {
			p.workspaces = append(p.workspaces, candidate{item, since})
		}
		return nil
	}
	if closed := closedWords(row); closed != "" {
		item.Reason = strings.TrimPrefix(item.Reason+"; "+closed, "; ")
	}
	p.total -= max(item.Size, 0)
	p.plan = append(p.plan, item)
	return nil
}

// worked reports whether anything was committed in the workspace: what never
// had a commit of its own isn't merged. One that a merge of ours brought home
// has no branch, and sits on the base that the merge recorded.
func worked(row *Row) bool {
	w, wt := row.Workspace, row.Worktree
	if known := row.State.Committed; known != nil && *known || w.Branch == "" && wt.Branch == "" && wt.Head == w.BaseCommit {
		return true
	} else if known != nil {
		return false
	}
	return wt.Head != w.BaseCommit
}

// Apply carries out exactly a plan. What can't go any more, because it changed
// since, stays, with the reason in Err. The error is that of ctx.
func (c *Collector) Apply(ctx context.Context, plan []Collected) ([]Collected, error) {
	done := slices.Clone(plan)
	for i := range done {
		if err := ctx.Err(); err != nil {
			return done, within("gc", "", err)
		}
		item := &done[i]
		switch item.Kind {
		case CollectWorkspace:
			item.Err = c.workspace(ctx, *item)
		case CollectSpare:
			item.Err = c.spare(ctx, *item)
		default:
			item.Err = c.trash(ctx, *item)
		}
		item.Done = item.Err == nil
	}
	return done, nil
}

func (c *Collector) workspace(ctx context.Context, item Collected) error {
	w, err := c.m.Get(ctx, item.ThreadID)
	if err != nil {
		return err
	}
	if w.Attempt.ID != item.attempt {
		return &Error{Code: ErrInProgress, Message: "another workspace has taken its place; it stays", Hint: "plan again", Err: ErrStale}
	}
	if item.closed {
		if err := c.m.stillClosed(ctx, item.ThreadID); err != nil {
			return err
		}
	}
	_, err = c.m.Delete(ctx, DeleteOptions{ThreadID: item.ThreadID})
	return err
}

func (c *Collector) trash(ctx context.Context, item Collected) error {
	t, err := c.m.cfg.Store.Trashed(ctx, item.TrashID)
	if errors.Is(err, ErrNotFound) {
		return nil // restored, or let go by somebody else
	}
	if err != nil {
		return err
	}
	project, err := c.m.projectOf(ctx, t.Workspace)
	if err != nil {
		return c.m.projectGone(t.Workspace, err, "let go")
	}
	restorer, err := c.m.restorerOf(t.Workspace)
	if err != nil {
		return err
	}
	if item.Kind == CollectFolders {
		return c.folders(ctx, restorer, project, t, item)
	}
	all := item.Kind == CollectSnapshot
	if err := restorer.Discard(ctx, project, t, all); err != nil {
		return err
	}
	if all {
		err := c.m.cfg.Store.ForgetTrash(ctx, t.ID)
		c.m.threadGone(ctx, t.Workspace.ThreadID)
		return err
	}
	t.Kept.Directory, t.DirectoryUntil, t.Size = "", time.Time{}, -1
	return c.m.cfg.Store.UpdateTrash(ctx, t)
}

// folders lets folders of a kept directory go.
func (c *Collector) folders(ctx context.Context, r Restorer, project Project, t Trashed, item Collected) error {
	thinner, ok := r.(Thinner)
	if !ok {
		return nil // planned by another process, with another provider
	}
	freed, err := thinner.DiscardRegenerable(ctx, project, t, item.Folders)
	if freed > 0 && t.Size >= 0 {
		t.Size = max(t.Size-freed, 0)
		if updateErr := c.m.cfg.Store.UpdateTrash(context.WithoutCancel(ctx), t); err == nil {
			err = updateErr
		}
	}
	return err
}

// trashSize measures a kept directory, or takes what was measured of late.
func (m *Manager) trashSize(ctx context.Context, t *Trashed) (int64, error) {
	if t.Size >= 0 && m.cfg.Now().Sub(t.MeasuredAt) < sizeFresh {
		return t.Size, nil
	}
	size, err := m.measure(ctx, t.Workspace, t.Kept.Directory)
	if err != nil || size < 0 {
		return size, err
	}
	t.Size, t.MeasuredAt = size, m.cfg.Now()
	if err := m.cfg.Store.UpdateTrash(ctx, *t); err != nil && !errors.Is(err, ErrNotFound) {
		return size, err
	}
	return size, nil
}

// measure returns the disk use of a directory, -1 where its provider can't
// tell or it can't be looked at.
func (m *Manager) measure(ctx context.Context, w Workspace, dir string) (int64, error) {
	restorer, err := m.restorerOf(w)
	if err != nil {
		return -1, nil
	}
	size, err := restorer.DiskUse(ctx, dir)
	if err != nil {
		return -1, ctx.Err()
	}
	return size, nil
}

// sizeNotes is where the sizes of workspaces are remembered.
const sizeNotes = "threadtree/size"

// measured is a remembered size.
type measured struct {
	Directory string    `json:"directory"`
	Bytes     int64     `json:"bytes"`
	At        time.Time `json:"at"`
}

// workspaceSize measures a workspace, or takes what was measured of late and
// remembered, where the store can.
func (m *Manager) workspaceSize(ctx context.Context, w Workspace) (int64, error) {
	notes, _ := m.cfg.Store.(Notes)
	var note Note
	if notes != nil {
		var err error
		if note, err = notes.Note(ctx, sizeNotes, w.ThreadID); err != nil && !errors.Is(err, ErrNotFound) {
			return -1, err
		}
		var known measured
		if json.Unmarshal(note.Value, &known) == nil && known.Directory == w.Directory && m.cfg.Now().Sub(known.At) < sizeFresh {
			return known.Bytes, nil
		}
	}
	size, err := m.measure(ctx, w, w.Directory)
	if err != nil || size < 0 || notes == nil {
		return size, err
	}
	value, err := json.Marshal(measured{Directory: w.Directory, Bytes: size, At: m.cfg.Now()})
	if err != nil {
		return size, err
	}
	if _, err := notes.PutNote(ctx, sizeNotes, w.ThreadID, value, note.Version); err != nil && !errors.Is(err, ErrStale) {
		return size, err
	}
	return size, nil
}
