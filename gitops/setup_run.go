package gitops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/threadtree/threadtree/workspace"
)

const (
	// outputLines and outputWidth are how much of a failed command's output a
	// warning quotes.
	outputLines = 5
	outputWidth = 200
)

// quietEnv keeps programs from asking, from drawing, and from putting hooks
// into the configuration that all worktrees share.
var quietEnv = []string{
	"LC_ALL=C.UTF-8", "CI=true", "NO_COLOR=1", "TERM=dumb", "HUSKY=0",
	"npm_config_yes=true", "npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false",
	"COREPACK_ENABLE_DOWNLOAD_PROMPT=0", "PIP_NO_INPUT=1", "UV_NO_PROGRESS=1", "COMPOSER_NO_INTERACTION=1",
	"DOTNET_NOLOGO=1", "DOTNET_CLI_TELEMETRY_OPTOUT=1",
}

// setupStep is one command of a set-up.
type setupStep struct {
	argv []string
	dir  string
	env  []string
	// lock is the lock file that asked for it, "" for a command of the
	// operator's.
	lock string
	// together is true where the steps after it need it to succeed.
	together bool
}

func (s setupStep) String() string { return strings.Join(s.argv, " ") }

// setupEnv is what set-up commands start from.
func (r *Repository) setupEnv(own []string) []string {
	return slices.Concat(r.git.env, quietEnv, own)
}

// planSteps returns the commands that the options ask for.
func planSteps(q setupRequest, env []string) (steps []setupStep, warnings []string) {
	if len(q.options.Commands) == 0 && !q.options.Install {
		return nil, nil
	}
	root, err := os.OpenRoot(q.directory)
	if err != nil {
		return nil, []string{"the fresh worktree can't be opened, nothing was installed: " + err.Error()}
	}
	defer root.Close()
	there := q.subdirectory == "" || isFolder(root, q.subdirectory)
	if len(q.options.Commands) > 0 {
		if !there {
			return nil, []string{fmt.Sprintf("the folder %s is not on this branch, so the set-up commands were not run", printable(q.subdirectory))}
		}
		return planCommands(q, env)
	}
	folders := []string{"."}
	if there && q.subdirectory != "" && path.Clean(q.subdirectory) != "." {
		folders = append(folders, path.Clean(q.subdirectory))
	}
	for _, folder := range folders {
		for _, in := range detectInstalls(root, folder) {
			steps = append(steps, setupStep{
				argv: in.argv, env: slices.Concat(env, in.env), lock: path.Join(folder, in.lock),
				dir: filepath.Join(q.directory, filepath.FromSlash(folder)),
			})
		}
	}
	return steps, nil
}

// planCommands returns the operator's commands up to the first empty one.
func planCommands(q setupRequest, env []string) (steps []setupStep, warnings []string) {
	for _, argv := range q.options.Commands {
		if len(argv) == 0 || argv[0] == "" {
			return steps, []string{"a set-up command is empty, it and those after it were not run; correct the settings"}
		}
		steps = append(steps, setupStep{argv: argv, dir: q.workDirectory(), env: env, together: true})
	}
	return steps, nil
}

// lookProgram finds a program on the PATH of env, or below dir where its name
// has a slash. A folder of PATH that isn't absolute is passed over: it would
// be the repository's.
func lookProgram(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return exec.LookPath(name)
	}
	for _, folder := range filepath.SplitList(lookupEnv(env, "PATH")) {
		if !filepath.IsAbs(folder) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// lookupEnv returns the last value of a variable, the one that counts.
func lookupEnv(env []string, key string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			return v
		}
	}
	return ""
}

// runSteps runs the steps in order.
func runSteps(ctx context.Context, q setupRequest, steps []setupStep, timeout time.Duration) (warnings []string) {
	for i, s := range steps {
		w := runStep(ctx, q, s, timeout)
		if w == "" {
			continue
		}
		if rest := steps[i+1:]; len(rest) > 0 && (s.together || ctx.Err() != nil) {
			names := make([]string, len(rest))
			for j, r := range rest {
				names[j] = fmt.Sprintf("%q", r)
			}
			return append(warnings, w+"\nnot run after it: "+strings.Join(names, ", "))
		}
		warnings = append(warnings, w)
	}
	return warnings
}

// runStep runs one step and returns a warning unless it succeeded. The
// program is looked for only now: a step before it may have made it.
func runStep(ctx context.Context, q setupRequest, s setupStep, timeout time.Duration) string {
	program, err := lookProgram(s.argv[0], s.dir, s.env)
	if err != nil && s.lock != "" && errors.Is(err, exec.ErrNotFound) {
		return fmt.Sprintf("%s asks for %q, but %s was not found, so those dependencies are not installed; install %s and run it in the worktree",
			s.lock, s, s.argv[0], s.argv[0])
	}
	if err != nil {
		return fmt.Sprintf("%q can't be run: %s; correct the settings or run it in the worktree", s, rootCause(err))
	}
	q.tell(workspace.PhaseInstall, "Running "+oneLine(s.String()))
	code, output, err := execute(ctx, process{
		path: program, args: s.argv[1:], dir: s.dir, env: s.env, inherit: q.inherit, idle: q.idle,
	})
	if err == nil && code == 0 {
		return ""
	}
	return stepFailure(s, code, output, err, timeout)
}

// stepFailure says what became of a step that failed, with the end of its
// output.
func stepFailure(s setupStep, code int, output string, err error, timeout time.Duration) string {
	var w string
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		w = fmt.Sprintf("%q was ended, the set-up took longer than %v", s, timeout)
	case errors.Is(err, context.Canceled):
		w = fmt.Sprintf("%q was ended, the set-up was cancelled", s)
	case errors.Is(err, fs.ErrPermission):
		w = fmt.Sprintf("%q may not be run: %s", s, rootCause(err))
	case err != nil:
		w = fmt.Sprintf("%q could not be run to its end: %v", s, err)
	default:
		w = fmt.Sprintf("%q failed with exit code %d", s, code)
	}
	w += "; run it in the worktree"
	if tail := lastLines(output); tail != "" {
		w += ", its output ended:\n" + tail
	}
	return w
}

// lastLines returns the end of a program's output, fit to be shown.
func lastLines(output string) string {
	var lines []string
	for line := range strings.FieldsFuncSeq(output, func(c rune) bool { return c == '\n' || c == '\r' }) {
		if line = strings.TrimRightFunc(plainText(line), unicode.IsSpace); line != "" {
			lines = append(lines, cutText(line, outputWidth))
		}
	}
	return strings.Join(lines[max(0, len(lines)-outputLines):], "\n")
}

// plainText drops escape sequences and other control characters.
func plainText(line string) string {
	var b strings.Builder
	for rest := line; rest != ""; {
		before, after, escaped := strings.Cut(rest, "\x1b[")
		b.WriteString(before)
		if !escaped {
			break
		}
		end := strings.IndexFunc(after, func(c rune) bool { return c >= '@' && c <= '~' })
		if end < 0 {
			break
		}
		rest = after[end+1:]
	}
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\t' {
			return -1
		}
		return c
	}, b.String())
}

// oneLine returns a command for a progress message.
func oneLine(s string) string { return cutText(plainText(s), outputWidth) }

// cutText shortens text to at most n characters.
func cutText(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}
