package gitops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func TestCleanEnvDropsWhatGitCallsLocal(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "rev-parse", "--local-env-vars").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(out))
	if len(names) < 10 {
		t.Fatalf("git lists only %q", names)
	}
	for _, name := range names {
		if env := cleanEnv([]string{name + "=hostile"}); slices.Contains(env, name+"=hostile") {
			t.Errorf("%s reaches git", name)
		}
	}
}

func TestCleanEnvKeepsTheRest(t *testing.T) {
	t.Parallel()
	given := []string{"PATH=/bin", "HOME=/h", "GIT_SSH_COMMAND=ssh -v", "GIT_CONFIG_GLOBAL=/g", "GIT_AUTHOR_NAME=A", "HTTPS_PROXY=p"}
	env := cleanEnv(slices.Clone(given))
	for _, kv := range given {
		if !slices.Contains(env, kv) {
			t.Errorf("%s doesn't reach git", kv)
		}
	}
}

// Each of the variables changes what a git that is run as it comes says of a
// repository, and nothing of what git says that is run here.
func TestGitIgnoresHostileEnvironment(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{"f": "tracked\nwith\ncontext\n", "sub/g": "g\n"})
	other := newSetupCase(t, map[string]string{"other": "other\n"})
	// Of another size: with another work tree's git status in the repository, a
	// change within the second of the commit can pass for none.
	c.write(filepath.Join(c.source, "f"), "changed since\nwith\ncontext\n")
	c.write(filepath.Join(c.source, "*"), "untracked\n")
	missing := filepath.Join(t.TempDir(), "missing")
	commands := [][]string{
		{"status", "--porcelain", "--branch"},
		{"rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir", "HEAD"},
		{"for-each-ref"},
		{"config", "--get-regexp", "^hostile\\.|^core\\.bare"},
		{"ls-files", "--others", "--cached", "--", "*b/g"},
		{"diff"},
		{"var", "GIT_EDITOR"},
		{"reflog", "--format=%gs"},
		{"cat-file", "-t", "HEAD^{tree}"},
		{"var", "GIT_COMMITTER_IDENT"},
		{"no-such-command"},
	}
	for _, hostile := range [][]string{
		{"GIT_DIR=" + filepath.Join(other.source, ".git")},
		{"GIT_WORK_TREE=" + other.source, "GIT_DIR=" + filepath.Join(c.source, ".git")},
		{"GIT_INDEX_FILE=" + missing},
		{"GIT_COMMON_DIR=" + filepath.Join(other.source, ".git")},
		{"GIT_OBJECT_DIRECTORY=" + missing},
		{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=hostile.key", "GIT_CONFIG_VALUE_0=1"},
		{"GIT_CONFIG_PARAMETERS='hostile.key'='1'"},
		{"GIT_CONFIG=" + missing},
		{"GIT_LITERAL_PATHSPECS=1"},
		{"GIT_NOGLOB_PATHSPECS=1"},
		{"GIT_EXTERNAL_DIFF=true"},
		{"GIT_DIFF_OPTS=--unified=0"},
		{"GIT_EDITOR=hostile-editor"},
		{"GIT_TRACE=1"},
		{"GIT_TRACE_SETUP=1"},
		{"GIT_TRACE2=1"},
		{"GIT_COMMITTER_DATE=2001-02-03T04:05:06+0000"},
		{"GIT_SHALLOW_FILE=" + missing, "GIT_NAMESPACE=n", "GIT_PREFIX=sub/", "GIT_DIR=" + missing},
	} {
		name, _, _ := strings.Cut(hostile[0], "=")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := append(setupTestEnv(), hostile...)
			if raw := gitWords(t, env, c.source, commands); raw == gitWords(t, setupTestEnv(), c.source, commands) {
				t.Fatalf("%q isn't hostile", hostile)
			}
			clean, err := New(Options{Home: c.source, Env: env})
			if err != nil {
				t.Fatal(err)
			}
			for _, args := range commands {
				want, wantErr := c.r.git.run(t.Context(), command{dir: c.source, args: args})
				got, gotErr := clean.git.run(t.Context(), command{dir: c.source, args: args})
				if args[0] == "var" {
					want, got = withoutTime(want), withoutTime(got)
				}
				if !bytes.Equal(got, want) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
					t.Errorf("%v: got %q, %v; want %q, %v", args, got, gotErr, want, wantErr)
				}
				if exitCode(gotErr) != exitCode(wantErr) {
					t.Errorf("%v: exit code %d, want %d", args, exitCode(gotErr), exitCode(wantErr))
				}
			}
		})
	}
}

// gitWords is what git says with an environment as it comes.
func gitWords(t *testing.T, env []string, dir string, commands [][]string) string {
	t.Helper()
	var b strings.Builder
	for _, args := range commands {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Env = env
		out, _ := cmd.CombinedOutput()
		if args[0] == "var" {
			out = withoutTime(out)
		}
		fmt.Fprintf(&b, "%v: %s\n", args, out)
	}
	return b.String()
}

// withoutTime drops the seconds of a person's line, unless they are long past.
func withoutTime(line []byte) []byte {
	fields := strings.Fields(string(line))
	for i, f := range fields {
		if at, err := strconv.ParseInt(f, 10, 64); err == nil && time.Since(time.Unix(at, 0)) < time.Hour {
			fields[i] = "now"
		}
	}
	return []byte(strings.Join(fields, " "))
}

func TestGitRun(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{"f": "f"})
	g := c.r.git
	ctx := t.Context()

	if out, err := g.line(ctx, command{dir: c.source, args: []string{"rev-parse", "--abbrev-ref", "HEAD"}}); err != nil || out != "main" {
		t.Errorf("line: %q, %v", out, err)
	}
	out, err := g.run(ctx, command{dir: c.source, args: []string{"config", "--get", "one.two"}, config: []string{"one.two=a=b c"}})
	if err != nil || string(out) != "a=b c\n" {
		t.Errorf("with a setting: %q, %v", out, err)
	}
	out, err = g.run(ctx, command{dir: c.source, args: []string{"hash-object", "--stdin"}, stdin: strings.NewReader("f")})
	if want := c.git(c.source, "rev-parse", "HEAD:f"); err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("with input: %q, %v; want %s", out, err, want)
	}

	_, err = g.run(ctx, command{dir: c.source, args: []string{"rev-parse", "--verify", "refs/heads/none"}})
	e, ok := errors.AsType[*GitError](err)
	if !ok || e.ExitCode != 128 || e.Err != nil || e.Error() != "git rev-parse: fatal: Needed a single revision" || exitCode(err) != 128 {
		t.Errorf("failing: %#v", err)
	}
	if ok && e.Output() != "fatal: Needed a single revision" {
		t.Errorf("output: %q", e.Output())
	}
	if exitCode(nil) != 0 || exitCode(fs.ErrExist) != -1 {
		t.Error("exitCode of what is no git's")
	}
	if _, err = g.run(ctx, command{dir: c.source, args: []string{"diff", "--quiet", "--no-index", "/dev/null", "f"}}); err == nil || err.Error() != "git diff: exit code 1" {
		t.Errorf("failing without a word: %v", err)
	}
}

// A command that only reads leaves the index as it is, even where its times
// are out of date; one that may write refreshes it.
func TestGitRunTakesNoOptionalLocksToRead(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{"f": "f"})
	index := filepath.Join(c.source, ".git/index")
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(c.source, "f"), past, past); err != nil {
		t.Fatal(err)
	}
	before := c.read(index)
	if _, err := c.r.git.run(t.Context(), command{dir: c.source, args: []string{"status"}}); err != nil {
		t.Fatal(err)
	}
	if c.read(index) != before {
		t.Error("reading wrote the index")
	}
	if _, err := c.r.git.run(t.Context(), command{dir: c.source, args: []string{"status"}, write: true}); err != nil {
		t.Fatal(err)
	}
	if c.read(index) == before {
		t.Error("the index isn't refreshed where it may be")
	}
}

func TestNewWithoutGit(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{Home: t.TempDir(), Git: "/no/such/git"}); !errors.Is(err, workspace.ErrGitFailed) || workspace.HintOf(err) == "" {
		t.Errorf("New: %v, want git_failed and a hint", err)
	}
	if _, err := New(Options{}); !errors.Is(err, workspace.ErrInternal) {
		t.Errorf("New: %v, want internal", err)
	}
}

func shell(script string) process {
	return process{path: "/bin/sh", args: []string{"-c", script}, env: []string{"PATH=/usr/bin:/bin"}}
}

func TestExecute(t *testing.T) {
	t.Parallel()
	dir := resolved(t, t.TempDir())
	var stdout, progress bytes.Buffer
	file := filepath.Join(dir, "plain")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		p      process
		code   int
		stderr string
		stdout string
		err    error
	}{
		{name: "success", p: shell("exit 0")},
		{name: "exit code and error output", p: shell("echo out; echo no >&2; exit 3"), code: 3, stderr: "no", stdout: "out\n"},
		{name: "joined output", p: shell("echo out; echo err >&2"), stderr: "out\nerr"},
		{name: "ended by a signal", p: shell("kill -9 $$"), code: -1, err: errAny},
		{name: "no such program", p: process{path: "/no/such/program"}, code: -1, err: fs.ErrNotExist},
		{name: "no program", p: process{path: file}, code: -1, err: fs.ErrPermission},
		{name: "no such directory", p: process{path: "/bin/sh", dir: filepath.Join(dir, "none")}, code: -1, err: fs.ErrNotExist},
		{name: "directory", p: func() process { p := shell("pwd"); p.dir = dir; return p }(), stdout: dir + "\n"},
		{name: "no input", p: shell("cat; echo end"), stdout: "end\n"},
		{name: "input", p: func() process { p := shell("cat"); p.stdin = strings.NewReader("in"); return p }(), stdout: "in"},
		{name: "environment", p: shell("echo $PATH $HOME"), stdout: "/usr/bin:/bin\n"},
		{name: "time limit", p: func() process { p := shell("echo begun >&2; sleep 60"); p.timeout = 3 * time.Second; return p }(), code: -1, stderr: "begun", err: context.DeadlineExceeded},
	}
	for _, tt := range tests {
		stdout.Reset()
		progress.Reset()
		tt.p.progress = &progress
		if tt.name != "joined output" {
			tt.p.stdout = &stdout
		}
		code, stderr, err := execute(t.Context(), tt.p)
		if code != tt.code || stderr != tt.stderr || stdout.String() != tt.stdout {
			t.Errorf("%s: code %d, stderr %q, stdout %q; want %d, %q, %q", tt.name, code, stderr, stdout.String(), tt.code, tt.stderr, tt.stdout)
		}
		if strings.TrimSpace(progress.String()) != tt.stderr {
			t.Errorf("%s: progress %q, want %q", tt.name, progress.String(), tt.stderr)
		}
		if tt.err == errAny && err == nil || tt.err != errAny && !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.err)
		}
	}
}

var errAny = errors.New("any error")

func TestExecuteLargeOutput(t *testing.T) {
	t.Parallel()
	const lines = 200_000
	p := shell(fmt.Sprintf(`awk 'BEGIN { for (i = 1; i <= %d; i++) { print "out", i; print "err", i >"/dev/stderr" } }'`, lines))
	var stdout, progress bytes.Buffer
	p.stdout, p.progress = &stdout, &progress
	code, stderr, err := execute(t.Context(), p)
	if err != nil || code != 0 {
		t.Fatalf("%d, %v", code, err)
	}
	for name, got := range map[string]*bytes.Buffer{"out": &stdout, "err": &progress} {
		if n := bytes.Count(got.Bytes(), []byte("\n")); n != lines {
			t.Errorf("%s: %d lines, want %d", name, n, lines)
		}
	}
	if len(stderr) > errorOutput || len(stderr) < errorOutput-100 || lastLine(stderr) != fmt.Sprintf("err %d", lines) {
		t.Errorf("kept %d bytes, the last line is %q", len(stderr), lastLine(stderr))
	}
}

func TestExecuteDoesNotStartWhenItIsTooLate(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(t.TempDir(), "made")
	p := process{path: "/usr/bin/touch", args: []string{file}}
	if code, _, err := execute(ctx, p); code != -1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", code, err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it was started")
	}
}

func TestExecuteEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, end string
		cancel    bool
		code      int
		err       error
	}{
		{name: "cancelled", end: "while :; do sleep 1; done", cancel: true, code: -1, err: context.Canceled},
		{name: "at its own end", end: "exit 5", code: 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newSetupCase(t, nil)
			c.fresh()
			p := shell(stubborn + tt.end)
			p.dir = c.worktree
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.cancel {
				go func() {
					for ctx.Err() == nil {
						if info, err := os.Stat(filepath.Join(c.worktree, "self.log")); err == nil && info.Size() > 0 {
							cancel()
						}
						time.Sleep(5 * time.Millisecond)
					}
				}()
			}
			code, output, err := execute(ctx, p)
			if code != tt.code || output != "waiting" || !errors.Is(err, tt.err) {
				t.Errorf("%d, %q, %v; want %d, waiting, %v", code, output, err, tt.code, tt.err)
			}
			c.wantGone("self.log", "child.log")
		})
	}
}

// One that is asked to end and does has the time to clean up after itself.
func TestExecuteAsksBeforeItKills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := shell(`trap 'echo cleaned >cleaned; exit 0' TERM; echo ready >ready; while :; do sleep 0.02; done`)
	p.dir = dir
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if _, _, err := execute(ctx, p); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want cancelled", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "cleaned")); err != nil {
		t.Error(err)
	}
}

func TestExecuteGivesASessionOfItsOwn(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	_, stderr, err := execute(t.Context(), process{
		path: os.Args[0], env: append(os.Environ(), childRole+"=session"), stdout: &stdout,
	})
	if err != nil || stdout.String() != "true true\n" {
		t.Errorf("leads its session and group: %q, %q, %v", stdout.String(), stderr, err)
	}
}

func TestExecuteHandsOpenFilesOn(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "held"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := shell("(echo inherited >&3)")
	p.inherit = []*os.File{file}
	if code, stderr, err := execute(t.Context(), p); code != 0 || err != nil {
		t.Fatalf("%d, %q, %v", code, stderr, err)
	}
	if content, err := os.ReadFile(file.Name()); err != nil || string(content) != "inherited\n" {
		t.Errorf("%q, %v", content, err)
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	own := &workspace.Error{Code: workspace.ErrLocked, Message: "own"}
	tests := []struct {
		name, message string
		err           error
		code          workspace.Code
	}{
		{"git's last error, not the advice after it", "it failed: git says: fatal: no", &GitError{ExitCode: 128, Stderr: "warning: x\nfatal: no\nremove the file"}, workspace.ErrGitFailed},
		{"what led to git's last error", "it failed: git says: error: no room; fatal: no", &GitError{ExitCode: 128, Stderr: "error: other\nerror: no room\nfatal: no\n"}, workspace.ErrGitFailed},
		{"no error marked", "it failed: git says: last", &GitError{ExitCode: 1, Stderr: "first\nlast\n\n"}, workspace.ErrGitFailed},
		{"without a word", "it failed", &GitError{ExitCode: 1}, workspace.ErrGitFailed},
		{"too late", "it failed in the time allowed", &GitError{ExitCode: -1, Err: context.DeadlineExceeded}, workspace.ErrTimeout},
		{"cancelled", "it failed: it was cancelled", context.Canceled, workspace.ErrTimeout},
		{"not permitted", "it failed: open x: permission denied", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}, workspace.ErrPermissionDenied},
		{"anything else", "it failed: file does not exist", fs.ErrNotExist, workspace.ErrGitFailed},
		{"one for a person", "own", fmt.Errorf("wrapped: %w", own), workspace.ErrLocked},
	}
	for _, tt := range tests {
		err := failure("", "it failed", "hint", tt.err)
		if e, ok := errors.AsType[*workspace.Error](err); !ok || e.Message != tt.message || e.Code != tt.code {
			t.Errorf("%s: %v (%v), want %q (%v)", tt.name, err, workspace.CodeOf(err), tt.message, tt.code)
		}
		if !errors.Is(err, tt.err) && !errors.Is(tt.err, err) {
			t.Errorf("%s: the cause is lost", tt.name)
		}
	}
	if failure("", "it failed", "", nil) != nil {
		t.Error("a failure of nothing")
	}
}
