package providertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// fixture is a subject with what a test needs to look at the disk.
type fixture struct {
	*testing.T
	Subject
	// dir is the project's checkout, branch what it has checked out and head
	// the commit.
	dir, branch, head string
	env               []string
}

func newFixture(t *testing.T, s Subject) *fixture {
	t.Helper()
	f := &fixture{T: t, Subject: s, dir: s.Project.TopLevel}
	// Whoever runs the tests may be in a hook, or have no name set.
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GIT_") || strings.HasPrefix(kv, "GIT_CONFIG_GLOBAL=") || strings.HasPrefix(kv, "GIT_CONFIG_NOSYSTEM=") {
			f.env = append(f.env, kv)
		}
	}
	f.env = append(f.env, "LC_ALL=C", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
	if f.dir == "" {
		t.Fatal("the subject's project has no checkout")
	}
	f.branch = f.git(f.dir, "symbolic-ref", "--short", "HEAD")
	f.head = f.git(f.dir, "rev-parse", "HEAD")
	return f
}

// git runs plain git, which must succeed, and returns its output.
func (f *fixture) git(dir string, args ...string) string {
	f.Helper()
	out, err := f.tryGit(dir, args...)
	if err != nil {
		f.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (f *fixture) tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, f.env
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

func (f *fixture) write(path, content string) {
	f.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		f.Fatal(err)
	}
}

// commit commits a file and returns the commit.
func (f *fixture) commit(dir, file, content string) string {
	f.Helper()
	f.write(filepath.Join(dir, file), content)
	f.git(dir, "add", "--", file)
	f.git(dir, "-c", "commit.gpgSign=false", "commit", "-q", "--no-verify", "-m", "change "+file)
	return f.git(dir, "rev-parse", "HEAD")
}

// tip returns where a branch stands, "" if there is none.
func (f *fixture) tip(branch string) string {
	out, err := f.tryGit(f.dir, "rev-parse", "--verify", "-q", "refs/heads/"+branch)
	if err != nil {
		return ""
	}
	return out
}

// state is all branches and worktrees that git knows.
func (f *fixture) state() string {
	f.Helper()
	return f.git(f.dir, "for-each-ref") + "\n" + f.git(f.dir, "worktree", "list", "--porcelain")
}

// unchanged fails the test unless the state still is what it was.
func (f *fixture) unchanged(before string) {
	f.Helper()
	if after := f.state(); after != before {
		f.Errorf("branches or worktrees were changed from\n%s\nto\n%s", before, after)
	}
}

// request asks for a workspace for a thread; change may alter it.
func (f *fixture) request(name workspace.Name, change ...func(*workspace.CreateRequest)) workspace.CreateRequest {
	req := workspace.CreateRequest{
		Project: f.Project, ThreadID: "thread", Attempt: "attempt-1", Name: name, NoFetch: true,
		Claim:    func(context.Context, workspace.Plan) error { return nil },
		Progress: func(workspace.Event) {},
	}
	for _, c := range change {
		c(&req)
	}
	return req
}

// create makes a workspace, which must succeed, and returns its row.
func (f *fixture) create(name workspace.Name, change ...func(*workspace.CreateRequest)) workspace.Workspace {
	f.Helper()
	req := f.request(name, change...)
	if p, ok := f.Provider.(workspace.Prechecker); ok {
		if err := p.Precheck(f.Context(), req); err != nil {
			f.Errorf("what can be made was refused beforehand: %s", detail(err))
		}
		req.Prechecked = true
	}
	created, err := f.Provider.Create(f.Context(), req)
	if err != nil {
		f.Fatalf("create: %s", detail(err))
	}
	return f.row(req, created.Plan, created.Provider)
}

// refused asks for a workspace, which must be refused with one of the codes
// and leave branches and worktrees as they were.
func (f *fixture) refused(req workspace.CreateRequest, codes ...workspace.Code) {
	f.Helper()
	before := f.state()
	if p, ok := f.Provider.(workspace.Prechecker); ok {
		if err := p.Precheck(f.Context(), req); err != nil {
			f.hasCode(err, codes...)
		}
		f.unchanged(before)
	}
	_, err := f.Provider.Create(f.Context(), req)
	f.hasCode(err, codes...)
	f.unchanged(before)
}

func (f *fixture) hasCode(err error, codes ...workspace.Code) {
	f.Helper()
	if !slices.Contains(codes, workspace.CodeOf(err)) {
		f.Errorf("got %s, want the code %s", detail(err), codes)
	}
}

// row is what a manager would have on record.
func (f *fixture) row(req workspace.CreateRequest, plan workspace.Plan, provider string) workspace.Workspace {
	if provider == "" {
		provider = f.Provider.Name()
	}
	return workspace.Workspace{
		ThreadID: req.ThreadID, Provider: provider, ProviderID: plan.ProviderID, Name: plan.Name,
		Branch: plan.Branch, BranchCreated: plan.BranchCreated, Base: plan.Base, BaseCommit: plan.BaseCommit,
		ProjectID: req.Project.ID, ProjectDirectory: req.Project.Directory, Directory: plan.Directory,
		Status: workspace.StatusReady, Attempt: workspace.Attempt{ID: req.Attempt},
	}
}

// planned asks for a workspace and returns the row of the last plan that was
// claimed, whatever became of it.
func (f *fixture) planned(ctx context.Context, req workspace.CreateRequest) (workspace.Workspace, error) {
	var plan workspace.Plan
	claim := req.Claim
	req.Claim = func(ctx context.Context, p workspace.Plan) error {
		plan = p
		return claim(ctx, p)
	}
	created, err := f.Provider.Create(ctx, req)
	return f.row(req, plan, created.Provider), err
}

// clear clears w, which must succeed, and returns what was left.
func (f *fixture) clear(w workspace.Workspace) []string {
	f.Helper()
	left, err := f.Provider.Clear(f.Context(), f.Project, w)
	if err != nil {
		f.Fatalf("clear: %s", detail(err))
	}
	return left
}

func (f *fixture) remove(w workspace.Workspace) (workspace.Removed, error) {
	return f.Provider.Remove(f.Context(), workspace.RemoveRequest{Project: f.Project, Workspace: w, Progress: func(workspace.Event) {}})
}

// removes removes w, which must succeed.
func (f *fixture) removes(w workspace.Workspace) workspace.Removed {
	f.Helper()
	removed, err := f.remove(w)
	if err != nil {
		f.Fatalf("remove: %s", detail(err))
	}
	f.gone(w)
	return removed
}

// keeps removes w, which must be refused with one of the codes and leave
// everything as it was.
func (f *fixture) keeps(w workspace.Workspace, codes ...workspace.Code) {
	f.Helper()
	before, status := f.state(), f.git(w.Directory, "status", "--porcelain", "--ignored")
	_, err := f.remove(w)
	f.hasCode(err, codes...)
	f.unchanged(before)
	if after := f.git(w.Directory, "status", "--porcelain", "--ignored"); after != status {
		f.Errorf("the files were changed from\n%s\nto\n%s", status, after)
	}
}

// gone fails the test if anything of w's directory or entry is left.
func (f *fixture) gone(w workspace.Workspace) {
	f.Helper()
	if _, err := os.Lstat(w.Directory); !errors.Is(err, os.ErrNotExist) {
		f.Errorf("%s is there: %v", w.Directory, err)
	}
	if list := f.git(f.dir, "worktree", "list", "--porcelain"); strings.Contains(list, "worktree "+w.Directory+"\n") {
		f.Errorf("git still has the worktree:\n%s", list)
	}
}

// whole fails the test unless w is a clean linked worktree of the project on
// its branch.
func (f *fixture) whole(w workspace.Workspace) {
	f.Helper()
	info, err := os.Lstat(w.Directory)
	if err != nil || !info.IsDir() {
		f.Fatalf("no directory at %q: %v", w.Directory, err)
	}
	if top := f.git(w.Directory, "rev-parse", "--show-toplevel"); top != w.Directory {
		f.Errorf("the top of %s is %s", w.Directory, top)
	}
	if common := f.git(w.Directory, "rev-parse", "--path-format=absolute", "--git-common-dir"); common != f.Project.ID {
		f.Errorf("%s belongs to %s, want %s", w.Directory, common, f.Project.ID)
	}
	if head := f.git(w.Directory, "symbolic-ref", "HEAD"); head != "refs/heads/"+w.Branch {
		f.Errorf("HEAD is %s, want the branch %s", head, w.Branch)
	}
	if status := f.git(w.Directory, "status", "--porcelain"); status != "" {
		f.Errorf("it is not clean:\n%s", status)
	}
}

func detail(err error) string {
	if err == nil {
		return "no error"
	}
	return string(workspace.CodeOf(err)) + ": " + err.Error()
}

func title(text string) workspace.Name {
	return workspace.NameFromTitle(workspace.DefaultPrefix, text, "thread")
}

func (f *fixture) typed(text string) workspace.Name {
	f.Helper()
	name, err := workspace.NameFromTyped(workspace.DefaultPrefix, text)
	if err != nil {
		f.Fatal(err)
	}
	return name
}

func (f *fixture) exact(branch string) workspace.Name {
	f.Helper()
	name, err := workspace.NameFromBranch(branch)
	if err != nil {
		f.Fatal(err)
	}
	return name
}
