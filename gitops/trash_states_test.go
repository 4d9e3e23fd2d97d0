package gitops

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/threadtree/threadtree/workspace"
)

// TestTrashStates takes work through the trash in many settings of git's.
func TestTrashStates(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]struct {
		prepare func(l *lab)
		work    func(b *bin)
	}{
		"detached": {work: func(b *bin) {
			b.run(b.w.Directory, "checkout", "-q", "--detach")
			b.commit(b.w.Directory, "g", "detached\n")
			b.mess()
		}},
		"another branch": {work: func(b *bin) {
			b.run(b.w.Directory, "switch", "-q", "-c", "other")
			b.mess()
		}},
		"no branch but an unborn one": {work: func(b *bin) {
			b.run(b.w.Directory, "checkout", "-q", "--orphan", "unborn")
			b.write(b.at("new"), "new\n")
		}},
		"no index": {work: func(b *bin) { _ = os.Remove(filepath.Join(gitDirOf(b.w.Directory), "index")) }},
		"sparse": {work: func(b *bin) {
			b.run(b.w.Directory, "sparse-checkout", "set", "new", "d/deep")
			b.write(b.at("new/x"), "new\n")
			b.write(b.at("f"), "edited\n")
			b.write(b.at("outside/y"), "outside the cone\n")
		}},
		"sparse, edited outside": {work: func(b *bin) {
			b.run(b.w.Directory, "sparse-checkout", "set", "--no-cone", "/d/")
			b.write(b.at("both"), "brought back and edited\n")
			b.write(b.at("staged"), "content of staged\n")
			b.write(b.at("d/in"), "edited\n")
			b.run(b.w.Directory, "add", "d/in")
		}},
		"sparse index": {work: func(b *bin) {
			b.run(b.w.Directory, "sparse-checkout", "set", "--sparse-index", "new")
			b.write(b.at("new/x"), "new\n")
			b.run(b.w.Directory, "add", "new/x")
		}},
		"split index": {work: func(b *bin) {
			b.run(b.w.Directory, "update-index", "--split-index")
			b.mess()
		}},
		"untracked cache": {work: func(b *bin) {
			b.run(b.w.Directory, "update-index", "--untracked-cache")
			b.run(b.w.Directory, "status")
			b.mess()
		}},
		"index of version 4": {work: func(b *bin) {
			b.run(b.w.Directory, "update-index", "--index-version", "4")
			b.mess()
		}},
		"autocrlf": {
			prepare: func(l *lab) { l.run(l.dir, "config", "core.autocrlf", "true") },
			work: func(b *bin) {
				if got, _ := os.ReadFile(b.at("f")); string(got) != "base\r\n" {
					b.t.Fatalf("f is %q", got)
				}
				b.mess()
				b.write(b.at("mixed"), "one\r\ntwo\nthree\r\n")
				b.write(b.at("d.lf"), "only\nLF\n")
				b.write(b.at("staged.lf"), "only\nLF\n")
				b.run(b.w.Directory, "add", "staged.lf")
				b.write(b.at("staged.lf"), "only\nLF\nand more\n")
			},
		},
		"filter": {
			prepare: func(l *lab) {
				l.run(l.dir, "config", "filter.up.clean", "tr a-z A-Z")
				l.run(l.dir, "config", "filter.up.smudge", "tr A-Z a-z")
				l.run(l.dir, "config", "filter.up.required", "true")
				l.write(filepath.Join(l.dir, ".gitattributes"), "*.up filter=up\nid ident\nu16 working-tree-encoding=UTF-16LE eol=crlf\n")
				l.write(filepath.Join(l.dir, "a.up"), "filtered\n")
				l.write(filepath.Join(l.dir, "b.up"), "filtered\n")
				l.write(filepath.Join(l.dir, "id"), "$Id$\n")
				l.write(filepath.Join(l.dir, "u16"), "a\x00\r\x00\n\x00")
			},
			work: func(b *bin) {
				b.write(b.at("a.up"), "Mixed Case\n")
				b.write(b.at("new.up"), "Mixed Case\n")
				b.write(b.at("u16"), "b\x00\n\x00")
			},
		},
		"bisect": {work: func(b *bin) {
			b.commit(b.w.Directory, "g", "1\n")
			b.commit(b.w.Directory, "g", "2\n")
			b.run(b.w.Directory, "bisect", "start", "HEAD", "main")
			b.write(b.at("f"), "edited\n")
		}},
		"index lock": {work: func(b *bin) {
			b.mess()
			b.write(filepath.Join(gitDirOf(b.w.Directory), "index.lock"), "")
		}},
		"merged": {work: func(b *bin) {
			b.commit(b.w.Directory, "g", "work\n")
			b.run(b.dir, "merge", "-q", b.w.Branch)
		}},
		"own configuration": {work: func(b *bin) {
			b.run(b.dir, "config", "extensions.worktreeConfig", "true")
			b.run(b.w.Directory, "config", "--worktree", "core.fileMode", "false")
			b.write(b.at("f"), "edited\n")
		}},
		"no exec bits": {work: func(b *bin) {
			b.run(b.dir, "config", "core.fileMode", "false")
			b.mess()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ways(t, func(t *testing.T, anew bool) {
				b := newBin(t, func(l *lab) {
					if s.prepare != nil {
						s.prepare(l)
					}
				})
				s.work(b)
				_, restored := b.roundTrip(anew)
				if name == "bisect" && !anew {
					b.run(restored.Directory, "checkout", "-q", "--", ".")
					b.run(restored.Directory, "bisect", "reset")
					if got := b.run(restored.Directory, "branch", "--show-current"); got != b.w.Branch {
						t.Errorf("after the bisect %q is checked out", got)
					}
				}
				if name == "own configuration" {
					if got := b.run(restored.Directory, "config", "core.fileMode"); got != "false" {
						t.Errorf("core.fileMode is %s", got)
					}
				}
			})
		})
	}
}

func TestTrashOfAFailingFilter(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, anew bool) {
		b := newBin(t, func(l *lab) {
			l.write(filepath.Join(l.dir, ".gitattributes"), "*.big filter=lfs\n")
			l.write(filepath.Join(l.dir, "a.big"), "pointer\n")
			l.write(filepath.Join(l.dir, "b.big"), "pointer\n")
		})
		b.run(b.dir, "config", "filter.lfs.clean", "exit 3")
		b.run(b.dir, "config", "filter.lfs.smudge", "exit 3")
		b.run(b.dir, "config", "filter.lfs.required", "true")
		b.write(b.at("a.big"), "much content\n")
		b.write(b.at("new.big"), "new content\n")
		b.write(b.at("f"), "edited\n")
		before := b.lab.shapeOfFiles(b.w.Directory)
		_, err := b.try(false)
		e := wantCode(t, err, workspace.ErrGitFailed)
		if !strings.Contains(e.Message, ".big") {
			t.Errorf("the file is not named: %s", e.Message)
		}
		trashed := b.delete(true)
		if len(trashed.Kept.Missing) > 0 {
			t.Errorf("missing: %q", trashed.Kept.Missing)
		}
		if anew {
			b.discard(trashed, false)
		}
		restored := b.restore(trashed)
		if got := b.lab.shapeOfFiles(restored.Directory); !slices.Equal(before, got) {
			t.Errorf("the files changed:\n%s", difference(before, got))
		}
	})
}

// shapeOfFiles is a line for each file, for where git's status fails.
func (l *lab) shapeOfFiles(dir string) []string {
	l.t.Helper()
	sub := *l
	sub.root = dir
	return slices.DeleteFunc(sub.snapshot(), func(line string) bool {
		return strings.HasPrefix(line, ".git ") || strings.HasPrefix(line, ". ")
	})
}

func TestTrashWithSubmodules(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(b *bin){
		"clean": func(*bin) {},
		"dirty": func(b *bin) {
			b.write(b.at("sm/s"), "edited\n")
			b.write(b.at("sm/new"), "new\n")
		},
		"commits of its own": func(b *bin) {
			b.commit(b.at("sm"), "s", "in the submodule\n")
			b.run(b.w.Directory, "add", "sm")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBin(t)
			b.addSubmodule()
			b.w = b.made(titled("two"))
			work(b)
			before := b.shapeOf(b.w.Directory, true)
			trashed := b.delete(true)
			if name != "clean" && !hasLine(trashed.Kept.Missing, "submodule sm") {
				t.Errorf("missing: %q", trashed.Kept.Missing)
			}
			// In its own place.
			sameShape(t, before, b.shapeOf(b.restore(trashed).Directory, true))

			// In another, where it still works.
			b.w.Attempt.ID = "attempt-3"
			trashed = b.delete(true)
			b.write(b.at("in the way"), "")
			restored := b.restore(trashed)
			if restored.Directory == b.w.Directory || !hasLine(restored.Warnings, "taken", restored.Directory) {
				t.Errorf("%+v", restored)
			}
			sameShape(t, before, b.shapeOf(restored.Directory, true))
			if got := b.run(filepath.Join(restored.Directory, "sm"), "rev-parse", "--show-toplevel"); got != filepath.Join(restored.Directory, "sm") {
				t.Errorf("the submodule's top is %s", got)
			}

			// From the snapshot: what the superproject has of it.
			b.w.Attempt.ID, b.w.Directory = "attempt-4", restored.Directory
			trashed = b.delete(true)
			b.discard(trashed, false)
			restored = b.restore(trashed)
			if got := b.run(restored.Directory, "ls-files", "-s", "-z"); got != before.index {
				t.Errorf("the index was %q and is %q", before.index, got)
			}
			if name != "clean" && !hasLine(restored.Warnings, "submodule sm") {
				t.Errorf("warnings: %q", restored.Warnings)
			}
		})
	}
}

func TestTrashOfAMissingDirectory(t *testing.T) {
	t.Parallel()
	b := newBin(t)
	b.commit(b.w.Directory, "g", "work\n")
	tip := b.run(b.w.Directory, "rev-parse", "HEAD")
	b.write(b.at("staged"), "staged\n")
	b.run(b.w.Directory, "add", "staged")
	index := b.run(b.w.Directory, "ls-files", "-s")
	if err := os.RemoveAll(b.w.Directory); err != nil {
		t.Fatal(err)
	}
	trashed := b.delete(true)
	if trashed.Kept.Directory != "" || trashed.Kept.Tip != tip {
		t.Errorf("%+v", trashed.Kept)
	}
	b.prune()
	restored := b.restore(trashed)
	if got := b.run(restored.Directory, "ls-files", "-s"); got != index {
		t.Errorf("the index is %s", got)
	}
	if got, _ := os.ReadFile(filepath.Join(restored.Directory, "staged")); string(got) != "staged\n" {
		t.Errorf("staged is %q", got)
	}
	b.isTip(b.w.Branch, tip)

	// Without an entry, the branch alone.
	b.w.Attempt.ID = "attempt-3"
	b.run(b.dir, "merge", "-q", b.w.Branch)
	if err := os.RemoveAll(b.w.Directory); err != nil {
		t.Fatal(err)
	}
	b.run(b.dir, "worktree", "prune")
	trashed = b.delete(false)
	b.isTip(b.w.Branch, "")
	restored = b.restore(trashed)
	b.isTip(b.w.Branch, tip)
	if got := b.run(restored.Directory, "status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}

	// Without anything there is nothing to keep.
	b.w.Attempt.ID = "attempt-4"
	b.run(b.dir, "worktree", "remove", "--force", restored.Directory)
	b.run(b.dir, "branch", "-q", "-D", b.w.Branch)
	if removed, err := b.try(true); err != nil || removed.Kept != nil {
		t.Errorf("%+v, %v", removed, err)
	}
	b.nothingKept()
}

// TestSnapshotTouchesNothing refuses after the snapshot was taken, and compares
// everything but the objects.
func TestSnapshotTouchesNothing(t *testing.T) {
	t.Parallel()
	b := newBin(t, func(l *lab) {
		for _, hook := range []string{"pre-commit", "commit-msg", "post-commit", "post-index-change", "prepare-commit-msg", "post-checkout"} {
			l.script(filepath.Join(l.dir, ".git", "hooks", hook), "#!/bin/sh\ntouch "+l.root+"/hook-"+hook+"\n")
		}
		l.run(l.dir, "config", "commit.gpgSign", "true")
		l.run(l.dir, "config", "gpg.program", "false")
		l.env = append(l.env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=commit.gpgSign", "GIT_CONFIG_VALUE_0=false")
	})
	_ = os.Remove(filepath.Join(b.root, "hook-post-checkout"))
	b.mess()
	b.embed()
	if hooks, _ := filepath.Glob(filepath.Join(b.root, "hook-*")); len(hooks) > 0 {
		for _, hook := range hooks {
			_ = os.Remove(hook)
		}
	}
	index, err := os.Stat(filepath.Join(gitDirOf(b.w.Directory), "index"))
	if err != nil {
		t.Fatal(err)
	}
	before := withoutObjects(b.snapshot())
	b.p = NewProvider(mustNew(t, Options{Home: b.home, Env: b.env, Git: b.wrap(`*"commit-tree"*"Snapshot"*`, "exit 1")}), ProviderOptions{})
	b.p.r.reached = func(step string) {
		if step == "journal" {
			after := withoutObjects(b.snapshot())
			after = slices.DeleteFunc(after, func(line string) bool { return strings.HasPrefix(line, "repo/.git/threadtree") })
			want := slices.DeleteFunc(slices.Clone(before), func(line string) bool { return strings.HasPrefix(line, "repo/.git/threadtree") })
			want = slices.DeleteFunc(want, func(line string) bool { return strings.HasPrefix(line, "wrapped-git") })
			after = slices.DeleteFunc(after, func(line string) bool { return strings.HasPrefix(line, "wrapped-git") })
			if !slices.Equal(want, after) {
				t.Errorf("the snapshot changed:\n%s", difference(want, after))
			}
			if now, err := os.Stat(filepath.Join(gitDirOf(b.w.Directory), "index")); err != nil || !now.ModTime().Equal(index.ModTime()) {
				t.Errorf("the index was written: %v", err)
			}
		}
	}
	trashed := b.delete(true)
	if author := b.run(b.dir, "show", "-s", "--format=%an %cn %G?", trashed.Kept.Snapshot); author != "threadtree threadtree N" {
		t.Errorf("the snapshot is by %s", author)
	}
	if hooks, _ := filepath.Glob(filepath.Join(b.root, "hook-*")); len(hooks) > 0 {
		t.Errorf("hooks ran: %q", hooks)
	}
	// It can be looked at with git alone.
	if got := b.run(b.dir, "show", trashed.Kept.Ref+":both"); got != "second" {
		t.Errorf("both is %q", got)
	}
	if got := b.run(b.dir, "show", trashed.Kept.Ref+"^2:both"); got != "first" {
		t.Errorf("both in the index is %q", got)
	}
	if got := b.run(b.dir, "rev-parse", trashed.Kept.Ref+"^1"); got != trashed.Kept.Tip {
		t.Errorf("the snapshot's parent is %s", got)
	}
}

func mustNew(t testing.TB, o Options) *Repository {
	t.Helper()
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func withoutObjects(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "repo/.git/objects") })
}

// TestTrashSurvivesGit lets git throw away what it can between each step.
func TestTrashSurvivesGit(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, anew bool) {
		b := newBin(t)
		b.mess()
		b.run(b.w.Directory, "add", "both") // once more: the first content is nowhere but in the index before
		b.write(b.at("both"), "third\n")
		before := b.shapeOf(b.w.Directory, !anew)
		trashed := b.delete(true)
		b.prune()
		if got := b.run(b.dir, "worktree", "list", "--porcelain"); !strings.Contains(got, trashed.Kept.Directory) || strings.Contains(got, "prunable") {
			t.Errorf("git has %s", got)
		}
		if anew {
			b.discard(trashed, false)
			b.prune()
			if got := b.run(b.dir, "worktree", "list", "--porcelain"); strings.Contains(got, trashed.Kept.Directory) {
				t.Errorf("git has %s", got)
			}
		}
		restored := b.restore(trashed)
		b.prune()
		sameShape(t, before, b.shapeOf(restored.Directory, !anew))
	})
}

// TestTrashGoesOn has somebody work in the trash.
func TestTrashGoesOn(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, anew bool) {
		b := newBin(t)
		b.mess()
		sleeper := exec.Command("sleep", "600")
		sleeper.Dir = b.w.Directory
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = sleeper.Process.Kill()
			_ = sleeper.Wait()
		})
		_, err := b.try(false)
		if !errors.Is(err, workspace.ErrLocked) {
			t.Errorf("got %v", detail(err))
		}
		trashed := b.delete(true)
		hidden := trashed.Kept.Directory
		b.write(filepath.Join(hidden, "late"), "late\n")
		b.run(hidden, "commit", "-q", "-m", "late", "--", "staged")
		tip := b.run(hidden, "rev-parse", "HEAD")
		err = b.p.Discard(t.Context(), b.project(), trashed, false)
		if e := wantCode(t, err, workspace.ErrLocked); !strings.Contains(e.Message, "sleep") {
			t.Errorf("%s", e.Message)
		}
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
		before := b.shapeOf(hidden, !anew)
		if anew {
			b.discard(trashed, false)
			b.prune()
		}
		restored := b.restore(trashed)
		if !hasLine(restored.Warnings, short(tip)) {
			t.Errorf("warnings: %q", restored.Warnings)
		}
		after := b.shapeOf(restored.Directory, !anew)
		before.head = "refs/heads/" + b.w.Branch
		before.status = strings.Replace(before.status, "# branch.head (detached)", "# branch.head "+b.w.Branch, 1)
		sameShape(t, before, after)
		b.isTip(b.w.Branch, tip)
	})
}
