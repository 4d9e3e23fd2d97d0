package opencode

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/workspace"
)

// foreign are servers that somebody else runs, shared by the tests.
var foreign struct {
	sync.Mutex
	all map[string]*stranger
}

// stranger is a server that was started without a [Server].
type stranger struct {
	once    sync.Once
	err     error
	dir     string
	process *process
	client  *Client
	// also is removed with it.
	also string
}

// strange returns the one with that name; env is what it is started with
// besides.
func strange(t testing.TB, name string, env ...string) *stranger {
	t.Helper()
	path := binary(t)
	foreign.Lock()
	if foreign.all == nil {
		foreign.all = make(map[string]*stranger)
	}
	s := foreign.all[name]
	if s == nil {
		s = &stranger{}
		foreign.all[name] = s
	}
	foreign.Unlock()
	s.once.Do(func() { s.err = s.start(path, env) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s
}

func (s *stranger) start(path string, env []string) (err error) {
	if s.dir, err = os.MkdirTemp("", "threadtree-stranger-"); err != nil {
		return err
	}
	port, err := freePort(context.Background())
	if err != nil {
		return err
	}
	env = append(ownHome(s.dir, "NPM_CONFIG_OFFLINE=true", "OPENCODE_SERVER_PASSWORD=secret"), env...)
	if s.process, err = spawn(path, []string{"serve", "--hostname", "127.0.0.1", "--port", fmt.Sprint(port)}, env, io.Discard, 5*time.Second); err != nil {
		return err
	}
	options := patient
	options.Password = "secret"
	if s.client, err = NewClient(fmt.Sprintf("http://127.0.0.1:%d", port), options); err != nil {
		return err
	}
	return (&Server{o: ServerOptions{StartTimeout: 2 * time.Minute}}).healthy(context.Background(), s.client, s.process, port)
}

func closeStrangers() {
	for _, s := range foreign.all {
		if s.process != nil {
			s.process.stop()
		}
		os.RemoveAll(s.dir)
		if s.also != "" {
			os.RemoveAll(s.also)
		}
	}
}

// withoutPlugin is a server with the workspace flag and nothing else of ours.
func withoutPlugin(t testing.TB) *stranger {
	return strange(t, "plain", "OPENCODE_EXPERIMENTAL_WORKSPACES=1", "OPENCODE_CONFIG_CONTENT="+model().config())
}

// withoutFlag is a server that has the plugin and not the workspace flag.
func withoutFlag(t testing.TB) *stranger {
	t.Helper()
	return strange(t, "flagless", "OPENCODE_CONFIG_CONTENT="+pluginConfig(t))
}

// pluginConfig is a configuration with our plugin in it.
func pluginConfig(t testing.TB) string {
	t.Helper()
	here, err := filepath.Abs("plugin.js")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"plugin":[%q]}`, "file://"+here)
}

// ids are the workspaces in the server's own data, hidden ones included.
func (s *stranger) ids(t testing.TB, project string) []string {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(s.dir, "data", "opencode", "opencode.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT id FROM workspace WHERE project_id = ?`, project)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}

// unplugged is a connection that can be cut.
type unplugged struct {
	Connection
	cut atomic.Bool
}

func (u *unplugged) Client(ctx context.Context) (*Client, error) {
	if u.cut.Load() {
		return NewClient("http://127.0.0.1:1", ClientOptions{})
	}
	return u.Connection.Client(ctx)
}

// connectedTo is the connection to a server that answers by h.
func connectedTo(t testing.TB, h http.HandlerFunc) Connection {
	t.Helper()
	return Attached{answering(t, ClientOptions{}, h)}
}

// counting is git's provider, with how often it was asked to make something.
type counting struct {
	*gitops.Provider
	creates atomic.Int32
}

func (c *counting) Create(ctx context.Context, req workspace.CreateRequest) (workspace.Created, error) {
	c.creates.Add(1)
	return c.Provider.Create(ctx, req)
}

func (c *counting) Take(ctx context.Context, req workspace.CreateRequest, start func(context.Context, workspace.Plan) (string, error)) (workspace.Created, error) {
	c.creates.Add(1)
	return c.Provider.Take(ctx, req, start)
}

// state is all that git has of branches and worktrees.
func (p *place) state() string {
	p.t.Helper()
	return p.run(p.dir, "for-each-ref") + "\n" + p.run(p.dir, "worktree", "list", "--porcelain")
}

// request asks the provider itself for a workspace.
func (p *place) request(name workspace.Name) workspace.CreateRequest {
	p.t.Helper()
	project, err := p.repo.Open(p.t.Context(), p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	return workspace.CreateRequest{
		Project: project, ThreadID: "thread", Attempt: "attempt", Name: name, NoFetch: true,
		Claim: func(context.Context, workspace.Plan) error { return nil }, Progress: func(workspace.Event) {},
	}
}

func (p *place) reconcile() []workspace.Action {
	p.t.Helper()
	actions, err := p.manager.Reconcile(p.t.Context(), p.dir)
	if err != nil {
		p.t.Fatal(detail(err))
	}
	return actions
}

// recovered are the lines of a reconcile that are about OpenCode; a failure
// fails the test.
func (p *place) recovered() []string {
	p.t.Helper()
	var lines []string
	for _, a := range p.reconcile() {
		switch a.Kind {
		case workspace.ActionRecovered:
			lines = append(lines, a.Detail)
		case workspace.ActionFailed:
			p.t.Errorf("reconcile: %s", a.Detail)
		}
	}
	return lines
}

func (p *place) delete(thread string, force bool) workspace.Deleted {
	p.t.Helper()
	d, err := p.manager.Delete(p.t.Context(), workspace.DeleteOptions{ThreadID: thread, Force: force})
	if err != nil {
		p.t.Fatalf("delete: %s", detail(err))
	}
	return d
}

func (p *place) restore(thread string) workspace.Workspace {
	p.t.Helper()
	w, err := p.manager.Restore(p.t.Context(), workspace.RestoreOptions{ThreadID: thread})
	if err != nil {
		p.t.Fatalf("restore: %s", detail(err))
	}
	return w
}

// hasRows fails the test unless OpenCode lists these workspaces of the
// project, and no others.
func (p *place) hasRows(c *Client, want ...workspace.Workspace) {
	p.t.Helper()
	left := make(map[string]string)
	for _, row := range p.rows(c) {
		left[row.ID] = row.Directory
	}
	for _, w := range want {
		if directory, ok := left[w.ProviderID]; !ok || !samePlace(directory, w.Directory) {
			p.t.Errorf("OpenCode has %q for the workspace %s at %s", directory, w.ProviderID, w.Directory)
		}
		delete(left, w.ProviderID)
	}
	if len(left) > 0 {
		p.t.Errorf("OpenCode lists besides: %v", slices.Collect(maps.Values(left)))
	}
}

// said is a session in the workspace with a message in it, and its messages.
func (p *place) said(c *Client, w workspace.Workspace, words string) (id, messages string) {
	p.t.Helper()
	s, err := c.CreateSession(p.t.Context(), At{WorkspaceID: w.ProviderID}, NewSession{Title: "x"})
	if err == nil && !samePlace(s.Directory, w.WorkDirectory()) && !samePlace(s.Directory, w.Directory) {
		err = fmt.Errorf("it is in %s", s.Directory)
	}
	if err == nil {
		err = c.do(p.t.Context(), call{
			op: "note", method: http.MethodPost, path: sessionPath(s.ID, "/message"),
			body: map[string]any{"noReply": true, "parts": []map[string]string{{"type": "text", "text": words}}},
		})
	}
	if err != nil {
		p.t.Fatalf("session: %v", err)
	}
	return s.ID, p.messages(c, s.ID)
}

func (p *place) messages(c *Client, session string) string {
	p.t.Helper()
	all, err := c.Messages(p.t.Context(), session, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	var texts []string
	for _, m := range all {
		texts = append(texts, fmt.Sprintf("%+v", m))
	}
	return strings.Join(texts, "\n")
}

// bound fails the test unless the session is bound to the workspace, or to
// none for "", and has the messages that it had.
func (p *place) bound(c *Client, session, workspaceID, messages string) {
	p.t.Helper()
	s, err := c.Session(p.t.Context(), session)
	if err != nil || s.WorkspaceID != workspaceID {
		p.t.Errorf("the session is bound to %q, want %q: %v", s.WorkspaceID, workspaceID, err)
	}
	if err == nil {
		if now := p.messages(c, session); now != messages || !strings.Contains(now, "word") {
			p.t.Errorf("%s\nbecame\n%s", messages, now)
		}
	}
}

func absent(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

func hasLine(lines []string, words ...string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) })
	})
}
