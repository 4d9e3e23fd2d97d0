package opencode

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// syncList has the server list worktrees that it finds.
func syncList(t *testing.T, c *Client, directory string) {
	t.Helper()
	err := c.do(t.Context(), call{op: "sync", method: http.MethodPost, path: workspaces + "/sync-list", directory: directory})
	if err != nil {
		t.Fatal(err)
	}
}

// row has OpenCode list something without us.
func (p *place) row(c *Client, id, directory string) {
	p.t.Helper()
	_, err := c.CreateWorkspace(p.t.Context(), p.dir, NewWorkspace{ID: id, Type: AdapterThreadtree, Extra: map[string]string{
		"path": directory, "repo": filepath.Join(p.dir, ".git"), "name": filepath.Base(directory),
	}})
	if err != nil && !strings.Contains(directory, "nowhere") {
		p.t.Fatal(err)
	}
}

func TestSyncAddsNoSecondRow(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	for name, project := range map[string]string{"one": "project", "Fix It": "project", "the project's own name": "the-project-s-own-name"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlaceAt(t, s, realTemp(t), project, nil)
			w := p.create("1", workspace.CreateOptions{Name: name})
			if strings.HasSuffix(project, "name") && filepath.Base(w.Directory) != project {
				t.Errorf("the worktree's folder is %s, not the project's name", w.Directory)
			}
			syncList(t, c, p.dir)
			p.hasRows(c, w)
		})
	}
}

func realTemp(t testing.TB) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// plainTemp is a directory whose name hasn't the test's in it.
func plainTemp(t testing.TB) string {
	t.Helper()
	root, err := os.MkdirTemp("", "threadtree-")
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	return root
}

func TestRowsOfEarlierTries(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	t.Run("the same id", func(t *testing.T) {
		t.Parallel()
		id := NewWorkspaceID()
		p := newPlace(t, s, func(cfg *ProviderConfig) { cfg.NewID = func() string { return id } })
		p.row(c, id, filepath.Join(p.root, "nowhere"))
		if rows := p.rows(c); len(rows) != 1 || rows[0].ID != id {
			t.Fatalf("there is no row to be in the way: %+v", rows)
		}
		p.hasRows(c, p.create("1", workspace.CreateOptions{Name: "one"}))
	})
	t.Run("the same directory", func(t *testing.T) {
		t.Parallel()
		u := &unplugged{Connection: s}
		p := newPlace(t, u, nil)
		w := p.create("1", workspace.CreateOptions{Name: "one"})
		session, messages := p.said(c, w, "a word")
		u.cut.Store(true)
		if d := p.delete("1", false); !hasLine(d.Removed.Left, w.ProviderID, "reconciled") {
			t.Errorf("left: %q", d.Removed.Left)
		}
		u.cut.Store(false)
		p.hasRows(c, w)
		again := p.create("2", workspace.CreateOptions{Name: "one"})
		if again.Directory != w.Directory {
			t.Fatalf("it is at %s, not at %s again", again.Directory, w.Directory)
		}
		p.hasRows(c, again)
		p.bound(c, session, "", messages)
	})
}

func TestDestructiveRowsAreDropped(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	p := newPlace(t, s, nil)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	p.write(filepath.Join(w.Directory, "untracked"), "kept\n")
	// Told under another name, OpenCode lists it once more as its own.
	if _, err := p.provider.release(t.Context(), c, p.dir, w.ProviderID, w.Directory); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateWorkspace(t.Context(), p.dir, NewWorkspace{
		ID: w.ProviderID, Type: AdapterThreadtree, Branch: w.Branch,
		Extra: map[string]string{"path": w.Directory, "repo": w.ProjectID, "branch": w.Branch, "name": "another"},
	}); err != nil {
		t.Fatal(err)
	}
	syncList(t, c, p.dir)
	rows := p.rows(c)
	if len(rows) != 2 || rows[0].Type == rows[1].Type || !samePlace(rows[0].Directory, rows[1].Directory) {
		t.Fatalf("there is no second row: %+v", rows)
	}
	session := ""
	for _, row := range rows {
		if row.Type == AdapterWorktree {
			session, _ = p.said(c, workspace.Workspace{ProviderID: row.ID, Directory: w.Directory}, "a word")
		}
	}
	messages := p.messages(c, session)
	if lines := p.recovered(); !hasLine(lines, "second entry", w.Directory) {
		t.Errorf("said %q", lines)
	}
	p.hasRows(c, w)
	p.bound(c, session, "", messages)
	if content, err := os.ReadFile(filepath.Join(w.Directory, "untracked")); string(content) != "kept\n" {
		t.Errorf("the untracked file is %q: %v", content, err)
	}
	if head := p.run(w.Directory, "symbolic-ref", "--short", "HEAD"); head != w.Branch {
		t.Errorf("HEAD is %s", head)
	}
	if lines := p.recovered(); len(lines) > 0 {
		t.Errorf("said again: %q", lines)
	}
}

func TestAdoptedWorktreesOfOpenCode(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	p := newPlace(t, s, nil)
	theirs, err := c.CreateWorkspace(t.Context(), p.dir, NewWorkspace{Type: AdapterWorktree, Branch: "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	gone, err := c.CreateWorkspace(t.Context(), p.dir, NewWorkspace{Type: AdapterWorktree, Branch: "gone"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(gone.Directory); err != nil {
		t.Fatal(err)
	}
	// They are shown for as long as they are nobody's here, and left.
	listed := []workspace.Workspace{{ProviderID: theirs.ID, Directory: theirs.Directory}, {ProviderID: gone.ID, Directory: gone.Directory}}
	for range 2 {
		lines := p.recovered()
		if len(lines) != 2 || !hasLine(lines, theirs.Directory, theirs.ID, "no thread", "left") || !hasLine(lines, gone.Directory, gone.ID, "nothing", "left") {
			t.Errorf("said %q", lines)
		}
		p.hasRows(c, listed...)
	}
	if head := p.run(theirs.Directory, "symbolic-ref", "--short", "HEAD"); head != "theirs" {
		t.Errorf("HEAD is %s", head)
	}
	if err := c.RemoveWorkspace(t.Context(), "", gone.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := p.manager.Adopt(t.Context(), workspace.AdoptOptions{Project: p.dir, ThreadID: "1", Directory: theirs.Directory}); err != nil {
		t.Fatal(detail(err))
	}
	if lines := p.recovered(); len(lines) > 0 {
		t.Errorf("said %q", lines)
	}
	p.hasRows(c, workspace.Workspace{ProviderID: theirs.ID, Directory: theirs.Directory})
}

func TestClonesShareAList(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	one := newPlace(t, s, nil)
	other := &place{t: t, root: realTemp(t)}
	other.dir, other.home = filepath.Join(other.root, "clone"), filepath.Join(other.root, "home")
	other.run(other.root, "clone", "-q", one.dir, other.dir)
	other.open(s, nil)
	w, v := one.create("1", workspace.CreateOptions{Name: "one"}), other.create("1", workspace.CreateOptions{Name: "two"})
	gone := other.create("2", workspace.CreateOptions{Name: "three"})
	one.hasRows(c, w, v, gone)
	// What the other clone has no record of, and no directory, is not ours.
	if err := os.RemoveAll(gone.Directory); err != nil {
		t.Fatal(err)
	}
	if err := other.store.DeleteWorkspace(t.Context(), "2", workspace.GuardOf(gone)); err != nil {
		t.Fatal(err)
	}
	if lines := one.recovered(); len(lines) > 0 {
		t.Errorf("said %q", lines)
	}
	one.hasRows(c, w, v, gone)
	if lines := other.recovered(); len(lines) != 1 || !hasLine(lines, gone.ProviderID, "gone") {
		t.Errorf("said %q", lines)
	}
	one.hasRows(c, w, v)
	for p, w := range map[*place]workspace.Workspace{one: w, other: v} {
		if common := p.run(w.Directory, "rev-parse", "--path-format=absolute", "--git-common-dir"); common != filepath.Join(p.dir, ".git") {
			t.Errorf("%s belongs to %s", w.Directory, common)
		}
		p.delete("1", false)
	}
	one.hasRows(c)
}

// TestBareRepository has a project without a checkout: OpenCode finds it by its
// worktrees alone, the last of which goes.
func TestBareRepository(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	p := newPlace(t, s, nil)
	checkout := p.dir
	p.dir = filepath.Join(p.root, "bare.git")
	p.run(p.root, "clone", "-q", "--bare", checkout, p.dir)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	if w.Provider != workspace.ProviderOpenCode || len(w.Warnings) > 0 {
		t.Fatalf("%+v", w)
	}
	// The other clone has the same list.
	lists := &place{t: t, dir: checkout}
	lists.hasRows(c, w)
	session, messages := p.said(c, w, "a word")
	if d := p.delete("1", false); len(d.Removed.Left) > 0 || !absent(w.Directory) {
		t.Errorf("left: %q", d.Removed.Left)
	}
	lists.hasRows(c)
	p.bound(c, session, "", messages)
	if back := p.restore("1"); len(back.Warnings) > 0 || back.Directory != w.Directory {
		t.Errorf("%+v", back)
	}
	lists.hasRows(c, w)
	p.bound(c, session, w.ProviderID, messages)
	if lines := p.recovered(); len(lines) > 0 {
		t.Errorf("said %q", lines)
	}
	// The server's own adapter knows no bare repository.
	p.open(s, func(cfg *ProviderConfig) { cfg.Adapter = AdapterWorktree })
	_, err := p.manager.Create(t.Context(), workspace.CreateOptions{Project: p.dir, ThreadID: "2", Name: "two"})
	if !errors.Is(err, workspace.ErrProviderUnavailable) || !strings.Contains(err.Error(), "bare") {
		t.Errorf("got %s", detail(err))
	}
	p.delete("2", false)
	p.delete("1", false)
	lists.hasRows(c)
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	for name, change := range map[string]func(p *place){
		"with space":      nil,
		"pct%41 x":        nil,
		"100% x":          nil,
		"a+b":             nil,
		"größe é日":        nil,
		"a subdirectory":  func(p *place) { p.dir = filepath.Join(p.dir, "sub", "deep") },
		"a symlink to it": func(p *place) { p.dir = p.link() },
	} {
		for _, adapter := range []string{AdapterThreadtree, AdapterWorktree} {
			t.Run(name+", "+adapter, func(t *testing.T) {
				t.Parallel()
				p := newPlaceAt(t, s, plainTemp(t), name, func(cfg *ProviderConfig) { cfg.Adapter = adapter })
				if err := os.MkdirAll(filepath.Join(p.dir, "sub", "deep"), 0o755); err != nil {
					t.Fatal(err)
				}
				p.write("sub/deep/f", "x\n")
				p.run(p.dir, "add", ".")
				p.run(p.dir, "commit", "-q", "-m", "files")
				if change != nil {
					change(p)
				}
				w := p.create("1", workspace.CreateOptions{Name: "one"})
				if w.Provider != workspace.ProviderOpenCode || len(w.Warnings) > 0 {
					t.Errorf("%+v", w)
				}
				p.hasRows(c, w)
				session, messages := p.said(c, w, "a word")
				if d := p.delete("1", false); len(d.Removed.Left) > 0 || !absent(w.Directory) {
					t.Errorf("left: %q", d.Removed.Left)
				}
				p.hasRows(c)
				p.bound(c, session, "", messages)
				if back := p.restore("1"); len(back.Warnings) > 0 {
					t.Errorf("restored with %q", back.Warnings)
				}
				p.hasRows(c, w)
				p.bound(c, session, w.ProviderID, messages)
				if lines := p.recovered(); len(lines) > 0 {
					t.Errorf("said %q", lines)
				}
			})
		}
	}
}

// link is a symlink to the project.
func (p *place) link() string {
	p.t.Helper()
	link := filepath.Join(p.root, "link")
	if err := os.Symlink(p.dir, link); err != nil {
		p.t.Fatal(err)
	}
	return link
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	for _, adapter := range []string{AdapterThreadtree, AdapterWorktree} {
		for _, n := range []int{2, 8} {
			t.Run(fmt.Sprint(n, " by ", adapter), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, s, func(cfg *ProviderConfig) { cfg.Adapter = adapter })
				var (
					group sync.WaitGroup
					all   = make([]workspace.Workspace, n)
				)
				for i := range n {
					group.Go(func() {
						var err error
						all[i], err = p.manager.Create(context.WithoutCancel(t.Context()), workspace.CreateOptions{Project: p.dir, ThreadID: fmt.Sprint(i), Title: "one"})
						if err != nil || all[i].Provider != workspace.ProviderOpenCode {
							t.Errorf("%+v, %s", all[i], detail(err))
						}
					})
				}
				group.Wait()
				if t.Failed() {
					return
				}
				p.hasRows(c, all...)
				for _, w := range all {
					if head := p.run(w.Directory, "symbolic-ref", "--short", "HEAD"); head != w.Branch {
						t.Errorf("%s is on %s, not on %s", w.Directory, head, w.Branch)
					}
					if status := p.run(w.Directory, "status", "--porcelain"); status != "" {
						t.Errorf("%s: %s", w.Directory, status)
					}
				}
			})
		}
	}
}
