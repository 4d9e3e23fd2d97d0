package opencode

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// ServerOptions are the settings of a [Server]. StateDir is needed.
type ServerOptions struct {
	// Binary is the opencode program: if empty, what OPENCODE_BIN names, or
	// opencode in PATH.
	Binary string
	// StateDir is a directory of ours in which the plugin is put.
	StateDir string
	// Env is what the server inherits, os.Environ() if nil.
	Env []string
	// Config is a JSON object of OpenCode's settings that is laid over those
	// in OPENCODE_CONFIG_CONTENT: objects are merged, the lists of plugins
	// joined, and the plugin is added.
	Config string
	// OnlineInstall lets OpenCode ask npm for its plugin package when a
	// project is opened, and wait for it; needed the first time where plugins
	// of the user's are to be fetched from npm.
	OnlineInstall bool
	// StartTimeout bounds one start, 1 min if 0.
	StartTimeout time.Duration
	// StopTimeout is how long Close waits before it kills, in whole seconds,
	// 5 s if 0.
	StopTimeout time.Duration
	// Client are the settings of the client; user name and password are the
	// server's own.
	Client ClientOptions
	// Output gets what the server prints, discarded if nil. It must be safe
	// for concurrent use.
	Output io.Writer
	// Logger gets starts and ends, slog.Default if nil.
	Logger *slog.Logger

	// port chooses the port of a start, a free one if nil.
	port func(context.Context) (int, error)
}

// Server is an OpenCode server of our own: one process for all projects, on a
// loopback port of its own, with a random password. It is started again, with
// growing pauses, whenever it ends, until Close. It ends with this process,
// however that ends. It is safe for concurrent use.
type Server struct {
	o        ServerOptions
	binary   string
	password string
	plugin   string
	cancel   context.CancelFunc
	done     chan struct{}

	mu sync.Mutex
	// client is of the server that is up, nil while none is.
	client *Client
	// changed is closed and made anew whenever the state changes.
	changed chan struct{}
	// err is why the last start failed, nil while it may still come up.
	err error
	// starts counts the servers that came up.
	starts int
}

// ServerState is how a [Server] is.
type ServerState struct {
	// URL is the address of the server, "" while none is up.
	URL string
	// Starts counts how often one came up: after another start the first
	// call for a project has to load it again.
	Starts int
	// Err is why there is none, nil while one is up or is starting.
	Err error
}

// StartServer looks for the program and starts the server in the background:
// [Server.Client] waits for it. The error is [ErrNoServer] where there is no
// program. Cancelling ctx does nothing to a server that was started.
func StartServer(ctx context.Context, o ServerOptions) (*Server, error) {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	binary, err := findBinary(o.Binary, o.Env)
	if err != nil {
		return nil, err
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = time.Minute
	}
	if o.StopTimeout <= 0 {
		o.StopTimeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Output == nil {
		o.Output = io.Discard
	}
	if o.port == nil {
		o.port = freePort
	}
	plugin, err := writePlugin(o.StateDir)
	if err != nil {
		return nil, fmt.Errorf("%w: the plugin can't be written: %w", ErrNoServer, err)
	}
	if _, err := settings(o.Config, o.Env, plugin); err != nil {
		return nil, err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{
		o: o, binary: binary, password: rand.Text(), plugin: plugin,
		cancel: cancel, done: make(chan struct{}), changed: make(chan struct{}),
	}
	go s.keep(run)
	return s, nil
}

// findBinary returns the program to start.
func findBinary(option string, env []string) (string, error) {
	name := option
	if name == "" {
		name = lookup(env, "OPENCODE_BIN")
	}
	if name == "" {
		name = "opencode"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: the program %s was not found; install it (npm install -g opencode-ai) or name it in OPENCODE_BIN", ErrNoServer, name)
	}
	return filepath.Abs(path)
}

// lookup returns a variable of an environment.
func lookup(env []string, key string) string {
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, key+"="); ok {
			return value
		}
	}
	return ""
}

// Client returns a client of the server, and waits for it while it starts.
func (s *Server) Client(ctx context.Context) (*Client, error) {
	for {
		s.mu.Lock()
		client, err, changed := s.client, s.err, s.changed
		s.mu.Unlock()
		switch {
		case client != nil:
			return client, nil
		case err != nil:
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: it is still starting: %w", ErrNoServer, context.Cause(ctx))
		}
	}
}

// State returns how the server is, and a channel that is closed when that has
// changed.
func (s *Server) State() (ServerState, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := ServerState{Starts: s.starts, Err: s.err}
	if s.client != nil {
		state.URL = s.client.URL()
	}
	return state, s.changed
}

// Close ends the server and waits until it has ended. It may be called again.
func (s *Server) Close() error {
	s.cancel()
	<-s.done
	return nil
}

func (s *Server) set(client *Client, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client, s.err = client, err
	if client != nil {
		s.starts++
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// keep has a server run until ctx ends.
func (s *Server) keep(ctx context.Context) {
	defer close(s.done)
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 200*time.Millisecond, 30*time.Second
	for {
		began := time.Now()
		up, err := s.run(ctx)
		if ctx.Err() != nil {
			s.set(nil, fmt.Errorf("%w: it was closed", ErrNoServer))
			return
		}
		if up {
			s.o.Logger.WarnContext(ctx, "the OpenCode server ended; it is started again", "error", err)
			if time.Since(began) > time.Minute {
				pause.Reset()
			}
		} else {
			s.o.Logger.WarnContext(ctx, "the OpenCode server did not start; it is tried again", "error", err)
			s.set(nil, fmt.Errorf("%w: %w", ErrNoServer, err))
		}
		select {
		case <-time.After(pause.NextBackOff()):
		case <-ctx.Done():
		}
	}
}

// errEnded is how a server's end is told that nobody asked for.
var errEnded = errors.New("the server ended")

// errTaken is why a server did not start whose port somebody else took first.
var errTaken = errors.New("somebody else listens on the port that it was to have")

// portTries is how many ports are tried in one start.
const portTries = 3

// run starts a server and returns when it has ended. up is whether it answered
// in between.
func (s *Server) run(ctx context.Context) (up bool, err error) {
	for range portTries {
		port, portErr := s.o.port(ctx)
		if portErr != nil {
			return false, portErr
		}
		up, err = s.runOn(ctx, port)
		if up || !errors.Is(err, errTaken) {
			return up, err
		}
		s.o.Logger.WarnContext(ctx, "the OpenCode server's port was taken; another one is tried", "port", port)
	}
	return false, err
}

// runOn is run with a port.
func (s *Server) runOn(ctx context.Context, port int) (up bool, err error) {
	config, err := settings(s.o.Config, s.o.Env, s.plugin)
	if err != nil {
		return false, err
	}
	p, err := spawn(s.binary, []string{"serve", "--hostname", "127.0.0.1", "--port", fmt.Sprint(port)}, s.environment(config), s.o.Output, s.o.StopTimeout)
	if err != nil {
		return false, err
	}
	defer p.stop()
	options := s.o.Client
	options.Username, options.Password = "opencode", s.password
	client, err := NewClient(fmt.Sprintf("http://127.0.0.1:%d", port), options)
	if err != nil {
		return false, err
	}
	if err := s.healthy(ctx, client, p, port); err != nil {
		return false, err
	}
	s.o.Logger.InfoContext(ctx, "the OpenCode server is up", "url", client.URL())
	s.set(client, nil)
	select {
	case <-p.ended:
		s.set(nil, nil)
		return true, fmt.Errorf("%w: %w: %s", errEnded, p.err, p.lastWords())
	case <-ctx.Done():
		s.set(nil, fmt.Errorf("%w: it was closed", ErrNoServer))
		return true, ctx.Err()
	}
}

// healthy waits until the server answers. It is asked, and told the password,
// only once it has said itself that it listens: before that, somebody else may.
func (s *Server) healthy(ctx context.Context, client *Client, p *process, port int) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.StartTimeout)
	defer cancel()
	ready := p.tail.ready
	var again <-chan time.Time
	for {
		select {
		case <-ready:
			if at := p.tail.listens(); at != port {
				return fmt.Errorf("it listens on port %d, not on %d as it was told", at, port)
			}
			ready = nil
		case <-again:
		case <-p.ended:
			if p.tail.listens() == 0 && taken(ctx, port) {
				return fmt.Errorf("%w: %w: %s", errTaken, p.err, p.lastWords())
			}
			return fmt.Errorf("%w: %w: %s", errEnded, p.err, p.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("it did not answer within %s: %s", s.o.StartTimeout, p.lastWords())
		}
		if h, err := client.Health(ctx); err == nil && h.Healthy {
			return nil
		}
		again = time.After(50 * time.Millisecond)
	}
}

// taken reports whether somebody listens on a port.
func taken(ctx context.Context, port int) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// freePort returns a loopback port that nobody uses at this moment. The server
// asked to choose one would take the well-known one first.
func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
