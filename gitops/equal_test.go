package gitops

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// scenarios are repositories in which a worktree that is made in steps could
// differ from one that "git worktree add" makes at once.
var scenarios = map[string]func(l *lab){
	"plain": func(*lab) {},
	"sparse cone": func(l *lab) {
		l.run(l.dir, "sparse-checkout", "set", "--cone", "in")
	},
	"sparse without cone": func(l *lab) {
		l.run(l.dir, "sparse-checkout", "set", "--no-cone", "/in/*", "!/in/skip")
	},
	"sparse index": func(l *lab) {
		l.run(l.dir, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
	},
	"folder that becomes a file": func(l *lab) { l.commit(l.dir, "swap/d", "x\n") },
	"sparse index, folder that becomes a file": func(l *lab) {
		l.commit(l.dir, "swap/d", "x\n")
		l.run(l.dir, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
	},
	"worktree config": func(l *lab) {
		l.run(l.dir, "config", "extensions.worktreeConfig", "true")
		l.run(l.dir, "config", "--worktree", "core.ignoreCase", "true")
	},
	"filter": func(l *lab) {
		l.run(l.dir, "config", "filter.up.smudge", "tr a-z A-Z")
		l.run(l.dir, "config", "filter.up.clean", "tr A-Z a-z")
		l.run(l.dir, "config", "filter.up.required", "true")
		l.commit(l.dir, ".gitattributes", "*.up filter=up\n")
		l.commit(l.dir, "loud.up", "shout\n")
	},
	"filter that sees its environment": func(l *lab) {
		l.run(l.dir, "config", "filter.env.smudge", `sh -c 'cat; echo "$PWD $GIT_DIR $GIT_PREFIX" | sed "s|$GIT_DIR|the git dir|"'`)
		l.run(l.dir, "config", "filter.env.clean", "head -n 1")
		l.commit(l.dir, ".gitattributes", "*.env filter=env\n")
		l.commit(l.dir, "a.env", "one line\n")
	},
	"autocrlf": func(l *lab) { l.run(l.dir, "config", "core.autocrlf", "true") },
	"working tree encoding": func(l *lab) {
		l.commit(l.dir, ".gitattributes", "*.u16 working-tree-encoding=UTF-16LE eol=lf\n*.id ident\n")
		l.commit(l.dir, "x.u16", "a\x00\n\x00")
		l.commit(l.dir, "y.id", "$Id$\n")
	},
	"split index":   func(l *lab) { l.run(l.dir, "config", "core.splitIndex", "true") },
	"index version": func(l *lab) { l.run(l.dir, "config", "index.version", "4") },
	"many files":    func(l *lab) { l.run(l.dir, "config", "feature.manyFiles", "true") },
	"shared": func(l *lab) {
		l.run(l.dir, "config", "core.sharedRepository", "group")
	},
	"file mode": func(l *lab) { l.run(l.dir, "config", "core.fileMode", "false") },
	"no reflogs": func(l *lab) {
		l.run(l.dir, "config", "core.logAllRefUpdates", "false")
	},
	"all reflogs": func(l *lab) {
		l.run(l.dir, "config", "core.logAllRefUpdates", "always")
	},
	"tracking": func(l *lab) {
		l.run(l.dir, "config", "branch.autoSetupMerge", "always")
		l.run(l.dir, "config", "worktree.guessRemote", "true")
	},
	"submodules": func(l *lab) { l.addSubmodule() },
	"submodules, recursing": func(l *lab) {
		l.addSubmodule()
		l.run(l.dir, "config", "submodule.recurse", "true")
	},
	"odd names": func(l *lab) {
		l.commit(l.dir, "a\nb", "x\n")
		l.commit(l.dir, "caf\xe9", "x\n")
		if err := os.Symlink("nowhere", filepath.Join(l.dir, "link")); err != nil {
			l.t.Fatal(err)
		}
		l.run(l.dir, "add", "link")
		l.script(filepath.Join(l.dir, "run"), "#!/bin/sh\n")
		l.run(l.dir, "add", "run")
		l.run(l.dir, "commit", "-q", "-m", "more")
	},
	"partial clone": func(l *lab) {
		l.run(l.dir, "config", "uploadpack.allowFilter", "true")
		l.run(l.dir, "config", "uploadpack.allowAnySHA1InWant", "true")
		clone := filepath.Join(l.root, "partial")
		l.run(l.root, "clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+l.dir, clone)
		l.dir = clone
	},
	"process filter": func(l *lab) {
		if _, err := exec.LookPath("python3"); err != nil {
			l.t.Skip("the filter needs python3")
		}
		path := filepath.Join(l.root, "filter.py")
		l.script(path, processFilter)
		l.run(l.dir, "config", "filter.up.process", path)
		l.run(l.dir, "config", "filter.up.required", "true")
		l.commit(l.dir, ".gitattributes", "*.up filter=up\n")
		l.commit(l.dir, "loud.up", "shout\n")
		l.commit(l.dir, "in/more.up", "and more\n")
	},
	"bare": func(l *lab) {
		bare := filepath.Join(l.root, "bare.git")
		l.run(l.root, "clone", "-q", "--bare", l.dir, bare)
		l.dir = bare
	},
	"bare with worktree config": func(l *lab) {
		bare := filepath.Join(l.root, "bare.git")
		l.run(l.root, "clone", "-q", "--bare", l.dir, bare)
		l.dir = bare
		l.run(bare, "config", "extensions.worktreeConfig", "true")
		l.run(bare, "config", "--unset", "core.bare")
		l.run(bare, "config", "--file", filepath.Join(bare, "config.worktree"), "core.bare", "true")
	},
	"hook": func(l *lab) {
		l.script(filepath.Join(l.dir, ".git", "hooks", "post-checkout"),
			"#!/bin/sh\ncat > seen-stdin\necho \"$@ $PWD ${GIT_DIR-unset} ${GIT_WORK_TREE-unset} [${GIT_PREFIX-unset}] ${GIT_EXEC_PATH:+set}\" > seen\n")
	},
	"hook of any program": func(l *lab) {
		// Without a line that names the program.
		l.script(filepath.Join(l.dir, ".git", "hooks", "post-checkout"), "echo \"$@\" > seen\n")
	},
	"reference transaction hook": func(l *lab) {
		l.script(filepath.Join(l.dir, ".git", "hooks", "reference-transaction"), "#!/bin/sh\necho \"$1\" >> "+filepath.Join(l.root, "transactions")+"\ncat >> "+filepath.Join(l.root, "transactions")+"\n")
	},
}

// processFilter is a filter of the kind that stays and is asked for each file.
const processFilter = `#!/usr/bin/env python3
import sys
i, o = sys.stdin.buffer, sys.stdout.buffer
def read():
    n = int(i.read(4) or b"0000", 16)
    return i.read(n - 4) if n else None
def lines():
    return list(iter(read, None))
def say(*packets):
    for p in packets:
        o.write(b"%04x" % (len(p) + 4) + p)
    o.write(b"0000")
lines(); say(b"git-filter-server\n", b"version=2\n"); o.flush()
lines(); say(b"capability=clean\n", b"capability=smudge\n"); o.flush()
while True:
    head = lines()
    if not head:
        break
    data = b"".join(lines())
    say(b"status=success\n")
    say(data.upper() if b"command=smudge\n" in head else data.lower())
    o.write(b"0000")
    o.flush()
`

// addSubmodule adds a submodule sm, initialised in the main checkout.
func (l *lab) addSubmodule() {
	l.t.Helper()
	sub := filepath.Join(l.root, "sub")
	l.run(l.root, "init", "-q", "-b", "main", sub)
	l.commit(sub, "s", "sub\n")
	l.run(l.dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../sub", "sm")
	l.run(l.dir, "commit", "-q", "-m", "add a submodule")
}

// prepared makes the files that every scenario has.
func prepared(t *testing.T) *lab {
	l := newLab(t)
	// Without times of their own the two repositories have the same commits.
	l.env = append(l.env, "GIT_AUTHOR_DATE=2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2020-01-01T00:00:00Z")
	for _, file := range []string{"in/a", "in/skip", "out/b", "out/deep/c"} {
		l.write(filepath.Join(l.dir, file), file+"\nsecond line\n")
	}
	l.run(l.dir, "add", ".")
	l.run(l.dir, "commit", "-q", "--amend", "--no-edit", "--reset-author", "--date=2020-01-01T00:00:00Z")
	return l
}

func TestEqualsPlainWorktreeAdd(t *testing.T) {
	t.Parallel()
	for name, change := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, plain := prepared(t), prepared(t)
			change(ours)
			change(plain)
			// Both are to be looked at before submodules are initialised.
			ours.run(ours.dir, "config", "submodule.sm.update", "none")
			plain.run(plain.dir, "config", "submodule.sm.update", "none")

			plan := ours.create(titled("one"), offline).Plan
			plain.home = filepath.Join(plain.root, "home")
			directory := filepath.Join(plain.provider().r.worktreesDir(plain.project()), "one")
			if err := os.MkdirAll(filepath.Dir(directory), 0o755); err != nil {
				t.Fatal(err)
			}
			plain.run(plain.dir, "worktree", "add", "-q", "--no-track", "-b", plan.Branch, directory, plan.BaseCommit)

			got, want := ours.facts(plan.Directory), plain.facts(directory)
			if !slices.Equal(got, want) {
				t.Errorf("plain (-) and ours (+) differ:\n%s", difference(want, got))
			}
		})
	}
}

var (
	logTime  = regexp.MustCompile(`> \d+ [+-]\d{4}`)
	project8 = regexp.MustCompile(`-[0-9a-f]{8}/`)
	shared   = regexp.MustCompile(`sharedindex\.[0-9a-f]+`)
	times    = regexp.MustCompile(`(?m)^  (ctime|mtime|dev): .*$|ino: \d+|size: \d+`)
)

// facts is all that two worktrees can differ in.
func (l *lab) facts(directory string) []string {
	l.t.Helper()
	clean := func(s string) string {
		s = strings.ReplaceAll(s, l.root, "ROOT")
		return shared.ReplaceAllString(project8.ReplaceAllString(logTime.ReplaceAllString(s, "> TIME"), "-ID/"), "sharedindex")
	}
	var all []string
	fact := func(what, value string) { all = append(all, clean(what+": "+value)) }
	for _, args := range [][]string{
		{"ls-files", "-s"},
		{"ls-files", "-v"},
		{"ls-files", "-f"},
		{"ls-files", "-t", "--sparse"},
		{"status", "--porcelain=v2", "--branch", "-uall", "--ignored"},
		{"config", "--list", "--show-scope"},
		{"for-each-ref"},
		{"count-objects"},
		{"sparse-checkout", "list"},
		{"rev-parse", "--is-bare-repository"},
	} {
		out, err := l.try(directory, args...)
		fact(strings.Join(args, " "), fmt.Sprintf("%s %v", out, err))
	}
	fact("ls-files --debug", times.ReplaceAllString(l.run(directory, "ls-files", "--debug"), ""))
	if out, err := os.ReadFile(filepath.Join(l.root, "transactions")); err == nil {
		fact("transactions", string(out))
	}
	for _, root := range []string{directory, gitDirOf(directory)} {
		l.walk(root, func(rel, line string) {
			if rel != "threadtree" && !strings.HasSuffix(rel, "index") { // what our marker is in, and what holds times
				fact("file "+rel, line)
			}
		})
	}
	return all
}

// walk calls each with every path below root, its mode and its content.
func (l *lab) walk(root string, each func(rel, line string)) {
	l.t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := info.Mode().String()
		switch {
		case strings.Contains(rel, "sharedindex"):
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", content)
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			line += " -> " + target
		}
		each(rel, line)
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
}
