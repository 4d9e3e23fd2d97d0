package workspace_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// parts is a Manager over real git and real SQLite.
type parts struct {
	*workspace.Manager
	store *sqlite.Store
	repo  *gitops.Repository
	home  string
	// project is a repository with a few commits on main.
	project string
}

// settings are what a test changes of the usual parts.
type settings struct {
	home, db, project string
	host              string
	// git is the program to run in place of git.
	git string
	// wrap puts a provider of the test's own around the real one.
	wrap func(workspace.Provider) workspace.Provider
	// tune changes the configuration at the end.
	tune func(*workspace.Config)
}

// gitEnv is an environment in which git knows nothing of this machine's
// configuration.
func gitEnv(home string) []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GIT_") })
	return append(
		env, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=A Person", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A Person", "GIT_COMMITTER_EMAIL=a@example.com",
	)
}

// git runs git in dir and returns what it prints.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = gitEnv(t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// newProject makes a repository with two commits on main.
func newProject(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(realTemp(t), "project")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "-b", "main")
	write(t, filepath.Join(dir, "file"), "one\n")
	write(t, filepath.Join(dir, "sub", "other"), "other\n")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "one")
	write(t, filepath.Join(dir, "file"), "two\n")
	git(t, dir, "commit", "-q", "-a", "-m", "two")
	return dir
}

// realTemp is a temporary directory whose path has no symlink in it.
func realTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// build puts a Manager together; every part of it is real.
func build(t testing.TB, s settings) *parts {
	t.Helper()
	if s.home == "" {
		s.home = filepath.Join(realTemp(t), "home")
	}
	if s.db == "" {
		s.db = filepath.Join(s.home, "threadtree.db")
	}
	if s.project == "" {
		s.project = newProject(t)
	}
	p, err := assemble(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.store.Close() })
	return p
}

func assemble(ctx context.Context, s settings) (*parts, error) {
	store, err := sqlite.Open(ctx, s.db)
	if err != nil {
		return nil, err
	}
	repo, err := gitops.New(gitops.Options{Home: s.home, Env: gitEnv(s.home), Git: s.git})
	if err != nil {
		return nil, err
	}
	locks, err := gitops.NewAttemptLocks(filepath.Join(s.home, "attempts"), s.host)
	if err != nil {
		return nil, err
	}
	var provider workspace.Provider = gitops.NewProvider(repo, gitops.ProviderOptions{})
	if s.wrap != nil {
		provider = s.wrap(provider)
	}
	cfg := workspace.Config{Store: store, Repository: repo, Provider: provider, Locker: locks, Poll: 20 * time.Millisecond}
	if s.tune != nil {
		s.tune(&cfg)
	}
	m, err := workspace.NewManager(cfg)
	return &parts{Manager: m, store: store, repo: repo, home: s.home, project: s.project}, err
}

// create makes a thread's workspace and fails the test if it can't.
func (p *parts) create(t testing.TB, thread string, change ...func(*workspace.CreateOptions)) workspace.Workspace {
	t.Helper()
	w, err := p.tryCreate(t, thread, change...)
	if err != nil {
		t.Fatalf("create for thread %s: %v", thread, err)
	}
	return w
}

func (p *parts) tryCreate(t testing.TB, thread string, change ...func(*workspace.CreateOptions)) (workspace.Workspace, error) {
	t.Helper()
	o := workspace.CreateOptions{Project: p.project, ThreadID: thread, Title: "thread " + thread}
	for _, f := range change {
		f(&o)
	}
	return p.Create(t.Context(), o)
}

func typed(name string) func(*workspace.CreateOptions) {
	return func(o *workspace.CreateOptions) { o.Name, o.Title, o.Branch = name, "", "" }
}

func branch(name string) func(*workspace.CreateOptions) {
	return func(o *workspace.CreateOptions) { o.Name, o.Title, o.Branch = "", "", name }
}

func base(ref string) func(*workspace.CreateOptions) {
	return func(o *workspace.CreateOptions) { o.Base = ref }
}

// failed leaves a record of a failure: a base that only a remote could have,
// which doesn't answer.
func (p *parts) failed(t testing.TB, thread string) workspace.Workspace {
	t.Helper()
	git(t, p.project, "remote", "add", "origin", filepath.Join(t.TempDir(), "gone"))
	defer git(t, p.project, "remote", "remove", "origin")
	_, err := p.tryCreate(t, thread, base("nowhere"))
	wantCode(t, err, workspace.ErrTargetNotFound)
	w, err := p.Get(t.Context(), thread)
	if err != nil || w.Status != workspace.StatusError || w.ErrorCode != workspace.ErrTargetNotFound || w.Directory != "" {
		t.Fatalf("the record is %+v, %v", w, err)
	}
	return w
}

// wantCode fails the test unless err has the code, and says what to do next.
func wantCode(t testing.TB, err error, code workspace.Code) {
	t.Helper()
	if workspace.CodeOf(err) != code || !errors.Is(err, code) {
		t.Errorf("got %v (code %q), want the code %q", err, workspace.CodeOf(err), code)
		return
	}
	if workspace.HintOf(err) == "" {
		t.Errorf("%v has no hint", err)
	}
}

// world is what must not change when a request is refused: refs, worktrees and
// every file of the project and below home, and the records.
func (p *parts) world(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(git(t, p.project, "for-each-ref") + "\n" + git(t, p.project, "worktree", "list", "--porcelain") + "\n")
	for _, root := range []string{p.project, filepath.Join(p.home, "worktrees")} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			// The lock's own file comes with the first look and stays.
			if err != nil || strings.Contains(path, "/.git/threadtree") {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			b.WriteString(path + " " + info.Mode().String() + "\n")
			if !d.IsDir() {
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				b.Write(data)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	rows, err := p.store.ListWorkspaces(t.Context(), workspace.Query{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range rows {
		b.WriteString(w.ThreadID + " " + string(w.Status) + " " + w.Directory + " " + w.Attempt.ID + "\n")
	}
	return b.String()
}

// traces returns what is left in the project of anything but main and what is
// kept of deleted workspaces.
func (p *parts) traces(t testing.TB) []string {
	t.Helper()
	var left []string
	for line := range strings.Lines(git(t, p.project, "for-each-ref", "--format=%(refname)")) {
		if ref := strings.TrimSpace(line); ref != "" && ref != "refs/heads/main" && !strings.HasPrefix(ref, "refs/threadtree/trash/") {
			left = append(left, ref)
		}
	}
	entries, _ := os.ReadDir(filepath.Join(p.project, ".git", "worktrees"))
	for _, e := range entries {
		lock, _ := os.ReadFile(filepath.Join(p.project, ".git", "worktrees", e.Name(), "locked"))
		if !strings.HasPrefix(string(lock), "deleted by threadtree, trash ") {
			left = append(left, "entry "+e.Name())
		}
	}
	projects, _ := os.ReadDir(filepath.Join(p.home, "worktrees"))
	for _, project := range projects {
		dirs, _ := os.ReadDir(filepath.Join(p.home, "worktrees", project.Name()))
		for _, d := range dirs {
			if !strings.HasPrefix(d.Name(), ".") || !strings.Contains(d.Name(), ".deleted-") {
				left = append(left, "directory "+d.Name())
			}
		}
	}
	locks, _ := os.ReadDir(filepath.Join(p.home, "attempts"))
	for _, l := range locks {
		left = append(left, "lock "+l.Name())
	}
	return left
}

// Environment variables that make the test binary run one create and die.
const (
	childDB      = "THREADTREE_TEST_DB"
	childHome    = "THREADTREE_TEST_HOME"
	childProject = "THREADTREE_TEST_PROJECT"
	childThread  = "THREADTREE_TEST_THREAD"
	childGit     = "THREADTREE_TEST_GIT"
	childDie     = "THREADTREE_TEST_DIE"
)

func TestMain(m *testing.M) {
	if os.Getenv(childThread) == "" {
		os.Exit(m.Run())
	}
	os.Exit(childCreate())
}

// childCreate makes a workspace in a process of its own, which dies where it
// was told to.
func childCreate() int {
	ctx := context.Background()
	p, err := assemble(ctx, settings{
		home: os.Getenv(childHome), db: os.Getenv(childDB), project: os.Getenv(childProject), git: os.Getenv(childGit),
		wrap: func(inner workspace.Provider) workspace.Provider {
			return &dying{Provider: inner, at: os.Getenv(childDie)}
		},
	})
	if err == nil {
		_, err = p.Create(ctx, workspace.CreateOptions{Project: p.project, ThreadID: os.Getenv(childThread), Title: "thread " + os.Getenv(childThread)})
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

// dying kills its own process at one point of a create.
type dying struct {
	workspace.Provider
	at string
}

func (d *dying) Create(ctx context.Context, req workspace.CreateRequest) (workspace.Created, error) {
	die := func(point string) {
		if d.at == point {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	die("begun")
	inner := req.Claim
	req.Claim = func(ctx context.Context, plan workspace.Plan) error {
		err := inner(ctx, plan)
		die("claimed")
		return err
	}
	progress := req.Progress
	req.Progress = func(e workspace.Event) {
		die("phase " + string(e.Phase))
		progress(e)
	}
	created, err := d.Provider.Create(ctx, req)
	die("made")
	return created, err
}

// child runs a create in a process of its own and returns how it ended.
func (p *parts) child(t testing.TB, thread, die, gitProgram string) error {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(
		os.Environ(), childDB+"="+filepath.Join(p.home, "threadtree.db"), childHome+"="+p.home, childProject+"="+p.project,
		childThread+"="+thread, childDie+"="+die, childGit+"="+gitProgram,
	)
	out, err := cmd.CombinedOutput()
	if len(out) > 0 {
		t.Logf("the child says: %s", out)
	}
	return err
}
