package gitops

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

var npmProject = map[string]string{
	".gitignore":   "node_modules/\n*.log\n",
	"package.json": `{"version":"1.0.0"}`,
	"package-lock.json": `{"name":"project","version":"1.0.0","lockfileVersion":3,"requires":true,` +
		`"packages":{"":{"version":"1.0.0"}}}`,
}

func TestSetupOfNothing(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, npmProject)
	c.put(map[string]string{includeFile: "*.log\n", "a.log": "a"})
	c.fresh()
	c.tool("npm", "touch ran.log")
	wantNone(t, c.r.setup(t.Context(), c.request(SetupOptions{Env: []string{c.toolPath()}})))
	c.wantUntracked()
	if len(c.events) > 0 {
		t.Errorf("events: %v, want none", c.events)
	}
}

func TestSetupCopiesThenInstalls(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, npmProject)
	c.put(map[string]string{includeFile: "*.log\n", "copied.log": "copied"})
	c.fresh()
	c.tool("npm", `cat copied.log >ran.log; echo " $* in $PWD with CI=$CI, $OWN" >>ran.log`)
	wantNone(t, c.r.setup(t.Context(), c.request(SetupOptions{Copy: true, Install: true, Env: []string{c.toolPath(), "OWN=own"}})))
	c.wantUntracked("copied.log=copied", "ran.log=copied ci in "+c.worktree+" with CI=true, own\n")
	var phases []workspace.Phase
	for _, e := range c.events {
		if len(phases) == 0 || phases[len(phases)-1] != e.Phase {
			phases = append(phases, e.Phase)
		}
	}
	if len(phases) != 2 || phases[0] != workspace.PhaseCopy || phases[1] != workspace.PhaseInstall {
		t.Errorf("phases: %v", phases)
	}
}

func TestSetupWithoutASourceInstalls(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, npmProject)
	c.fresh()
	c.tool("npm", "touch ran.log")
	q := c.request(SetupOptions{Copy: true, Install: true, Env: []string{c.toolPath()}})
	q.source, q.progress = "", nil
	wantNone(t, c.r.setup(t.Context(), q))
	c.wantUntracked("ran.log=")
}

func TestSetupInstallsInTheSubdirectoryToo(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{
		".gitignore": "*.log\n", "go.mod": "module x\n",
		"apps/web/package.json": "{}", "apps/web/pnpm-lock.yaml": "", "apps/api/Cargo.toml": "", "apps/api/Cargo.lock": "",
	})
	c.fresh()
	for _, tool := range []string{"go", "pnpm", "cargo"} {
		c.tool(tool, `echo "$*" >`+tool+".log")
	}
	q := c.request(SetupOptions{Install: true, Env: []string{c.toolPath()}})
	q.subdirectory = "apps/web"
	wantNone(t, c.r.setup(t.Context(), q))
	c.wantUntracked("go.log=mod download\n", "apps/web/pnpm.log=install --frozen-lockfile\n")
}

func TestSetupInstallIsOffInALinkedSubdirectory(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, map[string]string{".gitignore": "*.log\n"})
	outside := resolved(t, t.TempDir())
	c.write(filepath.Join(outside, "go.mod"), "module x\n")
	c.fresh()
	if err := os.Symlink(outside, filepath.Join(c.worktree, "sub.log")); err != nil {
		t.Fatal(err)
	}
	c.tool("go", "touch ran.log")
	q := c.request(SetupOptions{Install: true, Env: []string{c.toolPath()}})
	q.subdirectory = "sub.log"
	wantNone(t, c.r.setup(t.Context(), q))
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v; want go.mod alone", entries, err)
	}
	q.options.Commands = [][]string{{"touch", "ran.log"}}
	wantWarning(t, c.r.setup(t.Context(), q), "sub.log", "not run")
}

func TestSetupProgramThatIsMissing(t *testing.T) {
	t.Parallel()
	files := map[string]string{"Cargo.toml": "", "Cargo.lock": ""}
	for name, content := range npmProject {
		files[name] = content
	}
	c := newSetupCase(t, files)
	c.fresh()
	// One that is there but lies in the repository is not to be run.
	c.write(filepath.Join(c.worktree, "npm"), "#!/bin/sh\ntouch hijacked.log\n")
	if err := os.Chmod(filepath.Join(c.worktree, "npm"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.git(c.worktree, "add", "npm")
	c.git(c.worktree, "commit", "-q", "-m", "npm")
	c.tool("cargo", "/bin/echo fetched >cargo.log")
	w := c.r.setup(t.Context(), c.request(SetupOptions{Install: true, Env: []string{c.bareToolPath() + "::.:relative"}}))
	wantWarning(t, w, "package-lock.json", `"npm ci"`, "not found", "install npm")
	c.wantUntracked("cargo.log=fetched\n")
}

func TestSetupFailureIsAWarningWithTheEndOfTheOutput(t *testing.T) {
	t.Parallel()
	files := map[string]string{"go.mod": "module x\n"}
	for name, content := range npmProject {
		files[name] = content
	}
	c := newSetupCase(t, files)
	c.fresh()
	c.tool("npm", `for i in 1 2 3 4 5 6 7 8 9; do echo "line $i"; done; printf '\033[31mbroken\033[0m\n' >&2; exit 7`)
	c.tool("go", "touch go.log")
	w := c.r.setup(t.Context(), c.request(SetupOptions{Install: true, Env: []string{c.toolPath()}}))
	wantWarning(t, w, `"npm ci" failed with exit code 7`, "run it in the worktree", "line 6\nline 7\nline 8\nline 9\nbroken")
	if strings.Contains(w[0], "line 5") {
		t.Errorf("the warning quotes too much: %q", w[0])
	}
	c.wantUntracked("go.log=")
	var told []string
	for _, e := range c.events {
		if e.Warning && e.Phase == workspace.PhaseInstall {
			told = append(told, e.Message)
		}
	}
	if !slices.Equal(told, w) {
		t.Errorf("told %q, returned %q", told, w)
	}
}

func TestSetupCommandsReplaceTheInstall(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, npmProject)
	c.write(filepath.Join(c.source, "sub/k"), "k")
	c.git(c.source, "add", "sub")
	c.git(c.source, "commit", "-q", "-m", "sub")
	c.fresh()
	c.tool("npm", "touch npm.log")
	c.tool("show", `for a; do echo "<$a>"; done >>show.log`)
	// The second program is made by the first command.
	c.tool("make-one", `printf '#!/bin/sh\necho made >>show.log\n' >one.log; chmod +x one.log`)
	q := c.request(SetupOptions{
		Install: true, Env: []string{c.toolPath()},
		Commands: [][]string{{"make-one"}, {"./one.log"}, {"show", "a b", "$(touch injected)", "; touch injected", ""}},
	})
	q.subdirectory = "sub"
	wantNone(t, c.r.setup(t.Context(), q))
	if got, want := c.read(filepath.Join(c.worktree, "sub/show.log")), "made\n<a b>\n<$(touch injected)>\n<; touch injected>\n<>\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	c.wantClean()
}

func TestSetupCommandsStopAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		commands [][]string
		warning  []string
		ran      []string
	}{
		{"fails", [][]string{{"touch", "a.log"}, {"false"}, {"touch", "b.log"}}, []string{`"false" failed with exit code 1`, `not run after it: "touch b.log"`}, []string{"a.log="}},
		{"missing", [][]string{{"no-such-program", "x"}, {"touch", "b.log"}}, []string{`"no-such-program x" can't be run`, "not found", `not run after it: "touch b.log"`}, nil},
		{"missing file", [][]string{{"./no-such-file"}}, []string{`"./no-such-file" can't be run`, "no such file"}, nil},
		{"may not be run", [][]string{{"./package.json"}}, []string{"can't be run", "permission denied"}, nil},
		{"no argv", [][]string{{"touch", "a.log"}, {}, {"touch", "b.log"}}, []string{"empty"}, []string{"a.log="}},
		{"no name", [][]string{{""}}, []string{"empty"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newSetupCase(t, npmProject)
			c.fresh()
			wantWarning(t, c.r.setup(t.Context(), c.request(SetupOptions{Commands: tt.commands})), tt.warning...)
			c.wantUntracked(tt.ran...)
		})
	}
}

func TestSetupRestoresTrackedFiles(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, npmProject)
	c.put(map[string]string{"gone": "gone", "odd[name]*": "odd", "oddn": "other", "tool.sh": "sh", "staged": "staged", "dir/f": "f"})
	c.git(c.source, "add", "-A")
	c.git(c.source, "commit", "-q", "-m", "more")
	c.fresh()
	c.tool("npm", `echo changed >package-lock.json; rm gone; echo changed >'odd[name]*'; chmod +x tool.sh
		echo changed >staged; git add staged; rm -r dir; ln -s . dir; mkdir -p node_modules/x; touch node_modules/x/y`)
	w := c.r.setup(t.Context(), c.request(SetupOptions{Install: true, Env: []string{c.toolPath()}}))
	wantWarning(t, w, "put back", "dir/f, gone, odd[name]*, package-lock.json, staged and 1 more")
	c.wantClean()
	c.wantUntracked("node_modules/x/y=")
}

func TestSetupLeavesWhatWasChangedBefore(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, npmProject)
	c.put(map[string]string{"pack*": "a name that is a pattern as well"})
	c.git(c.source, "add", "pack*")
	c.git(c.source, "commit", "-q", "-m", "more")
	c.fresh()
	c.write(filepath.Join(c.worktree, "package.json"), "before")
	c.tool("npm", `echo more >>package.json; echo changed >package-lock.json; echo changed >'pack*'`)
	w := c.r.setup(t.Context(), c.request(SetupOptions{Install: true, Env: []string{c.toolPath()}}))
	wantWarning(t, w, "put back", ": pack*, package-lock.json;")
	if got := c.read(filepath.Join(c.worktree, "package.json")); got != "beforemore\n" {
		t.Errorf("package.json has %q", got)
	}
}

func TestSetupNamesTrackedFilesThatCannotBeRestored(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, npmProject)
	c.fresh()
	lock := c.git(c.worktree, "rev-parse", "--absolute-git-dir") + "/index.lock"
	c.tool("npm", "echo changed >package-lock.json; touch '"+lock+"'")
	w := c.r.setup(t.Context(), c.request(SetupOptions{Install: true, Env: []string{c.toolPath()}}))
	wantWarning(t, w, "could not be restored", "package-lock.json", "index.lock")
	if got := c.read(filepath.Join(c.worktree, "package-lock.json")); got != "changed\n" {
		t.Errorf("package-lock.json has %q", got)
	}
}

func TestSetupNamesNewFilesThatAreNotIgnored(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, npmProject)
	c.fresh()
	c.tool("npm", "mkdir modules; touch modules/a modules/b; touch added; git add added")
	w := c.r.setup(t.Context(), c.request(SetupOptions{Install: true, Env: []string{c.toolPath()}}))
	if len(w) != 2 {
		t.Fatalf("warnings: %q, want two", w)
	}
	wantWarning(t, w[:1], "added files to the index", ": added")
	wantWarning(t, w[1:], "does not ignore", ": modules/")
	c.wantUntracked("modules/a=", "modules/b=")
}

// stubborn is a script that ignores polite signals, has a child that does the
// same, and writes both process ids down.
const stubborn = `trap '' TERM INT HUP
sh -c 'trap "" TERM INT HUP; echo $$ >child.log; while :; do sleep 1; done' &
while [ ! -s child.log ]; do sleep 0.01; done
echo $$ >self.log
echo waiting
`

func (c *setupCase) wantGone(pidFiles ...string) {
	c.t.Helper()
	for _, name := range pidFiles {
		pid, err := strconv.Atoi(strings.TrimSpace(c.read(filepath.Join(c.worktree, name))))
		if err != nil {
			c.t.Fatal(err)
		}
		eventually(c.t, name+" ends", func() bool { return !running(pid) })
	}
}

// running reports whether a process exists and is no zombie: who adopts the
// orphans may take its time to bury them.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

func TestSetupHasATimeLimit(t *testing.T) {
	t.Parallel()
	files := map[string]string{"go.mod": "module x\n"}
	for name, content := range npmProject {
		files[name] = content
	}
	c := newSetupCase(t, files)
	c.fresh()
	c.tool("npm", "echo changed >package-lock.json\n"+stubborn+"while :; do sleep 1; done")
	c.tool("go", "touch go.log")
	w := c.r.setup(t.Context(), c.request(SetupOptions{Install: true, Timeout: 5 * time.Second, Env: []string{c.toolPath()}}))
	if len(w) != 2 {
		t.Fatalf("warnings: %q, want two", w)
	}
	wantWarning(t, w[:1], `"npm ci" was ended`, "longer than 5s", "waiting", `not run after it: "go mod download"`)
	wantWarning(t, w[1:], "put back", "package-lock.json")
	c.wantGone("self.log", "child.log")
	c.wantClean()
	if _, err := os.Stat(filepath.Join(c.worktree, "go.log")); err == nil {
		t.Error("the step after the time limit was run")
	}
}

func TestSetupEndsWhatWasLeftInTheBackground(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, npmProject)
	c.fresh()
	c.tool("npm", stubborn+"exit 0")
	wantNone(t, c.r.setup(t.Context(), c.request(SetupOptions{Install: true, Env: []string{c.toolPath()}})))
	c.wantGone("self.log", "child.log")
}

func TestSetupStopsWhenCancelled(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, npmProject)
	c.fresh()
	c.tool("npm", "echo changed >package-lock.json\n"+stubborn+"while :; do sleep 1; done")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan []string, 1)
	go func() { done <- c.r.setup(ctx, c.request(SetupOptions{Install: true, Env: []string{c.toolPath()}})) }()
	eventually(t, "npm runs", func() bool {
		info, err := os.Stat(filepath.Join(c.worktree, "self.log"))
		return err == nil && info.Size() > 0
	})
	cancel()
	wantWarning(t, <-done, `"npm ci" was ended`, "cancelled")
	c.wantGone("self.log", "child.log")
}

func TestSetupReadsNothingFromStdin(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, npmProject)
	c.fresh()
	c.tool("npm", `if read -r answer; then echo "read $answer" >answer.log; else echo "end" >answer.log; fi`)
	wantNone(t, c.r.setup(t.Context(), c.request(SetupOptions{Install: true, Env: []string{c.toolPath()}})))
	c.wantUntracked("answer.log=end\n")
}

func TestSetupHandsOpenFilesOn(t *testing.T) {
	t.Parallel()
	c := newSetupCase(t, npmProject)
	c.fresh()
	file, err := os.Create(filepath.Join(t.TempDir(), "held"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c.tool("npm", "echo from npm >&3")
	q := c.request(SetupOptions{Install: true, Env: []string{c.toolPath()}})
	q.inherit = []*os.File{file}
	wantNone(t, c.r.setup(t.Context(), q))
	if got := c.read(file.Name()); got != "from npm\n" {
		t.Errorf("the open file has %q", got)
	}
}

// The installs' own programs, where they are to be had, on projects that need
// nothing from a network.
func TestSetupWithRealPrograms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program string
		files   map[string]string
		env     []string
	}{
		{"npm", npmProject, nil},
		{"go", map[string]string{"go.mod": "module example.org/x\n\ngo 1.26\n", "x.go": "package x\n"}, []string{"GOFLAGS=-mod=mod", "GOPROXY=off"}},
		{"cargo", map[string]string{
			"Cargo.toml":  "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
			"src/main.rs": "fn main() {}\n",
			"Cargo.lock":  "version = 3\n\n[[package]]\nname = \"x\"\nversion = \"0.1.0\"\n",
		}, []string{"CARGO_NET_OFFLINE=true"}},
	} {
		t.Run(tt.program, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(tt.program); err != nil {
				t.Skip("not installed")
			}
			c := newSetupCase(t, tt.files)
			c.fresh()
			wantNone(t, c.r.setup(t.Context(), c.request(SetupOptions{Install: true, Env: tt.env})))
			c.wantClean()
		})
	}
}

// An install that isn't frozen rewrites the lock file of a package that has no
// name: the folder of the worktree is its name then.
func TestSetupUndoesWhatARealInstallRewrites(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed")
	}
	c := newSetupCase(t, npmProject)
	c.fresh()
	w := c.r.setup(t.Context(), c.request(SetupOptions{Commands: [][]string{{"npm", "install"}}}))
	wantWarning(t, w, "put back", "package-lock.json")
	c.wantClean()
}
