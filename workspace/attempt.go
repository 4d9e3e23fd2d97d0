package workspace

import (
	"context"
	"os"
)

// Liveness says whether somebody is still at work on an attempt.
type Liveness string

// The kinds of liveness.
const (
	// Alive means that the process that began the attempt lives.
	Alive Liveness = "alive"
	// Orphaned means that this process is gone while a child of it, a git
	// that still writes for example, lives on.
	Orphaned Liveness = "orphaned"
	// Dead means that nobody is left.
	Dead Liveness = "dead"
	// Unknown means that it can't be told here: the attempt ran on another
	// machine, or its lock can't be found.
	Unknown Liveness = "unknown"
)

// Locker tells live attempts from dead ones on one machine. All methods may be
// called concurrently.
type Locker interface {
	// Host returns the name of this machine, as it is written to attempts.
	Host() string
	// Lock takes the lock of a new attempt.
	Lock(ctx context.Context, attemptID string) (Lock, error)
	// Probe looks whether somebody is at work on an attempt that began on this
	// machine, without taking anything over.
	Probe(ctx context.Context, attempt Attempt) (Liveness, error)
	// Seize tries to take over the lock of an attempt that began on this
	// machine. It never waits. The lock is nil unless the liveness is [Dead].
	Seize(ctx context.Context, attempt Attempt) (Lock, Liveness, error)
}

// Lock is the held lock of an attempt.
type Lock interface {
	// Path is what [Attempt].Lock has to be.
	Path() string
	// Inherit returns the open files that each child process has to inherit,
	// so that one which outlives us is known to be alive. They are valid
	// until Release.
	Inherit() []*os.File
	// Release gives the lock up and removes it: the attempt has ended.
	Release() error
}
