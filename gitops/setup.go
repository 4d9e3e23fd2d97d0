package gitops

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// setupTimeout bounds a set-up whose options give no bound.
const setupTimeout = 10 * time.Minute

// SetupOptions say what is done in a fresh worktree before its thread works in
// it. The zero value does nothing. Install runs code that the repository
// brings with it (install scripts of its dependencies), so it is the operator
// who allows it, never the repository. A set-up that fails leaves a usable
// worktree and a warning.
type SetupOptions struct {
	// Copy copies ignored files of the project's checkout, those that the
	// patterns in its top directory's .worktreeinclude name (the syntax is
	// that of .gitignore). Nothing in the worktree is overwritten.
	Copy bool
	// Install installs the dependencies that the lock files in the top
	// directory, and in the project's subdirectory, describe: with the
	// program that wrote the lock file, in the form that leaves it as it is.
	Install bool
	// Commands are run in order, in the project's subdirectory of the
	// worktree, in place of the install; each is a program and its arguments,
	// and no shell reads them. The first that fails is the last that is run.
	Commands [][]string
	// Timeout bounds all of it together, 10 minutes if 0. What still runs
	// then is ended, its children with it.
	Timeout time.Duration
	// Env is set for install and Commands, as "key=value", on top of the
	// environment that git gets. Programs are looked for on its PATH.
	Env []string
}

// nothing reports whether the options ask for nothing.
func (o SetupOptions) nothing() bool { return !o.Copy && !o.Install && len(o.Commands) == 0 }

// setupRequest is one fresh worktree to set up.
type setupRequest struct {
	options SetupOptions
	// source is the top of the checkout that ignored files are copied from,
	// "" where there is none.
	source string
	// directory is the top of the fresh worktree.
	directory string
	// subdirectory is the project's place below it, in slashes, "" for the
	// top.
	subdirectory string
	progress     func(workspace.Event)
	// inherit are the open files that each child process keeps.
	inherit []*os.File
	// idle has programs run with what nobody else needs of the machine.
	idle bool
	// copied, if set, is told of each file that was copied.
	copied func(path string)
}

func (q setupRequest) tell(phase workspace.Phase, message string) {
	if q.progress != nil {
		q.progress(workspace.Event{Phase: phase, Message: message})
	}
}

// warn tells of warnings and returns them.
func (q setupRequest) warn(phase workspace.Phase, warnings []string) []string {
	if q.progress != nil {
		for _, w := range warnings {
			q.progress(workspace.Event{Phase: phase, Message: w, Warning: true})
		}
	}
	return warnings
}

// setup sets a fresh worktree up and returns a warning for each thing that
// went less than well; each has also been told as an event. When ctx ends it
// returns soon; no process of its own is left, and what was copied or
// installed so far stays.
func (r *Repository) setup(ctx context.Context, q setupRequest) (warnings []string) {
	if q.options.nothing() {
		return nil
	}
	timeout := q.options.Timeout
	if timeout <= 0 {
		timeout = setupTimeout
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	if q.options.Copy && q.source != "" {
		warnings = q.warn(workspace.PhaseCopy, r.copyIgnored(bounded, q))
	}
	if ctx.Err() != nil {
		return warnings
	}
	steps, unplanned := planSteps(q, r.setupEnv(q.options.Env))
	warnings = append(warnings, q.warn(workspace.PhaseInstall, unplanned)...)
	if len(steps) == 0 {
		return warnings
	}
	before, err := r.changes(ctx, q)
	if err != nil {
		return append(warnings, q.warn(workspace.PhaseInstall, []string{
			"the state of the fresh worktree is not known, so nothing was installed in it: " + err.Error(),
		})...)
	}
	warnings = append(warnings, q.warn(workspace.PhaseInstall, runSteps(bounded, q, steps, timeout))...)
	if ctx.Err() != nil {
		return warnings
	}
	return append(warnings, q.warn(workspace.PhaseInstall, r.restoreTracked(ctx, q, before))...)
}

// workDirectory is the project's place in the fresh worktree.
func (q setupRequest) workDirectory() string {
	return filepath.Join(q.directory, filepath.FromSlash(q.subdirectory))
}
