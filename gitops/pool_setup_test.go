package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// nodeLab is a repository with dependencies, and an npm of the test's own that
// notes where it is run.
func nodeLab(t *testing.T) *lab {
	l := newLab(t)
	l.script(filepath.Join(l.root, "bin", "npm"), "#!/bin/sh\necho \"$PWD\" >>"+filepath.Join(l.root, "calls")+
		"\nmkdir -p node_modules\ncp package-lock.json node_modules/lock\n[ ! -e "+filepath.Join(l.root, "fails")+" ]\n")
	for i, kv := range l.env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			l.env[i] = "PATH=" + filepath.Join(l.root, "bin") + ":" + path
		}
	}
	l.opts.Setup = SetupOptions{Copy: true, Install: true}
	l.write(filepath.Join(l.dir, "package.json"), "{}")
	l.write(filepath.Join(l.dir, ".gitignore"), "node_modules\n.env*\n")
	l.write(filepath.Join(l.dir, ".worktreeinclude"), ".env*\n")
	l.write(filepath.Join(l.dir, ".env"), "one\n")
	l.write(filepath.Join(l.dir, ".env.gone"), "x\n")
	l.write(filepath.Join(l.dir, "package-lock.json"), "1")
	l.run(l.dir, "add", ".")
	l.run(l.dir, "commit", "-q", "-m", "dependencies")
	return l
}

func (l *lab) calls() []string {
	content, _ := os.ReadFile(filepath.Join(l.root, "calls"))
	return strings.Fields(string(content))
}

// fillSetUp makes a spare with set-up.
func (l *lab) fillSetUp() Filled {
	l.t.Helper()
	_, pool := l.pooled()
	pool.o.Setup = l.opts.Setup
	filled, err := pool.Fill(l.t.Context(), l.project())
	if err != nil || filled.Ready != 1 {
		l.t.Fatalf("%+v, %v", filled, detail(err))
	}
	return filled
}

func TestSpareIsSetUpAhead(t *testing.T) {
	t.Parallel()
	l := nodeLab(t)
	l.fillSetUp()
	if calls := l.calls(); len(calls) != 1 || calls[0] != l.spares()[0] {
		t.Fatalf("npm ran in %q", calls)
	}
	// It isn't for those who don't allow it.
	cold := l.pooledMade(titled("cold"))
	if exists(filepath.Join(cold.Directory, ".env")) || exists(filepath.Join(cold.Directory, "node_modules")) || len(l.spares()) != 1 {
		t.Error("what the repository's code made was handed out without being allowed")
	}
	// What was copied follows what it was copied from.
	l.write(filepath.Join(l.dir, ".env"), "two\n")
	l.write(filepath.Join(l.dir, ".env.new"), "new\n")
	_ = os.Remove(filepath.Join(l.dir, ".env.gone"))
	w := l.warm(titled("one"), withSetup, func(r *workspace.CreateRequest) { r.Attempt = "attempt-2" })
	for name, want := range map[string]string{".env": "two\n", ".env.new": "new\n", ".env.gone": "", "node_modules/lock": "1"} {
		if content, _ := os.ReadFile(filepath.Join(w.Directory, name)); string(content) != want {
			t.Errorf("%s is %q, want %q", name, content, want)
		}
	}
	if calls := l.calls(); len(calls) != 1 {
		t.Errorf("npm ran in %q", calls)
	}
	// Another commit has other dependencies.
	l.fillSetUp()
	l.commit(l.dir, "package-lock.json", "2")
	w = l.warm(titled("two"), withSetup, func(r *workspace.CreateRequest) { r.Attempt = "attempt-3" })
	if content, _ := os.ReadFile(filepath.Join(w.Directory, "node_modules", "lock")); string(content) != "2" || len(l.calls()) != 3 {
		t.Errorf("dependencies of %s, calls %q", content, l.calls())
	}
	l.fillSetUp()
	l.commit(l.dir, "package-lock.json", "3")
	if filled := l.fillSetUp(); filled.Moved != 1 || len(l.calls()) != 5 {
		t.Errorf("%+v, calls %q", filled, l.calls())
	}
}

func TestSpareWhoseSetUpFailsIsMadeWithout(t *testing.T) {
	t.Parallel()
	l := nodeLab(t)
	l.write(filepath.Join(l.root, "fails"), "")
	l.fillSetUp()
	if exists(filepath.Join(l.spares()[0], "node_modules")) {
		t.Error("half set up")
	}
	l.fillSetUp()
	if calls := l.calls(); len(calls) != 1 {
		t.Errorf("tried again for the same commit: %q", calls)
	}
	p, _ := l.pooled()
	created, err := p.Create(t.Context(), l.request(titled("one"), withSetup))
	if err != nil || !warned(created.Warnings, "npm ci", "exit code 1") || len(l.spares()) > 0 {
		t.Errorf("%q, %v", created.Warnings, err)
	}
}

// TestWhatIsNotSetUpAhead goes through what has to wait for the create.
func TestWhatIsNotSetUpAhead(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(l *lab){
		"dependencies that know their path": func(l *lab) {
			l.commit(l.dir, "pyproject.toml", "")
			l.commit(l.dir, "uv.lock", "")
		},
		"a hook comes first": func(l *lab) {
			l.script(filepath.Join(l.dir, ".git", "hooks", "post-checkout"), "#!/bin/sh\n")
		},
		"the operator's commands": func(l *lab) { l.opts.Setup.Commands = [][]string{{"npm", "ci"}} },
		"submodules":              func(l *lab) { l.addSubmodule() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := nodeLab(t)
			change(l)
			l.fillSetUp()
			if len(l.calls()) > 0 {
				t.Errorf("npm ran in %q", l.calls())
			}
			if w := l.warm(titled("one"), withSetup, offline); len(l.calls()) != 1 || l.calls()[0] != w.Directory {
				t.Errorf("npm ran in %q", l.calls())
			}
		})
	}
}

// TestSpareThatIsSetUpIsNotMovedOverItsCopies has commits after the spare's say
// otherwise about what was copied: a thread begins with what a new worktree has.
func TestSpareThatIsSetUpIsNotMovedOverItsCopies(t *testing.T) {
	t.Parallel()
	force := func(l *lab) {
		l.run(l.dir, "add", "-f", ".env")
		l.run(l.dir, "commit", "-q", "-m", "track it")
	}
	for name, change := range map[string]func(l *lab){
		"tracked": func(l *lab) {
			l.write(filepath.Join(l.dir, ".env"), "two\n")
			force(l)
		},
		"a folder": func(l *lab) {
			_ = os.Remove(filepath.Join(l.dir, ".env"))
			l.write(filepath.Join(l.dir, ".env", "x"), "two\n")
			force(l)
		},
		"no longer ignored": func(l *lab) { l.commit(l.dir, ".gitignore", "node_modules\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := nodeLab(t)
			l.fillSetUp()
			change(l)
			w := l.pooledMade(titled("one"), withSetup)
			if got := l.run(w.Directory, "status", "--short"); got != "" || !exists(filepath.Join(w.Directory, "node_modules")) {
				t.Errorf("status: %s", got)
			}
			l.fillSetUp() // it is made anew
			w = l.warm(titled("two"), withSetup, func(r *workspace.CreateRequest) { r.Attempt = "attempt-2" })
			if got := l.run(w.Directory, "status", "--short"); got != "" {
				t.Errorf("of a new spare: %s", got)
			}
		})
	}
}
