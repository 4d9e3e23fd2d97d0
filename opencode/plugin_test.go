package opencode

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ given, env, want string }{
		"nothing":        {"", "", `{"plugin":["file:///p.js"]}`},
		"blank":          {" \n", " ", `{"plugin":["file:///p.js"]}`},
		"the operator's": {"", `{"theme":"x"}`, `{"theme":"x","plugin":["file:///p.js"]}`},
		"ours":           {`{"theme":"x"}`, "", `{"theme":"x","plugin":["file:///p.js"]}`},
		"both": {
			`{"model":"ours","plugin":["c"],"list":[2],"deep":{"a":{"x":1}},"was":{"y":1},"is":3}`,
			`{"model":"theirs","theme":"x","plugin":["a",["b",{"k":1}]],"list":[1],"deep":{"a":{"x":0,"y":2},"b":1},"was":3,"is":{"z":1}}`,
			`{"model":"ours","theme":"x","plugin":["a",["b",{"k":1}],"c","file:///p.js"],"list":[2],"deep":{"a":{"x":1,"y":2},"b":1},"was":{"y":1},"is":3}`,
		},
		"large numbers": {`{"n":12345678901234567890}`, "", `{"n":12345678901234567890,"plugin":["file:///p.js"]}`},
	} {
		got, err := settings(test.given, []string{"OPENCODE_CONFIG_CONTENT=" + test.env}, "/p.js")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(decoded(t, test.want), decoded(t, got)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	// What OpenCode fills in before it decodes stays as it is written.
	got, err := settings(`{"a":"{file:/x & y<z>}"}`, nil, "/100% é.js")
	if err != nil || !strings.Contains(got, `"{file:/x & y<z>}"`) || !strings.Contains(got, "file:///100%25%20%C3%A9.js") {
		t.Errorf("%s, %v", got, err)
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestSettingsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{", "null", "[]", "{} {}", "// a comment\n{}", `{"plugin":"x"}`, "1"} {
		for where, o := range map[string]ServerOptions{
			"OPENCODE_CONFIG_CONTENT": {Env: []string{"OPENCODE_CONFIG_CONTENT=" + text}, Config: `{"a":1}`},
			"Config":                  {Config: text, Env: []string{`OPENCODE_CONFIG_CONTENT={"a":1}`}},
		} {
			o.Binary, o.StateDir = "/bin/sh", t.TempDir()
			s, err := StartServer(t.Context(), o)
			if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), where) {
				t.Errorf("%s %q: %v", where, text, err)
			}
			if s != nil {
				s.Close()
			}
		}
	}
}

func TestWritePlugin(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "there yet")
	path, err := WritePlugin(dir)
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.Stat(path)
	if err != nil || first.Mode().Perm() != 0o600 {
		t.Fatal(first, err)
	}
	// The same is left alone, anything else is put right.
	if again, err := WritePlugin(dir); err != nil || again != path {
		t.Errorf("%s, %v", again, err)
	}
	if second, err := os.Stat(path); err != nil || !os.SameFile(first, second) {
		t.Error("it was written once more")
	}
	if err := os.WriteFile(path, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := WritePlugin(dir); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(pluginSource) {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := WritePlugin(""); err == nil {
		t.Error("no directory is taken")
	}
	if _, err := WritePlugin(filepath.Join(path, "x")); err == nil {
		t.Error("a file is taken for a directory")
	}
}

func TestPluginRefuses(t *testing.T) {
	t.Parallel()
	s := common(t)
	c := client(t, s)
	p, other := newPlace(t, s, nil), newPlace(t, s, nil)
	tree := filepath.Join(p.root, "tree")
	p.run(p.dir, "worktree", "add", "-q", "-b", "one", tree)
	if err := os.Mkdir(filepath.Join(tree, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	plain := t.TempDir()
	for name, test := range map[string]struct {
		extra any
		want  string
		row   bool
	}{
		"no extra":           {nil, "extra.path is missing", false},
		"no path":            {map[string]any{"repo": p.dir, "name": "n"}, "extra.path is missing", false},
		"no repo":            {map[string]any{"path": tree, "name": "n"}, "extra.repo is missing", false},
		"no name":            {map[string]any{"path": tree, "repo": p.dir, "name": ""}, "extra.name is missing", false},
		"wrong type":         {map[string]any{"path": 1, "repo": p.dir, "name": "n"}, "extra.path is missing", false},
		"text for extra":     {"x", "extra.path is missing", false},
		"main checkout":      {map[string]any{"path": p.dir, "repo": p.dir, "name": "n"}, p.dir + " is the main checkout", true},
		"no repository":      {map[string]any{"path": plain, "repo": p.dir, "name": "n"}, "not a git repository", true},
		"not there":          {map[string]any{"path": tree + "x", "repo": p.dir, "name": "n"}, "no such file or directory", true},
		"a sub-directory":    {map[string]any{"path": filepath.Join(tree, "sub"), "repo": p.dir, "name": "n"}, "is not the top of a worktree", true},
		"another repository": {map[string]any{"path": tree, "repo": other.dir, "name": "n"}, "belongs to another repository than " + other.dir, true},
	} {
		id := NewWorkspaceID()
		_, err := c.CreateWorkspace(t.Context(), p.dir, NewWorkspace{ID: id, Type: AdapterThreadtree, Extra: test.extra})
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Name != "WorkspaceCreateError" || !strings.Contains(e.Message, test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if row := slices.ContainsFunc(p.rows(c), func(w Workspace) bool { return w.ID == id }); row != test.row {
			t.Errorf("%s: row: %v", name, row)
		}
	}
	if got := p.run(p.dir, "worktree", "list", "--porcelain"); strings.Count(got, "worktree ") != 2 {
		t.Error(got)
	}
	// The removal of any of them removes nothing.
	for _, w := range p.rows(c) {
		if err := c.RemoveWorkspace(t.Context(), p.dir, w.ID); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{p.dir, filepath.Join(tree, "sub"), plain} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// said prompts a session and returns the text of the answer.
func said(t *testing.T, c *Client, session, prompt string) string {
	t.Helper()
	m, err := c.Prompt(t.Context(), session, Prompt{Text: prompt})
	if err != nil || m.Info.Error != nil {
		t.Fatalf("prompt: %v, %v", err, m.Info.Error)
	}
	var texts []string
	for _, part := range m.Parts {
		texts = append(texts, part.Text)
	}
	return strings.Join(texts, "")
}

func (p *place) session(c *Client, w workspace.Workspace) Session {
	p.t.Helper()
	s, err := c.CreateSession(p.t.Context(), At{WorkspaceID: w.ProviderID}, NewSession{Title: "t"})
	if err != nil || s.Directory != w.Directory {
		p.t.Fatalf("%+v, %v", s, err)
	}
	return s
}

func TestPluginIsLoadedAndTheProjectStaysClean(t *testing.T) {
	t.Parallel()
	s := common(t)
	p := newPlace(t, s, nil)
	// To one without $schema OpenCode itself adds it, whoever starts it.
	const own = `{"$schema":"https://opencode.ai/config.json","username":"the project's"}`
	p.write("opencode.json", own)
	p.run(p.dir, "add", ".")
	p.run(p.dir, "commit", "-qm", "settings")
	c := client(t, s)
	adapters, err := c.Adapters(t.Context(), p.dir)
	if err != nil || !slices.ContainsFunc(adapters, func(a Adapter) bool { return a.Type == AdapterThreadtree }) {
		t.Fatalf("%v, %v", adapters, err)
	}
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	environment := said(t, c, p.session(c, w).ID, `call bash {"command":"printenv; echo KEYS END","description":"look"}`)
	if !strings.Contains(environment, "KEYS END") || strings.Contains(environment, "NPM_CONFIG_OFFLINE=true") {
		t.Errorf("the agent's commands have\n%s", environment)
	}
	if strings.Contains(environment, s.password) {
		t.Error("the agent's commands have the server's password")
	}
	for _, dir := range []string{p.dir, w.Directory} {
		if got := p.run(dir, "status", "--porcelain", "--ignored"); got != "" {
			t.Errorf("%s: %s", dir, got)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "opencode.json")); err != nil || string(got) != own {
			t.Errorf("%s, %v", got, err)
		}
	}
}

// The server is started with the operator's settings in its environment.
func TestServerKilledAtWork(t *testing.T) {
	t.Parallel()
	real := binary(t)
	dir := t.TempDir()
	pids := filepath.Join(dir, "pids")
	script := filepath.Join(dir, "opencode")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\necho $$ >%q\nexec %q \"$@\"\n", pids, real), 0o700); err != nil {
		t.Fatal(err)
	}
	s := start(t, func(o *ServerOptions) {
		o.Binary = script
		o.Env = append(o.Env, "OPENCODE_CONFIG_CONTENT="+model().config())
		o.Config = `{"username":"ours"}`
	})
	p := newPlace(t, s, nil)
	c := client(t, s)
	a := p.agent(s)
	w := p.create("1", workspace.CreateOptions{Name: "one"})
	var config struct {
		Model, Username string
	}
	err := c.do(t.Context(), call{op: "get the settings", method: http.MethodGet, path: "/config", directory: p.dir, out: &config})
	if err != nil || config.Model != "fake/echo" || config.Username != "ours" {
		t.Errorf("%+v, %v", config, err)
	}
	p.ask(a, "1", "the first word is apple")
	content, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(content), &pid); err != nil {
		t.Fatal(err)
	}
	// It is killed while the agent runs a command.
	gone := alive(t, dir)
	started := filepath.Join(dir, "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf("exec 9>%s; echo up >&9; ps -o pgid= -p $$ >%s; sleep 1000", filepath.Join(dir, "alive"), started)
	ended := make(chan error, 1)
	go func() {
		_, err := a.Prompt(t.Context(), p.dir, "1", fmt.Sprintf(`call bash {"command":%q,"description":"wait"}`, command), nil)
		ended <- err
	}()
	group, err := os.ReadFile(started)
	t.Logf("server %d, the command's group %s, %v", pid, group, err)
	_, changed := s.State()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-changed
	if who := gone(); who != "up\n" {
		t.Errorf("there were %q", who)
	}
	if err := <-ended; !errors.Is(err, workspace.ErrProviderUnavailable) {
		t.Errorf("the turn ended with %s", detail(err))
	}
	c = client(t, s)
	if state, _ := s.State(); state.Starts != 2 {
		t.Errorf("%+v", state)
	}
	// The project has to be loaded before its workspaces' sessions work.
	if rows := p.rows(c); len(rows) != 1 || rows[0].ID != w.ProviderID {
		t.Errorf("%+v", rows)
	}
	if got, _ := p.ask(a, "1", "and now"); got != "you said: and now" {
		t.Errorf("%q", got)
	}
	session, err := p.store.Session(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	messages, err := c.Messages(t.Context(), session.ID, 0)
	if got := text(t, messages); err != nil || !strings.Contains(got, "apple") || !strings.Contains(got, "and now") {
		t.Errorf("%s, %v", got, err)
	}
}
