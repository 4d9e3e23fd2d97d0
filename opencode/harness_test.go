package opencode

import (
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/store/sqlite"
	"github.com/threadtree/threadtree/workspace"
)

// wanted is the version of OpenCode that the tests are for.
func wanted(t testing.TB) string {
	t.Helper()
	content, err := os.ReadFile("testdata/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(content, &p); err != nil {
		t.Fatal(err)
	}
	return p.Dependencies["opencode-ai"]
}

// binary is the real OpenCode; without one the test is skipped, and fails
// where THREADTREE_OPENCODE_REQUIRED says that it must not be.
func binary(t testing.TB) string {
	t.Helper()
	// Asked for by name, so that a result from before is not taken for one.
	path, err := findBinary(os.Getenv("OPENCODE_BIN"), os.Environ())
	if err == nil {
		return path
	}
	version := wanted(t)
	if os.Getenv("THREADTREE_OPENCODE_REQUIRED") != "" {
		t.Fatalf("%v", err)
	}
	t.Skipf("needs OpenCode: npm install --prefix DIR opencode-ai@%s, and OPENCODE_BIN=DIR/node_modules/opencode-ai/bin/opencode.exe", version)
	return ""
}

// ownHome is an environment in which OpenCode finds nothing of the user's.
func ownHome(dir string, more ...string) []string {
	env := without(os.Environ(), "OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG_DIR", "OPENCODE_SERVER_PASSWORD", "NPM_CONFIG_OFFLINE")
	for key, sub := range map[string]string{
		"HOME": "", "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": "state",
	} {
		env = append(without(env, key), key+"="+filepath.Join(dir, sub))
	}
	env = append(env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1")
	return append(env, more...)
}

// patient is for a machine that has much else to do.
var patient = ClientOptions{Timeout: 2 * time.Minute, CreateTimeout: 2 * time.Minute}

// start starts a server of the test's own.
func start(t testing.TB, change func(*ServerOptions)) *Server {
	t.Helper()
	dir := t.TempDir()
	o := ServerOptions{
		Binary: binary(t), StateDir: filepath.Join(dir, "threadtree"), Env: ownHome(dir), Client: patient, StartTimeout: 2 * time.Minute,
		Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	s, err := StartServer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// shared is a server that many tests use, each with projects of its own.
var shared struct {
	once   sync.Once
	server *Server
	err    error
	dir    string
}

// model is the language model of all servers that many tests use.
var model = sync.OnceValue(newFakeModel)

// common returns the server that the tests share.
func common(t testing.TB) *Server {
	t.Helper()
	path := binary(t)
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "threadtree-opencode-"); shared.err != nil {
			return
		}
		shared.server, shared.err = StartServer(context.Background(), ServerOptions{
			Binary: path, StateDir: filepath.Join(shared.dir, "threadtree"), Env: ownHome(shared.dir),
			Config: model().config(), Client: patient, StartTimeout: 2 * time.Minute, Logger: slog.New(slog.DiscardHandler),
		})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// atOnce is how many tests run at a time: most of them wait for a server, which
// takes little of a processor.
const atOnce = 4

func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen && runtime.GOMAXPROCS(0) < atOnce {
		_ = flag.Set("test.parallel", strconv.Itoa(atOnce))
	}
	code := m.Run()
	closeStrangers()
	if shared.server != nil {
		shared.server.Close()
	}
	model().close()
	if shared.dir != "" {
		os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// client is one of the server, once it is up.
func client(t testing.TB, c Connection) *Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	made, err := c.Client(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// place is a repository with a manager over it.
type place struct {
	t    testing.TB
	root string
	dir  string
	// home is where worktrees go.
	home     string
	store    *sqlite.Store
	git      *gitops.Provider
	repo     *gitops.Repository
	provider *Provider
	manager  *workspace.Manager
	locks    workspace.Locker
}

// newPlace makes a repository of its own: each has another first commit, so
// that OpenCode tells them apart.
func newPlace(t testing.TB, c Connection, change func(*ProviderConfig)) *place {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return newPlaceAt(t, c, root, "project", change)
}

func newPlaceAt(t testing.TB, c Connection, root, name string, change func(*ProviderConfig)) *place {
	t.Helper()
	p := &place{t: t, root: root, dir: filepath.Join(root, name), home: filepath.Join(root, "home")}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p.run(p.dir, "init", "-q", "-b", "main")
	p.write("readme", root+"\n")
	p.run(p.dir, "add", ".")
	p.run(p.dir, "commit", "-q", "-m", "first in "+root)
	p.open(c, change)
	return p
}

// open puts the library together over the repository.
func (p *place) open(c Connection, change func(*ProviderConfig)) {
	t := p.t
	t.Helper()
	var err error
	if p.repo, err = gitops.New(gitops.Options{Home: p.home, Env: ownHome(p.root)}); err != nil {
		t.Fatal(err)
	}
	locks, err := gitops.NewAttemptLocks(filepath.Join(p.home, "locks"), "")
	if err != nil {
		t.Fatal(err)
	}
	if p.store, err = sqlite.Open(t.Context(), filepath.Join(p.root, "db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.store.Close() })
	p.locks = locks
	p.git = gitops.NewProvider(p.repo, gitops.ProviderOptions{})
	cfg := ProviderConfig{Connection: c, Git: p.git, Records: p.store, Logger: slog.New(slog.DiscardHandler), Timeout: 2 * time.Minute}
	if change != nil {
		change(&cfg)
	}
	if p.provider, err = NewProvider(cfg); err != nil {
		t.Fatal(err)
	}
	p.manager, err = workspace.NewManager(workspace.Config{
		Store: p.store, Repository: p.repo, Provider: p.provider, Removers: []workspace.Provider{p.git}, Locker: locks,
		Recoverers: []workspace.Recoverer{p.provider}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (p *place) create(thread string, o workspace.CreateOptions) workspace.Workspace {
	p.t.Helper()
	o.Project, o.ThreadID = p.dir, thread
	w, err := p.manager.Create(p.t.Context(), o)
	if err != nil {
		p.t.Fatalf("create: %v", detail(err))
	}
	return w
}

// detail is an error with its hint.
func detail(err error) string {
	if err == nil {
		return "no error"
	}
	return string(workspace.CodeOf(err)) + ": " + err.Error() + " (" + workspace.HintOf(err) + ")"
}

func (p *place) rows(c *Client) []Workspace {
	p.t.Helper()
	rows, err := c.Workspaces(p.t.Context(), p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	return rows
}

func (p *place) run(dir string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(ownHome(p.root), "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *place) write(path, content string) {
	p.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) commit(path, content string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(p.dir, path)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.write(path, content)
	p.run(p.dir, "add", ".")
	p.run(p.dir, "commit", "-q", "-m", "add "+path)
}
