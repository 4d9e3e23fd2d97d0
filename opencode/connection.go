package opencode

import (
	"context"
	"fmt"
	"sync"
)

// Connection is the way to a server. It is safe for concurrent use.
type Connection interface {
	// Client returns a client of a server that is up. It waits for one that
	// is starting until ctx ends. The error is [ErrNoServer], with the
	// reason, where there is none to wait for.
	Client(ctx context.Context) (*Client, error)
}

// Attached is the connection to a server that somebody else runs.
type Attached struct{ C *Client }

// Client returns the client, without asking whether the server answers.
func (a Attached) Client(context.Context) (*Client, error) { return a.C, nil }

// OnDemand is the connection to a server of our own that is started when it is
// first needed, for programs that mostly do without.
type OnDemand struct {
	o ServerOptions

	mu     sync.Mutex
	server *Server
	closed bool
}

// NewOnDemand returns a connection; nothing is started yet.
func NewOnDemand(o ServerOptions) *OnDemand { return &OnDemand{o: o} }

// Client starts the server, where that hasn't been done, and waits for it.
func (d *OnDemand) Client(ctx context.Context) (*Client, error) {
	server, err := d.started(ctx)
	if err != nil {
		return nil, err
	}
	return server.Client(ctx)
}

// started is asked again after it has failed: the program may be installed
// meanwhile.
func (d *OnDemand) started(ctx context.Context) (*Server, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("%w: it was closed", ErrNoServer)
	}
	if d.server == nil {
		server, err := StartServer(ctx, d.o)
		if err != nil {
			return nil, err
		}
		d.server = server
	}
	return d.server, nil
}

// Started reports whether a server was started: without one nothing is at work.
func (d *OnDemand) Started() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.server != nil
}

// Close ends the server, if it was started; none is started after it. It may
// be called again.
func (d *OnDemand) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.server == nil {
		return nil
	}
	return d.server.Close()
}
