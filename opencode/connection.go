package opencode

import "context"

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
