package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/threadtree/threadtree/workspace"
)

// postCheckout runs the hook that "git worktree add" would have run, as it
// would have run it. The hooks in the git directory are the operator's own;
// those in a checkout are code of the repository's and need the permission.
func (m *making) postCheckout(ctx context.Context, directory string) {
	hook := filepath.Join(m.set.hooks, "post-checkout")
	info, err := os.Stat(hook)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 || ctx.Err() != nil {
		return
	}
	if m.set.hooksInTree || m.set.inWorkTree(m.req.Project, resolveExisting(hook)) {
		if !m.req.Setup {
			m.warn(workspace.PhaseHooks, "the repository's own post-checkout hook was not run: it needs the permission for set-up")
			return
		}
	}
	m.req.Progress(workspace.Event{Phase: workspace.PhaseHooks, Message: "Running the post-checkout hook"})
	head, err := m.r.git.line(ctx, command{dir: directory, args: []string{"rev-parse", "HEAD"}, inherit: m.req.Inherit})
	if err == nil {
		err = m.runHook(ctx, hook, directory, strings.Repeat("0", len(head)), head)
	}
	if err != nil && ctx.Err() == nil {
		m.warn(workspace.PhaseHooks, "the post-checkout hook failed: %v", err)
	}
}

func (m *making) runHook(ctx context.Context, hook, directory, from, to string) error {
	execPath, err := m.r.git.line(ctx, command{dir: directory, args: []string{"--exec-path"}})
	if err != nil {
		return err
	}
	p := process{
		path: hook, args: []string{from, to, "1"}, dir: directory, env: hookEnv(m.r.git.env, execPath),
		inherit: m.req.Inherit, timeout: m.p.o.HookTimeout,
	}
	code, output, err := execute(ctx, p)
	if errors.Is(err, syscall.ENOEXEC) {
		// Without a first line that names its program it is the shell's.
		p.path, p.args = "/bin/sh", append([]string{hook}, p.args...)
		code, output, err = execute(ctx, p)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("it was ended after " + m.p.o.HookTimeout.String())
	}
	if err != nil || code != 0 {
		return &GitError{Args: []string{"hook post-checkout"}, ExitCode: code, Stderr: output, Err: err}
	}
	return nil
}

// hookEnv is the environment that git gives this hook.
func hookEnv(env []string, execPath string) []string {
	var path string
	out := make([]string, 0, len(env)+3)
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
			continue
		}
		out = append(out, kv)
	}
	return append(out, "PATH="+execPath+string(os.PathListSeparator)+path, "GIT_EXEC_PATH="+execPath, "GIT_PREFIX=")
}
