// Command threadtree gives chat threads working copies of their own, from the
// command line: a small program over the library, and the tool for operators.
//
//	go run ./examples/cli --help
//
// What it prints with --json, its exit codes and its error codes are stable.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is one call of the program; it returns the exit code.
func run(args []string, stdout, stderr *os.File) int {
	var opts options
	var done exitCode
	help := stdout
	switch {
	case len(args) == 0:
		args, help, done = []string{"--help"}, stderr, exitCode{true, exitUsage}
	case args[0] == "help":
		args = append(slices.Clone(args[1:]), "--help")
	}
	parser, err := kong.New(&opts, settings(help, stderr, &done)...)
	if err != nil {
		_, _ = io.WriteString(stderr, "threadtree: "+err.Error()+"\n")
		return exitFailed
	}
	call, err := parser.Parse(args)
	if done.set {
		return done.code
	}
	if err != nil {
		reportUsage(stderr, err)
		return exitUsage
	}
	a := newApp(&opts, stdout, stderr)
	ctx, stop := untilInterrupted(context.Background(), a.interrupted)
	defer stop()
	call.BindTo(ctx, (*context.Context)(nil))
	err = call.Run(a)
	if usage, ok := errors.AsType[*usageError](err); ok {
		reportUsage(stderr, usage)
		return exitUsage
	}
	if err != nil {
		if !errors.Is(err, syscall.EPIPE) { // nobody reads any more
			a.report(err)
		}
		return exitFailed
	}
	return exitDone
}

// exitCode is what kong asks for after it has printed a help text.
type exitCode struct {
	set  bool
	code int
}

func (e *exitCode) exit(code int) {
	if !e.set {
		e.set, e.code = true, code
	}
}

// usageError is a call that can't be meant.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func reportUsage(w io.Writer, err error) {
	help := "threadtree --help"
	if parse, ok := errors.AsType[*kong.ParseError](err); ok {
		if node := parse.Context.Selected(); node != nil {
			help = "threadtree " + node.Name + " --help"
		}
	}
	message := strings.ReplaceAll(visible(err.Error()), "missing flags: ", "missing: ")
	_, _ = io.WriteString(w, "threadtree: "+message+"\n→ see "+help+"\n")
}

// untilInterrupted returns a context that ends with the first SIGINT or
// SIGTERM, of which tell is called. The second one ends the program at once;
// what it leaves then is cleared by the next call for the same thread.
func untilInterrupted(parent context.Context, tell func()) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// A reader that goes away must not end the program in the middle of its
	// work: the write fails instead.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	over := make(chan struct{})
	go func() {
		select {
		case <-signals:
			tell()
			cancel()
		case <-over:
			return
		}
		select {
		case <-signals:
			os.Exit(exitFailed)
		case <-over:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		cancel()
	}
}

// app is what each command works with.
type app struct {
	opts   *options
	out    io.Writer
	err    io.Writer
	outTTY bool
	errTTY bool
	// width is how many columns there are, 0 for any number.
	width int
	home  string
	now   func() time.Time
}

func newApp(opts *options, stdout, stderr *os.File) *app {
	a := &app{opts: opts, out: stdout, err: stderr, now: time.Now}
	a.width, a.outTTY = terminal(stdout)
	_, a.errTTY = terminal(stderr)
	a.home, _ = os.UserHomeDir()
	return a
}

func (a *app) interrupted() {
	if a.opts.JSON && !a.errTTY {
		return
	}
	_, _ = io.WriteString(a.err, "threadtree: stopping, and clearing what was made; once more to stop at once\n")
}
