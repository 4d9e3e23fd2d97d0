package gitops

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// withSubmoduleIn has a submodule "s m" in main and in the workspace, at the
// second of its two commits.
func withSubmoduleIn(l *mergeLab) {
	l.t.Helper()
	l.sh(`git init -q -b main "$ROOT/sub"; cd "$ROOT/sub"; echo 1>s; git add s; git commit -qm s1; echo 2>s; git commit -qam s2`)
	l.git("submodule", "-q", "add", "../sub", "s m")
	l.git("commit", "-q", "-m", "submodule")
	l.gitIn(l.x, "merge", "-q", "main")
	l.gitIn(l.x, "submodule", "-q", "update", "--init")
}

// TestMergeWarnsOfSubmodules names each checkout whose submodule stays behind,
// and how it is brought up to date.
func TestMergeWarnsOfSubmodules(t *testing.T) {
	t.Parallel()
	older := func(l *mergeLab, dir string) {
		l.gitIn(filepath.Join(dir, "s m"), "checkout", "-q", "HEAD~1")
		l.gitIn(dir, "commit", "-qam", "older submodule")
	}
	for name, test := range map[string]struct {
		commits func(*mergeLab)
		// behind returns the checkout that stays behind, "" for none.
		behind func(*mergeLab) string
		gone   bool
	}{
		"changed by the workspace": {commits: func(l *mergeLab) { older(l, l.x) }, behind: func(l *mergeLab) string { return l.dir }},
		"changed by the target": {
			commits: func(l *mergeLab) { older(l, l.dir); l.commit(l.x, "a", "1\n", "a") },
			behind:  func(l *mergeLab) string { return l.x },
		},
		"changed by both": {commits: func(l *mergeLab) { older(l, l.dir); older(l, l.x); l.commit(l.x, "a", "1\n", "a") }},
		"not initialised": {commits: func(l *mergeLab) {
			older(l, l.x)
			l.git("submodule", "--quiet", "deinit", "-f", "s m")
		}},
		"added": {commits: func(l *mergeLab) {
			l.gitIn(l.x, "submodule", "-q", "add", "../sub", "another")
			l.gitIn(l.x, "commit", "-qm", "another")
		}},
		"removed": {
			commits: func(l *mergeLab) { l.gitIn(l.x, "rm", "-q", "s m"); l.gitIn(l.x, "commit", "-qm", "removed") },
			behind:  func(l *mergeLab) string { return l.dir }, gone: true,
		},
	} {
		for _, byGit := range []bool{false, true} {
			for _, s := range strategies {
				t.Run(name+" "+string(s), func(t *testing.T) {
					t.Parallel()
					l := newMergeLab(t)
					withSubmoduleIn(l)
					l.commit(l.dir, "other", "main\n", "other")
					test.commits(l)
					if byGit {
						l.hook("post-commit", "exit 0")
					}
					merged, err := l.try(by(s))
					if err != nil {
						t.Fatal(detail(err))
					}
					behind := ""
					if test.behind != nil {
						behind = test.behind(l)
					}
					switch {
					case behind == "":
						if len(merged.Warnings) > 0 {
							t.Errorf("warnings: %q", merged.Warnings)
						}
					case len(merged.Warnings) != 1 || !strings.Contains(merged.Warnings[0], "'s m'") || !strings.Contains(merged.Warnings[0], behind):
						t.Fatalf("warnings: %q", merged.Warnings)
					case !test.gone:
						_, command, _ := strings.Cut(merged.Warnings[0], "run there: ")
						l.sh("cd '" + behind + "'; " + command)
					}
					for _, dir := range []string{l.dir, l.x} {
						status := strings.Split(l.gitIn(dir, "status", "--porcelain"), "\n")
						if test.gone && dir == behind {
							status = slices.DeleteFunc(status, func(line string) bool { return line == `?? "s m/"` })
						}
						if got := strings.Join(status, ""); got != "" {
							t.Errorf("the status in %s: %s", dir, got)
						}
					}
				})
			}
		}
	}
}

// TestMergeSaysWhereASubmoduleIs names both commits.
func TestMergeSaysWhereASubmoduleIs(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	withSubmoduleIn(l)
	now := l.gitIn(filepath.Join(l.dir, "s m"), "rev-parse", "HEAD")
	then := l.gitIn(filepath.Join(l.dir, "s m"), "rev-parse", "HEAD~1")
	l.gitIn(filepath.Join(l.x, "s m"), "checkout", "-q", then)
	l.gitIn(l.x, "commit", "-qam", "older submodule")
	merged, err := l.try(by(workspace.StrategyRebase))
	if err != nil {
		t.Fatal(detail(err))
	}
	want := "the submodule 's m' in " + l.dir + " is still at " + short(now) + ", not at " + short(then) + ": run there: git submodule update -- 's m'"
	if !slices.Equal(merged.Warnings, []string{want}) {
		t.Errorf("warnings: %q, want %q", merged.Warnings, want)
	}
}

// TestUnpushedSubmoduleIsNamed by the preview and by the merge: what the target
// names then nobody else could fetch.
func TestUnpushedSubmoduleIsNamed(t *testing.T) {
	t.Parallel()
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		l := newMergeLab(t)
		withSubmoduleIn(l)
		l.commit(l.dir, "other", "main\n", "other")
		sm := filepath.Join(l.x, "s m")
		sha := l.commit(sm, "s", "3\n", "s3")
		l.gitIn(l.x, "commit", "-qam", "newer submodule")
		want := "nobody else can fetch the commit " + short(sha) + " of the submodule 's m', which isn't pushed: push it first, from " + sm
		if p := l.preview(by(s)); !slices.Equal(p.Warnings, []string{want}) {
			t.Errorf("the preview warns %q", p.Warnings)
		}
		merged, err := l.try(by(s))
		if err != nil {
			t.Fatal(detail(err))
		}
		if !slices.Contains(merged.Warnings, want) {
			t.Errorf("the merge warns %q", merged.Warnings)
		}
		// Pushed, it is fine.
		l.gitIn(sm, "push", "-q", "origin", "HEAD:refs/heads/more")
		l.commit(l.x, "a", "1\n", "a")
		if p := l.preview(by(s)); len(p.Warnings) > 0 {
			t.Errorf("the preview warns %q", p.Warnings)
		}
	})
}
