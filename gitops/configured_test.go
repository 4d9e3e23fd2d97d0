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
			settle()
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

// TestConfigurationIsNotRememberedWhereAChangeCouldBeMissed has files change in
// ways that the times of files don't show, or lie where they aren't looked for.
func TestConfigurationIsNotRememberedWhereAChangeCouldBeMissed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		prepare, change func(l *lab)
		// git is what the program does besides, before and after git has read.
		before, after string
	}{
		"a link that is pointed elsewhere while git reads": {
			prepare: func(l *lab) {
				_ = os.Rename(filepath.Join(l.root, ".gitconfig"), filepath.Join(l.root, "one"))
				l.write(filepath.Join(l.root, "two"), "[a]\n\tb = new\n")
				_ = os.Symlink("one", filepath.Join(l.root, ".gitconfig"))
			},
			after:  `ln -sfn two "$HOME/.gitconfig"`,
			change: func(*lab) {},
		},
		"a relative home": {
			prepare: func(l *lab) {
				l.write(filepath.Join(l.dir, "home", ".gitconfig"), "[a]\n\tb = old\n")
				l.env = append(l.env, "HOME=home")
			},
			change: func(l *lab) { l.write(filepath.Join(l.dir, "home", ".gitconfig"), "[a]\n\tb = new\n") },
		},
		"a file named relatively": {
			prepare: func(l *lab) {
				l.write(filepath.Join(l.dir, "mine"), "[a]\n\tb = old\n")
				l.env = append(l.env, "GIT_CONFIG_GLOBAL=mine")
			},
			change: func(l *lab) { l.write(filepath.Join(l.dir, "mine"), "[a]\n\tb = new\n") },
		},
		"a home that is found above a link": {
			prepare: func(l *lab) {
				l.write(filepath.Join(l.root, "far", "in", "x"), "")
				_ = os.Symlink("far/in", filepath.Join(l.root, "link"))
				l.env = append(l.env, "HOME="+l.root+"/link/..")
			},
			change: func(l *lab) { l.write(filepath.Join(l.root, "far", ".gitconfig"), "[a]\n\tb = new\n") },
		},
		"a repository that was another user's": {
			prepare: func(l *lab) { l.run(l.dir, "config", "a.b", "new") },
			before:  "export GIT_TEST_ASSUME_DIFFERENT_OWNER=1",
			change:  func(*lab) {},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.write(filepath.Join(l.root, ".gitconfig"), "[a]\n\tb = old\n")
			first := filepath.Join(l.root, "first")
			l.write(first, "")
			l.git = filepath.Join(l.root, "git")
			l.script(l.git, "#!/bin/sh\ncase \"$*\" in *--show-origin*) if rm "+first+" 2>/dev/null; then\n"+tt.before+"\ngit \"$@\"\n"+tt.after+"\nexit; fi ;; esac\nexec git \"$@\"\n")
			tt.prepare(l)
			time.Sleep(raceMargin + 20*time.Millisecond)
			r, project := l.provider().r, l.project()
			if _, err := r.configuration(t.Context(), project); err != nil {
				t.Fatal(err)
			}
			tt.change(l)
			values, err := r.configuration(t.Context(), project)
			if err != nil || len(values["a.b"]) == 0 || values["a.b"][len(values["a.b"])-1] != "new" {
				t.Errorf("%q, %v", values["a.b"], err)
			}
		})
	}
}
