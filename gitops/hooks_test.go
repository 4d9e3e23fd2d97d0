package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// hook writes an executable hook that leaves a file ran in the worktree.
func (l *lab) hook(path, more string) {
	l.t.Helper()
	l.script(path, "#!/bin/sh\ntouch ran\n"+more)
}

func TestFailingHookIsAWarning(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.hook(filepath.Join(l.dir, ".git", "hooks", "post-checkout"), "echo out of order >&2\nexit 7\n")
	created := l.create(titled("one"))
	if !warned(created.Warnings, "post-checkout hook failed", "out of order") || !exists(filepath.Join(created.Plan.Directory, "ran")) {
		t.Errorf("%+v", created)
	}
}

func TestHookThatOutlastsItsTime(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	pid := filepath.Join(l.root, "pid")
	l.hook(filepath.Join(l.dir, ".git", "hooks", "post-checkout"), "sleep 600 &\necho $! > "+pid+"\nwait\n")
	l.opts.HookTimeout = 300 * time.Millisecond
	w := l.made(titled("one"))
	child, _ := os.ReadFile(pid)
	// A process that was killed is there until the kernel comes to it.
	deadline := time.Now().Add(10 * time.Second)
	for {
		state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(child)) + "/stat")
		if err != nil || strings.Contains(string(state), ") Z ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the hook's child still runs: %s", state)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := l.provider().Complete(t.Context(), l.project(), w); err != nil {
		t.Error(err)
	}
	created := l.create(titled("two"))
	if !warned(created.Warnings, "ended after 300ms") {
		t.Errorf("%q", created.Warnings)
	}
}

func TestHooksThatTheRepositoryBrings(t *testing.T) {
	t.Parallel()
	cases := map[string]func(l *lab) string{
		"relative path": func(l *lab) string {
			l.run(l.dir, "config", "core.hooksPath", ".husky")
			return filepath.Join(l.dir, ".husky", "post-checkout")
		},
		"absolute path into the checkout": func(l *lab) string {
			l.run(l.dir, "config", "core.hooksPath", filepath.Join(l.dir, "hooks"))
			return filepath.Join(l.dir, "hooks", "post-checkout")
		},
		"symlink into the checkout": func(l *lab) string {
			if err := os.Symlink("../../scripts/hook", filepath.Join(l.dir, ".git", "hooks", "post-checkout")); err != nil {
				l.t.Fatal(err)
			}
			return filepath.Join(l.dir, "scripts", "hook")
		},
		"directory that is a symlink": func(l *lab) string {
			hooks := filepath.Join(l.dir, ".git", "hooks")
			if err := os.RemoveAll(hooks); err != nil {
				l.t.Fatal(err)
			}
			if err := os.Symlink("../scripts", hooks); err != nil {
				l.t.Fatal(err)
			}
			return filepath.Join(l.dir, "scripts", "post-checkout")
		},
	}
	for name, place := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			hook := place(l)
			l.hook(hook, "")
			transaction := filepath.Join(filepath.Dir(hook), "reference-transaction")
			if name != "symlink into the checkout" {
				l.script(transaction, "#!/bin/sh\ntouch "+filepath.Join(l.root, "transaction")+"\n")
			}
			created := l.create(titled("one"))
			if exists(filepath.Join(created.Plan.Directory, "ran")) || !warned(created.Warnings, "was not run") {
				t.Errorf("%+v", created)
			}
			if exists(filepath.Join(l.root, "transaction")) {
				t.Error("git ran a hook of the repository's")
			}
			w := l.made(titled("two"), withSetup)
			if !exists(filepath.Join(w.Directory, "ran")) {
				t.Error("the hook was not run although it was allowed")
			}
		})
	}
}

func TestOperatorsHooksElsewhere(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.run(l.dir, "config", "core.hooksPath", "~/hooks")
	l.hook(filepath.Join(l.root, "hooks", "post-checkout"), "")
	created := l.create(titled("one"))
	if !exists(filepath.Join(created.Plan.Directory, "ran")) || len(created.Warnings) > 0 {
		t.Errorf("%+v", created)
	}
	found := false
	for _, e := range l.events {
		found = found || e.Phase == workspace.PhaseHooks
	}
	if !found {
		t.Errorf("no event of the hook: %+v", l.events)
	}
}

func TestHookThatCannotRun(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	hook := filepath.Join(l.dir, ".git", "hooks", "post-checkout")
	l.script(hook, "#!/no/such/program\n")
	if created := l.create(titled("one")); !warned(created.Warnings, "post-checkout hook failed") {
		t.Errorf("%q", created.Warnings)
	}
	if err := os.Chmod(hook, 0o644); err != nil {
		t.Fatal(err)
	}
	if created := l.create(titled("two")); len(created.Warnings) > 0 {
		t.Errorf("%q", created.Warnings)
	}
}
