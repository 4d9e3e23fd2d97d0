package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

const (
	// killGrace is how long an ended command may take to remove its lock
	// files before its process group is killed.
	killGrace = 2 * time.Second
	// errorOutput is how much of a command's last error output is kept.
	errorOutput = 16 << 10
)

// GitError is a git command that failed.
type GitError struct {
	// Args are the arguments, without the program and its options.
	Args []string
	// ExitCode is -1 where the command was ended or never began.
	ExitCode int
	// Stderr is the end of its error output.
	Stderr string
	// Err is the cause: the context's, or that of starting it.
	Err error
}

// Error names the command and what git complained of.
func (e *GitError) Error() string {
	what := "git"
	if len(e.Args) > 0 {
		what += " " + e.Args[0]
	}
	if e.Err != nil && e.ExitCode < 0 {
		return what + ": " + e.Err.Error()
	}
	if line := e.complaint(); line != "" {
		return what + ": " + line
	}
	return fmt.Sprintf("%s: exit code %d", what, e.ExitCode)
}

// Unwrap returns the cause.
func (e *GitError) Unwrap() error { return e.Err }

// Output returns the end of the error output, for those who show it beside what
// an error says.
func (e *GitError) Output() string { return e.Stderr }

// exitCode returns the exit code of the git command behind err, 0 for nil and
// -1 where there is none.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*GitError](err); ok {
		return e.ExitCode
	}
	return -1
}

// command is one call of the git program.
type command struct {
	// dir is where it runs (-C).
	dir string
	// args are the subcommand and its arguments. Text of a person's comes
	// fully qualified or after "--".
	args []string
	// write is false for a command that must not write: git then takes no
	// optional lock.
	write bool
	// config are "key=value" settings for this command alone.
	config []string
	// env is set on top of the clean environment.
	env []string
	// stdin is closed where it is nil.
	stdin io.Reader
	// inherit are the open files that the command and its children keep.
	inherit []*os.File
	// timeout bounds it besides the context; 0 means no bound of its own.
	timeout time.Duration
	// progress gets the error output as it comes.
	progress io.Writer
	// idle has it run only with what nobody else needs of the machine.
	idle bool
	// started, if set, is closed once it runs or can't be started.
	started chan<- struct{}
}

// git runs git commands: the one place where they are made.
type git struct {
	path string
	env  []string
}

// newGit finds the program once. path may be "" for the one on PATH.
func newGit(path string, environ []string) (*git, error) {
	if path == "" {
		path = "git"
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return nil, &workspace.Error{
			Code:    workspace.ErrGitFailed,
			Message: "the git program was not found",
			Hint:    "install git, version 2.36 or newer, and see that it is on PATH",
			Err:     err,
		}
	}
	return &git{path: found, env: cleanEnv(environ)}, nil
}

// localEnv are the variables that tie a git process to one repository, as
// "git rev-parse --local-env-vars" lists them. Inherited from a hook, say,
// each of them makes git look at another repository than the one meant.
var localEnv = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
	"GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_GRAFT_FILE",
	"GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX",
	"GIT_SHALLOW_FILE", "GIT_COMMON_DIR", "GIT_INTERNAL_SUPER_PREFIX", "GIT_REF_PARANOIA",
	"GIT_NAMESPACE", "GIT_QUARANTINE_PATH", "GIT_REFLOG_ACTION",
	"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
	"GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_ATTR_SOURCE", "GIT_DEFAULT_HASH",
	"GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "LC_ALL", "LANGUAGE",
	"GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE", "GIT_ASKPASS", "SSH_ASKPASS",
}

// localEnvPrefixes begin further ones: settings by number, and tracing, which
// would be taken for error output.
var localEnvPrefixes = []string{"GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_TRACE"}

// cleanEnv drops what must not reach git and sets what each command needs.
func cleanEnv(environ []string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		prefixed := func(prefix string) bool { return strings.HasPrefix(key, prefix) }
		return slices.Contains(localEnv, key) || slices.ContainsFunc(localEnvPrefixes, prefixed)
	})
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true",
		"GIT_MERGE_AUTOEDIT=no", "GIT_ASKPASS=true", "SSH_ASKPASS_REQUIRE=never")
}

// run runs a git command and returns its standard output. A failure is a
// *GitError; its output so far is returned with it. A cancelled context ends
// the whole process group.
func (g *git) run(ctx context.Context, c command) ([]byte, error) {
	var stdout bytes.Buffer
	err := g.stream(ctx, c, &stdout)
	return stdout.Bytes(), err
}

// stream is run for output that is taken as it comes.
func (g *git) stream(ctx context.Context, c command, stdout io.Writer) error {
	argv := []string{"-C", c.dir, "-c", "gc.auto=0", "-c", "maintenance.auto=false"}
	for _, kv := range c.config {
		argv = append(argv, "-c", kv)
	}
	env := g.env
	if !c.write {
		env = append(slices.Clone(env), "GIT_OPTIONAL_LOCKS=0")
	}
	if len(c.env) > 0 {
		env = append(slices.Clone(env), c.env...)
	}
	code, stderr, err := execute(ctx, process{
		path: g.path, args: append(argv, c.args...), env: env,
		stdin: c.stdin, stdout: stdout, progress: c.progress, inherit: c.inherit, timeout: c.timeout, idle: c.idle,
		started: c.started,
	})
	if err != nil || code != 0 {
		return &GitError{Args: c.args, ExitCode: code, Stderr: stderr, Err: err}
	}
	return nil
}

// converse starts a git command that is written to and read from, and that ends
// with ctx, or soon after in is closed. ended gives what it ended with.
func (g *git) converse(ctx context.Context, c command) (in, out *os.File, ended <-chan error, err error) {
	// Pipes of the system's own, which the process gets as they are: nothing
	// in between has to copy.
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		_, _ = stdin.Close(), in.Close()
		return nil, nil, nil, err
	}
	c.stdin = stdin
	end := make(chan error, 1)
	go func() {
		err := g.stream(ctx, c, stdout)
		_, _ = stdin.Close(), stdout.Close()
		end <- err
	}()
	return in, out, end, nil
}

// line runs a git command and returns its output without the final newline.
func (g *git) line(ctx context.Context, c command) (string, error) {
	out, err := g.run(ctx, c)
	return strings.TrimSuffix(string(out), "\n"), err
}

// lines is stream that calls each with every line of the output until it
// returns false, which ends the command; that is no error.
func (g *git) lines(ctx context.Context, c command, each func(line []byte) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &lineWriter{each: each, enough: cancel}
	err := g.stream(ctx, c, w)
	if w.ended {
		return nil
	}
	return err
}

// lineWriter takes output apart into lines.
type lineWriter struct {
	each    func(line []byte) bool
	enough  func()
	ended   bool
	partial []byte
}

// Write takes the next part of the output. It fails once enough was read.
func (w *lineWriter) Write(p []byte) (int, error) {
	for rest := p; ; {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if w.ended {
			return 0, io.ErrClosedPipe
		}
		if !ok {
			w.partial = append(w.partial, rest...)
			return len(p), nil
		}
		if len(w.partial) > 0 {
			line = append(w.partial, line...)
		}
		if !w.each(line) {
			w.ended = true
			w.enough()
		}
		w.partial, rest = w.partial[:0], after
	}
}

// process is any program that is run: git, a hook, a set-up command.
type process struct {
	path     string
	args     []string
	dir      string
	env      []string
	stdin    io.Reader
	stdout   io.Writer // nil: joined to the error output
	progress io.Writer
	inherit  []*os.File
	timeout  time.Duration
	idle     bool
	started  chan<- struct{}
}

// execute runs p to its end and returns its exit code, -1 where it was ended
// or didn't start, and the last of its error output. err is nil where it ran
// to its end, whatever the code. Nothing of its process group is left running.
func execute(ctx context.Context, p process) (code int, stderr string, err error) {
	if p.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.timeout)
		defer cancel()
	}
	if err := ctx.Err(); err != nil {
		return -1, "", err
	}
	tail := &tailWriter{limit: errorOutput, also: p.progress}
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, p.env, p.stdin
	cmd.Stderr, cmd.Stdout = tail, p.stdout
	if p.stdout == nil {
		cmd.Stdout = tail
	}
	cmd.ExtraFiles = p.inherit
	// A session of its own is a process group of its own, and no terminal that
	// something like ssh could ask on and be stopped for asking.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killGrace
	err = cmd.Start()
	if p.started != nil {
		close(p.started)
	}
	if err != nil {
		return -1, "", err
	}
	if p.idle {
		lowerPriority(cmd.Process.Pid)
	}
	awaitExit(cmd.Process.Pid)
	err = cmd.Wait()
	// Whoever of the group is left, a child in the background for one, ends
	// with the command.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if ctxErr := ctx.Err(); ctxErr != nil && err != nil {
		return -1, tail.String(), ctxErr
	}
	if cmd.ProcessState != nil && cmd.ProcessState.Exited() {
		// A child that kept the pipes open is no failure of the command's.
		return cmd.ProcessState.ExitCode(), tail.String(), nil
	}
	return -1, tail.String(), err
}

// tailWriter keeps the last bytes that were written to it.
type tailWriter struct {
	limit int
	buf   []byte
	also  io.Writer
}

func (w *tailWriter) Write(p []byte) (int, error) {
	if w.also != nil {
		_, _ = w.also.Write(p)
	}
	w.buf = append(w.buf, p...)
	if over := len(w.buf) - w.limit; over > 0 {
		w.buf = append(w.buf[:0], w.buf[over:]...)
	}
	return len(p), nil
}

func (w *tailWriter) String() string {
	return strings.TrimSpace(strings.ToValidUTF8(string(w.buf), "\uFFFD"))
}

// complaint returns the line that says best what went wrong: the last that git
// marks as an error, which advice may follow, or else the last. A "fatal: " may
// say less than the "error: " that led to it.
func complaint(stderr string) string {
	lines := strings.Split(stderr, "\n")
	for i, line := range slices.Backward(lines) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "error: "):
			return line
		case strings.HasPrefix(line, "fatal: ") && i > 0 && strings.HasPrefix(lines[i-1], "error: "):
			return strings.TrimSpace(lines[i-1]) + "; " + line
		case strings.HasPrefix(line, "fatal: "):
			return line
		}
	}
	return lastLine(stderr)
}

// lastLine returns the last line of text that isn't blank.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// failure turns the error of a git command into one for a person. message
// says what was being done and what was left as it was. An error that is
// already one for a person stays as it is.
func failure(op, message, hint string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*workspace.Error](err); ok {
		return e
	}
	code := workspace.ErrGitFailed
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		code, message = workspace.ErrTimeout, message+" in the time allowed"
	case errors.Is(err, context.Canceled):
		code, message = workspace.ErrTimeout, message+": it was cancelled"
	case errors.Is(err, os.ErrPermission):
		code = workspace.ErrPermissionDenied
	}
	if g, ok := errors.AsType[*GitError](err); ok && g.Err == nil {
		if line := g.complaint(); line != "" {
			message += ": git says: " + line
		}
	} else if code == workspace.ErrGitFailed || code == workspace.ErrPermissionDenied {
		message += ": " + err.Error()
	}
	return &workspace.Error{Code: code, Op: op, Message: message, Hint: hint, Err: err}
}

// offering names the option that the error's hint speaks of.
func offering(option workspace.Option, err error) error {
	e, ok := errors.AsType[*workspace.Error](err)
	if !ok {
		return err
	}
	told := *e
	told.Option = option
	return &told
}
