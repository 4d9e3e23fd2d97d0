package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// hook writes a hook of the repository.
func (l *mergeLab) hook(name, script string) {
	l.t.Helper()
	l.executable(filepath.Join(l.dir, ".git", "hooks", name), "#!/bin/sh\n"+script+"\n")
}

func (l *mergeLab) executable(path, content string) {
	l.t.Helper()
	l.write(path, content)
	if err := os.Chmod(path, 0o755); err != nil {
		l.t.Fatal(err)
	}
}

// refuseLoosely is refuse where git was at work in the workspace before it
// failed, so that times differ.
func (l *mergeLab) refuseLoosely(code workspace.Code, change ...func(*workspace.MergeRequest)) *workspace.Error {
	l.t.Helper()
	before := l.world(false)
	_, err := l.try(change...)
	e := wantCode(l.t, err, code)
	l.same(before)
	l.tidy()
	if refs := l.git("for-each-ref", backupRefs); refs != "" {
		l.t.Errorf("backups of nothing: %s", refs)
	}
	return e
}

// TestMergeHooksThatFail wants a hook that refuses to be heeded, and nothing
// to have changed then.
func TestMergeHooksThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hook string
		by   workspace.Strategy
	}{
		{"pre-rebase", workspace.StrategyRebase},
		{"prepare-commit-msg", workspace.StrategyRebase},
		{"reference-transaction", workspace.StrategyRebase},
		{"reference-transaction", workspace.StrategySquash},
		{"pre-commit", workspace.StrategySquash},
		{"commit-msg", workspace.StrategySquash},
		{"pre-merge-commit", workspace.StrategyMerge},
		{"commit-msg", workspace.StrategyMerge},
	} {
		t.Run(c.hook+" "+string(c.by), func(t *testing.T) {
			t.Parallel()
			l := newMergeLab(t)
			ahead(l)
			script := "echo lint failed >&2; exit 1"
			if c.hook == "reference-transaction" {
				script = "[ \"$1\" != prepared ] || ! grep -q ' refs/heads/main$'"
			}
			l.hook(c.hook, script)
			e := l.refuseLoosely(workspace.ErrGitFailed, by(c.by))
			if c.hook != "reference-transaction" && c.hook != "prepare-commit-msg" && !strings.Contains(detail(e), "lint failed") {
				t.Errorf("what the hook said isn't told: %s", detail(e))
			}
		})
	}
}

// TestMergeHooksThatHang wants a hook to be ended after a while.
func TestMergeHooksThatHang(t *testing.T) {
	t.Parallel()
	for hook, s := range map[string]workspace.Strategy{
		"pre-rebase": workspace.StrategyRebase, "post-commit": workspace.StrategyRebase, "pre-commit": workspace.StrategySquash,
		"commit-msg": workspace.StrategyMerge,
	} {
		t.Run(hook, func(t *testing.T) {
			t.Parallel()
			l := newMergeLab(t, MergeOptions{GitTimeout: 2 * time.Second})
			ahead(l)
			l.hook(hook, "sleep 300")
			l.refuseLoosely(workspace.ErrTimeout, by(s))
		})
	}
}

// TestMergeHooksAfterwards wants the hooks of the target's move to be run, and
// their failure to be no more than a warning.
func TestMergeHooksAfterwards(t *testing.T) {
	t.Parallel()
	l := newMergeLab(t)
	ahead(l)
	l.hook("post-merge", "git rev-parse HEAD > ../seen; exit 1")
	merged := l.merge()
	if got := strings.TrimSpace(l.read(l.path("seen"))); got != merged.SHA {
		t.Errorf("the hook saw %s", got)
	}
	if len(merged.Warnings) != 1 || !strings.Contains(merged.Warnings[0], "post-merge") {
		t.Errorf("warnings: %q", merged.Warnings)
	}
}

// TestMergeHooksOfTheRepository runs hooks that lie in a checkout only where
// that is allowed.
func TestMergeHooksOfTheRepository(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		l := newMergeLab(t, MergeOptions{RepositoryHooks: allowed})
		l.executable(filepath.Join(l.x, ".hooks", "commit-msg"), "#!/bin/sh\necho Checked: yes >> \"$1\"\n")
		l.gitIn(l.x, "add", ".hooks")
		l.gitIn(l.x, "commit", "-q", "-m", "hooks")
		ahead(l)
		l.git("config", "core.hooksPath", ".hooks")
		merged, err := l.try(by(workspace.StrategySquash))
		if err != nil {
			t.Fatal(detail(err))
		}
		if skipped := slices.Contains(merged.SkippedHooks, "commit-msg"); skipped == allowed {
			t.Errorf("allowed: %v, skipped: %v", allowed, skipped)
		}
		if ran := strings.Contains(l.git("log", "-1", "--format=%B", "main"), "Checked: yes"); ran != allowed {
			t.Errorf("allowed: %v, ran: %v", allowed, ran)
		}
	}
}

// TestMergeNamesSkippedHooks that git would have run, and no others.
func TestMergeNamesSkippedHooks(t *testing.T) {
	t.Parallel()
	want := map[workspace.Strategy]string{
		workspace.StrategyRebase: "post-commit", workspace.StrategySquash: "pre-commit, commit-msg, post-commit", workspace.StrategyMerge: "commit-msg",
	}
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		l := newMergeLab(t)
		for _, name := range []string{"pre-commit", "commit-msg", "post-commit", "pre-push"} {
			l.executable(filepath.Join(l.x, ".husky", name), "#!/bin/sh\nexit 1\n")
		}
		l.write(filepath.Join(l.x, ".husky", "prepare-commit-msg"), "not executable\n")
		l.gitIn(l.x, "add", ".husky")
		l.gitIn(l.x, "commit", "-q", "-m", "hooks")
		ahead(l)
		l.git("config", "core.hooksPath", ".husky")
		merged, err := l.try(by(s))
		if err != nil {
			t.Fatal(detail(err))
		}
		warning := "the repository's own hooks were not run: " + want[s] + ": they need the permission for set-up"
		if strings.Join(merged.SkippedHooks, ", ") != want[s] || !slices.Equal(merged.Warnings, []string{warning}) {
			t.Errorf("skipped %q, warnings %q", merged.SkippedHooks, merged.Warnings)
		}
	})
}

// TestMergeSigns has commits signed where that is asked for, or refuses.
func TestMergeSigns(t *testing.T) {
	t.Parallel()
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		l := newMergeLab(t)
		ahead(l)
		l.gitIn(l.x, "commit", "-q", "--amend", "--no-edit", "--author=Bob <bob@example.org>", "--date=2001-02-03T04:05:06+0100")
		l.git("config", "commit.gpgSign", "true")
		gpg := l.path("gpg")
		l.git("config", "gpg.program", gpg)
		l.executable(gpg, "#!/bin/sh\nexit 1\n")
		l.refuseLoosely(workspace.ErrGitFailed, by(s))
		l.executable(gpg, "#!/bin/sh\ncat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\nprintf -- '-----BEGIN PGP SIGNATURE-----\\nfake\\n-----END PGP SIGNATURE-----\\n'\n")
		merged := l.merge(by(s))
		if commit := l.git("cat-file", "commit", "main"); !strings.Contains(commit, "\ngpgsig ") {
			t.Errorf("the commit isn't signed:\n%s", commit)
		}
		if s == workspace.StrategyRebase && (merged.Commits != 2 || merged.Dropped != 0) {
			t.Errorf("merged: %+v", merged)
		}
		if got := l.git("log", "-1", "--format=%an %ad", "--date=iso", "main"); s == workspace.StrategyRebase && got != "Bob 2001-02-03 04:05:06 +0100" {
			t.Errorf("author and date: %s", got)
		}
		l.git("config", "commit.gpgSign", "false")
		l.moreWork()
		l.merge(by(s))
	})
}

// moreWork commits again in the workspace as it is.
func (l *mergeLab) moreWork() {
	l.t.Helper()
	l.commit(l.x, "more", l.git("rev-parse", "main"), "more")
	l.commit(l.dir, "main-more", l.git("rev-parse", "main")+"\n", "main goes on")
}

// TestMergeConflictByGit reports a conflict where git has to make the commits,
// with nothing changed, or paused.
func TestMergeConflictByGit(t *testing.T) {
	t.Parallel()
	perStrategy(t, func(t *testing.T, s workspace.Strategy) {
		l := newMergeLab(t)
		hooked((*mergeLab).clash)(l)
		l.refuse(conflictCode(s), by(s))
		before := l.world(false)
		_, err := l.try(by(s), resolving)
		wantPaused(t, err, "f")
		if err := l.g.Abort(t.Context(), l.request()); err != nil {
			t.Fatal(detail(err))
		}
		l.same(before)
		_, err = l.try(by(s), resolving)
		wantPaused(t, err, "f")
		l.resolve("f", "both\n")
		merged, err := l.g.Continue(t.Context(), l.request())
		if err != nil {
			t.Fatal(detail(err))
		}
		l.landed(merged)
	})
}

// TestMergeSquashByGit makes the same commit as one in memory.
func TestMergeSquashByGit(t *testing.T) {
	t.Parallel()
	var said []string
	for _, byGit := range []bool{false, true} {
		l := newMergeLab(t)
		ahead(l)
		l.gitIn(l.x, "commit", "-q", "--amend", "-m", "x adds new\n\nCo-authored-by: Carol <carol@example.org>", "--author=Bob <bob@example.org>")
		if byGit {
			l.hook("commit-msg", "exit 0")
		}
		l.merge(by(workspace.StrategySquash))
		said = append(said, l.git("log", "-1", "--format=%an <%ae>%n%B%n%T", "main"))
	}
	if said[0] != said[1] {
		t.Errorf("in memory:\n%s\nby git:\n%s", said[0], said[1])
	}
}

// TestMergeNotes has notes follow their commits: those of "git notes" unasked,
// others where the configuration names them, and none where it forbids that.
func TestMergeNotes(t *testing.T) {
	t.Parallel()
	for _, byGit := range []bool{false, true} {
		for _, config := range []string{"", "notes.rewriteRef=refs/notes/commits", "notes.rewriteRef=refs/notes/other", "notes.rewrite.rebase=false"} {
			t.Run(fmt.Sprintf("%s by git %v", config, byGit), func(t *testing.T) {
				t.Parallel()
				l := newMergeLab(t)
				ahead(l)
				if name, value, ok := strings.Cut(config, "="); ok {
					l.git("config", name, value)
				}
				l.gitIn(l.x, "notes", "add", "-m", "reviewed")
				l.gitIn(l.x, "notes", "--ref=other", "add", "-m", "more")
				if byGit {
					l.hook("post-commit", "exit 0")
				}
				l.merge()
				got, _ := l.tryGit(l.dir, "notes", "show", "main")
				if want := config != "notes.rewrite.rebase=false"; (strings.TrimSpace(got) == "reviewed") != want {
					t.Errorf("the note is %q", got)
				}
				got, _ = l.tryGit(l.dir, "notes", "--ref=other", "show", "main")
				if want := strings.HasSuffix(config, "other"); (strings.TrimSpace(got) == "more") != want {
					t.Errorf("the other note is %q", got)
				}
			})
		}
	}
}

// TestMergeIgnoredAtTheLastMoment has an ignored file appear where git is about
// to write one, after it was looked for.
func TestMergeIgnoredAtTheLastMoment(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "precious\n"} {
		for _, paused := range []bool{false, true} {
			perStrategy(t, func(t *testing.T, s workspace.Strategy) {
				var l *mergeLab
				appear := true
				l = newMergeLab(t, MergeOptions{step: func(step string) {
					if step == stepBackedUp && appear {
						l.write(filepath.Join(l.x, "b.ign"), content)
					}
				}})
				if paused {
					l.clash()
				} else {
					hooked(ahead)(l)
				}
				l.write(filepath.Join(l.dir, "b.ign"), "main\n")
				l.git("add", "-f", "b.ign")
				l.git("commit", "-q", "-m", "ignored but added")
				before := l.world(false)
				_, err := l.try(by(s), resolving)
				e := wantCode(t, err, workspace.ErrDirtyWorktree)
				if !slices.Equal(e.Files, []string{"b.ign"}) {
					t.Errorf("files: %q", e.Files)
				}
				if got := l.read(filepath.Join(l.x, "b.ign")); got != content {
					t.Errorf("the file is %q", got)
				}
				if err := os.Remove(filepath.Join(l.x, "b.ign")); err != nil {
					t.Fatal(err)
				}
				l.same(before)
				l.tidy()
				appear = false
				if _, err = l.try(by(s), resolving); paused {
					wantPaused(t, err, "f")
				} else if err != nil {
					t.Error(detail(err))
				}
			})
		}
	}
}

func (l *mergeLab) resolve(file, content string) {
	l.t.Helper()
	l.write(filepath.Join(l.x, file), content)
	l.gitIn(l.x, "add", "--", file)
}
