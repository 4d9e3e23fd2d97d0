package opencode

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/threadtree/threadtree/workspace"
)

// ableFor is how long it is remembered that a server has an adapter for a
// project: a create that finds otherwise says so itself.
const ableFor = time.Minute

// placeOf is the directory by which OpenCode finds a project. A bare
// repository is no project to it: there a worktree has to stand for it.
func placeOf(project workspace.Project, worktree string) string {
	if project.TopLevel != "" {
		return project.TopLevel
	}
	if worktree != "" {
		return worktree
	}
	return project.Directory
}

// somePlace is the directory by which OpenCode finds a project, also a bare
// one, of which a worktree has to be there: one of those given, or of a
// workspace on record.
func (p *Provider) somePlace(ctx context.Context, project workspace.Project, worktrees ...string) string {
	if project.TopLevel == "" {
		records, err := p.cfg.Records.ListWorkspaces(ctx, workspace.Query{ProjectID: project.ID})
		for _, w := range records {
			worktrees = append(worktrees, w.Directory)
		}
		for _, worktree := range worktrees {
			if err == nil && present(worktree) {
				return placeOf(project, worktree)
			}
		}
	}
	return placeOf(project, "")
}

// ready returns a client of a server that can make workspaces for a project,
// and the adapter to use.
func (p *Provider) ready(ctx context.Context, project workspace.Project) (*Client, string, error) {
	client, has, err := p.look(ctx, p.somePlace(ctx, project))
	if err != nil {
		return nil, "", err
	}
	adapter, err := p.choose(has)
	switch {
	case err != nil || adapter == AdapterThreadtree:
	case project.TopLevel == "":
		err = &Error{Op: "create workspace", Err: ErrNoEndpoint, Message: "its own adapter makes no worktrees of a bare repository"}
	default:
		err = p.hasFlag(ctx, client, project)
	}
	if err != nil {
		return nil, "", err
	}
	return client, adapter, nil
}

// hasFlag returns [ErrNoFlag] for a server that runs without the workspace
// flag: such a one would make the worktree, fail, and list nothing of it. It
// doesn't say so of itself, but what it refuses to make for its name leaves a
// row that only a server with the flag lists.
func (p *Provider) hasFlag(ctx context.Context, client *Client, project workspace.Project) error {
	key, place := [2]string{client.URL(), ""}, placeOf(project, "")
	p.mu.Lock()
	known, ok := p.able[key]
	p.mu.Unlock()
	if ok && time.Since(known.at) < ableFor {
		return nil
	}
	rows, err := client.Workspaces(ctx, place)
	if err == nil && len(rows) == 0 {
		rows, err = p.probe(ctx, client, project)
	}
	switch {
	case err != nil:
		return err
	case len(rows) == 0:
		return &Error{Op: "create workspace", Err: ErrNoFlag}
	}
	p.mu.Lock()
	p.able[key] = found{at: time.Now()}
	p.mu.Unlock()
	return nil
}

// probe has a server refuse a name and returns what it lists while the row is
// there that it keeps of that. Where the row can't be dropped now it is
// remembered.
func (p *Provider) probe(ctx context.Context, client *Client, project workspace.Project) ([]Workspace, error) {
	place := placeOf(project, "")
	asked := late{ID: p.cfg.NewID(), Project: project.ID, Server: client.URL(), Began: time.Now(), Probe: true}
	if err := p.remember(ctx, asked); err != nil {
		return nil, err
	}
	_, refusal := client.CreateWorkspace(ctx, place, NewWorkspace{ID: asked.ID, Type: AdapterWorktree, Branch: "is..the..flag..on"})
	e, ok := errors.AsType[*Error](refusal)
	asked.Answered = ok && e.Status != 0
	rows, err := client.Workspaces(ctx, place)
	switch gone := client.RemoveWorkspace(ctx, "", asked.ID); {
	case asked.Answered && gone == nil:
		p.forgetLate(ctx, asked.ID)
	case asked.Answered:
		err = errors.Join(err, p.remember(context.WithoutCancel(ctx), asked))
	}
	if !ok || e.Err != nil {
		err = errors.Join(refusal, err)
	}
	return rows, err
}

// look returns a client of a server that knows workspaces, and the adapters
// that it has for a project.
func (p *Provider) look(ctx context.Context, place string) (*Client, []string, error) {
	client, err := p.cfg.Connection.Client(ctx)
	if err != nil {
		return nil, nil, err
	}
	key := [2]string{client.URL(), place}
	p.mu.Lock()
	known, ok := p.able[key]
	p.mu.Unlock()
	if ok && time.Since(known.at) < ableFor {
		return client, known.adapters, nil
	}
	health, err := client.Health(ctx)
	if err != nil {
		return nil, nil, err
	}
	if semver.Compare("v"+health.Version, "v"+minVersion) < 0 {
		return nil, nil, &Error{
			Op: "look at the server", Err: ErrNoEndpoint,
			Message: fmt.Sprintf("it is version %s, and %s is the oldest whose workspaces can be used", shown(health.Version), minVersion),
		}
	}
	adapters, err := client.Adapters(ctx, place)
	if err != nil {
		return nil, nil, err
	}
	has := make([]string, 0, len(adapters))
	for _, a := range adapters {
		has = append(has, a.Type)
	}
	p.mu.Lock()
	p.able[key] = found{has, time.Now()}
	p.mu.Unlock()
	return client, has, nil
}

func shown(version string) string {
	if version == "" {
		return "unknown"
	}
	return version
}

// choose picks an adapter out of those that a server has.
func (p *Provider) choose(has []string) (string, error) {
	wanted := []string{p.cfg.Adapter}
	if p.cfg.Adapter == "" {
		wanted = []string{AdapterThreadtree, AdapterWorktree}
	}
	for _, adapter := range wanted {
		if slices.Contains(has, adapter) {
			return adapter, nil
		}
	}
	return "", &Error{
		Op: "list the workspace adapters", Err: ErrNoEndpoint,
		Message: fmt.Sprintf("it has no workspace adapter %s, only %s", strings.Join(wanted, " or "), strings.Join(has, ", ")),
	}
}

// forget has the next create look at the server anew.
func (p *Provider) forget(client *Client, project workspace.Project) {
	p.mu.Lock()
	delete(p.able, [2]string{client.URL(), placeOf(project, "")})
	delete(p.able, [2]string{client.URL(), ""})
	p.mu.Unlock()
}

// rowName is the name that OpenCode itself would give to a worktree. With any
// other one it would list the worktree once more as its own, in a row whose
// removal deletes the directory and the branch.
func rowName(project workspace.Project, directory string) string {
	name := strings.ToLower(filepath.Base(directory))
	main := strings.TrimSuffix(project.ID, string(filepath.Separator)+".git")
	if name == strings.ToLower(filepath.Base(main)) {
		name = strings.ToLower(filepath.Base(filepath.Dir(directory)))
	}
	return name
}

// samePlace reports whether two paths are one directory.
func samePlace(a, b string) bool {
	return a != "" && b != "" && resolved(a) == resolved(b)
}

// resolved is a path without symlinks, as far as it exists.
func resolved(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(resolved(parent), filepath.Base(path))
	}
	return path
}
