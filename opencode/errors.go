package opencode

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/threadtree/threadtree/workspace"
)

// What went wrong with a call, to be asked for with errors.Is. A call that
// failed otherwise was refused by the server, which says why in the [Error].
var (
	// ErrUnreachable: nothing answers at the address, or not HTTP.
	ErrUnreachable = errors.New("the OpenCode server can't be reached")
	// ErrUnauthorized: the user name or the password is not the server's.
	ErrUnauthorized = errors.New("the OpenCode server refuses the user name or the password")
	// ErrNoEndpoint: the server doesn't have this call. There is never a 404
	// for that: a server that is too old answers with its web page, or 500.
	ErrNoEndpoint = errors.New("the OpenCode server does not have this call")
	// ErrNoFlag: the server knows no workspaces, because it was started
	// without OPENCODE_EXPERIMENTAL_WORKSPACES=1.
	ErrNoFlag = errors.New("the OpenCode server runs without OPENCODE_EXPERIMENTAL_WORKSPACES=1")
	// ErrNotFound: the session, the workspace or the request that was named
	// doesn't exist.
	ErrNotFound = errors.New("OpenCode does not know it")
	// ErrTimeout: the answer did not come in time. What was asked for may
	// still be done by the server.
	ErrTimeout = errors.New("the OpenCode server did not answer in time")
	// ErrTooLarge: the answer is longer than the client takes.
	ErrTooLarge = errors.New("the answer of the OpenCode server is too long")
	// ErrMalformed: the answer is no JSON, or not of the form that it has to
	// have.
	ErrMalformed = errors.New("the answer of the OpenCode server makes no sense")
)

// Error is a call that failed.
type Error struct {
	// Op says what was asked for, such as "create workspace".
	Op string
	// Status is the HTTP status, 0 where there was no answer.
	Status int
	// Name is the server's own name for the error, such as
	// "WorkspaceCreateError", "" where it gave none.
	Name string
	// Message is what the server says of it, "" where it says nothing.
	Message string
	// Err is the cause: one of the errors of this package, or what the
	// connection failed with; nil for a refusal.
	Err error
}

// Error says what was asked for and why there is none of it, in a line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("OpenCode: " + e.Op)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if text := strings.Join(strings.Fields(e.Message), " "); text != "" {
		b.WriteString(": " + text)
	} else if e.Err == nil {
		fmt.Fprintf(&b, ": status %d", e.Status)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// unavailable reports whether there was no OpenCode to ask, as opposed to one
// that was asked and failed or refused.
func unavailable(err error) bool {
	for _, cause := range []error{ErrUnreachable, ErrUnauthorized, ErrNoEndpoint, ErrNoFlag, ErrNoServer} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// ErrNoServer is why a [Server] has no server at this moment: the program is
// not installed, doesn't start, or has ended too often.
var ErrNoServer = errors.New("no OpenCode server runs")

// failure is err as the life cycle wants it: with a code, what happened, what
// was left, and what to do.
func failure(ctx context.Context, doing, left string, err error) error {
	if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
		return cause
	}
	var coded *workspace.Error
	if errors.As(err, &coded) {
		return err
	}
	e := &workspace.Error{Code: workspace.ErrProviderFailed, Message: fmt.Sprintf("%s: %s; %s", doing, reason(err), left), Err: err}
	switch {
	case errors.Is(err, ErrUnauthorized):
		e.Code, e.Hint = workspace.ErrProviderUnavailable, "give the server's password in OPENCODE_SERVER_PASSWORD (and its user in OPENCODE_SERVER_USERNAME)"
	case errors.Is(err, ErrNoEndpoint):
		e.Code, e.Hint = workspace.ErrProviderUnavailable, "update OpenCode to "+minVersion+" or newer, or use native git"
	case errors.Is(err, ErrNoFlag):
		e.Code, e.Hint = workspace.ErrProviderUnavailable, "start OpenCode with OPENCODE_EXPERIMENTAL_WORKSPACES=1, or use native git"
	case unavailable(err):
		e.Code, e.Hint = workspace.ErrProviderUnavailable, "start OpenCode or check its address, or use native git"
	case errors.Is(err, ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		e.Code, e.Hint = workspace.ErrTimeout, "try again; if it stays so, look at OpenCode's log"
	default:
		e.Hint = "look at OpenCode's log, or use native git"
	}
	return e
}

// reason is the end of an error's text that a person wants to read.
func reason(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		text := strings.Join(strings.Fields(e.Message), " ")
		switch {
		case e.Err != nil && text != "":
			return fmt.Sprintf("%v: %s", e.Err, text)
		case e.Err != nil:
			return e.Err.Error()
		case text != "":
			return text
		}
	}
	return err.Error()
}
