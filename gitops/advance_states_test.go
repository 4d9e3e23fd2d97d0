package gitops

import "github.com/threadtree/threadtree/workspace"

// advanceState is a state of the checkout that a move finds.
type advanceState struct {
	name string
	// before runs ahead of the first commit, change makes more of the next,
	// script makes the state in the checkout.
	before, change, script string
	// code is that of the refusal; without one the move is to come out as
	// git's own merge does.
	code workspace.Code
	// files are those that the refusal is for, and kind is how it calls them.
	files []string
	kind  string
	// linked has the state tried in a linked worktree too.
	linked bool
}

const (
	dirty = workspace.ErrTargetDirty
	busy  = workspace.ErrOperationInProgress
)

// withSubmodule has a submodule that the next commit moves on.
const (
	withSubmodule = `git init -q -b main "$ROOT/lib"; (cd "$ROOT/lib"; echo 1 >l; git add l; git commit -qm 1; echo 2 >l; git commit -qam 2; git checkout -q HEAD~)
git -c protocol.file.allow=always submodule --quiet add ../lib sm`
	bumpSubmodule = `git -C sm fetch -q origin main; git -C sm checkout -q FETCH_HEAD; git add sm`
	crlf          = `git config core.autocrlf true`
)

var advanceStates = []advanceState{
	{name: "clean", linked: true},
	{name: "other file dirty", script: "echo 1 >>keep.txt", linked: true},
	{name: "other file staged", script: "echo 1 >>keep.txt; git add keep.txt", linked: true},
	{name: "other file staged and edited", script: "echo 1 >>keep.txt; git add keep.txt; echo 2 >>keep.txt"},
	{name: "other file untracked", script: "echo 1 >other; mkdir -p added; echo 1 >added/other", linked: true},
	{name: "other file ignored", script: "echo 1 >other.ign; mkdir ign; echo 1 >ign/other", linked: true},
	{name: "other file removed", script: "git rm -q keep.txt"},
	{name: "other file marked intent-to-add", script: "echo 1 >other; git add -N other"},
	{name: "empty directory where a file comes", script: "mkdir -p new.txt added/deep/n.txt/x"},
	{name: "staged as new has it", script: "git checkout -q topic -- a.txt new.txt", linked: true},
	{name: "removal staged as new has it", script: "git rm -q gone.txt"},
	{name: "staged as new has it, edited further", script: "git checkout -q topic -- a.txt new.txt; echo 1 >>a.txt; echo 1 >>new.txt"},
	{name: "missing, changed by new", script: "rm a.txt; rm -r sub", linked: true},
	{name: "missing, deleted by new", script: "rm gone.txt dir/c.txt"},
	{name: "touched, content equal", script: "touch -d 2001-01-01 a.txt gone.txt keep.txt", linked: true},
	{name: "assume-unchanged, edited, not changed by new", script: "git update-index --assume-unchanged keep.txt; echo 1 >>keep.txt"},
	{name: "skip-worktree, edited, not changed by new", script: "git update-index --skip-worktree keep.txt; echo 1 >>keep.txt"},
	{name: "sparse, cone", script: "git sparse-checkout set --cone dir", linked: true},
	{name: "sparse, patterns", script: "git sparse-checkout set --no-cone '/*' '!/sub/' '!/added/' '!/a.txt'"},
	{name: "sparse index", script: "git sparse-checkout set --cone --sparse-index dir", linked: true},
	{name: "split index", script: "git update-index --split-index", linked: true},
	{name: "core.splitIndex", script: "git config core.splitIndex true; git update-index --refresh"},
	{name: "untracked cache", script: "git update-index --untracked-cache; git status >/dev/null"},
	{name: "index version 4", script: "git update-index --index-version 4"},
	{name: "feature.manyFiles", script: "git config feature.manyFiles true; git status >/dev/null"},
	{name: "autocrlf", before: crlf, script: "rm -r *; git reset -q --hard"},
	{name: "submodule, initialised", before: withSubmodule, change: bumpSubmodule},
	{name: "submodule, recursing", before: withSubmodule, change: bumpSubmodule, script: "git config submodule.recurse true", linked: true},
	{name: "submodule, dirty", before: withSubmodule, change: bumpSubmodule, script: "echo 1 >>sm/l; echo 1 >sm/new"},
	{name: "submodule, not initialised", before: withSubmodule, change: bumpSubmodule, script: "git submodule --quiet deinit -f sm"},
	{name: "submodule, not initialised, recursing", before: withSubmodule, change: bumpSubmodule, script: "git submodule --quiet deinit -f sm; git config submodule.recurse true", linked: true},
	{name: "submodule, added", change: withSubmodule + "\ngit commit -qm sm; git submodule --quiet deinit -f sm; echo 3 >>f"},
	{name: "submodule, removed", before: withSubmodule, change: "git rm -q sm", script: "git submodule --quiet deinit -f sm"},
	{name: "file system monitor", script: `printf '#!/bin/sh\nprintf "t\\0/\\0"\n' >"$ROOT/mon"; chmod +x "$ROOT/mon"; git config core.fsmonitor "$ROOT/mon"; git update-index --fsmonitor; git status >/dev/null`},
	{name: "filter", before: "git config filter.up.clean 'tr A-Z a-z'; git config filter.up.smudge 'tr a-z A-Z'; echo '*.txt filter=up' >.gitattributes", script: "rm *.txt; git reset -q --hard"},
	{name: "attributes that change", change: "printf 'a.txt ident\\nnew.txt eol=crlf\\n' >.gitattributes; echo '$Id$' >>a.txt; git add .gitattributes"},
	{name: "core.fileMode off", script: "git config core.fileMode false; chmod +x keep.txt a.txt"},
	{name: "odd names", change: "mkdir -p 'a b'; printf 1 >'a b/q\"\\\t\n'; printf 1 >\"$(printf 'l\\351')\"; printf 1 >-x; printf 1 >':(top)y'; git add .", script: ""},
	{name: "no reflogs", script: "git config core.logAllRefUpdates false; rm -rf $(git rev-parse --git-path logs)"},

	{name: "edited", script: "echo 1 >>a.txt; echo 1 >>dir/b.txt", code: dirty, files: []string{"a.txt", "dir/b.txt"}, kind: "modified", linked: true},
	{name: "edit staged", script: "echo 1 >>a.txt; git add a.txt", code: dirty, files: []string{"a.txt"}, kind: "staged", linked: true},
	{name: "edited, deleted by new", script: "echo 1 >>gone.txt", code: dirty, files: []string{"gone.txt"}, kind: "modified"},
	{name: "edited, becomes a directory", script: "echo 1 >>f2d", code: dirty, files: []string{"f2d"}, kind: "modified"},
	{name: "removal staged, changed by new", script: "git rm -q a.txt", code: dirty, files: []string{"a.txt"}, kind: "staged"},
	{name: "removal staged, file kept", script: "git rm -q --cached gone.txt", code: dirty, files: []string{"gone.txt"}, kind: "untracked"},
	{name: "removal staged, file kept and ignored", script: "git rm -q --cached gone.txt; echo gone.txt >>$(git rev-parse --git-path info/exclude)", code: dirty, files: []string{"gone.txt"}, kind: "ignored"},
	{name: "staged where new has a file", script: "echo mine >new.txt; git add new.txt", code: dirty, files: []string{"new.txt"}, kind: "staged", linked: true},
	{name: "intent-to-add where new has a file", script: "echo mine >new.txt; git add -N new.txt", code: dirty, files: []string{"new.txt"}, kind: "modified"},
	{name: "staged below where new has a file", script: "mkdir new.txt; echo 1 >new.txt/x; git add new.txt/x", code: dirty, files: []string{"new.txt/x"}, kind: "staged"},
	{name: "staged where new has a directory", script: "echo 1 >added; git add added", code: dirty, files: []string{"added"}, kind: "staged"},
	{name: "mode changed", script: "chmod +x a.txt", code: dirty, files: []string{"a.txt"}, kind: "modified"},
	{name: "edited as new has it", script: "git show topic:a.txt >a.txt", code: dirty, files: []string{"a.txt"}, kind: "modified"},
	{name: "link changed", script: "ln -sf elsewhere link", code: dirty, files: []string{"link"}, kind: "modified"},
	{name: "unmerged", script: `b=$(git rev-parse HEAD:keep.txt); printf '0 %040d\tkeep.txt\n100644 %s 1\tkeep.txt\n100644 %s 2\tkeep.txt\n' 0 $b $b | git update-index --index-info`, code: dirty, files: []string{"keep.txt"}, kind: "unmerged", linked: true},
	{name: "untracked file in the way", script: "echo mine >new.txt; mkdir -p added/deep; echo mine >added/deep/n.txt", code: dirty, files: []string{"added/deep/n.txt", "new.txt"}, kind: "untracked", linked: true},
	{name: "untracked file in the way, same content", script: "git show topic:new.txt >new.txt", code: dirty, files: []string{"new.txt"}, kind: "untracked"},
	{name: "untracked file where a directory comes", script: "echo mine >added", code: dirty, files: []string{"added"}, kind: "untracked"},
	{name: "untracked link where a directory comes", script: `mkdir "$ROOT/else"; ln -s "$ROOT/else" added`, code: dirty, files: []string{"added"}, kind: "untracked"},
	{name: "untracked link in the way", script: "ln -s nowhere new.txt", code: dirty, files: []string{"new.txt"}, kind: "untracked"},
	{name: "untracked files where a file comes", script: "mkdir -p new.txt/sub; echo mine >new.txt/sub/x", code: dirty, files: []string{"new.txt/sub/x"}, kind: "untracked"},
	{name: "untracked file in a directory that becomes a file", script: "echo mine >d2f/three", code: dirty, files: []string{"d2f/three"}, kind: "untracked"},
	{name: "repository where a file comes", script: "git init -q new.txt", code: dirty, kind: "untracked"},
	{name: "directory replaced by a link", script: `mv sub "$ROOT/sub"; ln -s "$ROOT/sub" sub`, code: dirty, files: []string{"sub"}, kind: "untracked", linked: true},
	{name: "directory replaced by a link to nowhere", script: `rm -r sub; ln -s "$ROOT/nowhere" sub`, code: dirty, files: []string{"sub"}, kind: "untracked"},
	{name: "file replaced by a directory", script: "rm a.txt; mkdir a.txt; echo 1 >a.txt/x", code: dirty},
	{name: "ignored file in the way", script: "echo mine >forced.ign; mkdir ign; echo mine >ign/new.txt", code: dirty, files: []string{"forced.ign", "ign/new.txt"}, kind: "ignored", linked: true},
	{name: "ignored file in the way, same content", script: "git show topic:forced.ign >forced.ign", code: dirty, files: []string{"forced.ign"}, kind: "ignored"},
	{name: "ignored file where a directory comes", script: "echo added >.git-exclude; git config core.excludesFile \"$PWD/.git-exclude\"; echo mine >added", code: dirty, files: []string{"added"}, kind: "ignored"},
	{name: "ignored link where a directory comes", script: "echo /added >\"$ROOT/x\"; git config core.excludesFile \"$ROOT/x\"; ln -s nowhere added", code: dirty, files: []string{"added"}, kind: "ignored"},
	{name: "ignored file in a directory that becomes a file", script: "echo mine >d2f/x.ign", code: dirty, files: []string{"d2f/x.ign"}, kind: "ignored"},
	{name: "assume-unchanged, edited", script: "git update-index --assume-unchanged a.txt; echo 1 >>a.txt", code: dirty, files: []string{"a.txt"}, kind: "modified", linked: true},
	{name: "skip-worktree, edited", script: "git update-index --skip-worktree a.txt; echo 1 >>a.txt", code: dirty, files: []string{"a.txt"}, kind: "modified"},
	{name: "edit that the file system monitor misses", script: `printf '#!/bin/sh\nprintf "t\\0"\n' >"$ROOT/mon"; chmod +x "$ROOT/mon"; git config core.fsmonitor "$ROOT/mon"; git update-index --fsmonitor; git status >/dev/null; echo 1 >>a.txt`, code: dirty, files: []string{"a.txt"}, kind: "modified", linked: true},
	{name: "sparse, edited outside", script: "git sparse-checkout set --cone dir; mkdir -p sub/deep; echo mine >sub/deep/x", code: dirty, files: []string{"sub/deep/x"}, kind: "modified"},
	{name: "sparse, untracked outside in the way", script: "git sparse-checkout set --cone dir; mkdir -p added/deep; echo mine >added/deep/n.txt", code: dirty, files: []string{"added/deep/n.txt"}, kind: "untracked"},
	{name: "autocrlf, written with LF", before: crlf, script: `rm -r *; git reset -q --hard; printf 'a.txt 1\nmore\n' >a.txt`, code: dirty, files: []string{"a.txt"}, kind: "modified"},
	{name: "no index", script: "rm $(git rev-parse --git-path index)", code: dirty, linked: true},

	{name: "merge under way", script: "git rev-parse HEAD >$(git rev-parse --git-path MERGE_HEAD)", code: busy, linked: true},
	{name: "cherry-pick under way", script: "git rev-parse HEAD >$(git rev-parse --git-path CHERRY_PICK_HEAD)", code: busy},
	{name: "revert under way", script: "git rev-parse HEAD >$(git rev-parse --git-path REVERT_HEAD)", code: busy},
	{name: "picks under way", script: "mkdir $(git rev-parse --git-path sequencer)", code: busy},
	{name: "rebase directory", script: "mkdir $(git rev-parse --git-path rebase-merge)", code: busy},
	{name: "am under way", script: "mkdir $(git rev-parse --git-path rebase-apply)", code: busy},
	{name: "bisection under way", script: "git bisect start >/dev/null", code: busy, linked: true},
}
