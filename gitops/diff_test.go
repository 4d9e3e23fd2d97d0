package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/threadtree/threadtree/workspace"
)

// diff compares the workspace root/name, and sees to it that nothing changes
// by it.
func (f *fixture) diff(w workspace.Workspace, patch bool, maxPatch int) workspace.Diff {
	f.t.Helper()
	p := f.open(f.dir)
	before := snapshot(f.t, f.root)
	d, err := f.reviewer().Diff(f.t.Context(), workspace.DiffRequest{Project: p, Workspace: w, Patch: patch, MaxPatch: maxPatch})
	if err != nil {
		f.t.Fatal(detail(err))
	}
	wantSame(f.t, f.root, before)
	return d
}

func TestDiffOfEverything(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(`seq 50 >long; seq 60 >moved; printf 'a\000b' >bin; echo x >gone; echo run >script; ln -s f link; echo c >crlf; mkdir dir; echo 1 >dir/a
printf '*.log\n' >.gitignore; git add .; git commit -qm more`)
	f.worktree("w")
	f.sh(`cd "$ROOT/w"
sed -i s/^25$/changed/ long; git commit -qam "a commit"
git mv moved 'sub dir moved'; echo staged >staged; git add staged
printf 'a\000c' >bin; rm gone; chmod +x script; ln -sf long link; printf 'c\r\nd\r\n' >crlf
rm -r dir; echo file >dir
printf 'u\n' >"$(printf 'tab\there "quoted" \303\274 new\nline')"; printf '\000' >new.bin; ln -s nowhere untracked-link
echo ignored >x.log; mkdir -p deep/er; seq 3 >deep/er/new
git add -N untracked-link; git init -q nested; touch nested/f`)
	w := f.row("w", "main")
	d := f.diff(w, true, 0)
	want := []workspace.FileChange{
		{Path: "bin", Added: -1, Deleted: -1},
		{Path: "crlf", Added: 2, Deleted: 1},
		{Path: "deep/er/new", Added: 3},
		{Path: "dir", Added: 1},
		{Path: "dir/a", Deleted: 1},
		{Path: "gone", Deleted: 1},
		{Path: "link", Added: 1, Deleted: 1},
		{Path: "long", Added: 1, Deleted: 1},
		{Path: "nested/", Added: -1, Deleted: -1},
		{Path: "new.bin", Added: -1, Deleted: -1},
		{Path: "script"},
		{Path: "staged", Added: 1},
		{Path: "sub dir moved", From: "moved"},
		{Path: "tab\there \"quoted\" ü new\nline", Added: 1},
		{Path: "untracked-link", Added: 1},
	}
	if diff := cmp.Diff(want, d.Files); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if d.Base != "main" || d.BaseCommit != f.git("rev-parse", "main") || d.Truncated {
		t.Errorf("base %q at %q, truncated %v", d.Base, d.BaseCommit, d.Truncated)
	}
	for _, part := range []string{
		"diff --git a/moved b/sub dir moved\nsimilarity index 100%\nrename from moved\nrename to sub dir moved\n",
		"\nold mode 100644\nnew mode 100755\n", "\n-25\n+changed\n", "\nnew file mode 120000\n", "+c\r\n+d\r\n",
		`"b/tab\there \"quoted\" ü new\nline"`, "Binary files a/bin and b/bin differ\n", "@@ -22,7 +22,7 @@",
	} {
		if !strings.Contains(d.Patch, part) {
			t.Errorf("the patch lacks %q:\n%s", part, d.Patch)
		}
	}
	if without := f.diff(w, false, 0); without.Patch != "" || !cmp.Equal(without.Files, want) {
		t.Errorf("without the patch: %+v", without)
	}
	// The patch, applied to the base, makes what is there.
	text := f.diff(w, true, 1<<20).Patch
	if i := strings.Index(text, "diff --git a/bin"); i >= 0 {
		f.write(f.path("text.patch"), text)
		f.git("worktree", "add", "-q", "--detach", f.path("applied"), d.BaseCommit)
		f.gitIn(f.path("applied"), "apply", "--exclude=bin", "--exclude=new.bin", f.path("text.patch"))
		for _, path := range []string{"long", "crlf", "deep/er/new", "dir", "sub dir moved", "staged"} {
			if got, want := f.read(f.path("applied", path)), f.read(f.path("w", path)); got != want {
				t.Errorf("%s is %q, want %q", path, got, want)
			}
		}
	}
}

// TestDiffWhateverTheConfiguration sets everything that changes how git shows
// differences.
func TestDiffWhateverTheConfiguration(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(`seq 50 >long; seq 40 >moved; git add .; git commit -qm more`)
	f.worktree("w")
	f.sh(`cd "$ROOT/w"; sed -i s/^25$/changed/ long; git mv moved m2; echo new >new`)
	w := f.row("w", "main")
	plain := f.diff(w, true, 0)
	f.sh(`for kv in diff.noprefix=true diff.mnemonicPrefix=true diff.external=false diff.renames=false diff.context=0 color.ui=always color.diff=always \
diff.colorMoved=zebra diff.interHunkContext=9 diff.relative=true diff.algorithm=patience diff.ignoreSubmodules=all diff.submodule=log diff.wordRegex=. \
diff.indentHeuristic=false diff.orderFile="$ROOT/order" diff.renameLimit=1 diff.suppressBlankEmpty=true status.showUntrackedFiles=no status.renames=copies \
core.pager=false pager.diff=false diff.x.textconv=false diff.x.command=false core.quotePath=true diff.autoRefreshIndex=false; do git config "${kv%%=*}" "${kv#*=}"; done
echo '* diff=x' >.git/info/attributes; printf 'new\nlong\n' >"$ROOT/order"; touch "$ROOT/w/f"`)
	configured := f.diff(w, true, 0)
	if diff := cmp.Diff(plain, configured); diff != "" {
		t.Errorf("-plain +configured:\n%s", diff)
	}
}

func TestDiffBase(t *testing.T) {
	t.Parallel()
	// The workspace w is on the branch w, made from dev. on runs there.
	const setup = `git branch dev; git worktree add -q -b w "$ROOT/w" dev; cd "$ROOT/w"; echo own >own; git add own; git commit -qm own
ahead() { git update-ref "$1" $(git commit-tree -p "$1" -m ahead "$1^{tree}"); }
`
	tests := []struct {
		name, script, base string
		// commit is what it is compared with.
		commit string
		says   string
	}{
		{"the base stands still", `true`, "dev", "dev", "dev"},
		{"the base went on", `ahead refs/heads/dev`, "dev", "dev~", "dev"},
		{"spelled in full", `ahead refs/heads/dev`, "refs/heads/dev", "dev~", "dev"},
		{"the remote is fresher and was merged in", `git remote add origin x; git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
git update-ref refs/remotes/origin/dev dev; ahead refs/remotes/origin/dev; git merge -q --no-edit origin/dev`, "dev", "origin/dev", "dev"},
		{"the base is gone", `git branch -D dev`, "dev", "main", "gone"},
		{"none was recorded", `true`, "", "main", "main"},
		{"a tag", `git tag v1 main`, "v1", "main", "v1"},
		{"no common history", `git checkout -q --orphan other; git commit -qm other`, "dev", "dev", "no common history"},
		{"nothing committed", `git checkout -q --orphan other`, "dev", "dev", "no common history"},
		{"detached", `git checkout -q --detach; echo 2 >own; git commit -qam 2`, "dev", "dev", "dev"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newRepo(t)
			f.sh(setup + test.script)
			main := f.git("rev-parse", "main")
			w := workspace.Workspace{ThreadID: "w", Directory: f.path("w"), Branch: "w", Base: test.base, BaseCommit: main}
			want := f.git("rev-parse", test.commit)
			d := f.diff(w, false, 0)
			if d.BaseCommit != want || !strings.Contains(d.Base, test.says) {
				t.Errorf("compared with %s, %q; want %s, %q", d.BaseCommit, d.Base, want, test.says)
			}
			if len(d.Files) != 1 || d.Files[0].Path != "own" {
				t.Errorf("files %+v", d.Files)
			}
		})
	}
}

func TestDiffWithoutABase(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("w")
	f.commit(f.path("w"), "own", "1", "own")
	w := f.row("w", "gone")
	for _, commit := range []string{"", strings.Repeat("1", 40)} {
		w.BaseCommit = commit
		_, err := f.reviewer().Diff(t.Context(), workspace.DiffRequest{Project: f.open(f.dir), Workspace: w})
		wantCode(t, err, workspace.ErrTargetNotFound)
	}
}

func TestDiffDuringAConflict(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(`seq 9 >f; seq 9 >g; git add .; git commit -qm more; git worktree add -q -b w "$ROOT/w"
sed -i s/5/main/ f; git rm -q g; git commit -qam main; cd "$ROOT/w"; sed -i s/5/own/ f; sed -i s/5/own/ g; git commit -qam own; ! git merge -q main 2>/dev/null >&2; rm g`)
	d := f.diff(f.row("w", "main"), true, 0)
	want := []workspace.FileChange{{Path: "f", Added: 5, Deleted: 1}, {Path: "g", Deleted: 9}}
	if diff := cmp.Diff(want, d.Files); diff != "" || strings.Contains(d.Patch, "nmerged") || strings.Contains(d.Patch, "--cc") {
		t.Errorf("-want +got:\n%s\n%s", diff, d.Patch)
	}
}

func TestDiffOfSubmodules(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.git("clone", "-q", f.dir, f.path("lib"))
	f.git("submodule", "--quiet", "add", f.path("lib"), "lib")
	f.git("commit", "-qm", "lib")
	f.worktree("w")
	f.gitIn(f.path("w"), "submodule", "--quiet", "update", "--init")
	if d := f.diff(f.row("w", "main"), true, 0); len(d.Files) != 0 || d.Patch != "" {
		t.Errorf("unchanged: %+v", d)
	}
	sha := f.commit(f.path("w/lib"), "g", "1", "in lib")
	d := f.diff(f.row("w", "main"), true, 0)
	if len(d.Files) != 1 || d.Files[0] != (workspace.FileChange{Path: "lib", Added: 1, Deleted: 1}) || !strings.Contains(d.Patch, "+Subproject commit "+sha+"\n") {
		t.Errorf("moved: %+v", d)
	}
}

func TestDiffWithFiltersAndLineEnds(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.git("config", "core.autocrlf", "true")
	f.git("config", "filter.up.clean", "tr a-z A-Z")
	f.git("config", "filter.up.smudge", "tr A-Z a-z")
	f.sh(`echo '*.up filter=up' >.gitattributes; printf '1\r\n2\r\n' >crlf; echo text >a.up; git add .; git commit -qm more`)
	f.worktree("w")
	f.sh(`cd "$ROOT/w"; printf '1\r\n2\r\n3\r\n' >crlf; touch a.up; echo more >b.up`)
	d := f.diff(f.row("w", "main"), true, 0)
	want := []workspace.FileChange{{Path: "b.up", Added: 1}, {Path: "crlf", Added: 1}}
	if diff := cmp.Diff(want, d.Files); diff != "" || !strings.Contains(d.Patch, "\n+MORE\n") {
		t.Errorf("-want +got:\n%s\n%s", diff, d.Patch)
	}
}

func TestDiffWithoutAnIndex(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("w")
	if err := os.Remove(f.path("repo/.git/worktrees/w/index")); err != nil {
		t.Fatal(err)
	}
	f.write(f.path("w/new"), "1\n")
	want := []workspace.FileChange{{Path: "new", Added: 1}}
	if diff := cmp.Diff(want, f.diff(f.row("w", "main"), false, 0).Files); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDiffLeavesHiddenFilesOut(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.sh(`echo 1 >g; git add g; git commit -qm g; git worktree add -q -b w "$ROOT/w"; cd "$ROOT/w"
git update-index --assume-unchanged f; git update-index --skip-worktree g; echo secret >f; rm g`)
	if d := f.diff(f.row("w", "main"), true, 0); len(d.Files) != 0 || d.Patch != "" {
		t.Errorf("%+v", d)
	}
}

func TestDiffIsCut(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.worktree("w")
	for i := range 4 {
		f.write(f.path("w", fmt.Sprintf("new%d", i)), strings.Repeat(fmt.Sprintf("line %d\n", i), 1000))
	}
	f.write(f.path("w/one-line"), strings.Repeat("x", 50_000))
	w := f.row("w", "main")
	whole := f.diff(w, true, 1<<20)
	if whole.Truncated || len(whole.Files) != 5 {
		t.Fatalf("truncated %v, %d files", whole.Truncated, len(whole.Files))
	}
	for limit := 1; limit < len(whole.Patch); limit += 997 {
		d := f.diff(w, true, limit)
		if !d.Truncated || len(d.Patch) > limit || !strings.HasPrefix(whole.Patch, d.Patch) || len(d.Files) != 5 {
			t.Fatalf("cut at %d: %d bytes, truncated %v, %d files", limit, len(d.Patch), d.Truncated, len(d.Files))
		}
		if d.Patch != "" && !strings.HasSuffix(d.Patch, "\n") {
			t.Errorf("cut at %d within a line: %q", limit, d.Patch[max(0, len(d.Patch)-80):])
		}
		if at := strings.LastIndex("\n"+d.Patch, "\ndiff --git "); at >= 0 && !strings.Contains(d.Patch[at:], "\n@@ ") {
			t.Errorf("cut at %d within a header: %q", limit, d.Patch[at:])
		}
		if lost := limit - len(d.Patch); limit < 30_000 && lost > 200 {
			t.Errorf("cut at %d, %d bytes were given up", limit, lost)
		}
	}
	if d := f.diff(w, true, len(whole.Patch)); d.Truncated || d.Patch != whole.Patch {
		t.Error("a patch that just fits was cut")
	}
}

func TestDiffInASubdirectoryOfTheProject(t *testing.T) {
	t.Parallel()
	f := newRepo(t)
	f.commit(f.dir, "pkg/a", "1\n", "a")
	f.worktree("w")
	f.write(f.path("w/pkg/b"), "1\n")
	f.write(f.path("w/top"), "1\n")
	w := f.row("w", "main")
	w.Subdirectory = "pkg"
	d, err := f.reviewer().Diff(t.Context(), workspace.DiffRequest{Project: f.open(filepath.Join(f.dir, "pkg")), Workspace: w})
	want := []workspace.FileChange{{Path: "pkg/b", Added: 1}, {Path: "top", Added: 1}}
	if diff := cmp.Diff(want, d.Files); err != nil || diff != "" {
		t.Errorf("%v; -want +got:\n%s", err, diff)
	}
}
