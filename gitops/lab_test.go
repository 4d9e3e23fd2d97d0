package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// lab is a repository of a test's own, with a provider on it, away from the
// user's configuration.
type lab struct {
	t    testing.TB
	root string
	// dir is the repository's main checkout.
	dir  string
	home string
	env  []string
	opts ProviderOptions
	git  string
	// events are those of the last create.
	events []workspace.Event
}

// newLab makes a repository with one commit on main, of a file f.
func newLab(t testing.TB) *lab {
	t.Helper()
	l := emptyLab(t)
	l.run(l.root, "init", "-q", "-b", "main", l.dir)
	l.commit(l.dir, "f", "base\n")
	return l
}

func emptyLab(t testing.TB) *lab {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, root: root, dir: filepath.Join(root, "repo"), home: filepath.Join(root, "home")}
	l.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	return l
}

// withOrigin makes a bare repository with one commit on main, and a clone of
// it as the lab's; it returns the bare one and a second clone to push from.
func withOrigin(t testing.TB, cloneArgs ...string) (l *lab, origin, seed string) {
	t.Helper()
	l = emptyLab(t)
	origin, seed = filepath.Join(l.root, "origin.git"), filepath.Join(l.root, "seed")
	l.run(l.root, "init", "-q", "--bare", "-b", "main", origin)
	l.run(l.root, "init", "-q", "-b", "main", seed)
	l.run(seed, "remote", "add", "origin", origin)
	l.commit(seed, "f", "base\n")
	l.run(seed, "push", "-q", "origin", "main")
	l.run(l.root, append(append([]string{"clone", "-q"}, cloneArgs...), "file://"+origin, l.dir)...)
	return l, origin, seed
}

// run runs plain git and returns its output.
func (l *lab) run(dir string, args ...string) string {
	l.t.Helper()
	out, err := l.try(dir, args...)
	if err != nil {
		l.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (l *lab) try(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, l.env
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

func (l *lab) write(path, content string) {
	l.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) script(path, content string) {
	l.t.Helper()
	l.write(path, content)
	if err := os.Chmod(path, 0o755); err != nil {
		l.t.Fatal(err)
	}
}

// commit writes a file, commits it and returns the commit.
func (l *lab) commit(dir, file, content string) string {
	l.t.Helper()
	l.write(filepath.Join(dir, file), content)
	l.run(dir, "add", "--", file)
	l.run(dir, "commit", "-q", "-m", "change "+file)
	return l.run(dir, "rev-parse", "HEAD")
}

func (l *lab) provider() *Provider {
	l.t.Helper()
	r, err := New(Options{Home: l.home, Env: l.env, Git: l.git})
	if err != nil {
		l.t.Fatal(err)
	}
	return NewProvider(r, l.opts)
}

func (l *lab) project() workspace.Project {
	l.t.Helper()
	return l.projectAt(l.dir)
}

func (l *lab) projectAt(dir string) workspace.Project {
	l.t.Helper()
	p, err := l.provider().r.Open(context.Background(), dir)
	if err != nil {
		l.t.Fatal(err)
	}
	return p
}

// request asks for a workspace of the lab's project; change may alter it.
func (l *lab) request(name workspace.Name, change ...func(*workspace.CreateRequest)) workspace.CreateRequest {
	l.t.Helper()
	l.events = nil
	req := workspace.CreateRequest{
		ThreadID: "thread", Attempt: "attempt-1", Name: name,
		Claim:    func(context.Context, workspace.Plan) error { return nil },
		Progress: func(e workspace.Event) { l.events = append(l.events, e) },
	}
	for _, c := range change {
		c(&req)
	}
	if req.Project.ID == "" {
		req.Project = l.project()
	}
	return req
}

func titled(text string) workspace.Name {
	return workspace.NameFromTitle(workspace.DefaultPrefix, text, "thread")
}

func typed(t testing.TB, text string) workspace.Name {
	t.Helper()
	n, err := workspace.NameFromTyped(workspace.DefaultPrefix, text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func exactly(t testing.TB, branch string) workspace.Name {
	t.Helper()
	n, err := workspace.NameFromBranch(branch)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func from(base string) func(*workspace.CreateRequest) {
	return func(r *workspace.CreateRequest) { r.Base = base }
}

func withSetup(r *workspace.CreateRequest) { r.Setup = true }

func offline(r *workspace.CreateRequest) { r.NoFetch = true }

// create makes a workspace that must succeed.
func (l *lab) create(name workspace.Name, change ...func(*workspace.CreateRequest)) workspace.Created {
	l.t.Helper()
	created, err := l.provider().Create(context.Background(), l.request(name, change...))
	if err != nil {
		l.t.Fatalf("create: %v", detail(err))
	}
	return created
}

// refuse asks for a workspace that must be refused with the code, and must
// leave refs, entries and disk byte for byte as they were.
func (l *lab) refuse(code workspace.Code, name workspace.Name, change ...func(*workspace.CreateRequest)) *workspace.Error {
	l.t.Helper()
	req := l.request(name, change...)
	before := l.snapshot()
	_, err := l.provider().Create(context.Background(), req)
	if !errors.Is(err, code) {
		l.t.Fatalf("got %v, want the code %s", detail(err), code)
	}
	if after := l.snapshot(); !slices.Equal(before, after) {
		l.t.Errorf("the refused create changed the disk:\n%s", difference(before, after))
	}
	e, _ := errors.AsType[*workspace.Error](err)
	return e
}

// detail shows an error with its chain.
func detail(err error) string {
	if err == nil {
		return "no error"
	}
	text := fmt.Sprintf("%s: %v", workspace.CodeOf(err), err)
	if g, ok := errors.AsType[*GitError](err); ok {
		text += fmt.Sprintf(" (%v: %s)", g.Args, g.Stderr)
	}
	return text
}

// rowOf is the row that a manager would have of what was created.
func rowOf(req workspace.CreateRequest, plan workspace.Plan) workspace.Workspace {
	return workspace.Workspace{
		ThreadID: req.ThreadID, Provider: workspace.ProviderGit, Name: plan.Name, Branch: plan.Branch,
		BranchCreated: plan.BranchCreated, Base: plan.Base, BaseCommit: plan.BaseCommit, ProjectID: req.Project.ID,
		ProjectDirectory: req.Project.Directory, Directory: plan.Directory, Status: workspace.StatusReady,
		Attempt: workspace.Attempt{ID: req.Attempt},
	}
}

// made creates a workspace and returns its row.
func (l *lab) made(name workspace.Name, change ...func(*workspace.CreateRequest)) workspace.Workspace {
	l.t.Helper()
	req := l.request(name, change...)
	created, err := l.provider().Create(context.Background(), req)
	if err != nil {
		l.t.Fatalf("create: %v", detail(err))
	}
	return rowOf(req, created.Plan)
}

// snapshot is every path below the lab's root with its mode and content.
func (l *lab) snapshot() []string {
	l.t.Helper()
	var lines []string
	err := filepath.WalkDir(l.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(l.root, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %s", rel, info.Mode())
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", content)
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			line += " -> " + target
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return lines
}

func difference(before, after []string) string {
	var b strings.Builder
	for _, line := range before {
		if !slices.Contains(after, line) {
			fmt.Fprintf(&b, "- %.300s\n", line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			fmt.Fprintf(&b, "+ %.300s\n", line)
		}
	}
	return b.String()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (l *lab) isTip(branch, sha string) {
	l.t.Helper()
	if got, _ := l.try(l.dir, "rev-parse", "--verify", "-q", "refs/heads/"+branch); got != sha {
		l.t.Errorf("branch %s stands at %q, want %q", branch, got, sha)
	}
}

// warned reports whether a warning has each of the words.
func warned(warnings []string, words ...string) bool {
	return slices.ContainsFunc(warnings, func(w string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(w, word) })
	})
}

// claims is a claim that behaves as a store would: no two threads get the same
// branch or directory.
type claims struct {
	mu    sync.Mutex
	plans map[string]workspace.Plan
}

func (c *claims) of(thread string) func(context.Context, workspace.Plan) error {
	return func(_ context.Context, plan workspace.Plan) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.plans == nil {
			c.plans = make(map[string]workspace.Plan)
		}
		for other, p := range c.plans {
			if other != thread && (workspace.Fold(p.Branch) == workspace.Fold(plan.Branch) || workspace.Fold(p.Directory) == workspace.Fold(plan.Directory)) {
				return &workspace.Error{
					Code: workspace.ErrAlreadyExists, Message: "claimed",
					Workspace: &workspace.Workspace{ThreadID: other, Branch: p.Branch, Directory: p.Directory},
				}
			}
		}
		c.plans[thread] = plan
		return nil
	}
}
