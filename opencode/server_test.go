//go:build unix

package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A fake is this test binary, started as the opencode program or as something
// that one starts. The variable says what it is to do.
const fakeVar = "THREADTREE_TEST_FAKE"

func init() {
	if what := os.Getenv(fakeVar); what != "" {
		fake(what)
		os.Exit(0)
	}
}

// fake is what a fake does. It holds the pipe alive open for as long as it
// lives, and so tells its test when it is gone.
func fake(what string) {
	dir := os.Getenv("THREADTREE_TEST_DIR")
	if alive, err := os.OpenFile(filepath.Join(dir, "alive"), os.O_WRONLY, 0); err == nil {
		fmt.Fprintln(alive, what)
		defer alive.Close()
	}
	if port, ok := strings.CutPrefix(what, "elsewhere "); ok {
		fmt.Println("opencode server listening on http://127.0.0.1:" + port)
		select {}
	}
	switch what {
	case "exit":
		fmt.Println("first line")
		fmt.Fprintln(os.Stderr, "the database is locked")
		os.Exit(3)
	case "leave": // It ends well, which a server doesn't.
	case "hang":
		fmt.Println("still looking")
		select {}
	case "deaf":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		select {}
	case "parent":
		s, err := StartServer(context.Background(), fakeOptions(dir, "serve deaf deaf"))
		if err != nil {
			panic(err)
		}
		if _, err := s.Client(context.Background()); err != nil {
			panic(err)
		}
		fmt.Println("up")
		select {}
	default:
		fakeServe(dir, strings.Fields(what)[1:])
	}
}

// fakeServe is a server, with children.
func fakeServe(dir string, children []string) {
	for i, child := range children {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fakeVar+"="+child)
		if i > 0 {
			// The way in which agents run commands: out of the group.
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	}
	said, err := json.Marshal(map[string]any{"args": os.Args[1:], "env": os.Environ()})
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "said"), said, 0o600); err != nil {
		panic(err)
	}
	http.HandleFunc("/die", func(http.ResponseWriter, *http.Request) { os.Exit(7) })
	http.HandleFunc("/global/health", func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != os.Getenv("OPENCODE_SERVER_PASSWORD") {
			w.WriteHeader(401)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"healthy":true,"version":"%d"}`, os.Getpid())
	})
	address := net.JoinHostPort(os.Args[3], os.Args[5])
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error: Unexpected error\n\nServeError")
		os.Exit(1)
	}
	fmt.Println("opencode server listening on http://" + address)
	panic(http.Serve(l, nil))
}

func fakeOptions(dir, what string, env ...string) ServerOptions {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return ServerOptions{
		Binary: self, StateDir: filepath.Join(dir, "state"), Logger: slog.New(slog.DiscardHandler),
		Env: append(without(os.Environ(), fakeVar), append(env, fakeVar+"="+what, "THREADTREE_TEST_DIR="+dir)...),
	}
}

// alive makes the pipe that fakes hold open. What it returns waits until all
// of them are gone, and returns who was there.
func alive(t *testing.T, dir string) func() string {
	t.Helper()
	path := filepath.Join(dir, "alive")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	there := make(chan string, 1)
	go func() {
		content, _ := os.ReadFile(path)
		there <- string(content)
	}()
	return func() string {
		t.Helper()
		select {
		case who := <-there:
			return who
		case <-time.After(time.Minute):
			t.Fatal("something is still running")
			return ""
		}
	}
}

func startFake(t *testing.T, o ServerOptions) *Server {
	t.Helper()
	s, err := StartServer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// until waits for a state.
func until(t *testing.T, s *Server, is func(ServerState) bool) ServerState {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		state, changed := s.State()
		if is(state) {
			return state
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("it stays %+v", state)
		}
	}
}

func TestServerNeedsItsProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, o := range map[string]ServerOptions{
		"option":      {Binary: filepath.Join(dir, "none")},
		"environment": {Env: []string{"OPENCODE_BIN=" + filepath.Join(dir, "none")}},
		"not to run":  {Binary: "server_test.go"},
		"directory":   {Binary: dir},
	} {
		o.StateDir = filepath.Join(dir, "state")
		_, err := StartServer(t.Context(), o)
		if !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "npm install -g opencode-ai") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "state")); !os.IsNotExist(err) {
		t.Error("the plugin was written for nothing")
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		timeout time.Duration
		want    []string
	}{
		"exit":  {time.Minute, []string{"exit status 3", "first line; the database is locked"}},
		"leave": {time.Minute, []string{"exit status 0", "it printed nothing"}},
		"hang":  {time.Second, []string{"did not answer within 1s", "still looking"}},
		"deaf":  {time.Second, []string{"did not answer within 1s"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			gone := alive(t, dir)
			o := fakeOptions(dir, what)
			o.StartTimeout, o.StopTimeout = test.timeout, time.Second
			s := startFake(t, o)
			_, err := s.Client(t.Context())
			if !errors.Is(err, ErrNoServer) {
				t.Errorf("%v", err)
			}
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
			state, _ := s.State()
			if state.URL != "" || state.Starts != 0 || !errors.Is(state.Err, ErrNoServer) {
				t.Errorf("%+v", state)
			}
			s.Close()
			gone()
			if _, err := s.Client(t.Context()); !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), "closed") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := startFake(t, fakeOptions(t.TempDir(), "hang"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Client(ctx); !errors.Is(err, ErrNoServer) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	waiting := make(chan error, 1)
	go func() { _, err := s.Client(t.Context()); waiting <- err }()
	s.Close()
	if err := <-waiting; !errors.Is(err, ErrNoServer) {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var log lockedBuffer
	o := fakeOptions(dir, "serve")
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	o.Client.Password = "another"
	s := startFake(t, o)
	seen := map[string]bool{}
	for start := 1; start <= 3; start++ {
		state := until(t, s, func(state ServerState) bool { return state.Starts == start && state.URL != "" })
		c, err := s.Client(t.Context())
		if err != nil || c.URL() != state.URL || state.Err != nil {
			t.Fatalf("%v, %+v", err, state)
		}
		health, err := c.Health(t.Context())
		if err != nil || seen[health.Version] {
			t.Fatalf("%+v, %v, as before", health, err)
		}
		seen[health.Version] = true
		_, changed := s.State()
		_ = c.do(t.Context(), call{op: "die", method: http.MethodPost, path: "/die"})
		<-changed
		if state, _ := s.State(); start == 1 && state.Starts == 1 && state.URL != "" {
			t.Errorf("%+v is told of a server that is gone", state)
		}
	}
	s.Close()
	if strings.Contains(log.String(), s.password) || !strings.Contains(log.String(), "exit status 7") {
		t.Error(log.String())
	}
}

// lockedBuffer is a buffer for several writers.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"serve", "serve hang hang", "serve deaf deaf"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			gone := alive(t, dir)
			o := fakeOptions(dir, what)
			o.StopTimeout = time.Second
			s := startFake(t, o)
			if _, err := s.Client(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.Close()
			if who := gone(); !strings.Contains(who, what) {
				t.Errorf("there were %q", who)
			}
		})
	}
}

func TestDeathOfTheServerLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gone := alive(t, dir)
	// The next one is the program "false".
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "opencode")
	text := fmt.Sprintf("#!/bin/sh\nmkdir %q 2>/dev/null || exit 1\nexec %q \"$@\"\n", filepath.Join(dir, "once"), self)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	o := fakeOptions(dir, "serve deaf deaf")
	o.Binary = script
	s := startFake(t, o)
	c := client(t, s)
	_ = c.do(t.Context(), call{op: "die", method: http.MethodPost, path: "/die"})
	gone()
}

func TestNothingOutlivesItsParent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gone := alive(t, dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(self)
	parent.Env = append(os.Environ(), fakeVar+"=parent", "THREADTREE_TEST_DIR="+dir)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	up := make([]byte, 3)
	if _, err := io.ReadFull(out, up); err != nil || string(up) != "up\n" {
		t.Errorf("%q, %v", up, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	if who := gone(); !strings.Contains(who, "serve deaf deaf\n") {
		t.Errorf("there were %q", who)
	}
}

func TestServerEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := fakeOptions(
		dir, "serve", `OPENCODE_CONFIG_CONTENT={"theme":"mine","plugin":["a"]}`, "OPENCODE_SERVER_PASSWORD=mine", "OPENCODE_SERVER_USERNAME=me",
		"OPENCODE_EXPERIMENTAL_WORKSPACES=0", "KEPT=yes",
	)
	s := startFake(t, o)
	if h, err := client(t, s).Health(t.Context()); err != nil || !h.Healthy {
		t.Fatal(h, err)
	}
	content, err := os.ReadFile(filepath.Join(dir, "said"))
	if err != nil {
		t.Fatal(err)
	}
	var said struct{ Args, Env []string }
	if err := json.Unmarshal(content, &said); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(said.Args[:4], " "); got != "serve --hostname 127.0.0.1 --port" {
		t.Error(got)
	}
	if s.password == "" || s.password == "mine" || strings.Contains(strings.Join(said.Args, " "), s.password) {
		t.Errorf("password %q", s.password)
	}
	for key, want := range map[string]string{
		"OPENCODE_SERVER_PASSWORD": s.password, "OPENCODE_SERVER_USERNAME": "opencode", "OPENCODE_EXPERIMENTAL_WORKSPACES": "1",
		"KEPT": "yes", "NPM_CONFIG_OFFLINE": "true", "THREADTREE_NPM_OFFLINE": "unset",
	} {
		if got := lookup(said.Env, key); got != want {
			t.Errorf("%s=%s", key, got)
		}
	}
	if got := lookup(said.Env, "OPENCODE_CONFIG_CONTENT"); !strings.Contains(got, `"theme":"mine"`) || !strings.Contains(got, s.plugin) {
		t.Error(got)
	}
}

func TestNPMIsOfflineForTheServerAlone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		env             []string
		online          bool
		offline, handed string
		lower           string
	}{
		{nil, false, "true", "unset", ""},
		{[]string{"NPM_CONFIG_OFFLINE=false"}, false, "true", "false", ""},
		{[]string{"npm_config_offline=true"}, false, "true", "true", ""},
		{[]string{"npm_config_offline=true"}, true, "", "", "true"},
		{[]string{"NPM_CONFIG_OFFLINE=true"}, true, "true", "", ""},
	} {
		s := &Server{o: ServerOptions{Env: test.env, OnlineInstall: test.online}}
		env := s.environment("{}")
		if a, b, c := lookup(env, "NPM_CONFIG_OFFLINE"), lookup(env, "THREADTREE_NPM_OFFLINE"), lookup(env, "npm_config_offline"); a != test.offline || b != test.handed || c != test.lower {
			t.Errorf("%v: %q, %q, %q", test, a, b, c)
		}
	}
}

func TestPortsAreFree(t *testing.T) {
	t.Parallel()
	port, err := freePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestOnDemand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := fakeOptions(dir, "serve")
	self := o.Binary
	o.Binary = filepath.Join(dir, "opencode")
	d := NewOnDemand(o)
	t.Cleanup(func() { d.Close() })
	if _, err := d.Client(t.Context()); !errors.Is(err, ErrNoServer) {
		t.Fatal(err)
	}
	if err := os.Symlink(self, o.Binary); err != nil {
		t.Fatal(err)
	}
	if d.Started() {
		t.Error("it is started without being needed")
	}
	first, second := client(t, d), client(t, d)
	if !d.Started() {
		t.Error("it isn't started")
	}
	if first.URL() != second.URL() {
		t.Errorf("%s and %s", first.URL(), second.URL())
	}
	if _, err := first.Health(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if _, err := d.Client(t.Context()); !errors.Is(err, ErrNoServer) {
			t.Error(err)
		}
	}
	never := NewOnDemand(o)
	never.Close()
	if _, err := never.Client(t.Context()); !errors.Is(err, ErrNoServer) {
		t.Error(err)
	}
}
