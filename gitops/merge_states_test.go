package gitops

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// mergeState is a state of workspace and target, and what must come of it.
type mergeState struct {
	// commits makes the history, which a twin repository is given too.
	commits func(*mergeLab)
	// dirt is what else there is, and only here.
	dirt func(*mergeLab)
	// code is that of the refusal, "" where it is merged; by are those of
	// single strategies.
	code workspace.Code
	by   map[workspace.Strategy]workspace.Code
	// files are those of the refusal.
	files []string
	// change is what is asked for besides.
	change []func(*workspace.MergeRequest)
	// commitsBy and dropped are what a rebase must count, 0 for anything.
	gained, dropped int
	// check looks at what became of the dirt.
	check func(*testing.T, *mergeLab)
	// alone is true where git has no result to compare with.
	alone bool
}

func ahead(l *mergeLab) {
	l.commit(l.x, "f", "x\n", "x changes f")
	l.commit(l.x, "dir/new", "new\n", "x adds new")
	l.commit(l.dir, "other", "main\n", "main adds other")
}

func conflictsBy(code workspace.Code) map[workspace.Strategy]workspace.Code {
	return map[workspace.Strategy]workspace.Code{workspace.StrategySquash: code, workspace.StrategyMerge: code}
}

var mergeStates = map[string]mergeState{
	"clean": {commits: ahead, gained: 2},
	"fast forward": {commits: func(l *mergeLab) {
		l.commit(l.x, "a", "1\n", "a")
		l.commit(l.x, "b", "2\n", "b")
	}, gained: 2},
	"target dirty elsewhere": {
		commits: func(l *mergeLab) { l.commit(l.dir, "mine", "1\n", "mine"); ahead(l) },
		dirt: func(l *mergeLab) {
			l.write(filepath.Join(l.dir, "mine"), "edited\n")
			l.write(filepath.Join(l.dir, "untracked"), "u\n")
			l.write(filepath.Join(l.dir, "dir", "a.ign"), "i\n")
		},
		check: func(t *testing.T, l *mergeLab) { l.wantStatus(t, "1 .M mine", "? untracked") },
	},
	"target staged elsewhere": {
		commits: func(l *mergeLab) { l.commit(l.dir, "mine", "1\n", "mine"); ahead(l) },
		dirt: func(l *mergeLab) {
			l.write(filepath.Join(l.dir, "mine"), "staged\n")
			l.git("add", "mine")
			l.write(filepath.Join(l.dir, "mine"), "edited\n")
			l.write(filepath.Join(l.dir, "added"), "added\n")
			l.git("add", "added")
		},
		check: func(t *testing.T, l *mergeLab) { l.wantStatus(t, "1 A. added", "1 MM mine") },
	},
	"target dirty overlapping": {
		commits: ahead, dirt: func(l *mergeLab) { l.write(filepath.Join(l.dir, "f"), "edited\n") },
		code: workspace.ErrTargetDirty, files: []string{"f"},
	},
	"target staged overlapping": {
		commits: ahead, dirt: func(l *mergeLab) { l.write(filepath.Join(l.dir, "f"), "staged\n"); l.git("add", "f") },
		code: workspace.ErrTargetDirty, files: []string{"f"},
	},
	"untracked in the target's way": {
		commits: ahead, dirt: func(l *mergeLab) { l.write(filepath.Join(l.dir, "dir/new"), "mine\n") },
		code: workspace.ErrTargetDirty, files: []string{"dir/new"},
	},
	"ignored in the target's way": {
		commits: func(l *mergeLab) {
			l.write(filepath.Join(l.x, "a.ign"), "x\n")
			l.gitIn(l.x, "add", "-f", "a.ign")
			l.gitIn(l.x, "commit", "-q", "-m", "ignored but added")
			l.commit(l.dir, "other", "main\n", "other")
		},
		dirt: func(l *mergeLab) { l.write(filepath.Join(l.dir, "a.ign"), "precious\n") },
		code: workspace.ErrTargetDirty, files: []string{"a.ign"},
	},
	"ignored in the workspace's way": {
		commits: func(l *mergeLab) {
			ahead(l)
			l.write(filepath.Join(l.dir, "b.ign"), "main\n")
			l.git("add", "-f", "b.ign")
			l.git("commit", "-q", "-m", "ignored but added")
		},
		dirt: func(l *mergeLab) { l.write(filepath.Join(l.x, "b.ign"), "precious\n") },
		code: workspace.ErrDirtyWorktree, files: []string{"b.ign"},
	},
	"workspace modified": {
		commits: ahead, dirt: func(l *mergeLab) { l.write(filepath.Join(l.x, "f"), "edited\n") },
		code: workspace.ErrDirtyWorktree, files: []string{"f"},
	},
	"workspace staged": {
		commits: ahead, dirt: func(l *mergeLab) { l.write(filepath.Join(l.x, "s"), "s\n"); l.gitIn(l.x, "add", "s") },
		code: workspace.ErrDirtyWorktree, files: []string{"s"},
	},
	"workspace untracked": {
		commits: ahead, dirt: func(l *mergeLab) { l.write(filepath.Join(l.x, "u/v"), "u\n") },
		code: workspace.ErrDirtyWorktree, files: []string{"u/v"},
	},
	"workspace edited in hiding": {
		commits: ahead, dirt: func(l *mergeLab) {
			l.gitIn(l.x, "update-index", "--assume-unchanged", "f")
			l.write(filepath.Join(l.x, "f"), "hidden\n")
		},
		code: workspace.ErrDirtyWorktree, files: []string{"f"},
	},
	"untracked though status doesn't show it": {
		commits: ahead, dirt: func(l *mergeLab) {
			l.git("config", "status.showUntrackedFiles", "no")
			l.write(filepath.Join(l.x, "u"), "u\n")
		},
		code: workspace.ErrDirtyWorktree, files: []string{"u"},
	},
	"workspace ignored": {
		commits: ahead, dirt: func(l *mergeLab) { l.write(filepath.Join(l.x, "kept.ign"), "kept\n") },
		check: func(t *testing.T, l *mergeLab) {
			if l.read(filepath.Join(l.x, "kept.ign")) != "kept\n" {
				t.Error("an ignored file was lost")
			}
		},
	},
	"target in another worktree": {
		commits: ahead, dirt: func(l *mergeLab) {
			l.git("switch", "-q", "-c", "elsewhere", "HEAD~1")
			l.git("worktree", "add", "-q", l.path("main"), "main")
			l.write(l.path("main", ".gitignore"), "edited\n")
		},
		check: func(t *testing.T, l *mergeLab) {
			if l.read(l.path("main", "dir", "new")) != "new\n" {
				t.Error("the worktree of main didn't follow")
			}
			if got := l.gitIn(l.path("main"), "status", "--porcelain"); strings.TrimSpace(got) != "M .gitignore" {
				t.Errorf("its status: %s", got)
			}
			if got := l.git("status", "--porcelain", "--branch"); got != "## elsewhere" {
				t.Errorf("the main checkout's status: %s", got)
			}
		},
	},
	"target nowhere": {
		commits: ahead, dirt: func(l *mergeLab) {
			l.git("switch", "-q", "-c", "elsewhere", "HEAD~1")
			l.write(filepath.Join(l.dir, "f"), "edited\n")
		},
		check: func(t *testing.T, l *mergeLab) { l.wantStatus(t, "1 .M f") },
	},
	"target in two places": {
		commits: ahead, dirt: func(l *mergeLab) { l.git("worktree", "add", "-q", "-f", l.path("main"), "main") },
		code: workspace.ErrBranchCheckedOut,
	},
	"operation in the target's checkout": {
		commits: func(l *mergeLab) {
			l.git("branch", "side")
			ahead(l)
		},
		dirt: func(l *mergeLab) {
			l.git("switch", "-q", "side")
			l.commit(l.dir, "other", "side\n", "side")
			l.git("switch", "-q", "main")
			_, _ = l.tryGit(l.dir, "merge", "side")
		},
		code: workspace.ErrOperationInProgress,
	},
	"operation in the workspace": {
		commits: ahead, dirt: func(l *mergeLab) {
			l.gitIn(l.x, "switch", "-q", "-c", "side", "HEAD~1")
			l.commit(l.x, "dir/new", "side\n", "side")
			l.gitIn(l.x, "switch", "-q", "x")
			_, _ = l.tryGit(l.x, "cherry-pick", "side")
		},
		code: workspace.ErrOperationInProgress,
	},
	"detached workspace": {commits: ahead, dirt: func(l *mergeLab) { l.gitIn(l.x, "switch", "-q", "--detach") }, gained: 2},
	"modes and links": {commits: func(l *mergeLab) {
		l.commit(l.dir, "script", "echo\n", "script")
		l.gitIn(l.x, "merge", "-q", "main")
		l.sh("cd ../x; chmod +x script; ln -s f link; ln -s nowhere broken; git add -A; git commit -qm links; rm link; echo file>link; git add -A; git commit -qm type")
		l.sh("ln -s script mainlink; chmod +x f; git add -A; git commit -qm mode")
	}, gained: 2},
	"rename on one side": {commits: func(l *mergeLab) {
		l.commit(l.dir, "long", strings.Repeat("line\n", 30)+"end\n", "long")
		l.gitIn(l.x, "merge", "-q", "main")
		l.commit(l.x, "long", "first\n"+strings.Repeat("line\n", 30)+"end\n", "edit")
		l.git("mv", "long", "renamed")
		l.git("commit", "-q", "-m", "rename")
	}, gained: 1},
	"binary conflict": {
		commits: func(l *mergeLab) {
			l.commit(l.dir, "bin", "a\x00b", "bin")
			l.gitIn(l.x, "merge", "-q", "main")
			l.commit(l.x, "bin", "x\x00b", "x's bin")
			l.commit(l.dir, "bin", "m\x00b", "main's bin")
		},
		code: workspace.ErrRebaseConflict, by: conflictsBy(workspace.ErrMergeConflict), files: []string{"bin"},
	},
	"200 commits": {commits: func(l *mergeLab) {
		l.sh(`cd ../x; i=0; while [ $i -lt 200 ]; do echo $i >> many; git add many; git commit -qm "n $i"; i=$((i+1)); done`)
		l.commit(l.dir, "other", "main\n", "other")
	}, gained: 200},
	"empty commits": {commits: func(l *mergeLab) {
		l.gitIn(l.x, "commit", "-q", "--allow-empty", "-m", "nothing")
		ahead(l)
	}, gained: 3},
	"on the target already": {commits: func(l *mergeLab) {
		ahead(l)
		l.git("cherry-pick", "x~1")
	}, gained: 1, dropped: 1},
	"became empty": {commits: func(l *mergeLab) {
		l.commit(l.x, "f", "x\n", "x changes f")
		l.commit(l.x, "g", "g\n", "g")
		l.sh("echo x>f; echo more>h; git add -A; git commit -qm 'the same and more'")
	}, gained: 1, dropped: 1},
	"all on the target already": {
		commits: func(l *mergeLab) {
			ahead(l)
			l.git("cherry-pick", "x~1", "x")
		},
		code: workspace.ErrNothingToMerge, by: map[workspace.Strategy]workspace.Code{workspace.StrategyMerge: ""},
	},
	"nothing to merge": {
		commits: func(l *mergeLab) { l.commit(l.dir, "other", "main\n", "other") },
		code:    workspace.ErrNothingToMerge,
	},
	"merge commits inside": {
		commits: func(l *mergeLab) {
			ahead(l)
			l.gitIn(l.x, "merge", "-q", "--no-edit", "main")
			l.commit(l.x, "after", "1\n", "after")
			l.commit(l.dir, "later", "1\n", "later")
		},
		by: map[workspace.Strategy]workspace.Code{workspace.StrategyRebase: workspace.ErrNotFastForward},
	},
	"merge commits inside, fast forward": {commits: func(l *mergeLab) {
		ahead(l)
		l.gitIn(l.x, "merge", "-q", "--no-edit", "main")
	}},
	"no commit in common": {
		commits: func(l *mergeLab) {
			l.sh("cd ../x; git checkout -q --orphan own; git reset -q --hard; echo 1 >own; git add own; git commit -qm own; git checkout -q -B x; git branch -qD own")
			l.commit(l.dir, "other", "main\n", "other")
		},
		// With this it is left to git to make the commits.
		dirt: func(l *mergeLab) { l.git("config", "i18n.commitEncoding", "ISO-8859-1") },
		by:   conflictsBy(workspace.ErrNotFastForward),
	},
	"CRLF": {commits: func(l *mergeLab) {
		l.git("config", "core.autocrlf", "true")
		l.sh("printf 'a\\r\\nb\\r\\nc\\r\\nd\\r\\n' > crlf; git add crlf; git commit -qm crlf")
		l.gitIn(l.x, "merge", "-q", "main")
		l.sh("cd ../x; printf 'a\\r\\nb\\r\\nc\\r\\nx\\r\\n' > crlf; git commit -qam x")
		l.sh("printf 'm\\r\\nb\\r\\nc\\r\\nd\\r\\n' > crlf; git commit -qam m")
	}, check: func(t *testing.T, l *mergeLab) {
		if got := l.read(filepath.Join(l.dir, "crlf")); got != "m\r\nb\r\nc\r\nx\r\n" {
			t.Errorf("crlf is %q", got)
		}
	}},
	"file becomes a directory": {commits: func(l *mergeLab) {
		l.sh("cd ../x; git rm -q f; mkdir f; echo in>f/in; git add f; git commit -qm dir")
		l.commit(l.dir, "other", "main\n", "other")
	}, gained: 1},
	"submodule changed": {commits: func(l *mergeLab) {
		l.sh(`export GIT_AUTHOR_DATE="@1 +0000" GIT_COMMITTER_DATE="@1 +0000"
			git init -q -b main "$ROOT/sub"; cd "$ROOT/sub"; echo 1>s; git add s; git commit -qm s1; echo 2>s; git commit -qam s2`)
		l.git("submodule", "-q", "add", "../sub", "sm")
		l.git("commit", "-q", "-m", "submodule")
		l.gitIn(l.x, "merge", "-q", "main")
		l.gitIn(l.x, "submodule", "-q", "update", "--init")
		l.sh(`cd "$ROOT/x/sm"; git checkout -q HEAD~1; cd ..; git commit -qam 'older sm'`)
		l.commit(l.dir, "other", "main\n", "other")
	}, gained: 1},
	"base elsewhere": {
		commits: ahead, dirt: func(l *mergeLab) { l.w.Base = "origin/main"; l.remote() },
	},
	"target named":    {commits: ahead, change: []func(*workspace.MergeRequest){into("refs/heads/main")}},
	"branch kept":     {commits: ahead, change: []func(*workspace.MergeRequest){keeping}},
	"person's branch": {commits: ahead, dirt: func(l *mergeLab) { l.w.BranchCreated = false }},
	"another branch checked out inside": {commits: ahead, dirt: func(l *mergeLab) {
		l.gitIn(l.x, "switch", "-q", "-c", "other")
		l.git("branch", "-q", "-D", "x")
	}},
}

func (l *mergeLab) wantStatus(t *testing.T, lines ...string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(l.git("status", "--porcelain=v2", "-uall")) {
		fields := strings.Fields(line)
		got = append(got, strings.Join(slices.Compact([]string{fields[0], fields[min(1, len(fields)-2)], fields[len(fields)-1]}), " "))
	}
	if !slices.Equal(got, lines) {
		t.Errorf("status %q, want %q", got, lines)
	}
}

// byGit has git itself bring the commits home, in the checkout of main.
func (l *mergeLab) byGit(s workspace.Strategy) {
	l.t.Helper()
	switch s {
	case workspace.StrategyRebase:
		if _, err := l.tryGit(l.dir, "merge-base", "--is-ancestor", "main", "x"); err != nil {
			l.gitIn(l.x, "rebase", "-q", "main")
		}
		l.git("merge", "-q", "--ff-only", "x")
	case workspace.StrategySquash:
		l.git("merge", "-q", "--squash", "x")
		l.git("commit", "-q", "-m", "squash")
	case workspace.StrategyMerge:
		l.git("merge", "-q", "--no-ff", "--no-edit", "x")
	}
}

// shape is what a history has in it, whenever it was made.
func (l *mergeLab) shape(s workspace.Strategy, since string) string {
	l.t.Helper()
	format := "--format=%T %P %an %ae %B"
	if s != workspace.StrategySquash {
		// Ids differ with the time.
		format = "--format=%T %an %ae %B"
	} else {
		format = "--format=%T"
	}
	log := l.git("log", "--topo-order", format, since+"..main")
	// What was checked out otherwise is called otherwise.
	log = regexp.MustCompile("Merge (branch|commit) '[0-9a-z]+'").ReplaceAllString(log, "Merge branch 'x'")
	return log + "\n" + l.git("ls-tree", "-r", "main")
}

// TestMergeStates is the table of right outcomes.
func TestMergeStates(t *testing.T) {
	t.Parallel()
	for name, state := range mergeStates {
		for i, s := range strategies {
			if testing.Short() && i != len(name)%len(strategies) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", name, s), func(t *testing.T) {
				t.Parallel()
				state.run(t, s)
			})
		}
	}
}

func (state mergeState) run(t *testing.T, s workspace.Strategy) {
	l := newMergeLab(t)
	state.commits(l)
	if state.dirt != nil {
		state.dirt(l)
	}
	change := append([]func(*workspace.MergeRequest){by(s)}, state.change...)
	code := state.code
	if single, ok := state.by[s]; ok {
		code = single
	}
	foreseen := l.foresee(code, change...)
	if code != "" {
		e := l.refuse(code, change...)
		if state.files != nil && !slices.Equal(e.Files, state.files) {
			t.Errorf("files %q, want %q", e.Files, state.files)
		}
		return
	}
	main := l.git("rev-parse", "main")
	branch := strings.TrimSpace(l.gitIn(l.x, "branch", "--show-current"))
	merged, err := l.try(change...)
	if err != nil {
		t.Fatal(detail(err))
	}
	l.landedClean(merged, name(t))
	if merged.Branch != branch || merged.Target != "main" {
		t.Errorf("merged %q into %q", merged.Branch, merged.Target)
	}
	if got := l.git("rev-list", "--count", main+"..main"); fmt.Sprint(merged.Commits) != got || foreseen.Gains != merged.Commits {
		t.Errorf("main gained %s, the merge counts %d and the preview %d", got, merged.Commits, foreseen.Gains)
	}
	if s == workspace.StrategyRebase && (state.gained > 0 && merged.Commits != state.gained || merged.Dropped != state.dropped) {
		t.Errorf("%d commits and %d dropped, want %d and %d", merged.Commits, merged.Dropped, state.gained, state.dropped)
	}
	if state.check != nil {
		state.check(t, l)
	}
	if state.alone {
		return
	}
	twin := newMergeLab(t)
	state.commits(twin)
	before := twin.git("rev-parse", "main")
	twin.byGit(s)
	if got, want := l.shape(s, main), twin.shape(s, before); got != want {
		t.Errorf("the history is\n%s\nand by git itself\n%s", got, want)
	}
}

func name(t *testing.T) string { return t.Name() }

// landedClean is landed, but for a submodule that stays where it was.
func (l *mergeLab) landedClean(merged workspace.Merged, test string) {
	l.t.Helper()
	if !strings.Contains(test, "submodule") {
		l.landed(merged)
		return
	}
	if got := l.gitIn(l.x, "status", "--porcelain"); got != "" {
		l.t.Errorf("the workspace's status: %s", got)
	}
}

// foresee compares the preview with what a merge will do, and sees to it that
// nothing is touched by it.
func (l *mergeLab) foresee(code workspace.Code, change ...func(*workspace.MergeRequest)) workspace.Preview {
	l.t.Helper()
	before := l.world(true)
	objects := l.allGit()
	p, err := l.g.Preview(l.t.Context(), l.request(change...))
	if err != nil {
		l.t.Errorf("preview: %v", detail(err))
		return p
	}
	if after := l.allGit(); !maps.Equal(after, objects) {
		l.t.Error("the preview wrote to the git directory: " + cmp.Diff(objects, after))
	}
	l.same(before)
	if p.Clean != (code == "") {
		l.t.Errorf("the preview is clean: %v, but the merge ends with %q; refusals %v", p.Clean, code, p.Refusals)
	}
	switch code {
	case "":
		onTarget := len(p.Files) == 0 && !strings.Contains(l.t.Name(), "already")
		if onTarget || p.Branch == "" && l.gitIn(l.x, "branch", "--show-current") != "" || p.Target != "main" {
			l.t.Errorf("preview: %+v", p)
		}
	case workspace.ErrRebaseConflict, workspace.ErrMergeConflict:
		if p.Conflict == nil {
			l.t.Errorf("the preview sees no conflict: %+v", p)
		}
	default:
		if len(p.Refusals) != 1 || workspace.CodeOf(p.Refusals[0]) != code {
			l.t.Errorf("refusals %v, want %s", p.Refusals, code)
		}
	}
	return p
}

// allGit has a line for every file of the git directory: its size and, but for
// objects, which git marks as young when they would be written again, its time.
func (l *mergeLab) allGit() map[string]string {
	l.t.Helper()
	all := snapshot(l.t, filepath.Join(l.dir, ".git"))
	for path, line := range all {
		if strings.Contains(path, "/objects/") {
			all[path] = strings.Fields(line)[0]
		}
	}
	return all
}
