package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// told is a hook that writes down how it was called.
const told = `#!/bin/sh
{ echo "$(basename "$0") $*"; pwd; env | grep ^GIT_ | grep -v -e ^GIT_CONFIG -e GIT_TERMINAL -e EDITOR -e ASKPASS -e AUTHOR -e COMMITTER -e AUTOEDIT -e ^GITHEAD -e SSL | sort; cat; } >>"$ROOT/told" </dev/null
`

// script writes a program.
func (x *target) script(path, content string) {
	x.t.Helper()
	x.write(path, strings.ReplaceAll(content, "$ROOT", x.root))
	if err := os.Chmod(path, 0o755); err != nil {
		x.t.Fatal(err)
	}
}

// TestAdvanceHooks compares how the hooks of a merge are called with how git
// calls them.
func TestAdvanceHooks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		linked      bool
		setup, hook string
		own, run    bool
	}{
		"in the git directory":         {hook: ".git/hooks", run: true},
		"linked worktree":              {linked: true, hook: ".git/hooks", run: true},
		"elsewhere":                    {setup: `git config core.hooksPath "$ROOT/hooks"`, hook: "../hooks", run: true},
		"in the tree, allowed":         {setup: `git config core.hooksPath hooks`, hook: "hooks", own: true, run: true},
		"in the tree, not allowed":     {setup: `git config core.hooksPath hooks`, hook: "hooks"},
		"in the worktree, allowed":     {linked: true, setup: `git config core.hooksPath hooks`, hook: "../wt/hooks", own: true, run: true},
		"in the worktree, not allowed": {linked: true, setup: `git config core.hooksPath hooks`, hook: "../wt/hooks"},
		"by its full path, in a tree":  {setup: `git config core.hooksPath "$REPO/hooks"`, hook: "hooks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh := func() *target {
				x := newTarget(t, test.linked, "", "")
				if test.setup != "" {
					x.sh(test.setup)
				}
				x.script(filepath.Join(x.dir, test.hook, "post-merge"), told)
				return x
			}
			x := fresh()
			allow := func(in *advanceInput) { in.ownHooks = test.own }
			out, err := x.advance(allow)
			if err != nil {
				t.Fatal(detail(err))
			}
			in := x.input()
			allow(&in)
			warnings := x.r.afterAdvance(t.Context(), x.open(x.dir), in, out.at)
			if !test.run {
				if exists(x.path("told")) || !warned(warnings, "post-merge", "permission") {
					t.Errorf("it was run, or nothing was said: %q", warnings)
				}
				return
			}
			if len(warnings) > 0 {
				t.Errorf("%q", warnings)
			}
			git := fresh()
			git.merge()
			want := strings.ReplaceAll(git.read(git.path("told")), git.root, x.root)
			if diff := cmp.Diff(want, x.read(x.path("told"))); diff != "" {
				t.Errorf("not as git calls it:\n%s", diff)
			}
		})
	}
}

func TestAdvanceHookFails(t *testing.T) {
	t.Parallel()
	x := newTarget(t, false, "", "")
	hook := filepath.Join(x.gitDir, "hooks", "post-merge")
	for _, test := range []struct {
		content string
		words   []string
		timeout time.Duration
	}{
		{"#!/bin/sh\necho broken >&2; exit 3\n", []string{"post-merge", "failed", "broken"}, 0},
		{"#!/bin/sh\nsleep 600 & sleep 600\n", []string{"post-merge", "ended after"}, 300 * time.Millisecond},
		{"#!/bin/sh\ngit -C . status; git commit -qm x", []string{"post-merge", "failed"}, 0},
	} {
		x.script(hook, test.content)
		in := x.input()
		in.hookTimeout = test.timeout
		warnings := x.r.afterAdvance(t.Context(), x.open(x.dir), in, &checkout{gitDir: x.gitDir, top: x.wt})
		if len(warnings) != 1 || !warned(warnings, test.words...) {
			t.Errorf("%q", warnings)
		}
	}
	// One that can't be run is none.
	if err := os.Chmod(hook, 0o644); err != nil {
		t.Fatal(err)
	}
	if warnings := x.r.afterAdvance(t.Context(), x.open(x.dir), x.input(), &checkout{gitDir: x.gitDir, top: x.wt}); len(warnings) > 0 {
		t.Errorf("%q", warnings)
	}
}

// TestAdvanceRefHook has the hook of the ref's move refuse, hang and go amiss.
func TestAdvanceRefHook(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hook string
		code workspace.Code
	}{
		"allows":  {"exit 0", ""},
		"refuses": {`[ "$1" != prepared ] || { echo no such thing >&2; exit 1; }`, workspace.ErrGitFailed},
		"hangs":   {`[ "$1" != prepared ] || sleep 600`, workspace.ErrTimeout},
		// Then the ref has moved, whatever becomes of the hook.
		"fails afterwards": {`[ "$1" != committed ] || exit 1`, ""},
		"hangs afterwards": {`[ "$1" != committed ] || sleep 600`, ""},
	} {
		for _, linked := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				fresh := func() *target {
					x := newTarget(t, linked, "", "")
					x.in(around)
					return x
				}
				x := fresh()
				before := x.facts()
				x.script(filepath.Join(x.dir, ".git", "hooks", "reference-transaction"), "#!/bin/sh\n"+test.hook+"\n")
				_, err := x.advance(func(in *advanceInput) {
					if strings.Contains(test.hook, "sleep") {
						in.hookTimeout = 2 * time.Second
					}
				})
				if test.code == "" {
					if err != nil {
						t.Fatal(detail(err))
					}
					git := fresh()
					git.merge()
					x.wantMoved(git)
					return
				}
				e := wantCode(t, err, test.code)
				if name == "refuses" && !strings.Contains(e.Message, "aborted by hook") {
					t.Error(e.Message)
				}
				if diff := cmp.Diff(before, x.facts()); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// TestAdvanceRefHookInTree runs the hook that the repository brings only where
// that is allowed.
func TestAdvanceRefHookInTree(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		x := newTarget(t, false, "", "")
		x.git("config", "core.hooksPath", "hooks")
		x.script(filepath.Join(x.dir, "hooks", "reference-transaction"), "#!/bin/sh\nexit 1\n")
		_, err := x.advance(func(in *advanceInput) { in.ownHooks = own })
		if (err != nil) != own {
			t.Errorf("allowed %v: %s", own, detail(err))
		}
	}
}
