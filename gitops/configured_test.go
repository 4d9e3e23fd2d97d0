package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConfigurationIsAskedForAgainWhereItHasChanged changes each file that git
// reads, and looks how often git was asked.
func TestConfigurationIsAskedForAgainWhereItHasChanged(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	log := filepath.Join(l.root, "calls")
	l.git = filepath.Join(l.root, "git")
	l.script(l.git, "#!/bin/sh\ncase \"$*\" in *--show-origin*) echo x >>"+log+";; esac\nexec git \"$@\"\n")
	r, project := l.provider().r, l.project()
	asked := func() int {
		content, _ := os.ReadFile(log)
		return strings.Count(string(content), "x")
	}
	global, xdg, repo := filepath.Join(l.root, ".gitconfig"), filepath.Join(l.root, ".config", "git", "config"), filepath.Join(l.dir, ".git", "config")
	// once reads the configuration, which git must have been asked for so often
	// once it is settled.
	once := func(what, key, want string, calls int) {
		t.Helper()
		for range 2 {
			values, err := r.configuration(t.Context(), project)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(values[key], ","); got != want {
				t.Errorf("%s: %s is %q, want %q", what, key, got, want)
			}
			time.Sleep(raceMargin + 20*time.Millisecond)
		}
		before := asked()
		for range 3 {
			if _, err := r.configuration(t.Context(), project); err != nil {
				t.Fatal(err)
			}
		}
		if got := asked() - before; got != calls {
			t.Errorf("%s: git was asked %d times, want %d", what, got, calls)
		}
	}
	if !localFiles(l.dir) {
		t.Skip("the file system is none of which a change can be seen for certain")
	}
	once("as it is", "a.b", "", 0)
	l.write(global, "[a]\n\tb = global\n")
	once("a file that is new", "a.b", "global", 0)
	l.write(global, "[a]\n\tb = GLOBAL\n")
	once("a file that is changed", "a.b", "GLOBAL", 0)
	l.write(xdg, "[a]\n\tb = xdg\n")
	once("another place of the user's", "a.b", "xdg,GLOBAL", 0)
	l.run(l.dir, "config", "a.b", "local")
	once("the repository's", "a.b", "xdg,GLOBAL,local", 0)
	if err := os.Remove(global); err != nil {
		t.Fatal(err)
	}
	once("a file that is gone", "a.b", "xdg,local", 0)

	// What can't be seen as a whole is asked for each time.
	l.write(filepath.Join(l.root, "more"), "[a]\n\tb = more\n")
	l.run(l.dir, "config", "include.path", filepath.Join(l.root, "more"))
	once("an included file", "a.b", "xdg,local,more", 3)
	l.write(filepath.Join(l.root, "more"), "[a]\n\tb = MORE\n")
	once("an included file that is changed", "a.b", "xdg,local,MORE", 3)
	l.run(l.dir, "config", "--unset", "include.path")
	l.run(l.dir, "config", "extensions.worktreeConfig", "true")
	once("configuration of a worktree", "a.b", "xdg,local", 3)
	content, err := os.ReadFile(repo)
	if err != nil {
		t.Fatal(err)
	}
	l.write(repo, string(content)+"[broken\n")
	if _, err := r.configuration(t.Context(), project); err == nil {
		t.Error("what git can't read was answered")
	}
}
